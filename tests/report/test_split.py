from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.report import Ratio, Reference, RunData, build
from mince_gui.report.answers import Answers
from mince_gui.report.model import Split, SplitLine
from mince_gui.report.paired_intervals import counts_interval
from mince_gui.report.scores import metric_facts
from mince_gui.report.split import split_of
from mince_gui.report.types import Side

MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]
Rows = dict[str, dict[str, tuple[float, float]]]
RowsRead = Mapping[str, Mapping[str, tuple[float, float]]]

TOTAL = 200
KEYS = tuple(str(place) for place in range(0, TOTAL, 2))
CPU = {"device": "CPU"}
NPU = {"device": "NPU (RyzenAI)", "device_proven": True}
MODEL = "Phi-4-mini-instruct"


def rows_of(seed: int, share: float, total: int = TOTAL) -> Rows:
    right = np.random.default_rng(seed).random(total) < share
    return {str(place): {"acc": (float(right[place]), 1.0)} for place in range(total)}


def side(ident: str, precision: str, device: str, rows: Rows, **fields: Any) -> Side:
    return Side(ident, "run", "our-task", MODEL, precision, device, rows, **fields)


UNQUANTISED = side("bf16", "bf16", "", rows_of(1, 0.7))
ON_CPU = side("int4-cpu", "int4", "CPU", {key: row for key, row in rows_of(2, 0.66).items() if key in KEYS})


@pytest.fixture
def npu_run(make_run: MakeRun) -> RunData:
    rows = rows_of(3, 0.6)
    return replace(
        make_run(), benchmark="our-task", model=MODEL, precision="int4", subset_keys=KEYS, total_items=TOTAL,
        rows={key: rows[key] for key in KEYS}, categories={}, conditions=NPU,
    )  # fmt: skip


def split(run: RunData, *sides: Side) -> Split:
    return split_of(run, (), metric_facts(run, ()), None, sides)


def line(found: Split, part: str) -> SplitLine:
    return next(line for line in found.lines if line.part == part)


def score(rows: RowsRead, keys: tuple[str, ...] = KEYS) -> float:
    return 100 * sum(rows[key]["acc"][0] for key in keys) / len(keys)


def test_an_npu_run_with_both_others_has_every_part(npu_run: RunData) -> None:
    found = split(npu_run, UNQUANTISED, ON_CPU)
    assert [entry.part for entry in found.lines] == ["sampling drift", "quantisation delta", "hardware delta"]
    (quantisation,) = line(found, "quantisation delta").values
    (hardware,) = line(found, "hardware delta").values
    base, cpu = UNQUANTISED.rows, ON_CPU.rows
    assert quantisation.pp == pytest.approx(score(cpu) - score(base))
    assert hardware.pp == pytest.approx(score(npu_run.rows) - score(cpu))
    assert (quantisation.items, hardware.items) == (100, 100)
    better = sum(npu_run.rows[key]["acc"] > cpu[key]["acc"] for key in KEYS)
    worse = sum(npu_run.rows[key]["acc"] < cpu[key]["acc"] for key in KEYS)
    assert hardware.interval is not None
    assert (hardware.interval.low, hardware.interval.high) == counts_interval(better, worse, 100, TOTAL)
    assert line(found, "hardware delta").of == (
        "Phi-4-mini-instruct INT4 on NPU (RyzenAI), proven minus Phi-4-mini-instruct INT4 on CPU, on the same items"
    )
    assert " pp (" in line(found, "hardware delta").words


def test_the_parts_of_the_sum_are_what_it_is_made_of(npu_run: RunData) -> None:
    (total,) = split(npu_run, UNQUANTISED, ON_CPU).sums
    base = UNQUANTISED.rows
    whole = 100 * sum(row["acc"][0] for row in base.values()) / TOTAL
    assert [part for part, _ in total.parts] == ["sampling drift", "quantisation delta", "hardware delta"]
    assert total.total_pp == pytest.approx(100 * sum(r["acc"][0] for r in npu_run.rows.values()) / 100 - whole)
    assert dict(total.parts)["sampling drift"] == pytest.approx(
        100 * sum(base[key]["acc"][0] for key in KEYS) / 100 - whole
    )


