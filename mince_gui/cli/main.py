"""The command group, and what happens to errors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mince_gui import __version__
from mince_gui.base import crash, paths
from mince_gui.base.errors import MinceError

# name -> (module, one line for --help): the help page is printed without importing any command.
_COMMANDS = {
    "demo": ("demo", "Run the whole way once, on a small benchmark and model that ship with mince."),
    "import": ("import_logs", "Import per-item evaluation logs."),
    "logs": ("import_logs", "List the imported logs."),
    "size": ("size", "Compute how many items bound the drift (P95 curve and n*)."),
    "study": ("study", "What a sizing hangs on: tau, models, seeds, samplers; ranks and held-out models."),
    "freeze": ("subsets", "Draw a subset once and write it to a file."),
    "pack": ("subsets", "Make a pack: a subset with its content, to run offline."),
    "subsets": ("subsets", "List frozen subsets and packs."),
    "export": ("export", "Write a run or a frozen subset for lm-eval, amd-quark, or as CSV."),
    "check-model": ("check_model", "Say what a model folder is, and which runtime can run it."),
    "run": ("run", "Run a model over a subset, or resume a run."),
    "runs": ("runs", "List, show and delete runs."),
    "rescore": ("rescore", "Score a run's stored answers again, without running the model."),
    "queue": ("queue", "Run models x subsets one after the other: add, list, start, stop, remove, clear."),
    "runtimes": ("runtimes", "List, add, probe and remove runtimes; show this machine's NPU."),
    "reference": ("reference", "Stored full-benchmark scores: import, add, list."),
    "bundle": ("bundle", "Carry runs between machines: export them to a file, import them."),
    "report": ("report", "Report drift and speedup of a run."),
}


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"mince_gui.cli.{_COMMANDS[cmd_name][0]}")
        command = module.COMMANDS[cmd_name]
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mince")
@click.option("--workspace", type=click.Path(path_type=Path, file_okay=False), help="The workspace's folder.")
def group(workspace: Path | None) -> None:
    """Does an INT4 model still score like its full benchmark says?

    Import per-item logs, size a subset, freeze it, run it on the device, and report drift and speedup. Offline.
    """


def _say(message: str, remedy: str = "") -> None:
    click.echo(f"mince: {message}", err=True)
    if remedy:
        click.echo(f"  {remedy}", err=True)


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code. Every error the user can mend is two lines, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A Windows console may use a code page that lacks our signs; a model's text may hold lone surrogates.
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        code = group.main(list(argv), prog_name="mince", standalone_mode=False)
    except click.ClickException as exc:
        exc.show()
        return 2
    except (click.exceptions.Abort, KeyboardInterrupt):
        _say("Interrupted.")
        return 1
    except BrokenPipeError:
        # `mince runs | head`: whoever read us has had enough. Python would complain again at exit.
        sys.stderr.close()
        return 1
    except MinceError as exc:
        _say(exc.message, exc.remedy)
        return exc.exit_code
    except OSError as exc:
        if exc.filename is None:
            raise
        _say(f"{exc.filename}: {exc.strerror}.", "Check the path, its permissions and the space that is left.")
        return 1
    except Exception as exc:  # noqa: BLE001 - the process boundary: a defect of ours becomes a report, not a traceback
        file = crash.write_report(exc, paths.state_dir())
        _say(
            f"A defect of mince-gui: {type(exc).__name__}: {exc}", f"Please report it with {file}: no texts are in it."
        )
        return 1
    return code if isinstance(code, int) else 0
