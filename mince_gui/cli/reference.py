"""mince reference."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app.reference import import_references, listing, typed_in
from mince_gui.cli.console import LiveLine, json_option, print_json, table, workspace_option
from mince_gui.report.format import percent
from mince_gui.report.types import Reference


@click.group("reference")
@workspace_option
def reference_group(workspace: Path) -> None:
    """Stored full-benchmark scores, to hold runs against."""


def _print(references: list[Reference], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "reference_id": r.reference_id,
                    "kind": r.kind,
                    "benchmark": r.benchmark,
                    "model": r.model,
                    "precision": r.precision,
                    "scores": {name: ratio.percent for name, ratio in r.metrics.items()},
                    "source": r.source,
                    "date": r.date,
                }
                for r in references
            ]
        )
        return
    rows = [
        (
            r.reference_id,
            r.kind,
            r.benchmark,
            r.model,
            r.precision or "-",
            "  ".join(f"{name} {percent(ratio.percent, digits=2)}" for name, ratio in r.metrics.items()),
        )
        for r in references
    ]
    click.echo(table(("reference", "kind", "benchmark", "model", "precision", "scores"), rows, left=6))


@reference_group.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--model", help="The model whose runs it is held against (default: the log's own name).")
@click.option("--precision", default="", help="Such as bf16 or int4.")
@workspace_option
@json_option
def import_command(path: Path, model: str | None, precision: str, workspace: Path, as_json: bool) -> None:
    """Import full-benchmark logs or an lm-eval results file as references."""
    _print(import_references(workspace, path, model=model, precision=precision, emit=LiveLine()), as_json)


def _scores(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    scores = {}
    for value in values:
        name, _, number = value.rpartition("=")
        try:
            scores[name] = float(number.removesuffix("%"))
        except ValueError:
            name = ""
        if not name:
            raise click.BadParameter(f"'{value}' is not NAME=PERCENT, such as acc=65.39")
        if 0.0 < scores[name] <= 1.0 and not number.endswith("%"):
            raise click.BadParameter(
                f"{value} looks like a share: in percent it is {100 * scores[name]:g}; if {number} % is meant, "
                f"write {value}%"
            )
    return scores


@reference_group.command("add")
@click.option("--benchmark", required=True)
@click.option("--model", required=True, help="The model whose runs it is held against.")
@click.option("--metric", "scores", multiple=True, required=True, callback=_scores, metavar="NAME=PERCENT")
@click.option("--source", required=True, help="Where the figures stand.")
@click.option("--date", "on", help="When they were measured (default: today).")
@click.option("--precision", default="", help="Such as bf16 or int4.")
@workspace_option
@json_option
def add_command(
    benchmark: str,
    model: str,
    scores: dict[str, float],
    source: str,
    on: str | None,
    precision: str,
    workspace: Path,
    as_json: bool,
) -> None:
    """Type in scores that stand elsewhere."""
    reference = typed_in(
        workspace, benchmark=benchmark, model=model, scores=scores, source=source, on=on, precision=precision
    )
    _print([reference], as_json)


@reference_group.command("list")
@workspace_option
@json_option
def list_command(workspace: Path, as_json: bool) -> None:
    """List the stored references."""
    _print(listing(workspace), as_json)


COMMANDS = {"reference": reference_group}
