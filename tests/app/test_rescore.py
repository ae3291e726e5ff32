"""mince rescore: stored answers are scored again, and both scores are kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.bundle import export_runs, import_bundle
from mince_gui.app.demo import model_dir
from mince_gui.app.detached import resume
from mince_gui.app.import_logs import import_logs, look
from mince_gui.app.item_rows import item_json
from mince_gui.app.listings import delete_run, list_runs, show_run
from mince_gui.app.pack import pack as make_pack
from mince_gui.app.prompting import choose_task
from mince_gui.app.report import compute
from mince_gui.app.rescore import rescore
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.app.run_data import scoring_key
from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import CancelledError, InputError, UsageError
from mince_gui.cli import main
from mince_gui.logs import detect
from mince_gui.logs.lm_eval.requests import read_requests
from mince_gui.run.types import ItemResult, ItemTiming
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import NewRun
from mince_gui.subset import write_pack
from mince_gui.subset.types import FrozenSubset, Pack, PackItem
from mince_gui.tasks import Answer, Scored, get
from mince_gui.tasks.own_filter import OwnFilter
from tests.app.conftest import Walked

ITEMS = 12
LOGS = Path(__file__).resolve().parents[1] / "tasks" / "data" / "logged"


@pytest.fixture(scope="module")
def ran(prepared: Path) -> tuple[Path, dict[str, str]]:
    """A workspace with a run of each kind by the real worker: task -> run id."""
    found = {}
    for task, pack in (("demo_math", "demo-math-full"), ("demo_choice", "demo-choice-full")):
        found[task] = create(prepared, RunOrder(model_dir(), pack, limit=ITEMS))
        execute(prepared, found[task])
    return prepared, found


@pytest.fixture
def own(ran: tuple[Path, dict[str, str]], tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """The same in a workspace that the test may change."""
    workspace = tmp_path / "own"
    shutil.copytree(ran[0], workspace)
    return workspace, ran[1]


def _facts(workspace: Path, run_id: str) -> list[dict[str, Any]]:
    return [item_json(item) for item in show_run(workspace, run_id)[1]]


def _spoil(workspace: Path, run_id: str, position: int) -> dict[str, tuple[float, float]]:
    """Store for one item what a scorer with an error would have stored; returns what was there."""
    with Workspace(workspace) as ws:
        item = stored_runs.items(ws, run_id)[position]
        with ws.writing() as db:
            db.execute(
                "UPDATE run_scores SET passed = 1 - passed WHERE run_id = ? AND position = ?", (run_id, position)
            )
            db.execute(
                "UPDATE run_items SET extracted = ? WHERE run_id = ? AND position = ?",
                (json.dumps(dict.fromkeys(item.extracted, "spoilt")), run_id, position),
            )
    return dict(item.scores)


@pytest.mark.parametrize("task", ["demo_math", "demo_choice"])
def test_the_same_scorer_changes_nothing_and_keeps_nothing_unless_asked(
    own: tuple[Path, dict[str, str]], task: str
) -> None:
    workspace, made = own
    known = len(list_runs(workspace))
    done = rescore(workspace, made[task])
    assert (done.run_id, done.changed, done.before, done.answers) == (None, (), done.after, ITEMS)
    assert len(list_runs(workspace)) == known
    kept = rescore(workspace, made[task], keep=True)
    assert kept.run_id is not None
    assert kept.changed == ()
    assert _facts(workspace, kept.run_id) == _facts(workspace, made[task])


@pytest.mark.parametrize("task", ["demo_math", "demo_choice"])
def test_what_an_older_scorer_had_wrong_is_put_right_beside_what_it_said(
    own: tuple[Path, dict[str, str]], task: str
) -> None:
    workspace, made = own
    right = _facts(workspace, made[task])
    was = _spoil(workspace, made[task], 3)
    before = _facts(workspace, made[task])
    done = rescore(workspace, made[task])
    assert done.run_id is not None
    assert _facts(workspace, made[task]) == before
    assert _facts(workspace, done.run_id) == right
    (item,) = done.changed
    assert item.verdict_changed
    assert item.after == was
    assert set(item.read_before.values()) == {"spoilt"}
    moved = {metric: done.after[metric][0] - done.before[metric][0] for metric in was}
    assert moved == {metric: 2 * passed - 1 for metric, (passed, _) in was.items()}


def test_the_record_says_whose_answers_it_holds_and_has_their_times_and_conditions(
    own: tuple[Path, dict[str, str]],
) -> None:
    workspace, made = own
    source, _ = show_run(workspace, made["demo_math"])
    done = rescore(workspace, source.run_id, keep=True)
    assert done.run_id is not None
    run, _ = show_run(workspace, done.run_id)
    assert run.rescored_of == source.run_id
    assert run.conditions is not None
    assert source.conditions is not None
    told = dict(run.conditions)
    facts = told.pop("rescored")
    assert told == source.conditions
    assert (facts["of"], facts["task"], facts["filter"]) == (source.run_id, "demo_math", None)
    assert facts["version"] == done.version
    assert (run.plan, run.created_at, run.ended_at) == (source.plan, source.created_at, source.ended_at)
    assert (run.state, run.cause, run.elapsed_seconds) == ("ended", "done", source.elapsed_seconds)
    assert scoring_key(source) == ("", "", "")
    assert scoring_key(run) == (done.version, "demo_math", "")


def test_a_filter_of_ones_own_is_one_metric_more(own: tuple[Path, dict[str, str]]) -> None:
    workspace, made = own
    # What the strict filter reads, written as the user would: so both must read and score alike.
    done = rescore(workspace, made["demo_math"], own_filter=OwnFilter("mark", r"#### (-?[0-9.,]+)"))
    assert done.run_id is not None
    assert set(done.after) == {*done.before, "exact_match,mark"}
    assert done.after["exact_match,mark"] == done.after["exact_match,strict-match"]
    assert not any(item.verdict_changed for item in done.changed)
    for item in _facts(workspace, done.run_id):
        assert item["extracted"]["mark"] == item["extracted"]["strict-match"]
    nothing = rescore(workspace, made["demo_math"], own_filter=OwnFilter("never", "no such words"))
    assert nothing.after["exact_match,never"] == (0.0, float(ITEMS))


def test_the_first_or_the_last_match_is_read() -> None:
    assert OwnFilter("n", r"\d+").read("1 then 2") == "1"
    assert OwnFilter("n", r"\d+", last=True).read("1 then 2") == "2"
    assert OwnFilter("n", r"boxed\{(.*?)\}").read(r"so \boxed{72}.") == "72"
    assert OwnFilter("n", r"\d+").read("none") == "[invalid]"


@pytest.mark.parametrize(("name", "pattern"), [("two words", "x"), ("", "x"), ("n", "("), ("n", "x{2,99999}{999}")])
def test_a_filter_that_cannot_be_is_refused_before_anything_is_read(name: str, pattern: str) -> None:
    with pytest.raises(UsageError):
        OwnFilter(name, pattern)


def test_a_filter_fits_only_a_task_that_reads_by_filters_and_under_a_new_name(
    ran: tuple[Path, dict[str, str]],
) -> None:
    workspace, made = ran
    with pytest.raises(UsageError, match="reads no answer by a filter"):
        rescore(workspace, made["demo_choice"], own_filter=OwnFilter("n", "x"))
    with pytest.raises(UsageError, match="has a filter strict-match already"):
        rescore(workspace, made["demo_math"], own_filter=OwnFilter("strict-match", "x"))


def test_a_rescored_run_is_scored_again_from_its_source_and_never_resumed(own: tuple[Path, dict[str, str]]) -> None:
    workspace, made = own
    first = rescore(workspace, made["demo_math"], own_filter=OwnFilter("n", r"\d+"))
    assert first.run_id is not None
    second = rescore(workspace, first.run_id, keep=True)
    assert second.run_id is not None
    assert show_run(workspace, second.run_id)[0].rescored_of == made["demo_math"]
    assert set(second.after) == set(first.before)
    for again in (execute, resume):
        with pytest.raises(UsageError, match="there is nothing to run"):
            again(workspace, first.run_id)
    assert show_run(workspace, first.run_id)[0].state == "ended"


def test_it_stands_on_its_own_when_its_source_is_deleted(own: tuple[Path, dict[str, str]]) -> None:
    workspace, made = own
    kept = rescore(workspace, made["demo_math"], keep=True)
    assert kept.run_id is not None
    facts = _facts(workspace, kept.run_id)
    deleted = delete_run(workspace, made["demo_math"])
    assert deleted.rescored == (kept.run_id,)
    assert _facts(workspace, kept.run_id) == facts
    again = rescore(workspace, kept.run_id, own_filter=OwnFilter("n", r"\d+"))
    assert again.source_id == made["demo_math"]
    assert again.run_id is not None
    assert delete_run(workspace, kept.run_id).rescored == ()


def test_a_partial_run_stays_partial_and_an_item_without_an_answer_stays_missing(
    own: tuple[Path, dict[str, str]],
) -> None:
    workspace, made = own
    run_id = made["demo_math"]
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("DELETE FROM run_items WHERE run_id = ? AND position > 8", (run_id,))
        db.execute("DELETE FROM run_scores WHERE run_id = ? AND position IN (1, 2)", (run_id,))
        # One lost its answer with the worker; of the other the answer was kept, but an older scorer failed on it.
        db.execute(
            "UPDATE run_items SET state = 'missing', text = NULL, extracted = NULL, cause = 'crashed'"
            " WHERE run_id = ? AND position = 1",
            (run_id,),
        )
        db.execute(
            "UPDATE run_items SET state = 'missing', extracted = NULL, cause = 'not scored: x'"
            " WHERE run_id = ? AND position = 2",
            (run_id,),
        )
        db.execute("UPDATE runs SET cause = 'incomplete' WHERE run_id = ?", (run_id,))
    done = rescore(workspace, run_id)
    assert done.run_id is not None
    assert (done.items, done.answers, done.done) == (ITEMS, 8, 8)
    run, items = show_run(workspace, done.run_id)
    assert (run.cause, run.done, run.missing, run.detail) == ("incomplete", 8, 1, "4 of 12 items are missing")
    assert [(item.position, item.cause) for item in items if item.state == "missing"] == [(1, "crashed")]
    (item,) = done.changed
    assert (item.before, item.verdict_changed) == ({}, True)


def test_an_answer_that_cannot_be_scored_any_more_is_missing_with_its_cause(own: tuple[Path, dict[str, str]]) -> None:
    workspace, made = own
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("UPDATE run_items SET picked = 9 WHERE run_id = ? AND position = 0", (made["demo_choice"],))
    done = rescore(workspace, made["demo_choice"])
    assert done.run_id is not None
    run, items = show_run(workspace, done.run_id)
    assert (run.cause, run.done, run.missing) == ("incomplete", ITEMS - 1, 1)
    assert items[0].cause == "not scored: There is no picked choice to score (9)."


def test_the_pack_is_taken_from_wherever_its_bytes_are_and_from_no_other_file(
    own: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    workspace, made = own
    run, _ = show_run(workspace, made["demo_math"])
    moved = tmp_path / "moved.mincepack"
    shutil.move(run.plan.pack_path, moved)
    with pytest.raises(InputError, match="is gone or changed"):
        rescore(workspace, run.run_id)
    other = show_run(workspace, made["demo_choice"])[0].plan.pack_path
    with pytest.raises(InputError, match="is not the pack of run"):
        rescore(workspace, run.run_id, pack=other)
    assert rescore(workspace, run.run_id, pack=moved).changed == ()
    with pytest.raises(InputError, match="is no file"):
        rescore(workspace, run.run_id, pack=tmp_path / "nowhere.mincepack")


def test_of_a_run_that_came_in_a_bundle_it_is_said_where_its_pack_is(
    own: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    workspace, made = own
    sent = export_runs(workspace, [made["demo_math"]], tmp_path / "sent").path
    import_bundle(tmp_path / "lab", sent)
    with pytest.raises(InputError, match="which a bundle does not carry") as error:
        rescore(tmp_path / "lab", made["demo_math"])
    assert "the machine that made the run" in error.value.remedy
    pack = show_run(workspace, made["demo_math"])[0].plan.pack_path
    assert rescore(tmp_path / "lab", made["demo_math"], pack=pack).changed == ()


def test_unknown_empty_and_living_runs_are_refused(own: tuple[Path, dict[str, str]]) -> None:
    workspace, made = own
    with pytest.raises(UsageError, match="is not a run"):
        rescore(workspace, "nothing")
    empty = create(workspace, RunOrder(model_dir(), "demo-math-full", limit=1))
    with pytest.raises(UsageError, match="has no answer to score"):
        rescore(workspace, empty)
    with pytest.raises(UsageError, match="There is no task 'gsm8k'"):
        rescore(workspace, made["demo_math"], task="gsm8k")
    with Workspace(workspace) as ws:
        stored_runs.take(ws, made["demo_math"])
    with pytest.raises(UsageError, match="is going on"):
        rescore(workspace, made["demo_math"])


def test_a_cancelled_rescoring_writes_nothing(own: tuple[Path, dict[str, str]]) -> None:
    workspace, made = own
    known = len(list_runs(workspace))
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        rescore(workspace, made["demo_math"], keep=True, cancel=cancel)
    assert len(list_runs(workspace)) == known


GSM8K = (
    ({"question": "2 + 2?", "answer": "two and two #### 4"}, "So it is 4. #### 4"),
    ({"question": "3 + 3?", "answer": "three and three #### 6"}, "The final answer is 6"),
    ({"question": "4 + 4?", "answer": "four and four #### 8"}, "The answer is 8. That was easy."),
)
IFEVAL = (
    (
        {
            "key": 1000, "prompt": "No commas, please.",
            "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}],
        },
        "None here",
    ),
    (
        {
            "key": 1001, "prompt": "No commas, and say water twice.",
            "instruction_id_list": ["punctuation:no_comma", "keywords:frequency"],
            "kwargs": [{}, {"keyword": "water", "frequency": 2, "relation": "at least"}],
        },
        "water, water",
    ),
)  # fmt: skip


def _written(workspace: Path, pack: Pack, task: str, answers: Sequence[str], wrong: Scored | None = None) -> str:
    """A run of the pack with the given answers, each scored as its task scores it, or with `wrong`.

    The answers are not by a model here: no model of the tests writes what these scorers are to be tried on.
    """
    path = workspace / f"{pack.subset.name}.mincepack"
    write_pack(path, pack)
    asked_by = choose_task(pack, task)
    plan = NewRun(
        benchmark=pack.subset.benchmark, task=task, subset=pack.subset.name, total_items=pack.subset.total_items,
        subset_items=pack.subset.n, items=pack.subset.n, model="made by hand", model_dir=model_dir(), pack_path=path,
        pack_sha256=sha256_file(path), settings={},
    )  # fmt: skip
    with Workspace(workspace) as ws:
        run_id = stored_runs.create(ws, plan, pack.subset)
        for position, (item, text) in enumerate(zip(pack.items, answers, strict=True)):
            scored = wrong or asked_by.score(item.doc if pack.logged is None else item.asked or {}, Answer(text=text))
            result = ItemResult(
                position,
                item.key,
                item.category,
                "done",
                scored,
                text,
                None,
                (),
                ItemTiming(3, 3, 2, 0.1, 0.1, 0.1, 0.3),
            )
            stored_runs.add_item(ws, run_id, result, 0.4)
        stored_runs.end(ws, run_id, "done", "")
    return run_id


def _pack(benchmark: str, keys: Sequence[str], docs: Sequence[Mapping[str, Any]], total: int) -> Pack:
    n = len(keys)
    subset = FrozenSubset("small", benchmark, total, n, 42, "uniform", tuple(keys), (None,) * n, "made up")
    return Pack(subset, tuple(PackItem(key, None, doc) for key, doc in zip(keys, docs, strict=True)), {})


def test_gsm8k_answers_are_read_by_another_tasks_filters_and_that_is_said(tmp_path: Path) -> None:
    pack = _pack("gsm8k", ("0", "1", "2"), [doc for doc, _ in GSM8K], 1319)
    run_id = _written(tmp_path, pack, "gsm8k_cot_zeroshot", [text for _, text in GSM8K])
    strict = {}
    for task in ("gsm8k_cot_zeroshot", "gsm8k", "gsm8k_cot", "gsm8k_cot_llama"):
        done = rescore(tmp_path, run_id, task=task)
        strict[task] = done.after["exact_match,strict-match"][0], done.asks_alike, done.run_id is None
        assert done.after["exact_match,flexible-extract"] == (3.0, 3.0)
    # Each phrase is in one answer, and its task alone reads it; gsm8k_cot has the same phrase as the run's task.
    assert strict == {
        "gsm8k_cot_zeroshot": (1.0, True, True),
        "gsm8k": (1.0, False, False),
        "gsm8k_cot": (1.0, False, True),
        "gsm8k_cot_llama": (1.0, False, False),
    }
    done = rescore(tmp_path, run_id, task="gsm8k_cot_llama")
    gained = {item.item_key: item.after["exact_match,strict-match"] for item in done.changed if item.verdict_changed}
    assert gained == {"1": (1.0, 1.0), "2": (0.0, 1.0)}


def test_ifeval_verdicts_are_made_anew_and_its_other_task_asks_alike(tmp_path: Path) -> None:
    pack = _pack("ifeval", ("1000", "1001"), [doc for doc, _ in IFEVAL], 541)
    task = get("ifeval")
    failed = Scored(dict.fromkeys(task.metrics, (0.0, 1.0)), {"strict": "[false]", "loose": "[false]"})
    run_id = _written(tmp_path, pack, "ifeval", [text for _, text in IFEVAL], failed)
    done = rescore(tmp_path, run_id, task="leaderboard_ifeval")
    # Two instructions of one item: one of them is broken by its comma.
    assert done.after["inst_level_strict_acc"] == (2.0, 3.0)
    assert done.after["prompt_level_strict_acc"] == (1.0, 2.0)
    assert done.asks_alike
    assert len(done.changed) == 2


def test_a_logged_tasks_answers_are_scored_by_its_own_filters_and_one_more(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    with look([LOGS]) as found:
        import_logs(workspace, found)
    pack = make_pack(workspace, all_of="mmlu_pro").pack
    with detect([LOGS]) as seen:
        log = read_requests(next(run for run in seen.found if run.task == "mmlu_pro"))
    run_id = _written(workspace, pack, "mmlu_pro", [str(log.items[item.key].responses[0]) for item in pack.items])
    assert rescore(workspace, run_id).run_id is None
    own = OwnFilter("same", r"answer is \(?([ABCDEFGHIJ])\)?")
    done = rescore(workspace, run_id, own_filter=own)
    assert done.run_id is not None
    (theirs,) = done.before
    assert done.after["exact_match,same"] == done.after[theirs]


def test_the_command_says_what_changed_and_what_is_kept(
    own: tuple[Path, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    workspace, made = own
    place = ["--workspace", str(workspace)]
    assert main(["rescore", made["demo_math"], *place]) == 0
    out = capsys.readouterr().out
    assert "Nothing changed" in out
    assert "--keep" in out
    _spoil(workspace, made["demo_math"], 3)
    assert main(["rescore", made["demo_math"], *place, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [item["verdict_changed"] for item in told["changed"]] == [True]
    assert main(["rescore", made["demo_math"], *place, "--filter", "n=[0-9]+", "--last"]) == 0
    out = capsys.readouterr().out
    assert "1 item has another verdict" in out
    assert "spoilt" in out
    assert f"Run {made['demo_math']} is as it was." in out
    assert main(["runs", *place]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert sum("done, rescored" in line for line in listed) == 2
    assert main(["runs", "show", told["run_id"], *place]) == 0
    assert f"scored again: the answers of run {made['demo_math']}, by demo_math of mince" in capsys.readouterr().out
    assert main(["runs", "delete", made["demo_math"], "--yes", *place]) == 0
    assert "Kept, with its answers scored again: " in capsys.readouterr().out


def test_a_run_whose_full_run_was_not_scored_alike_says_so(
    walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = tmp_path / "walked"
    shutil.copytree(walked.workspace, workspace)
    (part,) = [part for part in walked.parts if part.subset.benchmark == "demo-math"]
    assert part.full is not None
    own = OwnFilter("mark", r"#### (-?[0-9.,]+)")
    assert rescore(workspace, part.subset_run.run_id, own_filter=own).full_run == part.full.run_id
    assert rescore(workspace, part.full.run_id, own_filter=own).full_run is None
    again = rescore(workspace, part.subset_run.run_id, own_filter=own)
    assert again.full_run is None
    assert again.run_id is not None
    (added,) = [metric for metric in compute(workspace, again.run_id).metrics if metric.name == own.metric]
    assert added.drift_pp is not None
    other = ["rescore", part.subset_run.run_id, "--filter", "other=([0-9]+)", "--workspace", str(workspace)]
    assert main(other) == 0
    assert f"mince rescore {part.full.run_id} --keep, with the same options" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--filter", "strict-match"], ["--filter", "=x"], ["--last"]])
def test_a_filter_without_a_pattern_is_refused_by_the_command(
    ran: tuple[Path, dict[str, str]], options: list[str]
) -> None:
    workspace, made = ran
    assert main(["rescore", made["demo_math"], *options, "--workspace", str(workspace)]) == 2
