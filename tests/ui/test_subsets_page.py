"""Subsets: what was frozen goes out in the forms that other tools take."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from mince_gui.app.freeze import freeze
from mince_gui.app.import_logs import import_logs, look
from mince_gui.ui import reads
from mince_gui.ui.pages.subsets import SubsetsPage
from mince_gui.ui.window import Window
from tests.ui.conftest import quiet

_LOGGED = Path(__file__).parents[1] / "tasks" / "data" / "logged"


@pytest.fixture
def page(qtbot: QtBot, sized_workspace: Path, open_window: Callable[..., Window]) -> SubsetsPage:
    freeze(sized_workspace, "gsm8k", 40)
    window = open_window(sized_workspace, "subsets")
    quiet(qtbot, window)
    made = window.page("subsets")
    assert isinstance(made, SubsetsPage)
    return made


def test_the_lm_eval_map_of_the_chosen_subset_lands_in_the_workspaces_exports(
    qtbot: QtBot, page: SubsetsPage, sized_workspace: Path
) -> None:
    chosen = page.view.current_row()
    assert chosen is not None
    assert chosen.stored is not None
    assert page.details.export.isVisibleTo(page)
    page.export(chosen.name, "lm-eval")
    window = page.window()
    assert isinstance(window, Window)
    quiet(qtbot, window)
    (written,) = (sized_workspace / "exports").iterdir()
    (indices,) = json.loads(written.read_text(encoding="utf-8")).values()
    assert indices == sorted(int(key) for key in chosen.stored.subset.item_keys)


def test_an_export_that_cannot_be_made_is_said_on_the_page(qtbot: QtBot, page: SubsetsPage) -> None:
    page.export("no-such-subset", "csv")
    qtbot.waitUntil(page.error.isVisible)
    assert "no-such-subset" in page.error.text


def _offers(page: SubsetsPage, **what: str) -> list[str]:
    found = []
    for action in page.pack_menu(**what).actions():
        inner = action.menu()
        found += [action.text(), *(a.text() for a in inner.actions())] if isinstance(inner, QMenu) else [action.text()]
    return [text for text in found if text]


def test_a_benchmark_that_only_logs_know_is_packed_from_them(page: SubsetsPage) -> None:
    page.logs = {"riddles": ("alpha", "beta")}
    offers = _offers(page, all_of="riddles")
    assert offers[:3] == ["Prompts as lm-eval logged them, of", "alpha", "beta"]
    assert "Dataset folder" not in offers


def test_a_native_benchmark_is_packed_from_its_dataset_or_with_the_logged_prompts_of_a_model(page: SubsetsPage) -> None:
    page.logs = {"gsm8k": ("alpha",)}
    chosen = page.view.current_row()
    assert chosen is not None
    offers = _offers(page, subset=chosen.name)
    assert {"Dataset folder", "Dataset file", "alpha"} <= set(offers)
    assert "Logs in another folder" not in offers


def test_the_logged_prompts_of_the_imported_log_make_a_pack(
    qtbot: QtBot, workspace: Path, open_window: Callable[..., Window]
) -> None:
    import_logs(workspace, look([_LOGGED]))
    window = open_window(workspace, "subsets")
    quiet(qtbot, window)
    page = window.page("subsets")
    assert isinstance(page, SubsetsPage)
    assert page.logs["piqa"] == ("demo-device-int4",)
    page.pack_from(None, all_of="piqa", prompts_of="demo-device-int4")
    quiet(qtbot, window)
    (row,) = (row for row in page.model.rows if row.benchmark == "piqa")
    assert row.pack is not None
    assert reads.run_choices(workspace).tasks[row.name] == ("piqa",)
