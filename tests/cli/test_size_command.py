"""`mince size`: the table, the answers to first questions, the JSON object, and what is kept of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.app.size import ask
from mince_gui.base.errors import UsageError
from mince_gui.cli import main
from mince_gui.cli.size import answers, print_sizing
from mince_gui.sizing import Bound, SizingResult, Target
from mince_gui.store import Workspace
from mince_gui.store.subsets import latest_sizing


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Three models on 600 made-up items of a task that no benchmark knows."""
    for k, model in enumerate(("alpha", "beta", "gamma")):
        folder = tmp_path / "logs" / model
        folder.mkdir(parents=True)
        right = np.random.default_rng(k).random(600) < 0.35 + 0.15 * k
        lines = [
            json.dumps({"doc_id": i, "doc": {"q": f"item {i}"}, "filter": "none", "metrics": ["acc"], "acc": float(r)})
            for i, r in enumerate(right)
        ]
        (folder / "samples_tiny_2026-01-01T00-00-00.000001.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["import", str(tmp_path / "logs"), "--workspace", str(tmp_path / "ws")]) == 0
    return tmp_path / "ws"


def sized(workspace: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["size", "--benchmark", "tiny", "--json", *options, "--workspace", str(workspace)]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_the_json_object_has_the_keys_that_are_promised(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = sized(workspace, capsys, "--worst", "joint", "--draws", "500")
    promised = (
        "benchmark total_items models metrics sizes p95_pp gain_pp n_star tau_pp quantile worst method draws seed "
        "seconds n_star_by_seed n_star_smooth warnings error_pp gain_error_pp lump_pp by_rule_pp target budget"
    )
    assert set(promised.split()) <= set(body)
    assert len(body["n_star_by_seed"]) == 20
    assert body["gain_error_pp"][0] is None
    assert min(body["gain_error_pp"][1:]) > 0
    assert body["lump_pp"] == [100 / n for n in body["sizes"]]
    assert body["by_rule_pp"]["joint"] == body["p95_pp"]
    assert body["target"] is None
    assert body["budget"] is None


def test_a_target_and_a_budget_are_answered_in_json_and_in_words(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--target-p95", "4", "--hours", "0.5", "--seconds-per-item", "6")
    body = sized(workspace, capsys, *options)
    assert body["target"]["target_pp"] == 4
    assert body["target"]["p95_pp"] <= 4
    assert body["target"]["n"] <= body["target"]["n_always"]
    assert body["target"]["method"] == "exact"
    assert body["budget"]["n"] == 300
    assert body["budget"]["p95_pp"] == body["p95_pp"][body["sizes"].index(300)]
    assert main(["size", "--benchmark", "tiny", *options, "--workspace", str(workspace)]) == 0
    text = capsys.readouterr().out
    assert f"P95 of at most 4.00 pp: {body['target']['n']} items" in text
    assert "every size was looked at" in text
    assert "30 min at 6.00 s per item: 300 items" in text


def test_the_table_shows_the_errors_of_bounds_and_gains_only_by_draws(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = ["size", "--benchmark", "tiny", "--draws", "500", "--workspace", str(workspace)]
    capsys.readouterr()
    assert main([*size, "--method", "draws"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["n", "P95", "±", "gain", "±", "smooth"]
    assert main([*size, "--method", "exact"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["n", "P95", "gain", "smooth"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--hours", "2"), "--seconds-per-item"),
        (("--seconds-per-item", "2"), "--hours"),
        (("--target-p95", "0"), "--target-p95"),
        (("--target-p95", "nan"), "--target-p95"),
        (("--hours", "0.001", "--seconds-per-item", "3600"), "Not one item"),
        (("--hours", "1e308", "--seconds-per-item", "1e-308"), "--hours"),
        (("--step", "50", "--sizes", "50,100"), "--sizes"),
    ],
)
def test_questions_that_are_none_are_refused_by_name(
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is drawn: an answer that took minutes would be thrown away."""
    monkeypatch.delattr("mince_gui.app.size.compute")
    assert main(["size", "--benchmark", "tiny", *options, "--workspace", str(workspace)]) == 2
    assert named in capsys.readouterr().err


def test_what_is_stored_is_what_was_found(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--method", "draws", "--draws", "300", "--target-p95", "4", "--hours", "1", "--seconds-per-item", "9")
    body = sized(workspace, capsys, *options)
    with Workspace(workspace) as ws:
        kept = latest_sizing(ws, "tiny")
    assert kept is not None
    assert kept.to_json() == body
    assert kept.by_level_pp.shape == (100, len(body["sizes"]))
    assert (np.diff(kept.by_level_pp, axis=0) >= 0).all()


def test_a_stored_sizing_is_asked_again_without_sizing_anew(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = sized(workspace, capsys)
    asked = ask(workspace, "tiny", target_pp=4.0, hours=0.5, seconds_per_item=6.0)
    assert list(asked.p95_pp) == body["p95_pp"]
    assert asked.target is not None
    assert asked.budget is not None
    assert asked.budget.bound.n == 300
    with pytest.raises(UsageError, match="--seconds-per-item"):
        ask(workspace, "tiny", hours=1.0)
    with pytest.raises(UsageError, match="mince size"):
        ask(workspace, "gsm8k", target_pp=4.0)


def test_a_sizing_of_an_earlier_version_counts_as_none(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sized(workspace, capsys)
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("UPDATE sizings SET result = json_remove(result, '$.pool_sha256')")
    with Workspace(workspace) as ws:
        assert latest_sizing(ws, "tiny") is None


def test_lumps_that_exceed_a_target_again_and_no_subset_at_all_are_said(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sized(workspace, capsys)
    with Workspace(workspace) as ws:
        result = latest_sizing(ws, "tiny")
    assert isinstance(result, SizingResult)
    again = dataclasses.replace(result, target=Target(1.5, Bound(10, 1.4, 0.0, "exact"), 90))
    assert "from 90 items on none does." in answers(again)[1]
    drawn = dataclasses.replace(result, target=Target(1.5, Bound(10, 1.4, 0.1, "draws"), 90))
    assert "near it, every size was drawn" in answers(drawn)[0]
    assert "from 90 items on none that was drawn does." in answers(drawn)[1]
    none = dataclasses.replace(result, target=Target(0.1, Bound(600, 0.0, 0.0, "exact"), 600))
    assert answers(none) == ["P95 of at most 0.10 pp: no subset; it takes all 600 items."]


def test_a_bound_just_above_a_target_is_not_shown_as_holding_it(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sized(workspace, capsys)
    with Workspace(workspace) as ws:
        result = latest_sizing(ws, "tiny")
    assert result is not None
    assert result.n_star is not None
    p95 = tuple(
        4.0047 if n == result.n_star else value for n, value in zip(result.plan.sizes, result.p95_pp, strict=True)
    )
    print_sizing(dataclasses.replace(result, p95_pp=p95))
    row, summary = (line for line in capsys.readouterr().out.splitlines() if "4.005 pp" in line)
    assert row.endswith("<- n*")
    assert "P95 4.005 pp" in summary


def test_one_model_is_no_models(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "--benchmark", "tiny", "--models", "beta", "--workspace", str(workspace)]) == 0
    text = capsys.readouterr().out
    assert "(1 model, rule per-model, exact)" in text
    assert main(["size", "--benchmark", "tiny", "--workspace", str(workspace)]) == 0
    assert "(3 models, rule per-model, exact)" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--tau", "--quantile", "--target-p95", "--hours", "--seconds-per-item"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_what_is_no_amount_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    assert main(["size", "--benchmark", "tiny", option, value, "--workspace", str(tmp_path)]) == 2
    assert option in capsys.readouterr().err
