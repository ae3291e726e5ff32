"""ui: the window. Pages in the data's order: Logs, Sizing, Subsets, Run, Reports.

Comes in: what the user does, the workspace, events. Goes out: calls of `app` functions in worker threads.
May import: every room below; never cli. Only this room knows Qt.

How it holds together
    bridge    the only place where base.events become Qt signals: `Jobs` runs a function off the GUI thread
    hub       what pages share: the workspace's folder, the jobs, word of changes (`changed`), going to a page (`go`)
    reads     every read of the workspace; called in jobs, each opens its own Workspace
    follower  follows a run through rows and event file in a thread of its own, emits `snapshot.Snapshot`s
    tables, entries, widgets, states, plots*, theme, icons, activity   what pages are made of
    pages/    one module (or a few) a page, each a `Page`: `refresh` reads anew, `open_with` shows a particular thing
    window    the frame: makes pages when first shown; demo_tour goes through the demo; screenshots takes pictures

A run is started detached and only followed; closing the window never touches it. Nothing blocks the GUI thread: a
page asks `hub.jobs` and is called back.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mince_gui.base import paths

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mince-gui", description="The window of mince-gui.")
    parser.add_argument("--workspace", type=Path, metavar="DIR", help="the workspace's folder")
    parser.add_argument("--page", choices=("logs", "sizing", "subsets", "run", "reports"), help="the page to open with")
    parser.add_argument(
        "--screenshots", type=Path, metavar="DIR",
        help="save a picture of every page to DIR and end; an empty workspace gets the demo first",
    )  # fmt: skip
    return parser


def main(argv: Sequence[str]) -> int:
    """Open the window; returns the exit code once it is closed. `argv` without the program's name."""
    options = _parser().parse_args(list(argv))
    workspace = paths.expanded(options.workspace or paths.default_workspace()).absolute()

    from PySide6.QtWidgets import QApplication

    from mince_gui.ui import theme
    from mince_gui.ui.window import Window

    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication([sys.argv[0]])
    app.setApplicationName("mince-gui")
    app.setDesktopFileName("mince-gui")
    if options.screenshots is not None:
        from mince_gui.ui.screenshots import take

        return take(app, workspace, options.screenshots)
    theme.apply(app)
    window = Window(workspace, first_page=options.page)
    window.show()
    return app.exec()
