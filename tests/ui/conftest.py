"""A window per test, real workspaces, and a guard that nothing is left behind."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
    os.environ["QT_QPA_PLATFORM"] = "offscreen"

import shiboken6
from PySide6.QtCore import QEvent, QObject, QThread, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mince_gui.app import demo
from mince_gui.app.import_logs import import_logs, look
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import MinceError
from mince_gui.store import Workspace
from mince_gui.store.runs import NewRun, StoredItem, StoredRun
from mince_gui.ui import reads, theme
from mince_gui.ui.hub import PageName
from mince_gui.ui.window import Window

GSM8K_ITEMS = 1_319
_OURS = ("mince-job", "mince-follow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gui)
            # What the offscreen platform cannot do says nothing about the window.
            item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support", extend=True))


def _settled() -> None:
    """Deferred deletions happen in an event loop; there is none between tests."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    for _ in range(3):
        app.sendPostedEvents(None, int(QEvent.Type.DeferredDelete))
        app.processEvents()
    gc.collect()


def _at_work() -> list[QObject]:
    """Threads that run and timers that tick."""
    here = QThread.currentThread()
    found: list[QObject] = []
    for thing in gc.get_objects():
        if not isinstance(thing, QThread | QTimer) or thing is here or not shiboken6.isValid(thing):
            continue
        if thing.isRunning() if isinstance(thing, QThread) else thing.isActive():
            found.append(thing)
    return found


@pytest.fixture(autouse=True)
def _nothing_left(qapp: QApplication) -> Iterator[None]:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    # What was there before is not looked through again each time: modules alone are 150,000 objects.
    gc.freeze()
    yield
    _settled()
    assert [t.name for t in threading.enumerate() if t.name.startswith(_OURS)] == []
    assert [(thing, thing.parent()) for thing in _at_work()] == []
    assert [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()] == []
    children = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    _, still = psutil.wait_procs(children, timeout=10)
    assert still == [], "a process of ours is still there"
    gc.unfreeze()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def open_window(qtbot: QtBot, qapp: QApplication) -> Iterator[Callable[..., Window]]:
    """Opens windows, waits until each has read its workspace, and closes them in the end."""
    theme.apply(qapp, theme.LIGHT)
    opened: list[Window] = []

    def open_one(workspace: Path, page: PageName | None = None) -> Window:
        window = Window(workspace, first_page=page, follow_system=False)
        opened.append(window)
        qtbot.addWidget(window)
        window.show()
        quiet(qtbot, window)
        return window

    yield open_one
    for window in opened:
        if shiboken6.isValid(window):
            window.close()
            # The first close only says that a run goes on.
            window.close()
            window.deleteLater()


def quiet(qtbot: QtBot, window: Window, *, timeout: int = 30_000) -> None:
    """Wait until the window's background work is done."""
    qtbot.waitUntil(lambda: not window.hub.jobs.busy, timeout=timeout)
    QApplication.processEvents()


def write_gsm8k_log(folder: Path, model: str, share: float, *, items: int = GSM8K_ITEMS) -> Path:
    """A log in lm-eval's layout, as long as the real one; it stores no item texts."""
    folder.mkdir(parents=True, exist_ok=True)
    right = np.random.default_rng(len(model)).random(items) < share
    rows = (
        {
            "doc_id": i,
            "doc": {},
            "target": "",
            "arguments": {"gen_args_0": {"arg_0": "Question", "arg_1": {"until": ["Q:"]}}},
            "resps": [["one more"]],
            "filtered_resps": ["1"],
            "filter": "strict-match",
            "metrics": ["exact_match"],
            "exact_match": float(right[i]),
        }
        for i in range(items)
    )
    stamp = "2026-01-02T03-04-05.678901"
    path = folder / f"samples_gsm8k_cot_{stamp}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    body = {"model_name": model, "config": {"limit": None}, "lm_eval_version": "0.4.13"}
    (folder / f"results_{stamp}.json").write_text(json.dumps(body), encoding="utf-8")
    return path


