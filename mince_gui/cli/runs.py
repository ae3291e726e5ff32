"""mince runs."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app.item_rows import item_json
from mince_gui.app.listings import delete_run, list_runs, show_run
from mince_gui.app.summary import answers_of, asking_of, machine_of
from mince_gui.app.timing import timing_of
from mince_gui.cli.console import json_option, print_json, table, visible, workspace_option
from mince_gui.cli.run import print_asking, print_timing
from mince_gui.report.format import seconds as duration
from mince_gui.store.runs import StoredItem, StoredRun

_ANSWER_SHOWN = 600


def _state(run: StoredRun) -> str:
    state = run.cause or run.state if run.state == "ended" else run.state
    return f"{state}, rescored" if run.rescored_of else state


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
                    "rescored_of": run.rescored_of or None,
                    "origin": dict(run.origin) or None,
                }
                for run in runs
            ]
        )
        return
    if not runs:
        click.echo("No runs yet. Start one: mince run --model DIR --subset NAME")
        return
    elsewhere = any(run.origin for run in runs)
    rows = [
        (
            run.run_id,
            run.plan.subset,
            run.plan.model,
            _state(run),
            f"{run.done}/{run.plan.items}",
            str(run.missing or ""),
            duration(run.elapsed_seconds),
            *([visible(str(run.origin.get("machine", "")))] if elsewhere else []),
        )
        for run in runs
    ]
    head = ("run", "subset", "model", "state", "done", "missing", "time", *(["made on"] if elsewhere else []))
    click.echo(table(head, rows, left=4))


@runs_group.command("show")
@click.argument("run")
@click.option("--items", "with_answers", is_flag=True, help="Show each answer, what the filters read in it, the gold.")
@click.option("--wrong", is_flag=True, help="Only items that are wrong by at least one metric.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N of these items.")
@click.option("--full", is_flag=True, help="Do not cut long answers.")
@workspace_option
@json_option
def runs_show(
    run: str, with_answers: bool, wrong: bool, limit: int | None, full: bool, workspace: Path, as_json: bool
) -> None:
    """Show a run's items."""
    stored, items = show_run(workspace, run)
    # Of the whole run, whichever items are shown.
    asking, answers, timing = asking_of(stored, items), answers_of(stored, items), timing_of(stored, items)
    machine = machine_of(stored)
    if wrong:
        items = [item for item in items if any(passed < trials for passed, trials in item.scores.values())]
    items = items[:limit]
    if as_json:
        print_json(
            {
                "run_id": stored.run_id,
                "state": stored.state,
                "rescored_of": stored.rescored_of or None,
                "origin": dict(stored.origin) or None,
                "conditions": stored.conditions,
                "asking": asking,
                "answers": answers.to_json(),
                "machine": machine,
                "timing": timing.to_json(),
                "items": [item_json(item) for item in items],
            }
        )
        return
    if with_answers:
        for item in items:
            _print_answer(item, full=full)
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
    if stored.origin:
        click.echo(visible("made on {machine}, imported {imported_at} from {bundle}".format_map(stored.origin)))
    print_timing(timing)
    print_asking({**machine, **asking}, answers)


def _print_answer(item: StoredItem, *, full: bool) -> None:
    """One item: verdicts, answer, what each filter read, gold; a model's output cannot command the terminal."""
    verdicts = "  ".join(f"{metric} {passed:g}/{trials:g}" for metric, (passed, trials) in item.scores.items())
    click.secho(visible(f"{item.item_key}  {item.category or ''}  {verdicts or item.state}".rstrip()), bold=True)
    if item.cause:
        click.echo(f"  cause   {visible(item.cause)}")
    if item.text is not None:
        text = item.text if full or len(item.text) <= _ANSWER_SHOWN else item.text[:_ANSWER_SHOWN]
        cut = "" if len(text) == len(item.text) else f" ... ({len(item.text) - len(text):,} more characters: --full)"
        click.echo("  answer  " + visible(text).replace("\n", "\n          ") + cut)
    if item.logprobs:
        click.echo("  log-probabilities  " + "  ".join(f"{value:.3f}" for value in item.logprobs))
    for name, read in item.extracted.items():
        click.echo(f"  {'picked' if name == 'none' else name}  {visible(read)}")
    if item.expected:
        click.echo(f"  gold    {visible(item.expected)}")
    click.echo()


@runs_group.command("delete")
@click.argument("run")
@workspace_option
@click.confirmation_option(prompt="Delete the run with all its answers?")
def runs_delete(run: str, workspace: Path) -> None:
    """Delete a run with its answers."""
    deleted = delete_run(workspace, run)
    click.echo(f"{deleted.run_id} is deleted.")
    if deleted.rescored:
        click.echo(f"Kept, with its answers scored again: {', '.join(deleted.rescored)}")


COMMANDS = {"runs": runs_group}
