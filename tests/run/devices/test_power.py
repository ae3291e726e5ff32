"""Power source and mode. Windows' texts are built from its documented ids; Linux trees are folders."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run.devices.power import overlay_words, parse_power_plan, read_battery, read_power_mode, read_sysfs_mode


def test_the_power_plan_is_read_in_any_language() -> None:
    plan = "381b4222-f694-41f0-9685-ff5bb260df2e"
    assert parse_power_plan(f"Power Scheme GUID: {plan}  (Balanced)\r\n") == "Balanced"
    assert parse_power_plan(f"GUID des Energieschemas: {plan}  (Ausbalanciert)") == "Ausbalanciert"
    assert parse_power_plan(f"GUID: {plan}  (Mein Plan (alt))") == "Mein Plan (alt)"
    assert parse_power_plan(f"Power Scheme GUID: {plan}") == plan
    assert parse_power_plan("Access is denied.") is None


@given(st.text(max_size=200))
def test_any_text_is_a_plan_or_none(text: str) -> None:
    plan = parse_power_plan(text)
    assert plan is None or plan


def test_the_slider_has_words() -> None:
    assert overlay_words("{DED574B5-45A0-4F42-8737-46345C09C238}") == "best performance"
    assert overlay_words("00000000-0000-0000-0000-000000000000") == "balanced"
    assert "1234" in overlay_words("1234")


def test_linux_names_profile_governor_and_preference(tmp_path: Path) -> None:
    assert read_sysfs_mode(tmp_path).unknown
    policy = tmp_path / "devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_governor").write_text("powersave\n", encoding="ascii")
    assert read_sysfs_mode(tmp_path).value == "governor powersave"
    (policy / "energy_performance_preference").write_text("balance_power\n", encoding="ascii")
    (tmp_path / "firmware/acpi").mkdir(parents=True)
    (tmp_path / "firmware/acpi/platform_profile").write_text("performance\n", encoding="ascii")
    expected = "profile performance, governor powersave, preference balance_power"
    assert read_sysfs_mode(tmp_path).value == expected


def test_this_machine_answers_or_says_why_not() -> None:
    battery = read_battery()
    assert battery.source in ("AC", "battery", None)
    mode = read_power_mode(battery.source)
    assert (mode.value is None) == bool(mode.unknown)
