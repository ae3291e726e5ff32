"""mince study."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import click
from click.core import ParameterSource

from mince_gui.app.size import SizeQuestion
from mince_gui.app.study import KINDS, Kind, StudyQuestion, study
from mince_gui.base.files import write_atomic
from mince_gui.cli.console import LiveLine, cancel_on_interrupt, json_option, print_json, table, workspace_option
from mince_gui.cli.plan_options import names, plan_options, taus
from mince_gui.report.documents.tables import safe_cell
from mince_gui.report.format import ABSENT, percent, pp
from mince_gui.sizing.studies import MOST_OUT, TAUS, Cell, Study, Table
from mince_gui.sizing.types import Method, Worst

_QUANTILE = re.compile(r"p[\d.]+")
_SIGNED = ("drift_pp", "gain_pp")
_PATH = click.Path(path_type=Path, exists=True)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_INSTEAD = {"tau": "Use --taus."}
_FOR: dict[str, tuple[Kind, ...]] = {
    "held": ("holdout",),
    "taus": ("tau",),
    "seeds": ("seeds", "samplers", "ranks", "holdout"),
    "n": ("samplers", "ranks", "holdout"),
    "most_out": ("leave-out",),
    "embeddings": ("samplers",),
    "embedding_model": ("samplers",),
    "dataset": ("samplers",),
    "tau": ("leave-out", "samplers", "ranks", "seeds", "holdout"),
}
"""Options that only some studies take."""
_WIDEST = 120
"""Columns of a table beyond which names are shortened."""
_LEAST_NAME = 10


def _cell(column: str, value: Cell) -> str:
    if value is None:
        return "none" if column.startswith("n_star") else ABSENT
    if isinstance(value, str):
        return value
    if column.endswith("_pp"):
        return f"{value:g} pp" if column == "tau_pp" else pp(value, signed=column in _SIGNED, digits=2)
    if column.endswith("_percent"):
        return percent(value, digits=1)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _head(column: str) -> str:
    head = column.removesuffix("_pp").removesuffix("_percent").replace("n_star", "n*").replace("_", " ")
    return head.upper() if _QUANTILE.fullmatch(head) else head


def short_names(names: Sequence[str]) -> dict[str, str]:
    """The beginning of each name that no other one shares, at least 10 characters, with ~ for what is left out.

    What stands before the last slash goes first, unless two names are the same without it.
    """
    bare = {name: name.rpartition("/")[2] for name in names}
    if len(set(bare.values())) < len(bare):
        bare = {name: name for name in names}
    short = {}
    for name, text in bare.items():
        others = [other for other in bare.values() if other != text]
        length = next(
            k
            for k in range(_LEAST_NAME, _LEAST_NAME + len(text) + 1)
            if k >= len(text) - 1 or not any(other.startswith(text[:k]) for other in others)
        )
        short[name] = text if length >= len(text) - 1 else f"{text[:length]}~"
    return short


def _on_screen(found: Table, short: Mapping[str, str]) -> str:
    """The rows that are shown, with the names in their short form."""

    def cell(column: str, value: Cell) -> str:
        shown = _cell(column, value)
        if column not in found.shortened:
            return shown
        return " + ".join(short.get(name, name) for name in shown.split(" + "))

    rows = [[cell(c, v) for c, v in zip(found.columns, found.rows[i], strict=True)] for i in found.shown]
    texts = sum(isinstance(value, str) for value in found.rows[0][:2])
    return table([_head(column) for column in found.columns], rows, left=max(1, texts))


def print_study(result: Study) -> None:
    """The rows worth a screen, the sentences, the warnings."""
    found = result.table()
    text = _on_screen(found, {})
    short = short_names(found.names) if max(map(len, text.splitlines())) > _WIDEST else {}
    click.echo(_on_screen(found, short) if short else text)
    if short:
        click.echo("Names of models are shortened (~); --out FILE.csv has them whole.")
    if len(found.shown) < len(found.rows):
        click.echo(f"{len(found.shown)} of {len(found.rows):,} rows are shown; --out FILE.csv writes all of them.")
    for text in result.summary():
        click.echo(text)
    for warning in result.warnings:
        click.echo(f"! {warning}")


def as_csv(found: Table) -> str:
    """All rows at full precision; what is not there is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([safe_cell(value) for value in row] for row in found.rows)
    return text.getvalue()


