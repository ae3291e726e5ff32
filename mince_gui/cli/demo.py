"""mince demo."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app.demo import DemoPart, Step, demo
from mince_gui.cli.console import LiveLine, cancel_on_interrupt, json_option, print_json, table, workspace_option
from mince_gui.cli.import_logs import print_summary
from mince_gui.cli.run import print_run
from mince_gui.cli.size import print_sizing
from mince_gui.report.format import interval, percent, pp


def _show(step: Step) -> None:
    if step.imported is not None:
        click.echo("== Calibration logs (a demo benchmark and demo models: they say nothing about real ones)")
        print_summary(step.imported)
    if step.sizing is not None:
        click.echo(f"\n== Sizing of {step.sizing.benchmark}")
        print_sizing(step.sizing, rows=6)
    if step.frozen is not None:
        frozen = step.frozen
        click.echo(f"frozen: {frozen.name}, {frozen.n} of {frozen.total_items} items, seed {frozen.seed}")
    if step.run is not None:
        click.echo("\n== Run")
        print_run(step.run)


def _rows(parts: list[DemoPart]) -> list[tuple[str, ...]]:
    return [
        (
            part.subset.name,
            metric.title,
            percent(metric.full.percent if metric.full else None),
            percent(metric.score),
            pp(metric.drift_pp),
            f"{pp(metric.bound_pp, signed=False)} ({part.report.bound.name})" if part.report.bound else "no bound",
            metric.verdict,
        )
        for part in parts
        for metric in part.report.metrics
    ]


def _quantisation(parts: list[DemoPart]) -> list[tuple[str, ...]]:
    """The INT4 model minus the same weights before they were quantised, on the items of the subset."""
    return [
        (
            part.subset.name,
            value.title,
            pp(value.pp),
            "-" if value.interval is None else interval(value.interval.low, value.interval.high, unit="pp"),
            f"{value.items:,}",
        )
        for part in parts
        for line in part.report.split.lines
        if line.part == "quantisation delta"
        for value in line.values
    ]


@click.command("demo")
@click.option("--quick", is_flag=True, help="Leave out the full runs; the speedup is then an estimate.")
@workspace_option
@json_option
def demo_command(quick: bool, workspace: Path, as_json: bool) -> None:
    """Run the whole way once, on a small benchmark and model that ship with mince. Offline, about a minute."""
    line = LiveLine()

    def shown(step: Step) -> None:
        line.clear()
        if not as_json:
            _show(step)

    with cancel_on_interrupt() as cancel:
        parts = demo(workspace, quick=quick, emit=line, cancel=cancel, shown=shown)
    if as_json:
        print_json(
            [
                {
                    "benchmark": part.subset.benchmark,
                    "subset": part.subset.name,
                    "n_star": part.sizing.n_star,
                    "metrics": [
                        {
                            "name": m.name,
                            "full": m.full.percent if m.full else None,
                            "subset": m.score,
                            "drift_pp": m.drift_pp,
                            "bound_pp": m.bound_pp,
                            "verdict": m.verdict,
                        }
                        for m in part.report.metrics
                    ],
                    "speedup": {"kind": part.report.speedup.kind, "factor": part.report.speedup.factor},
                    "html": str(part.html),
                }
                for part in parts
            ]
        )
        return
    print_result(parts)


def print_result(parts: list[DemoPart]) -> None:
    """Drift, what quantisation cost, speedup and where the documents are."""
    click.echo("\n== Result")
    click.echo(table(("frozen subset", "metric", "full run", "subset run", "drift", "bound", ""), _rows(parts), left=2))
    if costs := _quantisation(parts):
        head = ("quantisation delta", "metric", "INT4 - FP32", "95 % interval", "items of both")
        click.echo(f"\n{table(head, costs, left=2)}\n")
    for part in parts:
        click.echo(f"{part.subset.name}: {part.report.speedup.words}")
    for part in parts:
        click.echo(f"report: {part.html}")


COMMANDS = {"demo": demo_command}
