"""mince report."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app.report import report
from mince_gui.base.errors import UsageError
from mince_gui.cli.console import json_option, workspace_option
from mince_gui.report import json_text, markdown_text


@click.command("report")
@click.argument("run")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="FILE.{html,json,csv,md}")
@click.option("--reference", help="The stored reference to hold it against (default: the newest that fits).")
@workspace_option
@json_option
def report_command(run: str, out: Path | None, reference: str | None, workspace: Path, as_json: bool) -> None:
    """Report drift and speedup of a run, as text or as a document."""
    if out is None and not as_json:
        click.echo(markdown_text(report(workspace, run, reference=reference).report))
        return
    if out is not None and out.parent != Path() and not out.parent.is_dir():
        raise UsageError(f"The folder {out.parent} does not exist.", "Make it, or name another file.")
    written = report(workspace, run, out=out, reference=reference)
    click.echo(json_text(written.report).rstrip() if as_json else written.report.banner)
    if out is not None and not as_json:
        click.echo(str(out))


COMMANDS = {"report": report_command}