cells = st.sampled_from([(0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (3.0, 3.0), (0.0, 2.0), (0.25, 1.0)])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(cells, cells, cells), min_size=2, max_size=40), st.integers(1, 39), st.booleans())
def test_the_parts_add_up_to_the_total_gap(
    items: list[tuple[tuple[float, float], ...]], n: int, with_cpu: bool
) -> None:
    keys = tuple(str(place) for place in range(len(items)))
    some = keys[: min(n, len(keys) - 1)]
    bases, cpus, npus = ({key: {"m": cells[i]} for key, cells in zip(keys, items, strict=True)} for i in range(3))
    run = RunData(
        run_id="r", benchmark="our-task", model=MODEL, subset_name="s", subset_keys=some, total_items=len(keys),
        bound_pp=None, rows={key: npus[key] for key in some}, categories={}, wall_seconds=None, item_seconds=(),
        first_token_seconds=(), prefill_rates=(), decode_rates=(), missing={}, conditions=NPU, created="", ended="",
        device_key="", precision="int4",
    )  # fmt: skip
    sides = [side("bf16", "bf16", "", bases), *([side("cpu", "int4", "CPU", cpus)] if with_cpu else [])]
    found = split(run, *sides)
    (total,) = found.sums
    assert len(total.parts) == (3 if with_cpu else 2)
    assert sum(value for _, value in total.parts) == pytest.approx(total.total_pp, abs=1e-9)
    # The lines are of the same items as the sum.
    for part, value in total.parts[1:]:
        assert line(found, part).values[0].pp == pytest.approx(value, abs=1e-9)


def test_without_the_cpu_run_both_are_told_together_and_the_missing_run_is_named(npu_run: RunData) -> None:
    found = split(npu_run, UNQUANTISED)
    (together,) = line(found, "quantisation and hardware together").values
    assert together.items == 100
    for part in ("quantisation delta", "hardware delta"):
        entry = line(found, part)
        assert entry.values == ()
        assert entry.words.startswith("cannot be separated: a run of the INT4 model on the CPU is missing")
        assert "Run this subset with a CPU build" in entry.words
        assert "both together" in entry.words
    assert [part for part, _ in found.sums[0].parts] == ["sampling drift", "quantisation and hardware together"]


def test_without_the_unquantised_model_it_is_asked_for(npu_run: RunData) -> None:
    found = split(npu_run, ON_CPU)
    words = line(found, "quantisation delta").words
    assert words.startswith("cannot be separated: outcomes per item of the unquantised phi-4-mini-instruct")
    assert "Import its per-item log, or run it on this subset" in words
    assert line(found, "hardware delta").values
    assert found.sums == ()


def test_alone_nothing_is_separated_and_every_missing_run_is_named(npu_run: RunData) -> None:
    found = split(npu_run)
    assert all(entry.values == () for entry in found.lines)
    assert all(entry.words.startswith("cannot be separated") for entry in found.lines)
    assert "unquantised" in line(found, "quantisation delta").words
    assert "on the CPU is missing" in line(found, "quantisation delta").words


def test_a_cpu_run_has_no_hardware_delta(npu_run: RunData) -> None:
    found = split(replace(npu_run, conditions=CPU), UNQUANTISED, ON_CPU)
    hardware = line(found, "hardware delta")
    assert (hardware.values, hardware.words) == ((), "not part of this run: it ran on the CPU")
    (quantisation,) = line(found, "quantisation delta").values
    # The run itself is the quantised side, whatever other CPU runs there are.
    assert quantisation.pp == pytest.approx(score(npu_run.rows) - score(UNQUANTISED.rows))
    assert [part for part, _ in found.sums[0].parts] == ["sampling drift", "quantisation delta"]


def test_a_run_of_the_unquantised_model_has_neither(npu_run: RunData) -> None:
    found = split(replace(npu_run, precision="bf16", conditions=CPU), ON_CPU)
    assert line(found, "quantisation delta").words == "not part of this run: its model is not quantised"
    assert line(found, "hardware delta").words == "not part of this run: it ran on the CPU"
    assert found.sums == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"precision": ""}, "the precision of this run's model is not known"),
     ({"conditions": {}}, "the device of this run is not known")],
)  # fmt: skip
def test_what_is_not_known_of_the_run_is_said(npu_run: RunData, fields: dict[str, Any], words: str) -> None:
    found = split(replace(npu_run, **fields), UNQUANTISED, ON_CPU)
    assert words in line(found, "quantisation delta").words
    assert line(found, "quantisation delta").values == ()
    assert found.sums == ()


