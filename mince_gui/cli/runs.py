"""mince runs."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app.listings import delete_run, list_runs, show_run
from mince_gui.cli.console import json_option, print_json, table, workspace_option
from mince_gui.report.format import seconds as duration
from mince_gui.store.runs import StoredRun


def _state(run: StoredRun) -> str:
    return run.cause or run.state if run.state == "ended" else run.state


@click.group("runs", invoke_without_command=True)
@workspace_option
@json_option
@click.pass_context
def runs_group(ctx: click.Context, workspace: Path, as_json: bool) -> None:
    """List runs; show or delete one."""
    if ctx.invoked_subcommand is not None:
        return
    runs = list_runs(workspace)
    if as_json:
        print_json(
            [
                {
                    "run_id": run.run_id,
                    "benchmark": run.plan.benchmark,
                    "subset": run.plan.subset,
                    "model": run.plan.model,
                    "items": run.plan.items,
                    "done": run.done,
                    "missing": run.missing,
                    "state": run.state,
                    "cause": run.cause,
                }
                for run in runs
            ]
        )
        return
    if not runs:
        click.echo("No runs yet. Start one: mince run --model DIR --subset NAME")
        return
    rows = [
        (
            run.run_id,
            run.plan.subset,
            run.plan.model,
            _state(run),
            f"{run.done}/{run.plan.items}",
            str(run.missing or ""),
            duration(run.elapsed_seconds),
        )
        for run in runs
    ]
    click.echo(table(("run", "subset", "model", "state", "done", "missing", "time"), rows, left=4))


@runs_group.command("show")
@click.argument("run")
@workspace_option
@json_option
def runs_show(run: str, workspace: Path, as_json: bool) -> None:
    """Show a run's items."""
    stored, items = show_run(workspace, run)
    if as_json:
        print_json(
            {
                "run_id": stored.run_id,
                "state": stored.state,
                "conditions": stored.conditions,
                "items": [
                    {"key": i.item_key, "state": i.state, "scores": {m: list(s) for m, s in i.scores.items()},
                     "extracted": dict(i.extracted), "expected": i.expected, "seconds": i.wall_seconds,
                     "cause": i.cause}
                    for i in items
                ],
            }
        )  # fmt: skip
        return
    rows = [
        (
            item.item_key,
            item.category or "",
            item.state,
            "  ".join(f"{passed:g}/{trials:g}" for passed, trials in item.scores.values()),
            "" if item.output_tokens is None else str(item.output_tokens),
            duration(item.wall_seconds),
            item.cause or "",
        )
        for item in items
    ]
    click.echo(table(("item", "category", "state", "scores", "tokens", "time", "cause"), rows, left=3))


@runs_group.command("delete")
@click.argument("run")
@workspace_option
@click.confirmation_option(prompt="Delete the run with all its answers?")
def runs_delete(run: str, workspace: Path) -> None:
    """Delete a run with its answers."""
    click.echo(f"{delete_run(workspace, run)} is deleted.")


COMMANDS = {"runs": runs_group}
