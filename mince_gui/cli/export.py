"""mince export."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from mince_gui.app.export import Form, export_subset
from mince_gui.cli.console import LiveLine, json_option, print_json, workspace_option


@click.command("export")
@click.argument("subset")
@click.option("--as", "form", type=click.Choice(get_args(Form)), required=True, help="What to write.")
@click.option("--task", help="lm-eval: the task that will be run, where the benchmark has several (gsm8k, ...).")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Where to write it.")
@workspace_option
@json_option
def export_command(subset: str, form: Form, task: str | None, out: Path | None, workspace: Path, as_json: bool) -> None:
    """Write a frozen subset (its file or name) for another tool.

    \b
    lm-eval   the map for lm-eval's --samples; its --tasks list is printed
    csv       position, key, category and content hash of every item
    quark     the frozen artifact of amd-quark
    """
    exported = export_subset(workspace, subset, form, out=out, task=task, emit=LiveLine())
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


COMMANDS = {"export": export_command}
