"""mince import, mince logs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from mince_gui.app.import_logs import ImportSummary, import_logs, look
from mince_gui.app.listings import list_logs
from mince_gui.cli.console import LiveLine, cancel_on_interrupt, json_option, print_json, table, workspace_option
from mince_gui.report.format import percent

_SEVERE = {"warning": "!", "refusal": "x", "info": " "}


def print_summary(summary: ImportSummary) -> None:
    """The table of what was stored, then what was not and why."""
    rows = [
        (
            log.model,
            log.title,
            f"{log.items:,}/{log.total_items:,}",
            "  ".join(percent(score) for score in log.scores.values()),
            "new" if log.new else "there already",
        )
        for log in summary.imported
    ]
    click.echo(table(("model", "benchmark", "items", "scores", ""), rows, left=2))
    for log in summary.imported:
        for check in log.checks:
            if check.severity != "info":
                click.echo(f"{_SEVERE[check.severity]} {log.model} · {log.title}: {check.message}")
    for found, why in summary.refused:
        click.echo(f"x {found.model} · {found.benchmark.title} was refused: {why}")
    for path, why in summary.skipped[:10]:
        click.echo(f"- passed over {path}: {why}")
    if len(summary.skipped) > 10:
        click.echo(f"- and {len(summary.skipped) - 10} files more")


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--benchmark", help="Only logs of this benchmark.")
@click.option("--model", help="Store the log under this model name.")
@workspace_option
@json_option
def import_command(
    paths: tuple[Path, ...], benchmark: str | None, model: str | None, workspace: Path, as_json: bool
) -> None:
    """Import per-item evaluation logs: folders (searched whole) or single samples files."""
    with cancel_on_interrupt() as cancel:
        summary = import_logs(workspace, look(paths), benchmark=benchmark, model=model, emit=LiveLine(), cancel=cancel)
    if as_json:
        print_json(
            {
                "imported": [dataclasses.asdict(log) for log in summary.imported],
                "refused": [
                    {"model": found.model, "benchmark": found.benchmark.name, "why": why}
                    for found, why in summary.refused
                ],
                "skipped": [{"path": str(path), "why": why} for path, why in summary.skipped],
            }
        )
    else:
        print_summary(summary)
    if summary.refused:
        raise click.exceptions.Exit(3)


@click.command("logs")
@click.option("--benchmark", help="Only logs of this benchmark.")
@workspace_option
@json_option
def logs_command(benchmark: str | None, workspace: Path, as_json: bool) -> None:
    """List the imported logs."""
    logs = list_logs(workspace, benchmark)
    if as_json:
        print_json([dataclasses.asdict(log) for log in logs])
        return
    if not logs:
        click.echo("No logs yet. Import some: mince import FOLDER")
        return
    rows = [
        (
            log.model + (" (excluded)" if log.excluded else ""),
            log.benchmark,
            f"{log.items:,}/{log.total_items:,}",
            "  ".join(percent(score) for score in log.scores.values()),
            str(sum(check.severity != "info" for check in log.checks) or ""),
        )
        for log in logs
    ]
    click.echo(table(("model", "benchmark", "items", "scores", "warnings"), rows, left=2))


COMMANDS = {"import": import_command, "logs": logs_command}
