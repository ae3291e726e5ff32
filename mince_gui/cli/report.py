"""mince report."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app import comparison as comparing
from mince_gui.app.report import report, require_within
from mince_gui.base.errors import UsageError
from mince_gui.cli.console import AMOUNT, json_option, workspace_option
from mince_gui.report import json_text, markdown_text
from mince_gui.report.comparison.building import comparison_json
from mince_gui.report.comparison.page import comparison_page
from mince_gui.report.documents.markdown import page_markdown
from mince_gui.report.gate import Limits


@click.command("report")
@click.argument("runs", metavar="RUN...", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="FILE.{html,pdf,json,csv,md}")
@click.option("--all", "everything", is_flag=True, help="Compare all runs: models x devices x benchmarks.")
@click.option(
    "--history",
    is_flag=True,
    help="Compare all runs of RUN's model and subset over time; of two RUNs, the second minus the first.",
)
@click.option("--reference", help="The stored full score to hold it against (default: the one that fits best).")
@click.option(
    "--against",
    multiple=True,
    metavar="RUN|REFERENCE|MODEL",
    help="Pair item by item with this run, reference or imported log (default: what tells the gap's parts apart).",
)
@click.option(
    "--max-drift",
    type=AMOUNT,
    metavar="PP",
    help="Exit code 5 where |drift| against the own full run, or this run's distance from its score, is more.",
)
@click.option("--max-delta", type=AMOUNT, metavar="PP", help="Exit code 5 where a paired |delta| is more.")
@click.option("--max-total", type=AMOUNT, metavar="PP", help="Exit code 5 where the |total gap| is more.")
@workspace_option
@json_option
def report_command(
    runs: tuple[str, ...],
    out: Path | None,
    everything: bool,
    history: bool,
    reference: str | None,
    against: tuple[str, ...],
    max_drift: float | None,
    max_delta: float | None,
    max_total: float | None,
    workspace: Path,
    as_json: bool,
) -> None:
    """Report drift, deltas and speedup of a run, or compare several runs; as text or as a document.

    A limit that cannot be judged is not passed: exit code 4 where items are missing, else 1.
    """  # fmt: skip
    limits = Limits(max_drift, max_delta, max_total)
    if out is not None and out.parent != Path() and not out.parent.is_dir():
        raise UsageError(f"The folder {out.parent} does not exist.", "Make it, or name another file.")
    if everything or history or len(runs) > 1:
        if limits.any or reference is not None or against:
            raise UsageError(
                "--reference, --against and the limits are for the report of one run.",
                "Name one run, or leave them out.",
            )
        _compare(workspace, runs, out, everything=everything, history=history, as_json=as_json)
        return
    if not runs:
        raise UsageError("Which run?", "Name one (`mince runs` lists them), or compare them all: --all")
    written = report(workspace, runs[0], out=out, reference=reference, against=against, limits=limits)
    if as_json:
        click.echo(json_text(written.report).rstrip())
    elif out is None:
        click.echo(markdown_text(written.report))
    else:
        click.echo(written.report.banner)
        click.echo(str(out))
    require_within(written.report)
    if written.report.gate is not None and not as_json:
        click.echo(written.report.gate.line)


def _compare(
    workspace: Path, runs: tuple[str, ...], out: Path | None, *, everything: bool, history: bool, as_json: bool
) -> None:
    if everything and (runs or history):
        raise UsageError("--all compares every run.", "Name no run beside it.")
    if history and len(runs) not in (1, 2):
        raise UsageError(
            "--history takes one run, and finds the others of its model and subset; or two, to set them side by side.",
            "Name one run, or two.",
        )
    of_one = runs if len(runs) == 2 or not history else ()
    if out is not None:
        comparing.require_kind(out)
    compared = comparing.compare(workspace, of_one, everything=everything, history_of=runs[0] if history else None)
    if out is not None:
        comparing.write_comparison(compared, out)
    if as_json:
        click.echo(comparison_json(compared).rstrip())
    elif out is None:
        click.echo(page_markdown(comparison_page(compared)))
    else:
        click.echo(str(out))


COMMANDS = {"report": report_command}
