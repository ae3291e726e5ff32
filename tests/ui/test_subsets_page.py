"""Subsets: what was frozen goes out in the forms that other tools take."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from mince_gui.app.freeze import freeze
from mince_gui.ui.pages.subsets import SubsetsPage
from mince_gui.ui.window import Window
from tests.ui.conftest import quiet


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
