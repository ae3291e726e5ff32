"""Fixtures and guards that every test has: own settings, no network, no leaks, no unlisted skips."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import socket
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
DEMO = Path(__file__).resolve().parent.parent / "resources" / "demo"

_skips: list[tuple[str, str]] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    if importlib.util.find_spec("pytestqt") is None:
        # The core's tests run without Qt too; the settings of the Qt plugin then mean nothing, but are no mistake.
        parser.addini("qt_api", "of pytest-qt")
        parser.addini("qt_log_level_fail", "of pytest-qt")
    parser.addoption("--allowed-skips", type=Path, help="fail on a skip whose reason is not a line of this file")
    parser.addoption("--trials", type=int, default=5, metavar="N", help="so many kill trials of each kind")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"qtbot", "qapp"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.gui)
    # A file that takes minutes begins first: at the end the other core would wait for it.
    items.sort(key=lambda item: "parity" not in item.path.parts)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        _skips.append((report.nodeid, str(report.longrepr[2]).removeprefix("Skipped: ")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    allowed = session.config.getoption("--allowed-skips")
    # The workers of pytest-xdist leave it to the process that starts them, which hears of every skip.
    if allowed is None or hasattr(session.config, "workerinput"):
        return
    reasons = {line for line in allowed.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")}
    unlisted = [f"{node}: {why}" for node, why in _skips if why not in reasons]
    if unlisted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        for line in unlisted:
            reporter.write_line(f"unlisted skip: {line}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # The leak guard keeps silent when the test itself failed: its leavings are then a consequence.
    setattr(item, f"failed_{report.when}", report.failed)
    return report


@pytest.fixture(scope="session", autouse=True)
def _own_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fixtures that live longer than a test run models too, and would take the user's own lease of the device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINCE_CONFIG", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINCE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("MINCE_WORKSPACE", str(tmp_path / "workspace"))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", refuse)


def _descendants() -> list[psutil.Process]:
    """Our children and theirs. Where Linux lists a process's own children, most tests need no look at all others."""
    with contextlib.suppress(OSError):
        own = [(task / "children").read_text() for task in Path("/proc/self/task").iterdir()]
        if not any(own):
            return []
    return psutil.Process().children(recursive=True)


@pytest.fixture(autouse=True)
def _no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    threads = set(threading.enumerate())
    children = {child.pid for child in _descendants()}
    yield
    if getattr(request.node, "failed_call", False):
        return
    left = [thread for thread in threading.enumerate() if thread not in threads]
    for thread in left:
        thread.join(timeout=5)
    alive = [thread.name for thread in left if thread.is_alive()]
    assert not alive, f"threads left behind: {alive}"
    _, running = psutil.wait_procs([child for child in _descendants() if child.pid not in children], timeout=5)
    assert not running, f"child processes left behind: {running}"


@pytest.fixture(autouse=True)
def _no_unexpected_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    loud = [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.WARNING]
    assert not loud, f"unexpected log records: {loud}"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data beside the project; its absence is a named skip."""
    if not SHARED.is_dir():
        pytest.skip("shared data is not beside the project")
    return SHARED


@pytest.fixture(scope="session")
def demo() -> Path:
    """The demo's files, which belong to the project."""
    return DEMO
