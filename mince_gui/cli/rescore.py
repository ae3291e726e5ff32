"""mince rescore."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app.rescore import Changed, Rescored, rescore
from mince_gui.cli.console import (
    LiveLine,
    cancel_on_interrupt,
    json_option,
    print_json,
    table,
    visible,
    workspace_option,
)
from mince_gui.report.format import percent, pp
from mince_gui.tasks.own_filter import OwnFilter

_SHOWN = 20
_READ_SHOWN = 40


def _filter(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    name, _, pattern = value.partition("=")
    if not name or not pattern:
        raise click.BadParameter(
            f"'{value}' is not NAME=PATTERN, such as boxed='boxed.(.*?)[}}]'. "
            "The task's own filters need no option: each of them is scored anyway."
        )
    return name, pattern


@click.command("rescore")
@click.argument("run")
@click.option("--task", help="Score by another task of the benchmark: its filters, its gold (default: the run's task).")
@click.option(
    "--filter", "own", callback=_filter, metavar="NAME=PATTERN",
    help="One metric more: exact match of what this regular expression reads (its first group).",
)  # fmt: skip
@click.option("--last", is_flag=True, help="With --filter: read the last match, not the first.")
@click.option(
    "--pack", type=click.Path(path_type=Path, dir_okay=False), help="The run's pack, where it is not in its place."
)
@click.option("--keep", is_flag=True, help="Keep the new scores as a run even where nothing changed.")
@workspace_option
@json_option
def rescore_command(
    run: str,
    task: str | None,
    own: tuple[str, str] | None,
    last: bool,
    pack: Path | None,
    keep: bool,
    workspace: Path,
    as_json: bool,
) -> None:
    """Score the stored answers of a run again, without running the model.

    The run stays as it is. Where anything comes out differently, the new scores are kept as a run of their own, with
    the same answers and times.
    """
    if last and own is None:
        raise click.UsageError("--last belongs to --filter.")
    own_filter = None if own is None else OwnFilter(*own, last=last)
    with cancel_on_interrupt() as cancel:
        done = rescore(
            workspace, run, task=task, own_filter=own_filter, pack=pack, keep=keep, emit=LiveLine(), cancel=cancel
        )
    if as_json:
        print_json(done.to_json())
        return
    _print(done)


def _print(done: Rescored) -> None:
    click.echo(
        f"Run {done.source_id}: {done.answers:,} stored {'answer' if done.answers == 1 else 'answers'} of "
        f"{done.items:,} items, scored again by {done.task} "
        f"(mince {done.version})."
    )
    if done.answers < done.items:
        click.echo(f"! The run is not whole: {done.items - done.answers:,} items have no answer and stay missing.")
    if not done.asks_alike:
        click.echo(
            f"! The answers were given to the prompts of {done.asked_by}. This says how {done.task} reads them, not "
            f"how the model does on {done.task}."
        )
    rows = []
    for metric in dict.fromkeys((*done.before, *done.after)):
        before, after = _percent(done.before.get(metric)), _percent(done.after.get(metric))
        change = pp(after - before) if before is not None and after is not None else "new" if before is None else "gone"
        rows.append((metric, _score(done.before.get(metric)), _score(done.after.get(metric)), change))
    click.echo(table(("metric", "before", "now", "change"), rows))
    verdicts = [item for item in done.changed if item.verdict_changed]
    if verdicts:
        click.echo(f"\n{len(verdicts):,} {'item has' if len(verdicts) == 1 else 'items have'} another verdict:")
        lines = [line for item in verdicts[:_SHOWN] for line in _lines(item)]
        click.echo(table(("item", "metric", "before", "now", "read before", "read now"), lines, left=6))
        if len(verdicts) > _SHOWN:
            click.echo(f"and {len(verdicts) - _SHOWN:,} more: --json lists them all.")
    elif done.changed:
        click.echo(f"\nNo verdict changed; {len(done.changed):,} items are read otherwise or have a new metric.")
    else:
        click.echo("\nNothing changed: every score and every reading is what it was.")
    if done.run_id is not None:
        click.echo(f"Kept as run {done.run_id}. Run {done.source_id} is as it was.")
        if done.full_run is not None:
            click.echo(
                f"Drift is told only against answers that were scored alike: mince rescore {done.full_run} --keep, "
                "with the same options."
            )
    else:
        click.echo("No new run is kept: it would say the same twice. --keep makes one all the same.")


def _percent(cell: tuple[float, float] | None) -> float | None:
    return 100.0 * cell[0] / cell[1] if cell is not None and cell[1] else None


def _score(cell: tuple[float, float] | None) -> str:
    """With the counts behind it: answers may be of a part of the items."""
    return "-" if cell is None else f"{percent(_percent(cell), digits=2)} ({_cell(cell)})"


def _lines(item: Changed) -> list[tuple[str, ...]]:
    """One line per metric whose outcome differs."""
    lines = []
    for metric in dict.fromkeys((*item.before, *item.after)):
        before, after = item.before.get(metric), item.after.get(metric)
        if before == after or (before is None and item.before):
            continue
        read = metric.partition(",")[2] or "none"
        told = item.cause if after is None and item.cause else item.read_after.get(read, "")
        lines.append((item.item_key, metric, _cell(before), _cell(after), _short(item.read_before.get(read, "")), told))
    return [(*line[:5], _short(line[5])) for line in lines]


def _cell(cell: tuple[float, float] | None) -> str:
    return "-" if cell is None else f"{cell[0]:g}/{cell[1]:g}"


def _short(read: str) -> str:
    """What was read, on one line: a model's output cannot command the terminal."""
    text = visible(read).replace("\n", " ")
    return text if len(text) <= _READ_SHOWN else f"{text[:_READ_SHOWN]}..."


COMMANDS = {"rescore": rescore_command}
