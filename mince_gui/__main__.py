"""The door: picks worker, command line or window, and imports only that one."""

from __future__ import annotations

import multiprocessing
import sys


def main() -> int:
    """`mince`: the command line; with the hidden argument --worker, the worker of a frozen bundle."""
    multiprocessing.freeze_support()
    if sys.argv[1:2] == ["--worker"]:
        from mince_gui.run import worker

        return worker.main()
    from mince_gui.cli import main as run_cli

    return run_cli(sys.argv[1:])


def main_gui() -> int:
    """`mince-gui`: the window."""
    from mince_gui.ui import main as run_window

    return run_window(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
