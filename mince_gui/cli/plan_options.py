"""The options that say what to size: the same for every command that sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from mince_gui.cli.console import AMOUNT, Amount
from mince_gui.sizing.types import Method

F = TypeVar("F", bound=Callable[..., Any])


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names with commas between them; None where the option was not given."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if value else None


def sizes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Whole numbers with commas between them."""
    return _numbers(value, int, "whole numbers with commas between them, such as 50,100,200")


def taus(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """Numbers with commas between them."""
    return _numbers(value, float, "numbers with commas between them, such as 0.5,1.0,2.0")


def _numbers(value: str | None, kind: Callable[[str], Any], wanted: str) -> tuple[Any, ...] | None:
    if value is None:
        return None
    try:
        return tuple(kind(part) for part in value.replace(" ", "").split(","))
    except ValueError as exc:
        raise click.BadParameter(f"give {wanted}") from exc


def plan_options(command: F) -> F:
    """--step, --sizes, --draws, --tau, --quantile, --method, --seed; the command adds its own --worst."""
    share = Amount(0, 1, min_open=True, max_open=True)
    options = (
        click.option("--step", type=click.IntRange(1), help="Step of the candidate sizes (default: the benchmark's)."),
        click.option("--sizes", callback=sizes, help="Explicit candidate sizes, with commas."),
        click.option("--draws", type=click.IntRange(100), default=10_000, show_default=True),
        click.option("--tau", type=AMOUNT, default=1.0, show_default=True, help="pp per step."),
        click.option("--quantile", type=share, default=0.95, show_default=True),
        click.option("--method", type=click.Choice(get_args(Method)), default="auto", show_default=True),
        click.option("--seed", type=click.IntRange(0), default=42, show_default=True),
    )
    for option in reversed(options):
        command = option(command)
    return command
