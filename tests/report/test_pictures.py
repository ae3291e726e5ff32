"""Pictures: what they show, and that no label leaves the picture or lies on another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.report import Reference, Report, RunData, build
from mince_gui.report.documents.charts import fitted, width_of
from mince_gui.report.documents.drawing import Axis, Circle, Drawing, Line, Rect, Text, ticks
from mince_gui.report.documents.page import Figure
from mince_gui.report.documents.pictures import (
    curve_picture,
    drift_picture,
    latency_picture,
    running_picture,
    scores_picture,
)
from mince_gui.report.documents.pictures_parts import paired_picture, split_picture
from mince_gui.report.documents.report_page import report_page
from mince_gui.report.model import Curve, Histogram, Split
from tests.report.made_reports import with_everything

MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]
Box = tuple[float, float, float, float]


@pytest.fixture
def rich(make_run: MakeRun, make_own: MakeReference, make_other: MakeReference) -> Report:
    return with_everything(build(make_run(), own_full=make_own(), other=make_other()))


def box(text: Text) -> Box:
    """Where the text stands: left, top, right, bottom. Small text takes 12 of 13 pixels."""
    width = width_of(text.words) * (12 / 13 if text.look in ("tick", "axis") else 1)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return left, text.y - 10, left + width, text.y + 3


def faults(drawing: Drawing) -> list[str]:
    """Labels that leave the picture or lie on one another."""
    boxes = [(shape.words, box(shape)) for shape in drawing.shapes if isinstance(shape, Text)]
    found = [
        f"'{words}' leaves the picture"
        for words, (left, top, right, bottom) in boxes
        if left < 0 or top < 0 or right > drawing.width or bottom > drawing.height
    ]
    for place, (words, (left, top, right, bottom)) in enumerate(boxes):
        for other, (l2, t2, r2, b2) in boxes[place + 1 :]:
            if left < r2 and l2 < right and top < b2 and t2 < bottom:
                found.append(f"'{words}' lies on '{other}'")
    return found


def figures(report: Report) -> list[Figure]:
    return [block for block in report_page(report).blocks if isinstance(block, Figure)]


def test_a_whole_report_has_every_picture(rich: Report) -> None:
    assert [figure.drawing.title for figure in figures(rich)] == [
        "Drift of each metric beside the bound", "Scores with the interval of the projected full score",
        "What the total gap is made of", "Paired deltas to Phi-4-mini-instruct BF16 on GPU",
        "Paired deltas to Phi-4-mini-instruct INT4 on CPU", "How times and rates are spread over the items",
        "Running score of prompt loose", "P95 curve of the sizing",
    ]  # fmt: skip


def test_no_label_leaves_its_picture_or_lies_on_another(rich: Report) -> None:
    assert {figure.drawing.title: faults(figure.drawing) for figure in figures(rich) if faults(figure.drawing)} == {}


@pytest.mark.parametrize(
    "title", ["exact_match,strict-match of a very long task", "WWWWWWWWWWWWWWWWWWWWWW", "東京" * 20]
)
def test_long_names_of_metrics_are_cut_to_fit(rich: Report, title: str) -> None:
    metrics = tuple(replace(metric, title=title) for metric in rich.metrics)
    drawn = (drift_picture(replace(rich, metrics=metrics)), scores_picture(replace(rich, metrics=metrics)))
    for figure in drawn:
        assert figure is not None
        assert faults(figure.drawing) == []
        assert any(isinstance(shape, Text) and shape.words.endswith("…") for shape in figure.drawing.shapes)


@pytest.mark.parametrize(("n_star", "wanted"), [(250, 250), (50, 14_042), (14_042, 50), (13_900, 14_042), (None, 3)])
def test_n_star_and_the_size_of_the_subset_are_readable_wherever_they_lie(
    rich: Report, n_star: int | None, wanted: int
) -> None:
    curve = Curve((3, 50, 700, 14_042), (60.0, 22.5, 4.0, 0.0), n_star, 1.0, "joint", 17, 0.95)
    figure = curve_picture(replace(rich, curve=curve, coverage=replace(rich.coverage, wanted=wanted)))
    assert figure is not None
    assert faults(figure.drawing) == []
    shown = [shape.words for shape in figure.drawing.shapes if isinstance(shape, Text)]
    assert [words for words in shown if words.startswith("n* = ")] == ([] if n_star is None else [f"n* = {n_star:,}"])


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=4), st.floats(0.01, 60))
def test_drift_of_any_size_is_drawn_inside_the_picture(drifts: list[float], bound: float) -> None:
    report = _TEMPLATE[0]
    metrics = tuple(
        replace(metric, drift_pp=drift, bound_pp=bound, verdict="outside" if abs(drift) > bound else "inside")
        for metric, drift in zip(report.metrics, drifts, strict=False)
    )
    figure = drift_picture(replace(report, metrics=metrics))
    assert figure is not None
    assert faults(figure.drawing) == []
    dots = [shape for shape in figure.drawing.shapes if isinstance(shape, Circle)]
    assert [dot.look for dot in dots] == ["dot bad" if abs(d) > bound else "dot good" for d in drifts]
    assert all(0 < dot.x < figure.drawing.width for dot in dots)


_TEMPLATE: list[Report] = []


@pytest.fixture(autouse=True)
def _template(rich: Report) -> None:
    """Hypothesis takes no fixtures that change; this one never does."""
    _TEMPLATE[:] = [rich]


def test_the_waterfall_ends_where_the_total_gap_ends(rich: Report) -> None:
    figure = split_picture(rich.split)
    assert figure is not None
    bars = [shape for shape in figure.drawing.shapes if isinstance(shape, Rect)]
    assert len(bars) == 4 * len(rich.split.sums)
    for first in range(0, len(bars), 4):
        sampling, quantised, hardware, total = bars[first : first + 4]
        assert (sampling.look, quantised.look, total.look) == ("bar up", "bar down", "bar total")
        assert sampling.x + sampling.width == pytest.approx(quantised.x + quantised.width)
        end = hardware.x if hardware.look == "bar down" else hardware.x + hardware.width
        assert end == pytest.approx(total.x if rich.split.sums[first // 4].total_pp < 0 else total.x + total.width)
    assert split_picture(Split(rich.split.lines, ())) is None


def test_a_delta_whose_interval_holds_zero_is_hollow(rich: Report) -> None:
    figure = paired_picture(rich.paired[0])
    assert figure is not None
    dots = [shape.look for shape in figure.drawing.shapes if isinstance(shape, Circle)]
    assert dots == ["dot good", "dot open", "dot open", "dot good"]
    no_interval = tuple(replace(metric, interval=None) for metric in rich.paired[0].metrics)
    figure = paired_picture(replace(rich.paired[0], metrics=no_interval))
    assert figure is not None
    assert {shape.look for shape in figure.drawing.shapes if isinstance(shape, Circle)} == {"dot open"}
    assert paired_picture(replace(rich.paired[0], metrics=())) is None


def test_bars_of_the_latency_stand_for_the_counts(rich: Report) -> None:
    found = Histogram("decode rate", "tok/s", (0.0, 10.0, 20.0), (5, 20))
    figure = latency_picture(replace(rich, histograms=(found,)))
    assert figure is not None
    low, high = (shape.height for shape in figure.drawing.shapes if isinstance(shape, Rect))
    assert high == pytest.approx(4 * low)
    assert latency_picture(replace(rich, histograms=())) is None
    assert latency_picture(replace(rich, histograms=(replace(found, counts=(0, 0)),))) is None


@pytest.mark.parametrize(("top", "unit"), [(0.04, "ms"), (0.9, "ms"), (40.0, "s"), (4_000.0, "min")])
def test_times_are_shown_in_a_unit_that_keeps_numbers_short(rich: Report, top: float, unit: str) -> None:
    found = Histogram("wall clock per item", "s", (0.0, top / 2, top), (50_000, 20))
    figure = latency_picture(replace(rich, histograms=(found,)))
    assert figure is not None
    assert unit in [shape.words for shape in figure.drawing.shapes if isinstance(shape, Text)]
    assert faults(figure.drawing) == []


def test_the_median_lies_in_the_picture_of_its_quantity(rich: Report) -> None:
    figure = latency_picture(rich)
    assert figure is not None
    lines = [shape for shape in figure.drawing.shapes if isinstance(shape, Line) and shape.look == "reference"]
    assert len(lines) == 3


def test_pictures_without_numbers_are_left_out(make_run: MakeRun) -> None:
    untimed = {
        "item_seconds": (),
        "first_token_seconds": (),
        "decode_rates": (),
        "prefill_rates": (),
        "prefill_seconds": (),
    }
    run = make_run(rows={}, evidence={}, bound_pp=None, **untimed)
    assert figures(build(run, own_full=None, other=None)) == []
    assert running_picture(build(run, own_full=None, other=None)) is None


@given(st.text(max_size=60), st.floats(20, 300))
def test_fitted_words_fit(words: str, pixels: float) -> None:
    assert width_of(fitted(words, pixels)) <= pixels


@pytest.mark.parametrize(("low", "high"), [(0.0, 100.0), (-5.52, 5.52), (59.3, 79.1), (0.0, 13.64), (3.0, 3.0)])
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 8
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)


def test_an_axis_of_one_value_has_a_place_for_it() -> None:
    assert Axis(3.0, 3.0, 10.0, 90.0).at(3.0) == 10.0
