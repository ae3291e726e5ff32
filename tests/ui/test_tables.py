"""The item models, each under Qt's own tester."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mince_gui.ui.entries import Entry, EntryList, EntryModel
from mince_gui.ui.tables import Column, TableModel, TableView


class Fruit(NamedTuple):
    name: str
    weight: float | None


COLUMNS = (
    Column[Fruit]("Name", lambda f: f.name, width=0, state=lambda f: "good"),
    Column[Fruit](
        "Weight", lambda f: "-" if f.weight is None else f"{f.weight:g}", key=lambda f: f.weight, number=True
    ),
)
FRUIT = (Fruit("pear", 3.0), Fruit("apple", None), Fruit("plum", 20.0), Fruit("fig", 1.5))


def _tested(model: QAbstractItemModel) -> QAbstractItemModelTester:
    return QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)


def _names(view: TableView[Any]) -> list[str]:
    return [view.proxy.index(row, 0).data() for row in range(view.proxy.rowCount())]


def test_a_table_model_keeps_the_rules_of_qt_through_every_change(qapp: QApplication) -> None:
    model = TableModel[Fruit](COLUMNS, ident=lambda f: f.name)
    tester = _tested(model)
    model.set_rows(FRUIT)
    model.add_rows([Fruit("kiwi", 4.0), Fruit("lime", 2.0)])
    model.add_rows([])
    model.replace(0, Fruit("pear", 3.5))
    model.set_ticks(lambda f: f.weight is not None)
    model.set_rows([])
    assert model.rowCount() == 0
    assert tester is not None


def test_an_entry_list_keeps_the_rules_of_qt_through_every_change(qapp: QApplication) -> None:
    model = EntryModel()
    tester = _tested(model)
    entries = [Entry(str(i), f"run {i}", "now", "model", "done", "good", "good") for i in range(4)]
    model.set_entries(entries)
    model.set_entries([*entries[:3], Entry("3", "run 3", "now", "model", "stopped", "warn", "stop")])
    model.set_entries(entries[1:])
    model.set_entries([])
    assert model.rowCount() == 0
    assert tester is not None


def test_numbers_sort_by_value_and_what_is_absent_comes_last_in_both_directions(qtbot: QtBot) -> None:
    model = TableModel[Fruit](COLUMNS)
    view = TableView(model, "fruit")
    qtbot.addWidget(view)
    model.set_rows(FRUIT)
    view.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    assert _names(view) == ["fig", "pear", "plum", "apple"]
    view.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert _names(view) == ["plum", "pear", "fig", "apple"]


def test_the_chosen_row_is_the_one_on_the_screen_also_when_sorted(qtbot: QtBot) -> None:
    model = TableModel[Fruit](COLUMNS)
    view = TableView(model, "fruit")
    qtbot.addWidget(view)
    model.set_rows(FRUIT)
    view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    with qtbot.waitSignal(view.chosen) as chosen:
        view.selectRow(0)
    assert chosen.args == [FRUIT[1]]
    assert view.choose(lambda f: f.name == "plum")
    assert view.current_row() == FRUIT[2]


def test_a_row_chosen_by_the_program_is_alone_also_while_the_user_holds_a_key(qtbot: QtBot) -> None:
    view = TableView(TableModel[Fruit](COLUMNS, ident=lambda f: f.name), "Fruit")
    qtbot.addWidget(view)
    view.table.set_rows(FRUIT)
    view.selectRow(0)
    QTest.keyPress(view, Qt.Key.Key_Control, Qt.KeyboardModifier.ControlModifier)
    try:
        assert view.choose(lambda fruit: fruit.name == "fig")
        assert [fruit.name for fruit in view.selected_rows()] == ["fig"]
    finally:
        QTest.keyRelease(view, Qt.Key.Key_Control)


def test_copying_gives_the_chosen_rows_with_their_titles(qtbot: QtBot) -> None:
    model = TableModel[Fruit](COLUMNS)
    view = TableView(model, "fruit")
    qtbot.addWidget(view)
    model.set_rows(FRUIT)
    view.selectRow(2)
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Name\tWeight\nplum\t20\n"


def test_ticks_stay_with_their_rows_when_other_rows_come(qapp: QApplication) -> None:
    model = TableModel[Fruit](COLUMNS, ident=lambda f: f.name)
    model.set_rows(FRUIT)
    assert model.setData(model.index(1, 0), Qt.CheckState.Unchecked.value, int(Qt.ItemDataRole.CheckStateRole))
    model.set_rows(tuple(reversed(FRUIT)))
    assert [f.name for f in model.ticked_rows()] == ["fig", "plum", "pear"]


def test_an_entry_stays_chosen_when_others_come_before_it(qtbot: QtBot) -> None:
    view = EntryList("runs")
    qtbot.addWidget(view)
    view.show_entries([Entry("b", "B", "", "", "done", "good", "good")])
    assert view.choose("b")
    with qtbot.assertNotEmitted(view.chosen):
        view.show_entries(
            [Entry("a", "A", "", "", "done", "good", "good"), Entry("b", "B", "", "", "done", "good", "good")]
        )
    assert view.current_ident() == "b"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)), max_size=12))
def test_sorting_any_mixture_puts_values_in_order_and_none_last(
    qapp: QApplication, weights: Sequence[float | None]
) -> None:
    model = TableModel[Fruit](COLUMNS)
    view = TableView(model, "fruit")
    model.set_rows([Fruit(str(i), weight) for i, weight in enumerate(weights)])
    view.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    shown = [weights[int(name)] for name in _names(view)]
    known = [weight for weight in shown if weight is not None]
    assert known == sorted(known)
    assert all(weight is None for weight in shown[len(known) :])
    view.deleteLater()
