from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.app.freeze import freeze
from mince_gui.app.import_logs import import_logs, look
from mince_gui.app.size import SizeQuestion, size
from mince_gui.app.study import KINDS, Kind, StudyQuestion, study
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, UsageError
from mince_gui.base.events import Ended, Event, Started
from mince_gui.logs import detect, read
from mince_gui.logs.types import PerItemLog
from mince_gui.sizing.studies import (
    HoldoutStudy,
    LeaveOutStudy,
    RankStudy,
    SamplerStudy,
    SeedStudy,
    TauStudy,
)
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs

BENCHMARK = "demo-choice"
HELD = "demo-300-steps"


@pytest.fixture(scope="module")
def workspace(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the demo's logs: six small models."""
    folder = tmp_path_factory.mktemp("study")
    import_logs(folder, look([demo / "logs"]))
    return folder


def ask(kind: Kind, **more: Any) -> StudyQuestion:
    return StudyQuestion(kind, SizeQuestion(BENCHMARK, draws=400), **more)


def _first_items(log: PerItemLog, count: int, model: str) -> PerItemLog:
    """What a broken-off run of `model` would have left of the log."""
    return dataclasses.replace(
        log,
        model=model,
        keys=log.keys[:count],
        categories=log.categories[:count],
        hashes=log.hashes[:count],
        passed={metric: values[:count] for metric, values in log.passed.items()},
        trials={metric: values[:count] for metric, values in log.trials.items()},
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_study_answers_with_one_stream_of_events_and_a_table(workspace: Path, kind: Kind) -> None:
    seen: list[Event] = []
    held = (HELD,) if kind == "holdout" else ()
    result = study(workspace, ask(kind, held=held, seeds=None if kind == "tau" else 3), emit=seen.append)
    assert isinstance(seen[0], Started)
    assert seen[-1] == Ended("done")
    assert sum(isinstance(event, Ended) for event in seen) == 1
    assert result.kind == kind
    table = result.table()
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert set(table.shown) <= set(range(len(table.rows)))
    assert result.to_json()["rows"][0].keys() == set(table.columns)


def test_the_whole_pool_is_that_of_a_sizing(workspace: Path) -> None:
    own = size(workspace, SizeQuestion(BENCHMARK, draws=400))
    result = study(workspace, ask("tau"))
    assert isinstance(result, TauStudy)
    assert result.sizing.p95_pp == own.p95_pp
    assert result.sizing.models == own.models


def test_a_held_out_model_is_in_no_pool_and_drifts_on_the_pool_s_own_subset(workspace: Path) -> None:
    result = study(workspace, ask("holdout", held=(HELD,), seeds=5))
    assert isinstance(result, HoldoutStudy)
    assert HELD not in result.sizing.models
    assert {row.model for row in result.rows} == {HELD}
    assert result.n == result.sizing.n_star
    assert result.bound_pp == result.sizing.bound_at(result.n)
    assert result.seeds == (0, 1, 2, 3, 4)
    own = StudyQuestion("holdout", SizeQuestion(BENCHMARK, draws=400, seed=0), held=(HELD,), seeds=1)
    other = study(workspace, own)
    assert isinstance(other, HoldoutStudy)
    assert other.seeds == (1,), "the plan's own draw is no other draw"
    ranked = study(workspace, ask("ranks", n=result.n, seeds=2))
    assert isinstance(ranked, RankStudy)
    scores = dict(zip(ranked.metrics[0].models, ranked.metrics[0].subset, strict=True))
    assert result.rows[0].subset == pytest.approx(scores[HELD]), "the same seed draws the same items"


def test_a_named_pool_needs_no_model_beside_it(workspace: Path) -> None:
    pool = ("demo-500-steps", "demo-700-steps", "demo-900-steps")
    question = StudyQuestion("holdout", SizeQuestion(BENCHMARK, models=pool, draws=400), held=(HELD,), seeds=2)
    result = study(workspace, question)
    assert isinstance(result, HoldoutStudy)
    assert set(result.sizing.models) == set(pool)


def test_the_bound_is_known_also_where_n_is_no_candidate_size(workspace: Path) -> None:
    result = study(workspace, ask("samplers", n=61, seeds=4))
    assert isinstance(result, SamplerStudy)
    assert result.n == 61
    assert 61 not in result.sizing.plan.sizes
    below = max(n for n in result.sizing.plan.sizes if n < 61)
    bound = result.sizing.bound_at(below)
    assert bound is not None
    assert 0 < result.bound_pp < bound + 100 / 61


def test_samplers_that_cannot_serve_the_pool_are_named_and_kmeans_takes_embeddings(
    workspace: Path, tmp_path: Path
) -> None:
    without = study(workspace, ask("samplers", n=60, seeds=2))
    assert isinstance(without, SamplerStudy)
    assert any("kmeans is left out" in warning for warning in without.warnings)
    total = without.sizing.total_items
    rng = np.random.default_rng(0)
    np.save(
        tmp_path / "vectors.npy", rng.normal(size=(total, 4)).astype(np.float32) + 9 * np.eye(4)[np.arange(total) % 4]
    )
    grouped = study(workspace, ask("samplers", n=60, seeds=2, embeddings=tmp_path / "vectors.npy"))
    assert isinstance(grouped, SamplerStudy)
    assert [one.sampler for one in grouped.samplers] == ["uniform", "stratified", "kmeans"]
    assert any(text.startswith("kmeans: ") for text in grouped.summary())


def test_seeds_by_both_rules(workspace: Path) -> None:
    result = study(workspace, ask("seeds", seeds=3, both_rules=True))
    assert isinstance(result, SeedStudy)
    assert [(row.worst, row.seed) for row in result.rows] == [(w, s) for w in ("per-model", "joint") for s in range(3)]


def test_leave_out_draws_the_subset_that_freeze_would(workspace: Path) -> None:
    result = study(workspace, ask("leave-out", most_out=1))
    assert isinstance(result, LeaveOutStudy)
    row = next(row for row in result.rows if row.n_star is not None)
    ranked = study(workspace, ask("ranks", n=row.n_star, seeds=1))
    assert isinstance(ranked, RankStudy)
    at = ranked.metrics[0].models.index(row.removed[0])
    assert row.drift_pp == pytest.approx(ranked.metrics[0].subset[at] - ranked.metrics[0].full[at])


def test_an_excluded_model_can_be_held_out_and_stays_out_of_every_pool(demo: Path, tmp_path: Path) -> None:
    import_logs(tmp_path, look([demo / "logs"]))
    excluded = ("demo-300-steps", "demo-700-steps")
    with Workspace(tmp_path) as ws:
        for log in stored_logs.listing(ws, BENCHMARK):
            if log.model in excluded:
                stored_logs.set_excluded(ws, log.log_id, True)
    result = study(tmp_path, ask("holdout", held=excluded[:1], seeds=2))
    assert isinstance(result, HoldoutStudy)
    assert {row.model for row in result.rows} == set(excluded[:1])
    assert not set(excluded) & set(result.sizing.models)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ask("holdout"), "--held"),
        (ask("tau", held=(HELD,)), "holdout"),
        (StudyQuestion("holdout", SizeQuestion(BENCHMARK, models=(HELD,)), held=(HELD,)), "in --pool and in --held"),
        (ask("holdout", held=("nobody",)), "nobody"),
        (ask("tau", metrics=("accuracy",)), "There are: acc"),
        (ask("samplers", dataset=Path("items.jsonl")), "--dataset is read for --embedding-model alone"),
        (ask("samplers", embeddings=Path("v.npy"), dataset=Path("d")), "--dataset is read for --embedding-model alone"),
        (ask("ranks", n=10_000), "--n"),
        (ask("ranks", n=0), "--n"),
        (StudyQuestion("tau", SizeQuestion("nothing")), "nothing"),
        (StudyQuestion("ranks", SizeQuestion(BENCHMARK, sizes=(5, 10), tau_pp=0.01)), "--n"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(workspace: Path, question: StudyQuestion, said: str) -> None:
    seen: list[Event] = []
    with pytest.raises(UsageError) as caught:
        study(workspace, question, emit=seen.append)
    assert said in f"{caught.value.message} {caught.value.remedy}"
    assert isinstance(seen[-1], Ended)
    assert seen[-1].cause == "failed"


def test_only_a_model_s_own_reasons_are_given_where_it_cannot_be_held_out(demo: Path, tmp_path: Path) -> None:
    logs = [read(found) for found in detect([demo / "logs"]).found if found.benchmark.name == BENCHMARK]
    cut = [
        _first_items(logs[0], 10, "gpt-4"),
        _first_items(logs[1], 20, "gpt-4o"),
        _first_items(logs[2], 30, "gpt-4 b"),
    ]
    with Workspace(tmp_path) as ws:
        for log in (*cut, *logs[3:]):
            stored_logs.add(ws, log)
    with pytest.raises(UsageError, match="gpt-4 cannot be held out") as caught:
        study(tmp_path, ask("holdout", held=("gpt-4",), seeds=1))
    assert "it has 10 of" in caught.value.message
    assert caught.value.message.count("is left out") == 1


def test_holding_out_every_model_leaves_no_pool(workspace: Path) -> None:
    models = size(workspace, SizeQuestion(BENCHMARK, draws=400)).models
    with pytest.raises(UsageError, match="pool is empty"):
        study(workspace, ask("holdout", held=models))


def test_a_cancelled_study_ends_as_stopped(workspace: Path) -> None:
    token = CancelToken()
    token.cancel()
    seen: list[Event] = []
    with pytest.raises(CancelledError):
        study(workspace, ask("samplers"), emit=seen.append, cancel=token)
    assert isinstance(seen[-1], Ended)
    assert seen[-1].cause == "stopped"


@pytest.mark.shared
def test_metrics_can_be_chosen(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "logs" / "lm_eval"
    names = ("gpt-4o-2024-08-06", "claude-3-opus-20240229", "mistralai__Mistral-7B-Instruct-v0.3")
    import_logs(tmp_path, look([folder / name for name in names]), benchmark="ifeval")
    plain = ("prompt_level_strict_acc", "prompt_level_loose_acc")
    result = study(tmp_path, StudyQuestion("tau", SizeQuestion("ifeval"), metrics=plain))
    assert isinstance(result, TauStudy)
    assert result.sizing.metrics == plain
    assert result.sizing.method == "exact", "prompt-level metrics need no draws"


def test_uniform_draws_of_a_study_are_those_of_a_frozen_subset(workspace: Path) -> None:
    result = study(workspace, ask("samplers", n=60, seeds=2))
    assert isinstance(result, SamplerStudy)
    for seed, drift in enumerate(result.samplers[0].drift_pp):
        frozen = freeze(workspace, BENCHMARK, 60, seed=seed).subset
        for (model, metric), value in zip(result.pairs, drift, strict=True):
            assert frozen.drift_table[model][metric][2] == pytest.approx(value)
