"""Sizing: preview at once, draws, tau by the line, freeze."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from mince_gui.app.freeze import freeze
from mince_gui.app.size import SizeQuestion, ask, size
from mince_gui.base.errors import UsageError
from mince_gui.report import format as fmt
from mince_gui.sizing import n_star
from mince_gui.ui import reads
from mince_gui.ui.pages.freeze_dialog import FreezeDialog, Wish
from mince_gui.ui.pages.sizing import SizingPage
from mince_gui.ui.pages.sizing_view import describe
from mince_gui.ui.pages.subsets import SubsetsPage
from mince_gui.ui.widgets import Debounce
from mince_gui.ui.window import Window
from tests.ui.conftest import quiet


@pytest.fixture
def page(qtbot: QtBot, sized_workspace: Path, open_window: Callable[..., Window]) -> SizingPage:
    window = open_window(sized_workspace, "sizing")
    quiet(qtbot, window)
    made = window.page("sizing")
    assert isinstance(made, SizingPage)
    return made


def _draw(qtbot: QtBot, page: SizingPage) -> None:
    page.draw_button.click()
    qtbot.waitUntil(lambda: page.result is not None, timeout=60_000)
    window = page.window()
    assert isinstance(window, Window)
    quiet(qtbot, window)


def test_the_closed_form_is_there_before_anything_is_drawn(page: SizingPage) -> None:
    assert page.result is None
    assert page.view.n_star is None
    assert [point.n for point in page.view.model.rows] == list(range(100, 1_319, 100))
    assert all(point.p95_pp > 0 for point in page.view.model.rows)


def test_unticking_the_model_nearest_half_lowers_the_preview(qtbot: QtBot, page: SizingPage) -> None:
    before = page.view.model.rows[0].p95_pp
    page.members.set_ticks(lambda member: member[0] == "lab/the-large")
    qtbot.waitUntil(lambda: page.view.model.rows[0].p95_pp < before)
    assert page.question().models == ("lab/the-large",)


def test_a_drawn_result_shows_n_star_and_is_kept(qtbot: QtBot, page: SizingPage, sized_workspace: Path) -> None:
    _draw(qtbot, page)
    assert page.result is not None
    assert page.view.n_star == page.result.n_star is not None
    assert f"n* {page.result.n_star:,} of 1,319" in page.view.line.text()
    assert [point.mark for point in page.view.model.rows if point.n == page.result.n_star] == ["n*"]
    kept = reads.pool(sized_workspace, "gsm8k").sizing
    assert kept is not None
    assert kept.p95_pp == page.result.p95_pp


def test_dragging_tau_moves_n_star_without_drawing_again(qtbot: QtBot, page: SizingPage) -> None:
    _draw(qtbot, page)
    result = page.result
    assert result is not None
    seen = set()
    for tau in (0.3, 0.6, 1.2, 2.4):
        page.view.gain.tau_line.setValue(tau)
        assert page.tau.value() == pytest.approx(tau, abs=0.005)
        wanted = n_star(result.plan.sizes, result.p95_pp, page.tau.value())
        assert page.view.n_star == wanted
        assert describe(result, wanted, page.tau.value()) == page.view.line.text()
        seen.add(wanted)
    assert len(seen) > 1
    assert page.result is result


def test_typing_tau_moves_the_line(qtbot: QtBot, page: SizingPage) -> None:
    _draw(qtbot, page)
    page.tau.setValue(2.25)
    assert page.view.gain.tau_line.value() == pytest.approx(2.25)


def test_a_kept_sizing_comes_back_with_its_settings(
    qtbot: QtBot, sized_workspace: Path, open_window: Callable[..., Window]
) -> None:
    kept = size(sized_workspace, SizeQuestion("gsm8k", models=("lab/small", "lab/the-large"), step=150, tau_pp=1.3))
    window = open_window(sized_workspace, "sizing")
    quiet(qtbot, window)
    page = window.page("sizing")
    assert isinstance(page, SizingPage)
    assert page.result is not None
    assert page.result.p95_pp == kept.p95_pp
    question = page.question()
    assert (question.step, question.tau_pp, question.models) == (150, 1.3, ("lab/small", "lab/the-large"))


def test_settings_that_cannot_be_sized_are_an_error_in_place(qtbot: QtBot, page: SizingPage) -> None:
    page.step.setValue(1_000)
    page.draw_button.click()
    qtbot.waitUntil(lambda: page.error.isVisible(), timeout=30_000)
    assert "candidate size" in page.error.text
    assert page.draw_button.isEnabled()


def test_freezing_asks_for_n_and_leads_to_the_subset(qtbot: QtBot, page: SizingPage, sized_workspace: Path) -> None:
    _draw(qtbot, page)
    page.freeze_button.click()
    dialogs = page.findChildren(FreezeDialog)
    assert [dialog.n.value() for dialog in dialogs] == [page.view.n_star]
    dialogs[0].n.setValue(300)
    dialogs[0].wanted.emit(Wish(300, 7))
    dialogs[0].accept()
    window = page.window()
    assert isinstance(window, Window)
    quiet(qtbot, window)
    frozen = reads.subsets(sized_workspace)
    assert [(row.n, row.seed) for row in frozen] == [(300, 7)]
    assert page.result is not None
    assert frozen[0].bound_pp == pytest.approx(page.result.bound_at(300))
    subsets = window.current
    assert isinstance(subsets, SubsetsPage)
    chosen = subsets.view.current_row()
    assert chosen is not None
    assert chosen.name == frozen[0].name


def test_settings_that_were_not_drawn_with_show_no_kept_answer_and_freeze_nothing(
    qtbot: QtBot, page: SizingPage
) -> None:
    assert page.freeze_button.isEnabled()
    _draw(qtbot, page)
    kept = page.result
    assert kept is not None
    changes: tuple[Callable[[], None], ...] = (
        lambda: page.step.setValue(150),
        lambda: page.rule_joint.setChecked(True),
        lambda: page.members.set_ticks(lambda member: member[0] != "lab/small"),
    )
    for change in changes:
        change()
        qtbot.waitUntil(lambda: page.result is None)
        assert not page.freeze_button.isEnabled()
        assert page.view.n_star is None
        assert "Settings changed" in page.view.warnings.text
        assert page.view.smooth.value == _smooth(page)
        page.view.warnings.action.click()
        assert page.result is kept
        assert page.freeze_button.isEnabled()
    # What was solved exactly needs neither draws nor a seed.
    assert kept.method == "exact"
    page.seed.setValue(7)
    page.draws.setValue(500)
    qtbot.waitUntil(lambda: not any(waiting.isActive() for waiting in page.findChildren(Debounce)))
    assert page.result is kept


def _smooth(page: SizingPage) -> str:
    rows = page.view.model.rows
    star = n_star([row.n for row in rows], [row.p95_pp for row in rows], page.tau.value())
    return "none" if star is None else f"{star:,}"


def test_another_seed_is_another_question_where_the_answer_was_drawn(qtbot: QtBot, page: SizingPage) -> None:
    page.rule_joint.setChecked(True)
    page.draws.setValue(200)
    _draw(qtbot, page)
    kept = page.result
    page.seed.setValue(43)
    qtbot.waitUntil(lambda: page.result is None)
    page.seed.setValue(42)
    qtbot.waitUntil(lambda: page.result is kept)


def test_tau_moves_n_star_of_the_preview(page: SizingPage) -> None:
    seen = set()
    for tau in (0.3, 1.0, 2.4):
        page.tau.setValue(tau)
        assert page.view.gain.tau_line.value() == pytest.approx(tau)
        assert page.view.smooth.value == _smooth(page)
        seen.add(page.view.smooth.value)
    assert len(seen) > 1


def test_a_tau_beyond_the_plot_stays_as_it_was_typed(qtbot: QtBot, page: SizingPage) -> None:
    for _ in range(2):
        page.tau.setValue(40.0)
        assert page.tau.value() == 40.0
        assert page.view.gain.tau_line.value() == pytest.approx(40.0)
        assert page.view.gain.viewRange()[1][1] > 40.0
        page.tau.setValue(1.0)
        _draw(qtbot, page)


def test_the_frozen_subset_has_the_tau_and_n_star_that_were_shown(
    qtbot: QtBot, page: SizingPage, sized_workspace: Path
) -> None:
    _draw(qtbot, page)
    page.view.gain.tau_line.setValue(2.4)
    star = page.view.n_star
    assert page.result is not None
    assert star not in (None, page.result.n_star)
    page.freeze_button.click()
    (dialog,) = page.findChildren(FreezeDialog)
    assert dialog.n.value() == star
    dialog.go.click()
    window = page.window()
    assert isinstance(window, Window)
    quiet(qtbot, window)
    (row,) = reads.subsets(sized_workspace)
    assert row.stored is not None
    evidence = row.stored.subset.evidence
    assert (row.n, evidence["n_star"], evidence["tau_pp"]) == (star, star, 2.4)
    assert not any(f"n* = {page.result.n_star} " in warning for warning in evidence["warnings"])


def test_no_n_is_proposed_where_nothing_justifies_one(qtbot: QtBot, page: SizingPage) -> None:
    page.freeze_button.click()
    (dialog,) = page.findChildren(FreezeDialog)
    assert "not sized" in dialog.why.text()
    assert not dialog.go.isEnabled()
    dialog.n.setValue(10)
    assert dialog.go.isEnabled()
    dialog.reject()
    _draw(qtbot, page)
    page.tau.setValue(0.01)
    assert page.view.n_star is None
    page.freeze()
    dialog = page.findChildren(FreezeDialog)[-1]
    assert "no size has a gain below tau 0.01 pp" in dialog.why.text()
    assert not dialog.go.isEnabled()
    dialog.reject()


def test_the_kmeans_sampler_asks_for_vectors_and_freezes_with_them(
    qtbot: QtBot, page: SizingPage, sized_workspace: Path, tmp_path: Path
) -> None:
    file = tmp_path / "vectors.npy"
    np.save(file, np.random.default_rng(0).normal(size=(1_319, 8)).astype(np.float32))
    _draw(qtbot, page)
    page.freeze_button.click()
    (dialog,) = page.findChildren(FreezeDialog)
    assert dialog.vectors.isHidden()
    dialog.n.setValue(100)
    dialog.sampler.setCurrentIndex(dialog.sampler.findData("kmeans"))
    assert not dialog.vectors.isHidden()
    assert not dialog.go.isEnabled()
    dialog.vectors.set_path(file)
    assert dialog.go.isEnabled()
    dialog.source.setCurrentIndex(dialog.source.findData("model"))
    assert dialog.vectors.isHidden()
    assert not dialog.go.isEnabled()
    dialog.source.setCurrentIndex(dialog.source.findData("vectors"))
    dialog.go.click()
    window = page.window()
    assert isinstance(window, Window)
    quiet(qtbot, window)
    (row,) = reads.subsets(sized_workspace)
    assert row.stored is not None
    assert (row.stored.subset.sampler, row.n) == ("kmeans", 100)
    subsets = window.current
    assert isinstance(subsets, SubsetsPage)
    shown = {subsets.model.index(0, c).data() for c in range(subsets.model.columnCount())}
    assert f"({fmt.pp(row.bound_pp, signed=False)})" in shown, "the bound is one for uniform draws"


def test_a_sizing_at_another_quantile_is_not_shown_as_p95(
    qtbot: QtBot, sized_workspace: Path, open_window: Callable[..., Window]
) -> None:
    size(sized_workspace, SizeQuestion(benchmark="gsm8k", quantile=0.5))
    window = open_window(sized_workspace, "sizing")
    quiet(qtbot, window)
    page = window.page("sizing")
    assert isinstance(page, SizingPage)
    assert page.result is None
    assert not page.freeze_button.isEnabled()


@pytest.mark.parametrize("tau", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tau_that_is_none_freezes_nothing(sized_workspace: Path, tau: float) -> None:
    with pytest.raises(UsageError, match="tau"):
        freeze(sized_workspace, "gsm8k", 100, tau_pp=tau)
    assert reads.subsets(sized_workspace) == []


def test_the_bound_for_my_time_and_the_items_for_a_bound_follow_the_numbers(qtbot: QtBot, page: SizingPage) -> None:
    questions = page.view.questions
    assert questions.isHidden()
    _draw(qtbot, page)
    assert page.result is not None
    qtbot.waitUntil(lambda: "items" in questions.for_bound.text())
    questions.hours.setValue(1.0)
    questions.seconds.setValue(10.0)
    qtbot.waitUntil(lambda: questions.for_time.text().startswith("360 items"))
    before = questions.for_bound.text()
    questions.target.setValue(2.0)
    qtbot.waitUntil(lambda: "items" in questions.for_bound.text() and questions.for_bound.text() != before)
    answer = ask(page.hub.workspace, "gsm8k", target_pp=2.0)
    assert answer.target is not None
    assert questions.for_bound.text().startswith(f"{answer.target.bound.n:,} items")
    assert answer.target.bound.p95_pp <= 2.0


def test_more_time_than_the_benchmark_takes_is_said_to_fit_it_all(qtbot: QtBot, page: SizingPage) -> None:
    _draw(qtbot, page)
    page.view.questions.hours.setValue(1_000.0)
    qtbot.waitUntil(lambda: page.view.questions.for_time.text() == "all 1,319 items fit")


def test_questions_are_not_answered_from_a_sizing_of_other_settings(qtbot: QtBot, page: SizingPage) -> None:
    _draw(qtbot, page)
    assert page.view.questions.isVisibleTo(page)
    page.step.setValue(50)
    qtbot.waitUntil(lambda: page.result is None)
    assert page.view.questions.isHidden()


def test_a_window_that_closes_right_after_a_sizing_asks_nothing_more(qtbot: QtBot, page: SizingPage) -> None:
    _draw(qtbot, page)
    page.view.questions.hours.setValue(3.0)
    assert page.view.questions.asking
    page.window().close()
    assert not page.view.questions.asking
