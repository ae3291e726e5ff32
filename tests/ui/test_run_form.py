"""What a run can be asked for: the tasks of the chosen pack, and a system prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from mince_gui.store.subsets import StoredPack
from mince_gui.ui.pages.run_form import RunForm
from mince_gui.ui.reads import RunChoices

GSM8K = ("gsm8k_cot_zeroshot", "gsm8k", "gsm8k_cot")


def _pack(name: str, benchmark: str) -> StoredPack:
    return StoredPack(name, benchmark, 200, False, Path(name), "", "2026-11-30T00:00:00+00:00")


@pytest.fixture
def form(qtbot: QtBot, qapp: QApplication) -> RunForm:
    made = RunForm()
    qtbot.addWidget(made)
    packs = (_pack("gsm8k-200", "gsm8k"), _pack("csqa-100", "commonsense_qa"), _pack("gone", "mmlu"))
    tasks = {"gsm8k-200": GSM8K, "csqa-100": ("commonsense_qa",), "gone": ()}
    made.show_choices(RunChoices((("small", Path("small")),), packs, tasks, ("amd-1.8",)))
    return made


def _offered(form: RunForm) -> list[str]:
    return [form.task.itemText(i) for i in range(form.task.count())]


def test_the_tasks_of_the_packs_benchmark_are_offered_its_default_first(form: RunForm) -> None:
    assert _offered(form) == list(GSM8K)
    assert form.task.isEnabled()
    form.task.setCurrentText("gsm8k_cot")
    order = form.order()
    assert order is not None
    assert order.task == "gsm8k_cot"


def test_a_pack_with_one_task_leaves_nothing_to_choose(form: RunForm) -> None:
    form.choose_pack("csqa-100")
    assert (_offered(form), form.task.isEnabled()) == (["commonsense_qa"], False)
    order = form.order()
    assert order is not None
    assert order.task is None


def test_a_pack_whose_task_is_not_known_is_left_to_the_run(form: RunForm) -> None:
    form.choose_pack("gone")
    assert (_offered(form), form.task.isEnabled()) == (["the pack's own"], False)


def test_the_chosen_task_stays_chosen_when_the_page_reads_again(form: RunForm) -> None:
    form.task.setCurrentText("gsm8k_cot")
    form.show_choices(form._choices)
    assert form.task.currentText() == "gsm8k_cot"


def test_a_system_prompt_of_blanks_is_none_and_any_other_is_asked_as_it_is(form: RunForm) -> None:
    asked = []
    for text in ("  ", " Be brief.\t"):
        form.system.setText(text)
        order = form.order()
        assert order is not None
        asked.append(order.system_prompt)
    assert asked == [None, " Be brief.\t"]


def test_a_chat_template_can_be_a_file(form: RunForm, tmp_path: Path) -> None:
    form.open_template(tmp_path / "own.jinja")
    order = form.order()
    assert order is not None
    assert order.chat_template == str(tmp_path / "own.jinja")


def test_timing_runtime_and_longest_item_are_asked_for_as_chosen(form: RunForm) -> None:
    order = form.order()
    assert order is not None
    assert (order.timing, order.runtime, order.max_item_seconds) == ("standard", None, None)
    form.timing.setCurrentText("fast")
    form.runtime.setCurrentText("amd-1.8")
    form.item_seconds.setValue(90)
    order = form.order()
    assert order is not None
    assert (order.timing, order.runtime, order.max_item_seconds) == ("fast", "amd-1.8", 90)
    form.show_choices(form._choices)
    assert form.order() == order


def test_the_time_is_asked_for_once_the_form_is_left_alone_and_an_old_answer_is_dropped(
    qtbot: QtBot, form: RunForm
) -> None:
    with qtbot.waitSignal(form.unsure) as asked:
        form.limit.setValue(10)
    (first,) = asked.args
    assert first == form.order()
    form.show_forecast(first, "about 2 to 3 s for 10 items")
    assert form.forecast.text() == "Time: about 2 to 3 s for 10 items."
    with qtbot.waitSignal(form.unsure):
        form.limit.setValue(20)
    form.show_forecast(first, "about 2 to 3 s for 10 items")
    assert form.forecast.text() == ""


def test_the_time_stays_told_while_the_page_reads_again(qtbot: QtBot, form: RunForm) -> None:
    order = form.order()
    assert order is not None
    form.show_forecast(order, "about 2 to 3 s for 10 items")
    with qtbot.waitSignal(form.unsure):
        form.show_choices(form._choices)
        assert form.forecast.text() == "Time: about 2 to 3 s for 10 items."


def test_no_field_of_the_form_lies_over_another_in_the_narrowest_window(form: RunForm) -> None:
    form._toggle()
    form.resize(870, form.sizeHint().height())
    form.show()
    QApplication.processEvents()
    fields = [part for part in form.findChildren(QWidget) if part.isVisible() and part.parentWidget() is form]
    inside = form.contentsRect()
    for place, field in enumerate(fields):
        assert inside.contains(field.geometry()), field.accessibleName()
        for other in fields[place + 1 :]:
            assert not field.geometry().intersects(other.geometry()), (field.accessibleName(), other.accessibleName())
    form.hide()


def test_without_a_model_the_form_says_what_a_run_needs(qtbot: QtBot, qapp: QApplication) -> None:
    made = RunForm()
    qtbot.addWidget(made)
    assert not made.start.isEnabled()
    assert made.forecast.text().startswith("A run needs")
