"""One model's runs over time, and the documents of histories and comparisons."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from mince_gui.report.comparison.building import HeldRun, build_comparison
from mince_gui.report.comparison.model import Comparison, History
from mince_gui.report.comparison.page import comparison_page
from mince_gui.report.documents.drawing import Circle
from mince_gui.report.documents.html import page_html
from mince_gui.report.documents.markdown import page_markdown
from mince_gui.report.documents.page import Figure, Heading, Page, Paragraph, Table
from mince_gui.report.documents.pdf import page_pdf
from tests.report.conftest import MakeReference, MakeRun, Rows, ifeval_rows, subset_keys

HEADLINE = "prompt_level_strict_acc"
DRIVERS = ("32.0.203.280", "32.0.203.314", "32.0.203.376")
HOSTILE = '<img src=x onerror="alert(1)">'


def one(make_run: MakeRun, place: int, **fields: object) -> HeldRun:
    """A run of another driver and release each time, with answers of its own."""
    rows: Rows = ifeval_rows(seed=40 + place)
    base = make_run()
    conditions = {
        **base.conditions, "device": "NPU (RyzenAI)", "device_proven": True, "task": "ifeval", "machine": "laptop-a",
        "machine_state": {"npu_driver": DRIVERS[place % 3]}, "oga_version": ("0.9.2", "0.11.2", "0.14.0")[place % 3],
        "distribution": "onnxruntime-genai-directml-ryzenai", "model_sha256": f"{place}" * 64,
    }  # fmt: skip
    run = replace(
        base, run_id=f"run-{place}", precision="int4", rows={key: rows[key] for key in subset_keys()},
        created=f"2026-10-0{place + 1}T12:00:00+00:00", conditions=conditions,
    )  # fmt: skip
    return HeldRun(replace(run, **fields))  # type: ignore[arg-type]  # what a test replaces


@pytest.fixture
def three(make_run: MakeRun) -> list[HeldRun]:
    return [one(make_run, place) for place in range(3)]


def only(comparison: Comparison) -> History:
    (history,) = comparison.histories
    return history


def cells(held: HeldRun, keys: tuple[str, ...], metric: str = HEADLINE) -> np.ndarray:
    return np.array([held.data.rows[key][metric] for key in keys])


def test_builds_of_three_releases_are_one_history_in_the_order_of_time(three: list[HeldRun]) -> None:
    history = only(build_comparison(three[::-1]))
    assert [point.run_id for point in history.points] == ["run-0", "run-1", "run-2"]
    assert (history.device_kind, history.precision, history.metric) == ("NPU", "int4", HEADLINE)


def test_each_run_is_held_against_the_one_before_and_the_first_on_the_same_items(three: list[HeldRun]) -> None:
    part = dict(list(three[1].data.rows.items())[:180])
    runs = [three[0], replace(three[1], data=replace(three[1].data, rows=part)), three[2]]
    history = only(build_comparison(runs))
    assert [(m.to_previous, m.to_first) for m in history.points[0].metrics] == [(None, None)] * 4
    for place, (earlier, name) in ((1, (0, "to_previous")), (2, (1, "to_previous")), (2, (0, "to_first"))):
        for metric in history.points[place].metrics:
            keys = tuple(k for k in subset_keys() if k in runs[place].data.rows and k in runs[earlier].data.rows)
            mine, theirs = cells(runs[place], keys, metric.name), cells(runs[earlier], keys, metric.name)
            change = getattr(metric, name)
            assert change.against == f"run-{earlier}"
            assert change.items == len(keys)
            shares = mine[:, 0].sum() / mine[:, 1].sum() - theirs[:, 0].sum() / theirs[:, 1].sum()
            assert change.pp == pytest.approx(100 * shares)
            better = mine[:, 0] / mine[:, 1] - theirs[:, 0] / theirs[:, 1]
            assert (change.gained, change.lost) == (int((better > 0).sum()), int((better < 0).sum()))
            if metric.name.startswith("prompt"):
                changed = change.gained + change.lost
                expected = stats.binomtest(change.gained, changed, 0.5).pvalue
                assert change.p_value == pytest.approx(expected)
            else:
                assert change.p_value is None


def test_the_last_two_runs_are_set_side_by_side_unless_two_are_named(three: list[HeldRun]) -> None:
    last = only(build_comparison(three)).pairing
    named = only(build_comparison(three, pair=("run-2", "run-0"))).pairing
    assert last is not None
    assert (last.run_id, last.paired.ident) == ("run-2", "run-1")
    assert named is not None
    assert (named.run_id, named.paired.ident) == ("run-0", "run-2")


def test_other_devices_other_subsets_and_single_runs_make_no_history(make_run: MakeRun, three: list[HeldRun]) -> None:
    cpu = {**three[1].data.conditions, "device": "CPU"}
    keys = subset_keys()[:100]
    smaller = {key: three[2].data.rows[key] for key in keys}
    runs = [three[0], one(make_run, 1, conditions=cpu), one(make_run, 2, subset_keys=keys, rows=smaller)]
    assert build_comparison(runs).histories == ()


def texts(page: Page) -> list[str]:
    """Every text of the page that is not in a picture."""
    found = [page.title, page.head, page.foot]
    for block in page.blocks:
        if isinstance(block, Table):
            found += [text for row in block.rows for cell in row for text in (cell.text, cell.note)]
        elif isinstance(block, Paragraph | Heading):
            found.append(block.text)
    return found


def test_the_history_tells_driver_release_score_with_coverage_change_and_speed(three: list[HeldRun]) -> None:
    comparison = build_comparison(three, history_of="run-1")
    page = comparison_page(comparison)
    table = next(block for block in page.blocks if isinstance(block, Table))
    assert len(table.rows) == 3
    for row, driver, release in zip(table.rows, DRIVERS, ("1.6", "1.7", "1.8"), strict=True):
        told = " ".join(f"{cell.text} {cell.note}" for cell in row)
        assert driver in told
        assert f"Ryzen AI {release}" in told
        assert "250 of 250 items" in told
        assert "tok/s" in told
    assert "p " in table.rows[2][4].note
    assert [type(block) for block in page.blocks].count(Figure) >= 1


def test_no_score_in_a_table_stands_without_its_coverage(three: list[HeldRun]) -> None:
    part = replace(three[1].data, rows=dict(list(three[1].data.rows.items())[:77]))
    page = comparison_page(build_comparison([three[0], HeldRun(part), three[2]], baseline="run-0"))
    scores = [
        cell
        for block in page.blocks
        if isinstance(block, Table)
        for row in block.rows
        for cell in row
        if cell.text.endswith(" %") and " to " not in cell.text
    ]
    assert len(scores) > 20
    assert all(" of 250 items" in cell.note for cell in scores)
    assert any("77 of 250 items" in cell.note for cell in scores)


def test_names_from_outside_cannot_become_markup(make_run: MakeRun) -> None:
    runs = [one(make_run, place, model=f"{HOSTILE}{place}", subset_name=HOSTILE) for place in range(4)]
    page = comparison_page(build_comparison(runs, baseline="run-0", left_out={HOSTILE: "it has no finished item"}))
    html = page_html(page)
    assert "<img" not in html
    assert "&lt;img" in html
    assert HOSTILE not in page_markdown(page)


def test_a_fleet_with_many_histories_keeps_to_their_tables(make_run: MakeRun) -> None:
    runs = []
    for model in "abcd":
        for place in (0, 1):
            run = one(make_run, place, run_id=f"{model}-{place}", model=model).data
            runs.append(HeldRun(replace(run, conditions={**run.conditions, "model_sha256": model * 64})))
    page = comparison_page(build_comparison(runs))
    assert any("mince report --history RUN" in text for text in texts(page))
    figures = [block.caption for block in page.blocks if isinstance(block, Figure)]
    assert not any("run by run" in caption for caption in figures)


def test_a_single_run_makes_a_page_without_pictures(three: list[HeldRun]) -> None:
    page = comparison_page(build_comparison(three[:1]))
    assert not any(isinstance(block, Figure) for block in page.blocks)
    assert page.title == "Comparison: 1 run, 1 model, 1 device, 1 benchmark"


def test_a_test_that_stands_in_several_places_is_counted_once(three: list[HeldRun]) -> None:
    # Run 0 with 1 and with 2 as named pairs, and in the history to the run before, to the first run, side by side.
    comparison = build_comparison(three, baseline="run-0")
    pairs, pass_or_fail = 3, 2
    (caution,) = [c for c in comparison.cautions if c.kind == "many comparisons"]
    assert caution.words.startswith(f"{pairs * pass_or_fail} differences are tested here.")
    two = comparison_page(build_comparison(three[:2], baseline="run-0"))
    leads = [block.lead for block in two.blocks if isinstance(block, Paragraph) and " minus run " in block.lead]
    assert len(leads) == 1


def test_the_whole_benchmark_has_no_interval_and_a_part_of_it_is_drawn_hollow(make_run: MakeRun) -> None:
    rows = ifeval_rows(seed=7)
    whole = {"subset_keys": tuple(rows), "rows": rows, "sampler": "full"}
    runs = [one(make_run, place, **whole) for place in range(2)]
    part = replace(one(make_run, 2, **whole).data, rows=dict(list(rows.items())[:99]))
    page = comparison_page(build_comparison([*runs, HeldRun(part)], history_of="run-0"))
    table = next(block for block in page.blocks if isinstance(block, Table))
    notes = [row[3].note for row in table.rows]
    assert notes[:2] == ["541 of 541 items"] * 2
    assert notes[2].startswith("99 of 541 items; ")
    figure = next(block for block in page.blocks if isinstance(block, Figure))
    looks = [shape.look for shape in figure.drawing.shapes if isinstance(shape, Circle)]
    assert looks[:3] == ["dot good", "dot good", "dot open"]


def test_the_run_numbers_of_a_ticket_are_told_in_it(three: list[HeldRun]) -> None:
    ticket = page_markdown(comparison_page(build_comparison(three)))
    for number, run in enumerate(build_comparison(three).runs, 1):
        assert re.search(rf"^\| {number} \| {run.run_id} \|", ticket, re.MULTILINE)


def test_sixty_models_fit_on_paper(make_run: MakeRun, make_own: MakeReference) -> None:
    runs = []
    for place in range(60):
        data = one(make_run, place % 3, run_id=f"run-{place:02d}", model=f"model-{place:02d}").data
        sha = {"model_sha256": f"{place:064d}"}
        runs.append(
            HeldRun(replace(data, conditions={**data.conditions, **sha}), make_own(rows=ifeval_rows(seed=place)))
        )
    page = comparison_page(build_comparison(runs))
    assert page_pdf(page).startswith(b"%PDF")
    assert any("The first 36 of 60 runs" in block.caption for block in page.blocks if isinstance(block, Figure))