@pytest.fixture
def pool_folder(tmp_path: Path) -> Path:
    """Logs of three models on GSM8K."""
    for model, share in (("lab/small", 0.35), ("lab/middle-b", 0.55), ("lab/the-large", 0.8)):
        write_gsm8k_log(tmp_path / "logs" / model.replace("/", "__"), model, share)
    return tmp_path / "logs"


@pytest.fixture
def sized_workspace(workspace: Path, pool_folder: Path) -> Path:
    """A workspace with the three models' logs."""
    import_logs(workspace, look([pool_folder]))
    return workspace


@pytest.fixture(scope="session")
def _prepared_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        demo.model_dir()
    except MinceError as exc:
        pytest.skip(str(exc))
    folder = tmp_path_factory.mktemp("demo") / "workspace"
    demo.prepare(folder)
    return folder


@pytest.fixture(scope="session")
def finished_demo(_prepared_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A demo workspace with a finished run of the generated subset, and the run's id; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("finished") / "workspace"
    shutil.copytree(_prepared_demo, folder)
    subset = next(row.name for row in reads.subsets(folder) if row.benchmark == "demo-math" and row.stored)
    run_id = create(folder, RunOrder(demo.model_dir(), subset))
    execute(folder, run_id)
    return folder, run_id


@pytest.fixture
def demo_workspace(_prepared_demo: Path, workspace: Path) -> Path:
    """The demo's workspace before its runs. Packs are named by absolute path: the copies stay where they were made."""
    shutil.copytree(_prepared_demo, workspace)
    return workspace


def wait_for_end(pid: int, *, seconds: float = 60.0) -> None:
    """Wait until a runner's process is gone."""
    end = time.monotonic() + seconds
    while psutil.pid_exists(pid) and time.monotonic() < end:
        try:
            psutil.Process(pid).wait(timeout=1)
        except psutil.Error:
            continue


def stored_run(**changed: object) -> StoredRun:
    """A run of a GSM8K subset, done, but for what is changed."""
    plan = NewRun(
        benchmark="gsm8k", task="gsm8k_cot", subset="gsm8k-200", total_items=1_319, subset_items=200, items=200,
        model="small", model_dir=Path("m"), pack_path=Path("p"), pack_sha256="", settings={},
    )  # fmt: skip
    facts: dict[str, object] = {
        "run_id": "r", "created_at": "2026-01-02T03:04:05+00:00", "plan": plan, "conditions": None, "state": "ended",
        "cause": "done", "detail": "", "pid": 1, "ended_at": None, "done": 200, "missing": 0, "elapsed_seconds": 1.0,
        "rescored_of": "", "origin": {},
    }  # fmt: skip
    return StoredRun(**{**facts, **changed})  # type: ignore[arg-type]


def stored_item(position: int, right: float, **changed: object) -> StoredItem:
    """An item that is done, but for what is changed."""
    facts: dict[str, object] = {
        "position": position, "item_key": str(position), "category": None, "state": "done", "text": "7", "picked": None,
        "extracted": {}, "expected": "7", "prompt_tokens": 100, "output_tokens": 11, "prefill_seconds": 0.5,
        "first_token_seconds": 0.6, "decode_seconds": 2.0, "wall_seconds": 2.6, "elapsed_seconds": 2.7, "capped": False,
        "attempts": 1, "cause": None, "finished_at": "", "logprobs": (), "greedy": (), "prompt_sha256": None,
        "method": None, "finish": "eos", "leading_bos": None, "read_tokens": 100, "repeats": None,
        "memory_bytes": None, "scores": {"exact_match,strict-match": (right, 1.0)},
    }  # fmt: skip
    return StoredItem(**{**facts, **changed})  # type: ignore[arg-type]


def interrupted_run(workspace: Path, pack: str, *, model_dir: Path | None = None) -> str:
    """A run whose process is gone; returns its id."""
    run_id = create(workspace, RunOrder(model_dir or demo.model_dir(), pack))
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("UPDATE runs SET state = 'running', pid = 999999999 WHERE run_id = ?", (run_id,))
    return run_id
