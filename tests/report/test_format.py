from __future__ import annotations

import math
import subprocess
import sys

import pytest

from mince_gui.report import format as fmt


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.00 s"), (0.824, "0.82 s"), (9.994, "9.99 s"), (9.996, "10.0 s"), (12.34, "12.3 s"), (59.94, "59.9 s"),
        (59.96, "1 min"), (250, "4 min 10 s"), (599.6, "10 min"), (2460, "41 min"), (3599, "1 h"), (4320, "1 h 12 min"),
        (360_000, "100 h"), (None, "-"), (math.nan, "-"),
    ],
)  # fmt: skip
def test_seconds_read_as_a_person_says_them(value: float | None, shown: str) -> None:
    assert fmt.seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.3, "+0.3 pp"), (-4.25, "-4.2 pp"), (0.0, "0.0 pp"), (-0.04, "0.0 pp"), (None, "-")]
)
def test_differences_always_carry_their_sign(value: float | None, shown: str) -> None:
    assert fmt.pp(value) == shown


def test_a_bound_has_no_sign() -> None:
    assert fmt.pp(4.6, signed=False) == "4.6 pp"


def test_missing_never_looks_like_zero() -> None:
    for shown in (fmt.percent(None), fmt.percent(math.nan), fmt.pp(math.nan), fmt.rate(None), fmt.factor(None)):
        assert shown == fmt.ABSENT
    assert fmt.percent(None, absent=fmt.MISSING) == "missing"
    assert fmt.count(None) == fmt.ABSENT
    assert fmt.interval(1.0, None) == fmt.ABSENT


def test_scores_rates_counts_and_intervals_carry_their_units() -> None:
    assert fmt.percent(75.93) == "75.9 %"
    assert fmt.rate(18.42) == "18.4 tok/s"
    assert fmt.rate(1239.6) == "1,240 tok/s"
    assert fmt.factor(1.72) == "1.7x"
    assert fmt.count(14_042) == "14,042"
    assert fmt.interval(71.23, 80.06) == "71.2 to 80.1 %"
    assert fmt.interval(-1.5, 2.0, unit="pp") == "-1.5 to +2.0 pp"


def test_a_range_names_its_unit_once_where_both_ends_have_it() -> None:
    assert fmt.amounts(0.0083, 0.0169, "s") == "8.3 to 16.9 ms"
    assert fmt.amounts(0.0083, 12.3, "s") == "8.3 ms to 12.3 s"
    assert fmt.amounts(59.0, 250.0, "s") == "59.0 s to 4 min 10 s"
    assert fmt.amounts(250.0, 310.0, "s") == "4 min 10 s to 5 min 10 s"
    assert fmt.amounts(9.5, 22_556.0, "tok/s") == "9.5 to 22,556 tok/s"
    assert fmt.amounts(79, 1_234, "tokens") == "79 to 1,234"


def test_memory_is_said_in_the_unit_that_fits() -> None:
    assert [fmt.memory(value) for value in (78e6, 999.4e6, 999.6e6, 5.14e9, None)] == [
        "78 MB", "999 MB", "1.0 GB", "5.1 GB", "-",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-29T20:00:00+00:00", "2026-11-29 20:00 UTC"), ("2026-11-29T21:00:00+01:00", "2026-11-29 20:00 UTC"),
        ("2026-11-29T20:00:00", "2026-11-29 20:00"), ("2026-11-28", "2026-11-28"),
        ("stopped", "stopped"), ("", "not recorded"),
        ("1757424714.683", "2025-09-09 13:31 UTC"), ("1757424714", "2025-09-09 13:31 UTC"), ("20261128", "20261128"),
        ("2025-09-09T13-31-53.431753", "2025-09-09 13:31"), ("2025-09-09T13-31-53", "2025-09-09 13:31"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00+05:00"),
        ("9999-12-31T23:59:59-05:00", "9999-12-31T23:59:59-05:00"), ("2025-09-09T99-31-53", "2025-09-09T99-31-53"),
    ],
)  # fmt: skip
def test_moments_are_in_utc_and_other_text_stays(text: str, shown: str) -> None:
    assert fmt.moment(text) == shown


def test_the_formats_load_neither_scipy_nor_numpy_nor_qt() -> None:
    code = (
        "import sys, mince_gui.report.format\n"
        "print([m for m in ('scipy', 'numpy', 'matplotlib', 'PySide6') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
