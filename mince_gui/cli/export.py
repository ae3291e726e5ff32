"""mince export."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from mince_gui.app.export import Form, export_subset
from mince_gui.app.export_run import ExportedRun, RunForm, export_run, is_run
from mince_gui.base.errors import UsageError
from mince_gui.cli.console import LiveLine, json_option, print_json, workspace_option


@click.command("export")
@click.argument("name", metavar="RUN|SUBSET")
@click.option("--as", "form", type=click.Choice(get_args(Form)), required=True, help="What to write.")
@click.option("--task", help="A subset for lm-eval: the task that will be run, where there are several (gsm8k, ...).")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where to write it: a file, for a run as lm-eval a folder."
)
@workspace_option
@json_option
def export_command(name: str, form: Form, task: str | None, out: Path | None, workspace: Path, as_json: bool) -> None:
    """Write a run, or a frozen subset (its file or name), for another tool.

    \b
    a run as lm-eval      the folder that --log_samples writes: results_*.json and samples_*.jsonl
    a run as csv          one row per item: answer, what each filter read, gold, verdicts, timing
    a subset as lm-eval   the map for lm-eval's --samples; its --tasks list is printed
    a subset as csv       position, key, category and content hash of every item
    a subset as quark     the frozen artifact of amd-quark

    Runs are named by their id (mince runs) or its beginning, with the hyphen: 20261130-05.
    """
    if is_run(workspace, name):
        if task is not None:
            raise UsageError("--task belongs to a subset: a run has its task.")
        if form == "quark":
            raise UsageError(
                "amd-quark has no form of its own for runs.",
                "Its loader reads lm-eval's: --as lm-eval. The subset's artifact: mince export SUBSET --as quark",
            )
        _told(export_run(workspace, name, form, out=out, emit=LiveLine()), form, as_json=as_json)
        return
    exported = export_subset(workspace, name, form, out=out, task=task, emit=LiveLine())
    if as_json:
        print_json(
            {
                "name": exported.subset.name,
                "n": exported.subset.n,
                "path": str(exported.path),
                "tasks": list(exported.tasks),
            }
        )
        return
    click.echo(f"{exported.subset.name}: {exported.subset.n:,} items as {form}")
    click.echo(str(exported.path))
    if exported.tasks:
        click.echo("Run lm-eval with exactly these tasks (it runs the whole of a task that the map does not name):")
        click.echo(f"  --tasks {','.join(exported.tasks)} --samples {exported.path}")


def _told(exported: ExportedRun, form: RunForm, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "run_id": exported.run_id,
                "items": exported.items,
                "missing": exported.missing,
                "path": str(exported.path),
                "files": [str(file) for file in exported.files],
            }
        )
        return
    missing = f" ({exported.missing:,} of {exported.planned:,} are missing)" if exported.missing else ""
    click.echo(f"{exported.run_id}: {exported.items:,} items as {form}{missing}")
    click.echo(str(exported.path))


COMMANDS = {"export": export_command}