def test_an_unproven_device_is_said_beside_the_hardware_delta(npu_run: RunData) -> None:
    unproven = replace(npu_run, conditions={"device": "NPU (RyzenAI)", "device_proven": False})
    assert "where it ran is not proven: Phi-4-mini-instruct INT4 on NPU" in line(
        split(unproven, ON_CPU), "hardware delta"
    ).words  # fmt: skip
    fallen_back = replace(npu_run, conditions={"device": "CPU", "device_proven": False})
    assert "CPU, not proven" in line(split(fallen_back), "hardware delta").words


def test_what_else_differs_is_said_beside_the_delta(npu_run: RunData) -> None:
    asked = replace(npu_run, prompts=dict.fromkeys(KEYS, "a"))
    otherwise = replace(ON_CPU, prompts=dict.fromkeys(KEYS, "b"), asked={"token budget": "16"})
    assert "The prompts differ in 100 of 100 items" in line(split(asked, otherwise), "hardware delta").words
    budgeted = replace(npu_run, answers=Answers(budget=48))
    assert (
        "The token budget differs: 48 here, 16 in int4-cpu" in line(split(budgeted, otherwise), "hardware delta").words
    )
    assert "differ" not in line(split(asked, ON_CPU), "hardware delta").words


def test_other_models_and_other_precisions_fill_no_slot(npu_run: RunData) -> None:
    found = split(
        npu_run, replace(UNQUANTISED, model="Qwen3-8B"), replace(ON_CPU, model="Qwen3-8B"),
        replace(ON_CPU, precision="int8"),
    )  # fmt: skip
    assert all(entry.values == () for entry in found.lines)


def test_of_several_sides_the_one_with_most_items_then_the_newest_is_taken(npu_run: RunData) -> None:
    few = replace(ON_CPU, ident="few", rows={key: ON_CPU.rows[key] for key in KEYS[:50]}, date="2026-12-01")
    old = replace(ON_CPU, ident="old", rows=rows_of(9, 0.1), date="2026-01-01")
    new = replace(ON_CPU, ident="new", date="2026-06-01")
    (hardware,) = line(split(npu_run, few, new, old), "hardware delta").values
    assert hardware == line(split(npu_run, ON_CPU), "hardware delta").values[0]


def test_a_side_with_part_of_the_items_gives_a_delta_of_them_and_no_sum(npu_run: RunData) -> None:
    part = replace(ON_CPU, rows={key: ON_CPU.rows[key] for key in KEYS[:60]})
    found = split(npu_run, UNQUANTISED, part)
    assert "(on 60 of 100 items)" in line(found, "hardware delta").words
    assert line(found, "hardware delta").values[0].items == 60
    assert found.sums == ()


def test_an_unquantised_log_of_a_part_of_the_benchmark_makes_no_sum(npu_run: RunData) -> None:
    subset_only = replace(UNQUANTISED, rows={key: UNQUANTISED.rows[key] for key in KEYS})
    found = split(npu_run, subset_only, ON_CPU)
    assert line(found, "quantisation delta").values
    assert found.sums == ()


def test_sampling_drift_is_certain_and_names_whose_scores_it_is_made_of(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    report = build(make_run(), own_full=make_own(), other=None)
    sampling = line(report.split, "sampling drift")
    assert [value.pp for value in sampling.values] == [metric.drift_pp for metric in report.metrics]
    for value in sampling.values:
        assert value.interval is not None
        assert value.interval.low == value.interval.high == value.pp
        assert value.interval.method == "whole benchmark"
    assert sampling.words.endswith("against this model's own full run")
    assert sampling.of == (
        "this model's score on the subset minus its score on the whole benchmark, both from run full-1"
    )


def test_sampling_drift_without_rows_is_of_two_runs(make_run: MakeRun, make_own: MakeReference) -> None:
    own = make_own(rows=None, metrics={"prompt_level_strict_acc": Ratio(300, 541, 541)})
    sampling = line(build(make_run(), own_full=own, other=None).split, "sampling drift")
    assert sampling.of == "this run's score on the subset minus the full score of run full-1"


def test_a_full_run_has_no_sampling_drift(make_run: MakeRun, make_own: MakeReference) -> None:
    own = make_own()
    assert own.rows is not None
    report = build(make_run(subset_keys=tuple(own.rows), rows=own.rows), own_full=None, other=None)
    assert line(report.split, "sampling drift").words == "none: the whole benchmark was run"
