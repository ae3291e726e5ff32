"""Kill trials: how many there are, and the table of what was hit."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from mince_gui.app.demo import prepare


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the demo's packs, which all trials share: each makes a run of its own."""
    folder = tmp_path_factory.mktemp("trials")
    prepare(folder)
    return folder


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--trials")))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed: collections.Counter[str] = collections.Counter()
    for report in terminalreporter.getreports("passed"):
        passed.update(str(hit) for name, hit in report.user_properties if name == "hit" and report.when == "call")
    if passed:
        terminalreporter.section("kill trials that nothing was lost or repeated in")
        for hit, times in sorted(passed.items()):
            terminalreporter.write_line(f"{times:5d}  {hit}")