def _refuse_others(ctx: click.Context, kind: Kind) -> None:
    """An option that the study does not take would be passed over in silence."""
    for name, kinds in _FOR.items():
        if kind not in kinds and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            said = f"--{name.replace('_', '-')} is for {', '.join(kinds)}, not for {kind}."
            raise click.UsageError(f"{said} {_INSTEAD[name]}" if name in _INSTEAD else said)


@click.command("study")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--benchmark", required=True, help="The benchmark to study.")
@click.option("--pool", callback=names, help="The pool, names with commas (default: all not excluded).")
@click.option("--held", callback=names, help="holdout: the models outside the pool, names with commas.")
@click.option("--metrics", callback=names, help="Only these metrics, names with commas (default: all).")
@click.option("--worst", type=click.Choice([*get_args(Worst), "both"]), default="per-model", show_default=True,
              help="The rule of the bound; both: for seeds.")  # fmt: skip
@plan_options
@click.option("--taus", callback=taus, help=f"tau: the values (default: {','.join(f'{t:g}' for t in TAUS)}).")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    help="How many seeds, from 0 on (default: 20 for seeds, else 100); holdout leaves out that of --seed.",
)
@click.option("--n", type=click.IntRange(1), help="samplers, ranks, holdout: the subset's size (default: n*).")
@click.option("--most-out", type=click.IntRange(1), default=MOST_OUT, show_default=True,
              help="leave-out: the most models removed at once.")  # fmt: skip
@click.option("--embeddings", type=_FILE, help="samplers: one vector per item for kmeans, .npy or .parquet.")
@click.option(
    "--embedding-model", type=_FOLDER, help="samplers: an ONNX sentence-embedding folder, in place of a file."
)
@click.option("--dataset", type=_PATH, help="samplers: the items' texts for the model: your dataset, or a whole pack.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write all rows to this CSV file.")
@workspace_option
@json_option
@click.pass_context
def study_command(
    ctx: click.Context,
    kind: Kind,
    benchmark: str,
    pool: tuple[str, ...] | None,
    held: tuple[str, ...] | None,
    metrics: tuple[str, ...] | None,
    worst: str,
    step: int | None,
    sizes: tuple[int, ...] | None,
    draws: int,
    tau: float,
    quantile: float,
    method: Method,
    seed: int,
    taus: tuple[float, ...] | None,
    seeds: int | None,
    n: int | None,
    most_out: int,
    embeddings: Path | None,
    embedding_model: Path | None,
    dataset: Path | None,
    out: Path | None,
    workspace: Path,
    as_json: bool,
) -> None:
    """What a sizing hangs on.

    \b
    tau        n*, reduction and bound over values of tau
    leave-out  n* without every 1 to 4 models of the pool, and their drift
    samplers   drift over 100 seeds of every way to draw
    ranks      Spearman's rho between full and subset scores
    seeds      n* over 20 seeds
    holdout    drift of models outside the pool, on its subset
    """
    _refuse_others(ctx, kind)
    if step is not None and sizes is not None:
        raise click.UsageError("Give either --step or --sizes.")
    if worst == "both" and kind != "seeds":
        raise click.UsageError("--worst both is for the study seeds.")
    rule: Worst = "joint" if worst == "joint" else "per-model"
    question = StudyQuestion(
        kind=kind,
        sizing=SizeQuestion(benchmark, pool, step, sizes, draws, tau, quantile, rule, method, seed),
        held=held or (),
        metrics=metrics,
        n=n,
        taus=taus or TAUS,
        seeds=seeds,
        most_out=most_out,
        both_rules=worst == "both",
        embeddings=embeddings,
        embedding_model=embedding_model,
        dataset=dataset,
    )
    with cancel_on_interrupt() as cancel:
        result = study(workspace, question, emit=LiveLine(), cancel=cancel)
    if out is not None:
        write_atomic(out, as_csv(result.table()))
    if as_json:
        print_json(result.to_json())
    else:
        print_study(result)
        if out is not None:
            click.echo(f"Written to {out.resolve()}")


COMMANDS = {"study": study_command}
