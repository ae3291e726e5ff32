"""mince size."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from mince_gui.app.size import SizeQuestion, size
from mince_gui.cli.console import LiveLine, cancel_on_interrupt, json_option, print_json, table, workspace_option
from mince_gui.report.format import pp
from mince_gui.sizing.types import Method, SizingResult, Worst


def _sizes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.replace(" ", "").split(","))
    except ValueError as exc:
        raise click.BadParameter("give whole numbers with commas between them, such as 50,100,200") from exc


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return tuple(name.strip() for name in value.split(",")) if value else None


def print_sizing(result: SizingResult, *, rows: int | None = None) -> None:
    """n*, the curve as a table (the part around n* if `rows` bounds it), the warnings."""
    sizes = result.plan.sizes
    shown = range(len(sizes))
    if rows is not None and result.n_star is not None and len(sizes) > rows:
        at = sizes.index(result.n_star)
        first = max(0, min(at - rows + 3, len(sizes) - rows))
        shown = range(first, first + rows)
    lines = [
        (
            f"{sizes[i]:,}",
            pp(result.p95_pp[i], signed=False, digits=2),
            pp(result.gain_pp[i], digits=2),
            pp(result.smooth_pp[i], signed=False, digits=2),
            "<- n*" if sizes[i] == result.n_star else "",
        )
        for i in shown
    ]
    click.echo(table(("n", f"P{100 * result.plan.quantile:g}", "gain", "smooth", ""), lines, left=0))
    click.echo(summary_line(result))
    if result.n_star_by_seed:
        seen: dict[int | None, int] = {}
        for n in result.n_star_by_seed.values():
            seen[n] = seen.get(n, 0) + 1
        counts = ", ".join(f"{'none' if n is None else n} x{k}" for n, k in sorted(seen.items(), key=lambda p: -p[1]))
        click.echo(f"n* over {len(result.n_star_by_seed)} seeds: {counts}")
    for warning in result.warnings:
        click.echo(f"! {warning}")


def summary_line(result: SizingResult) -> str:
    """n*, its bound and gain, and how they were computed, in one line."""
    how = f"{len(result.models)} models, rule {result.plan.worst}, {result.method}"
    if result.method == "draws":
        how += f" ({result.plan.draws:,}, seed {result.plan.seed})"
    if result.n_star is None:
        return f"{result.benchmark}: no n* at tau {result.plan.tau_pp:g} pp ({how})"
    at = result.plan.sizes.index(result.n_star)
    less = 100 * (1 - result.n_star / result.total_items)
    return (
        f"{result.benchmark}: n* {result.n_star:,} of {result.total_items:,} (-{less:.0f} %), "
        f"P{100 * result.plan.quantile:g} {pp(result.p95_pp[at], signed=False, digits=2)}, "
        f"gain {pp(result.gain_pp[at], digits=2)}, smooth n* {result.n_star_smooth or 'none'} ({how})"
    )


@click.command("size")
@click.option("--benchmark", required=True, help="The benchmark to size.")
@click.option("--models", callback=_names, help="The pool, names with commas (default: all not excluded).")
@click.option("--step", type=click.IntRange(1), help="Step of the candidate sizes (default: the benchmark's).")
@click.option("--sizes", callback=_sizes, help="Explicit candidate sizes, with commas.")
@click.option("--draws", type=click.IntRange(100), default=10_000, show_default=True)
@click.option("--tau", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True, help="pp per step.")
@click.option("--quantile", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True)
@click.option("--worst", type=click.Choice(get_args(Worst)), default="per-model", show_default=True)
@click.option("--method", type=click.Choice(get_args(Method)), default="auto", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=42, show_default=True)
@workspace_option
@json_option
def size_command(
    benchmark: str,
    models: tuple[str, ...] | None,
    step: int | None,
    sizes: tuple[int, ...] | None,
    draws: int,
    tau: float,
    quantile: float,
    worst: Worst,
    method: Method,
    seed: int,
    workspace: Path,
    as_json: bool,
) -> None:
    """Compute how many items bound the drift: the P95 curve and n*."""
    if step is not None and sizes is not None:
        raise click.UsageError("Give either --step or --sizes.")
    question = SizeQuestion(benchmark, models, step, sizes, draws, tau, quantile, worst, method, seed)
    with cancel_on_interrupt() as cancel:
        result = size(workspace, question, emit=LiveLine(), cancel=cancel)
    if as_json:
        print_json(result.to_json())
    else:
        print_sizing(result)


COMMANDS = {"size": size_command}
