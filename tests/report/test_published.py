from __future__ import annotations

import json
from pathlib import Path

import pytest

from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report.published import published
from mince_gui.report.types import Reference


def _score(benchmark: str, model: str, metric: str) -> float:
    (found,) = (r for r in published(benchmark) if r.model == model)
    return found.metrics[metric].percent


def test_seven_models_of_three_benchmarks_are_there_and_say_what_they_are() -> None:
    assert len(published()) == 21
    assert len({r.reference_id for r in published()}) == 21
    assert "published-mince-ifeval-llama-3.1-8b-instruct" in {r.reference_id for r in published()}
    for reference in published():
        assert reference.kind == "published"
        assert (reference.precision, reference.device, reference.task, reference.rows) == ("bf16", "GPU", "", None)
        assert "Das et al." in reference.source
        assert "published aggregates" in reference.note
        known = BENCHMARKS[reference.benchmark]
        assert set(reference.metrics) <= {metric.name for metric in known.metrics}
        assert {ratio.items for ratio in reference.metrics.values()} == {known.total_items}


def test_what_the_paper_leaves_open_is_a_caution() -> None:
    assert all("filter" in reference.warnings[0] for reference in published("gsm8k"))
    assert not any(reference.warnings for reference in published("mmlu"))


@pytest.mark.shared
def test_the_figures_are_those_of_the_papers_tables(shared: Path) -> None:
    tables = json.loads((shared / "reference" / "paper_tables.json").read_text(encoding="utf-8"))
    first, sixth = tables["table1"], tables["table6_ifeval"]
    for place, model in enumerate(tables["models"]):
        assert _score("mmlu", model, "acc") == first["mmlu"]["full"][place]
        assert _score("gsm8k", model, "exact_match,flexible-extract") == first["gsm8k"]["full"][place]
        assert _score("ifeval", model, "inst_level_strict_acc") == first["ifeval_inst_strict"]["full"][place]
        for metric in ("prompt_strict", "prompt_loose", "inst_loose"):
            level, _, way = metric.partition("_")
            full = sixth["subset"][metric][place] - sixth["delta"][metric][place]
            assert _score("ifeval", model, f"{level}_level_{way}_acc") == pytest.approx(full, abs=1e-9)
    for name, items in tables["settings"]["total_items"].items():
        assert {ratio.items for r in published(name) for ratio in r.metrics.values()} == {items}
        assert {r.few_shot for r in published(name)} == {tables["settings"]["fewshot"][name]}


def test_every_figure_is_a_score_of_that_many_items() -> None:
    """Rounded to two digits, some whole number of items (of instructions: 834) must give it."""

    def nearest(percent: float, of: int) -> float:
        return abs(100.0 * round(percent * of / 100.0) / of - percent)

    def parts(reference: Reference, metric: str) -> int:
        return 834 if metric.startswith("inst_") else reference.metrics[metric].items

    for reference in published():
        for metric, ratio in reference.metrics.items():
            # A score that was computed from two rounded figures may be one in the last digit off.
            assert nearest(ratio.percent, parts(reference, metric)) <= 0.0101
