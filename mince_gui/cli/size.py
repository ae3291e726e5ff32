"""mince size."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from mince_gui.app.size import SizeQuestion, size
from mince_gui.cli.console import (
    AMOUNT,
    LiveLine,
    cancel_on_interrupt,
    json_option,
    print_json,
    table,
    workspace_option,
)
from mince_gui.cli.plan_options import names, plan_options
from mince_gui.report.format import pp, seconds
from mince_gui.sizing.types import Bound, Method, SizingResult, Worst


def print_sizing(result: SizingResult, *, rows: int | None = None) -> None:
    """n*, the curve as a table (the part around n* if `rows` bounds it), the warnings.

    Bounds have three digits, or one of 4.0047 pp would seem to hold a target of 4 pp.
    """
    sizes = result.plan.sizes
    shown = range(len(sizes))
    if rows is not None and result.n_star is not None and len(sizes) > rows:
        at = sizes.index(result.n_star)
        first = max(0, min(at - rows + 3, len(sizes) - rows))
        shown = range(first, first + rows)
    by_draws = result.method == "draws"
    head = ("n", f"P{100 * result.plan.quantile:g}", "±", "gain", "±", _smooth(result), "")
    rows_shown = [
        (
            f"{sizes[i]:,}",
            pp(result.p95_pp[i], signed=False, digits=3),
            f"{result.error_pp[i]:.2f}",
            pp(result.gain_pp[i], digits=2),
            _error(result.gain_error_pp[i]),
            pp(result.smooth_pp[i], signed=False, digits=2),
            "<- n*" if sizes[i] == result.n_star else "",
        )
        for i in shown
    ]
    kept = [c for c in range(len(head)) if by_draws or head[c] != "±"]
    click.echo(table([head[c] for c in kept], [[row[c] for c in kept] for row in rows_shown], left=0))
    click.echo(summary_line(result))
    if result.n_star_by_seed:
        seen: dict[int | None, int] = {}
        for n in result.n_star_by_seed.values():
            seen[n] = seen.get(n, 0) + 1
        counts = ", ".join(f"{'none' if n is None else n} x{k}" for n, k in sorted(seen.items(), key=lambda p: -p[1]))
        click.echo(f"n* over {len(result.n_star_by_seed)} seeds: {counts}")
    for line in answers(result):
        click.echo(line)
    for warning in result.warnings:
        click.echo(f"! {warning}")


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def answers(result: SizingResult) -> list[str]:
    """What was asked besides n*: the n for a bound, the bound for a time. One sentence each."""
    name = f"P{100 * result.plan.quantile:g}"
    lines = []
    if (target := result.target) is not None:
        n, wanted = target.bound.n, pp(target.target_pp, signed=False, digits=2)
        if n == result.total_items:
            lines.append(f"{name} of at most {wanted}: no subset; it takes all {n:,} items.")
        else:
            looked = "every size was looked at" if target.bound.method == "exact" else "near it, every size was drawn"
            lines.append(f"{name} of at most {wanted}: {n:,} items, {_bound(name, target.bound)}; {looked}.")
            if target.n_always > n:
                none = "none does" if target.bound.method == "exact" else "none that was drawn does"
                lines.append(
                    f"Some sizes above {n:,} exceed {wanted} again, for bounds move in lumps: "
                    f"from {target.n_always:,} items on {none}."
                )
    if (budget := result.budget) is not None:
        n, rate = budget.bound.n, seconds(budget.seconds_per_item)
        what = f"all {n:,} items, no drift" if n == result.total_items else f"{n:,} items, {_bound(name, budget.bound)}"
        lines.append(f"{seconds(3600 * budget.hours)} at {rate} per item: {what}.")
    return lines


def _bound(name: str, bound: Bound) -> str:
    error = f" ± {bound.error_pp:.2f}" if bound.method == "draws" else ""
    return f"{name} {pp(bound.p95_pp, signed=False, digits=3)}{error}, {'exact' if not error else 'by draws'}"


def _smooth(result: SizingResult) -> str:
    """What the closed form is called: it is by the rule per-model, whatever rule the sizing has."""
    return "smooth" if result.plan.worst == "per-model" else "smooth (per-model)"


def summary_line(result: SizingResult) -> str:
    """n*, its bound and gain, and how they were computed, in one line."""
    models = len(result.models)
    how = f"{models} model{'s' if models > 1 else ''}, rule {result.plan.worst}, {result.method}"
    if result.method == "draws":
        how += f" ({result.plan.draws:,}, seed {result.plan.seed})"
    if result.n_star is None:
        return f"{result.benchmark}: no n* at tau {result.plan.tau_pp:g} pp ({how})"
    at = result.plan.sizes.index(result.n_star)
    less = 100 * (1 - result.n_star / result.total_items)
    return (
        f"{result.benchmark}: n* {result.n_star:,} of {result.total_items:,} (-{less:.0f} %), "
        f"P{100 * result.plan.quantile:g} {pp(result.p95_pp[at], signed=False, digits=3)}, "
        f"gain {pp(result.gain_pp[at], digits=2)}, {_smooth(result)} n* {result.n_star_smooth or 'none'} ({how})"
    )


@click.command("size")
@click.option("--benchmark", required=True, help="The benchmark to size.")
@click.option("--models", callback=names, help="The pool, names with commas (default: all not excluded).")
@plan_options
@click.option("--worst", type=click.Choice(get_args(Worst)), default="per-model", show_default=True)
@click.option("--target-p95", type=AMOUNT, help="Also: the smallest n with this bound, pp.")
@click.option("--hours", type=AMOUNT, help="Also: the n that fits into the time, its bound.")
@click.option("--seconds-per-item", type=AMOUNT, help="How long one item takes (--hours).")
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
    method: Method,
    seed: int,
    worst: Worst,
    target_p95: float | None,
    hours: float | None,
    seconds_per_item: float | None,
    workspace: Path,
    as_json: bool,
) -> None:
    """Compute how many items bound the drift: the P95 curve and n*."""
    if step is not None and sizes is not None:
        raise click.UsageError("Give either --step or --sizes.")
    question = SizeQuestion(
        benchmark, models, step, sizes, draws, tau, quantile, worst, method, seed, target_p95, hours, seconds_per_item
    )
    with cancel_on_interrupt() as cancel:
        result = size(workspace, question, emit=LiveLine(), cancel=cancel)
    if as_json:
        print_json(result.to_json())
    else:
        print_sizing(result)


COMMANDS = {"size": size_command}
