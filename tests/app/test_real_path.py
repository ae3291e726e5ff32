"""The real way: public logs of real models, real items, a real INT4 model."""

from __future__ import annotations

from pathlib import Path

import pytest

from mince_gui.app.freeze import freeze
from mince_gui.app.import_logs import ImportSummary, import_logs, look
from mince_gui.app.pack import pack
from mince_gui.app.reference import import_references, typed_in
from mince_gui.app.report import report
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.app.size import SizeQuestion, size
from mince_gui.base.errors import InputError, UsageError
from mince_gui.report import markdown_text

pytestmark = pytest.mark.shared
MODEL = "smollm2-135m-instruct-int4-cpu"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def imported(workspace: Path, shared: Path) -> ImportSummary:
    return import_logs(workspace, look([shared / "data" / "logs" / "lm_eval"]))


def test_every_real_log_is_imported_whole(imported: ImportSummary) -> None:
    counts: dict[str, int] = {}
    for log in imported.imported:
        counts[log.benchmark] = counts.get(log.benchmark, 0) + 1
        assert log.items == log.total_items
    assert counts == {"ifeval": 17, "gsm8k": 8, "mmlu": 2}
    assert imported.refused == ()


def test_importing_them_again_stores_nothing_new(workspace: Path, imported: ImportSummary, shared: Path) -> None:
    again = import_logs(workspace, look([shared / "data" / "logs" / "lm_eval"]), benchmark="gsm8k")
    assert [log.new for log in again.imported] == [False] * 8


def test_ifeval_needs_250_or_300_items_and_says_that_it_hangs_on_a_lump(
    workspace: Path, imported: ImportSummary
) -> None:
    result = size(workspace, SizeQuestion("ifeval")).to_json()
    at_250 = result["p95_pp"][result["sizes"].index(250)]
    assert 4.4 <= at_250 <= 4.8
    assert result["n_star"] in (250, 300)
    assert any("not firm" in warning for warning in result["warnings"])
    assert len(result["n_star_by_seed"]) == 20
    assert result["n_star_smooth"] == 250


def test_gsm8k_needs_exactly_400_items(workspace: Path, imported: ImportSummary) -> None:
    result = size(workspace, SizeQuestion("gsm8k", method="exact"))
    assert result.n_star == 400
    at = result.plan.sizes.index(400)
    assert 3.9 <= result.p95_pp[at] <= 4.1
    assert result.gain_pp[at] == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize(
    ("name", "n", "dataset", "metric"),
    [
        ("ifeval", 250, "ifeval/test.jsonl", "prompt_level_strict_acc"),
        ("gsm8k", 400, "gsm8k/test.jsonl", "exact_match,strict-match"),
        ("mmlu", 1500, "mmlu", "acc"),
    ],
)
def test_a_subset_is_frozen_packed_run_resumed_and_held_against_a_reference(
    workspace: Path, imported: ImportSummary, shared: Path, name: str, n: int, dataset: str, metric: str
) -> None:
    size(workspace, SizeQuestion(name, draws=500))
    frozen = freeze(workspace, name, n)
    assert frozen.subset.n == n
    assert frozen.subset.p95_pp is not None
    made = pack(workspace, shared / "data" / dataset, subset=frozen.subset.name)
    assert made.pack.unverified == ()
    order = RunOrder(shared / "models" / MODEL, frozen.subset.name, limit=2, max_new_tokens=12)
    if name == "mmlu":
        order = RunOrder(shared / "models" / MODEL, frozen.subset.name, limit=2)
    run_id = create(workspace, order)
    summary = execute(workspace, run_id)
    assert (summary.done, summary.missing, summary.cause) == (2, {}, "done")
    # Resuming a run that is done runs nothing and changes nothing.
    assert execute(workspace, run_id).scores == summary.scores
    typed_in(workspace, benchmark=name, model=MODEL, scores={metric: 41.0}, source="made up", precision="bf16")
    text = markdown_text(report(workspace, run_id).report)
    assert "2 of" in text
    assert "41.0 %" in text
    assert "drift +" not in text
    assert "drift -" not in text


def test_another_dataset_is_refused_with_the_item_named(
    workspace: Path, imported: ImportSummary, shared: Path, tmp_path: Path
) -> None:
    lines = (shared / "data" / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    other = tmp_path / "gsm8k.jsonl"
    other.write_text("\n".join([*lines[:-1], '{"question": "another one", "answer": "#### 1"}']), encoding="utf-8")
    size(workspace, SizeQuestion("gsm8k"))
    everything = freeze(workspace, "gsm8k", 1318, seed=3)
    assert "1318" in everything.subset.item_keys
    with pytest.raises(InputError, match="1318"):
        pack(workspace, other, subset=str(everything.path))


def test_a_full_log_becomes_a_reference_with_rows(workspace: Path, shared: Path) -> None:
    folder = shared / "data" / "logs" / "lm_eval" / "tora-70b-v1.0"
    (reference,) = import_references(workspace, folder, model=MODEL, precision="fp16")
    ratio = reference.metrics["exact_match,flexible-extract"]
    assert (ratio.passed, ratio.trials) == (1112, 1319)
    assert reference.rows is not None
    (aggregate,) = import_references(workspace, next(folder.glob("results_*.json")))
    assert aggregate.metrics["exact_match,flexible-extract"].percent == pytest.approx(ratio.percent)


def test_a_part_of_a_benchmark_is_no_reference(workspace: Path, shared: Path) -> None:
    folder = shared / "reference" / "lm_eval_runs" / "gsm8k_cot_zeroshot"
    with pytest.raises(InputError):
        import_references(workspace, folder)


def test_no_bound_is_invented_for_a_size_that_was_not_sized(workspace: Path, imported: ImportSummary) -> None:
    size(workspace, SizeQuestion("gsm8k"))
    assert freeze(workspace, "gsm8k", 123).subset.p95_pp is None
    with pytest.raises(UsageError):
        freeze(workspace, "gsm8k", 5000)
