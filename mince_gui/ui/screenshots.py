"""Pictures of every page with real content, made by the program itself."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QEventLoop
from PySide6.QtWidgets import QApplication

from mince_gui.app import demo
from mince_gui.app.run import RunOrder
from mince_gui.base.errors import MinceError
from mince_gui.ui import reads, theme
from mince_gui.ui.hub import PAGES
from mince_gui.ui.pages.reports import ReportsPage
from mince_gui.ui.pages.run import RunPage
from mince_gui.ui.pages.sizing import SizingPage
from mince_gui.ui.window import Window

_PATIENCE_SECONDS = 300.0


class _NotReadyError(MinceError):
    """A page did not become ready in time."""


def take(app: QApplication, workspace: Path, folder: Path) -> int:
    """Save start.png, logs.png ... and the same with -dark; returns the exit code.

    A workspace without logs is filled with the demo, whose runs are made live, so that Run shows one going on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prepared = [] if reads.has_logs(workspace) else demo.prepare(workspace)
    for dress in (theme.LIGHT, theme.DARK):
        theme.apply(app, dress)
        with tempfile.TemporaryDirectory(prefix="mince-gui-") as empty:
            camera = _Camera(app, Path(empty) / "workspace", folder)
            camera.wait(lambda shown=camera: shown.window.start_page is not None)  # type: ignore[misc]
            camera.shoot("start")
            camera.close()
        camera = _Camera(app, workspace, folder)
        for name in ("logs", "sizing", "subsets"):
            camera.show(name)
            camera.shoot(name)
        for _, frozen in prepared:
            camera.run(frozen.name, picture=False)
            # The longest of the demo's runs that generates text, so that it is still going on.
            camera.run(f"{frozen.benchmark}-full", picture=frozen.benchmark.endswith("math"))
        if not prepared:
            camera.show("run")
            camera.shoot("run")
        prepared = []
        camera.show("reports")
        camera.shoot("reports")
        camera.close()
    theme.apply(app, theme.LIGHT)
    return 0


class _Camera:
    """A window, and pictures of it."""

    def __init__(self, app: QApplication, workspace: Path, folder: Path) -> None:
        self._app = app
        self._folder = folder
        self.window = Window(workspace, follow_system=False)
        self.window.resize(1280, 800)
        self.window.show()
        self.settle()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Let the window work until `ready`. Raises MinceError when it never is."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not ready():
            if time.monotonic() > end:
                raise _NotReadyError("The window did not get ready for its picture.", "Report this.")
            self._app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)
            time.sleep(0.01)

    def settle(self) -> None:
        """Wait for reads and layouts."""
        self.wait(lambda: not self.window.hub.jobs.busy)
        for _ in range(3):
            self._app.sendPostedEvents(None, int(QEvent.Type.DeferredDelete))
            self._app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)

    def show(self, name: str) -> None:
        """Bring a page to the front, with its content."""
        page = next(known for known in PAGES if known == name)
        self.window.show_page(page)
        self.settle()
        shown = self.window.page(page)
        if isinstance(shown, RunPage) and shown.list.current_ident() is not None:
            self.wait(lambda: shown.view.snapshot is not None)
            self.wait(lambda: shown.form.order() is None or bool(shown.form.forecast.text()))
        if isinstance(shown, SizingPage):
            self.wait(lambda: not shown.view.questions.asking)
        if isinstance(shown, ReportsPage) and shown.list.current_ident() is not None:
            self.wait(lambda: bool(shown.view.banner_text))
        self.settle()

    def run(self, pack: str, *, picture: bool) -> None:
        """Run a demo pack to its end; with `picture`, one is taken half-way."""
        self.show("run")
        page = self.window.page("run")
        assert isinstance(page, RunPage)
        ended: list[object] = []
        page.over.connect(ended.append)
        page.start(RunOrder(demo.model_dir(), pack))

        def half_way() -> bool:
            shown = page.view.snapshot
            return shown is not None and shown.run.plan.subset == pack and shown.run.done * 2 > shown.run.plan.items

        if picture:
            self.wait(lambda: half_way() or bool(ended))
            self.shoot("run")
        self.wait(lambda: bool(ended))
        page.over.disconnect(ended.append)
        self.settle()

    def shoot(self, name: str) -> None:
        """Save the picture."""
        self.settle_once()
        suffix = "" if theme.current() is theme.LIGHT else f"-{theme.current().name}"
        self.window.grab().save(str(self._folder / f"{name}{suffix}.png"))

    def settle_once(self) -> None:
        """Let the layouts settle without waiting for work."""
        for _ in range(3):
            self._app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)

    def close(self) -> None:
        """Close the window."""
        self.window.close()
        self.window.deleteLater()
        self._app.sendPostedEvents(None, int(QEvent.Type.DeferredDelete))
