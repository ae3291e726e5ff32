"""mince queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mince_gui.app import queue
from mince_gui.app.queue import QueueEntry
from mince_gui.base.errors import ItemsMissingError, MinceError
from mince_gui.base.events import Emit, Event, ignore, to_json
from mince_gui.base.paths import expanded
from mince_gui.cli.console import (
    LiveLine,
    cancel_on_interrupt,
    json_option,
    print_json,
    table,
    visible,
    workspace_option,
)
from mince_gui.cli.order_options import order_of, order_options


@click.group("queue")
def queue_group() -> None:
    """Runs one after the other: models x subsets, each with its own end."""


@queue_group.command("add")
@click.option(
    "--model",
    "model_dirs",
    type=click.Path(path_type=Path, file_okay=False),
    multiple=True,
    required=True,
    help="An OGA model folder; may be given several times.",
)
@click.option("--subset", "subsets", multiple=True, help="As for mince run; may be given several times.")
@order_options
@workspace_option
def queue_add(model_dirs: tuple[Path, ...], subsets: tuple[str, ...], workspace: Path, **given: Any) -> None:
    """Add every model on every subset, with the same options; nothing is run yet."""
    orders = [order_of(model, subset, given) for model in model_dirs for subset in subsets or (None,)]
    added = queue.add(workspace, orders)
    numbers = str(added[0]) if len(added) == 1 else f"{added[0]} to {added[-1]}"
    click.echo(f"Added entry {numbers}. Run them: mince queue start")
    for model in model_dirs:
        if not expanded(model).is_dir():
            click.echo(
                f"! There is no folder {visible(str(model))} yet; it must be there when its turn comes.", err=True
            )


@queue_group.command("list")
@workspace_option
@json_option
def queue_list(workspace: Path, as_json: bool) -> None:
    """List the entries in order."""
    found = queue.listing(workspace)
    if as_json:
        print_json({"runner": found.runner, "entries": [entry.to_json() for entry in found.entries]})
        return
    if not found.entries:
        click.echo("The queue is empty. Add runs: mince queue add --model DIR --subset NAME")
        return
    _print(found.entries)
    if found.runner is not None:
        click.echo(f"Being run by {found.runner}.")


def _print(entries: tuple[QueueEntry, ...] | list[QueueEntry]) -> None:
    rows = [
        (
            str(entry.entry_id),
            visible(entry.model_dir.name),
            visible(entry.subset or "(the only pack)"),
            entry.run_id or "",
            entry.cause or entry.state if entry.state == "ended" else entry.state,
            "" if entry.items is None else f"{entry.done}/{entry.items}",
        )
        for entry in entries
    ]
    click.echo(table(("entry", "model", "subset", "run", "state", "done"), rows, left=5))
    for entry in entries:
        if entry.detail and entry.cause not in (None, "done"):
            click.echo(f"! entry {entry.entry_id}: {visible(entry.detail).splitlines()[0]}")


def _jsonl(event: Event) -> None:
    click.echo(to_json(event))


@queue_group.command("start")
@click.option("--detach", is_flag=True, help="Run it in a process of its own and return at once.")
@click.option("--events", type=click.Choice(("live", "jsonl", "none")), default="live", show_default=True)
@workspace_option
@json_option
def queue_start(detach: bool, events: str, workspace: Path, as_json: bool) -> None:
    """Run the entries that have not ended, in order; one that fails does not stop the next.

    Ctrl-C stops the run in hand and the queue; both go on where they were with the next start. A run waits while
    another has its device.
    """
    if detach:
        pid, log = queue.start_detached(workspace), queue.queue_log(workspace)
        if as_json:
            print_json({"pid": pid, "log": str(log)})
        else:
            click.echo(f"The queue is run by process {pid}; its words go to {log}.")
        return
    emits: dict[str, Emit] = {"live": LiveLine(), "jsonl": _jsonl, "none": ignore}
    with cancel_on_interrupt() as cancel:
        entries = queue.run_queue(workspace, emit=emits[events], cancel=cancel)
    left = sum(entry.state != "ended" for entry in queue.listing(workspace).entries)
    if as_json:
        print_json({"entries": [entry.to_json() for entry in entries], "left": left})
    elif events != "jsonl":
        if entries:
            _print(entries)
        else:
            click.echo("No entry of the queue is waiting.")
    _require_done(entries, left)


def _require_done(entries: list[QueueEntry], left: int) -> None:
    """Raise the error, and so the exit code, that the queue's end deserves."""
    if left:
        raise MinceError(f"The queue was stopped; {left} of its entries have not ended.", "Go on: mince queue start")
    by_cause = {entry.entry_id: entry.cause for entry in entries if entry.cause != "done"}
    failed = [str(number) for number, cause in by_cause.items() if cause != "incomplete"]
    if failed:
        raise MinceError(f"{len(failed)} of {len(entries)} entries failed: {', '.join(failed)}.", _AGAIN)
    if by_cause:
        numbers = ", ".join(map(str, by_cause))
        raise ItemsMissingError(f"Items are missing in {len(by_cause)} of {len(entries)} entries: {numbers}.", _AGAIN)


_AGAIN = "Mend the cause, then go on with the run (mince run --resume RUN), or where there is none add the entry again."


@queue_group.command("stop")
@workspace_option
def queue_stop(workspace: Path) -> None:
    """Ask the queue's runner, in whatever process it is, to stop after the item in flight."""
    queue.stop(workspace)
    click.echo("The queue stops after the item in flight. Go on later: mince queue start")


@queue_group.command("remove")
@click.argument("entry", type=int)
@workspace_option
def queue_remove(entry: int, workspace: Path) -> None:
    """Take an entry out; its run, if it has one, stays."""
    queue.remove(workspace, entry)
    click.echo(f"Entry {entry} is out of the queue.")


@queue_group.command("clear")
@click.option("--ended", is_flag=True, help="Only entries that have ended.")
@workspace_option
def queue_clear(ended: bool, workspace: Path) -> None:
    """Take all entries out, but for the one that is running; their runs stay."""
    count = queue.clear(workspace, ended=ended)
    click.echo(f"{count} entries are out of the queue." if count != 1 else "1 entry is out of the queue.")


COMMANDS = {"queue": queue_group}
