"""Driver versions: numbers compared as numbers. Texts are built from the public facts; no NPU driver is here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run.devices.driver import (
    MINIMUM,
    DriverVersion,
    parse_signed_drivers,
    read_driver,
    read_module,
    windows_remark,
)

_VERSIONS = st.lists(st.integers(0, 99_999), min_size=2, max_size=5).map(lambda parts: ".".join(map(str, parts)))


def _version(text: str) -> DriverVersion:
    version = DriverVersion.parse(text)
    assert version is not None
    return version


@given(_VERSIONS, _VERSIONS, _VERSIONS)
def test_versions_are_totally_ordered(a: str, b: str, c: str) -> None:
    x, y, z = _version(a), _version(b), _version(c)
    assert (x < y) + (y < x) + (x == y) == 1
    assert not (x <= y and y <= z) or x <= z
    assert x != y or hash(x) == hash(y)


@given(_VERSIONS, st.integers(0, 3), st.integers(0, 99_999))
def test_a_higher_number_at_one_place_is_a_higher_version(text: str, place: int, more: int) -> None:
    parts = [int(part) for part in text.split(".")]
    place = min(place, len(parts) - 1)
    raised = [*parts[:place], parts[place] + 1 + more, *parts[place + 1 :]]
    assert _version(".".join(map(str, raised))) > _version(text)


@given(st.text(max_size=40))
def test_any_text_is_a_version_or_none(text: str) -> None:
    version = DriverVersion.parse(text)
    assert version is None or len(version.parts) > 1


def test_numbers_are_not_compared_as_text() -> None:
    assert _version("32.0.20101.3760") > _version("32.0.203.376")
    assert _version("32.0.203.9") < _version("32.0.203.280")
    assert _version("32.0.203.280") == _version("32.0.203.280.0")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("32.0.203.237", "older than 32.0.203.280"),
        ("32.0.203.280", "older than 32.0.203.376"),
        ("32.0.203.376", ""),
        ("32.0.203.400", ""),
        # The same package under another number (RyzenAI-SW#389): not called newer, not called older.
        ("32.0.20101.3760", "does not tell how old"),
        ("32.0.20102.3930", "does not tell how old"),
    ],
)
def test_a_version_is_held_against_the_documented_ones(text: str, words: str) -> None:
    remark = windows_remark(_version(text))
    assert (words in remark) if words else remark == ""


def test_powershell_answers_with_an_object_or_a_list() -> None:
    row = {"DeviceName": "NPU Compute Accelerator Device", "DriverVersion": "32.0.203.314", "DriverDate": "2026-01-05"}
    driver = parse_signed_drivers(json.dumps(row))
    assert driver is not None
    assert (driver.version.text, driver.date) == ("32.0.203.314", "2026-01-05")
    older = {**row, "DriverVersion": "32.0.203.280", "DriverDate": None}
    both = parse_signed_drivers(json.dumps([older, row]))
    assert both is not None
    assert both.version > MINIMUM
    for empty in ("", "null", "[]", "[null]", '{"DriverVersion": null}', "Get-CimInstance : Access denied"):
        assert parse_signed_drivers(empty) is None


def test_a_kernel_module_names_its_version_or_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "amdxdna" / "version"
    assert read_module(file).unknown == "the kernel module amdxdna is not loaded"
    file.parent.mkdir()
    assert read_module(file).unknown == "the kernel module amdxdna names no version"
    file.write_text("2.19.0_20250330,7c1d273\n", encoding="ascii")
    driver = read_module(file).value
    assert driver is not None
    assert driver.version.parts == (2, 19, 0)


def test_this_machine_answers_or_says_why_not() -> None:
    found = read_driver()
    assert (found.value is None) == bool(found.unknown)
