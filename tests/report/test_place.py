"""Where a run ran and in what state the machine was, in words and in every document."""

from __future__ import annotations

from typing import Any

import pytest

from mince_gui.report import build, csv_text, html_text, markdown_text
from mince_gui.report.place import cautions, device_name, machine_words, place_words, smoke_words
from tests.report.conftest import MakeRun

NPU = {"device": "NPU (RyzenAI)", "device_proven": False, "device_proof": "not proven: xrt-smi is not there"}
SMOKE = {
    "text": "Paris,\nand", "repeated": True, "prefill_seconds_per_token": 0.001, "decode_seconds_per_token": 0.05,
}  # fmt: skip


@pytest.mark.parametrize(
    ("conditions", "name", "words"),
    [
        (NPU, "NPU (RyzenAI), not proven", "asked for NPU (RyzenAI), not proven: xrt-smi is not there"),
        (
            {**NPU, "device_proven": True, "device_proof": "proven: 2 contexts of process 7"},
            "NPU (RyzenAI), proven",
            "ran on NPU (RyzenAI) (proven: 2 contexts of process 7)",
        ),
        (
            {"device": "CPU", "device_proven": True, "device_proof": "proven: nothing else is named"},
            "CPU",
            "ran on CPU (proven: nothing else is named)",
        ),
        (
            {"device": "CPU", "device_proven": False, "device_proof": "not proven: the folder asks for the NPU"},
            "CPU, not proven",
            "CPU, not proven: the folder asks for the NPU",
        ),
        ({"device": "CPU"}, "CPU", "ran on CPU"),
        ({"device": "GPU (DML)"}, "GPU (DML), not proven", "asked for GPU (DML), not proven"),
        ({}, "device not known", "device not known"),
    ],
)
def test_a_device_is_never_named_without_the_state_of_its_proof(
    conditions: dict[str, Any], name: str, words: str
) -> None:
    assert device_name(conditions) == name
    assert place_words(conditions) == words


def test_every_document_says_beside_the_device_that_nothing_proves_it(make_run: MakeRun) -> None:
    report = build(make_run(conditions=NPU), own_full=None, other=None)
    assert any("Where it ran is not certain: asked for NPU (RyzenAI)" in warning for warning in report.warnings)
    for text in (html_text(report), markdown_text(report), csv_text(report)):
        assert "not proven: xrt-smi is not there" in text
    assert "NPU (RyzenAI), not proven" in html_text(report)
    assert cautions({**NPU, "device_proven": True}) == ()


def test_the_machine_is_told_with_units_and_with_what_could_not_be_read() -> None:
    words = machine_words(
        {
            "power_source": "battery", "battery_percent": 81, "npu": "Strix", "npu_users": [], "npu_watts": None,
            "cpu_load_percent": 12.5, "free_memory_bytes": 5_100_000_000, "total_memory_bytes": 32_000_000_000,
            "remarks": ["The driver is old."], "unknown": ["power mode: powercfg is not there"],
        }
    )  # fmt: skip
    assert words == (
        "power source battery; battery 81 %; NPU Strix; CPU load 12 %; free memory 5.1 GB; The driver is old.; "
        "not known: power mode: powercfg is not there"
    )
    assert machine_words({}) == ""


def test_a_smoke_test_that_was_not_repeated_is_a_caution() -> None:
    assert smoke_words(SMOKE) == (
        'a fixed prompt, asked twice, was answered the same ("Paris, and"); reads 1,000 tok/s; writes 20.0 tok/s'
    )
    assert "not the same" in smoke_words({**SMOKE, "repeated": False})
    assert cautions({"smoke": SMOKE}) == ()
    assert len(cautions({"smoke": {**SMOKE, "repeated": False}})) == 1
    assert smoke_words({}) == ""


def test_remarks_of_the_machine_are_cautions() -> None:
    assert cautions({"machine_state": {"remarks": ["NPU driver 32.0.203.100 is older than 1.8 needs."]}}) == (
        "NPU driver 32.0.203.100 is older than 1.8 needs.",
    )
