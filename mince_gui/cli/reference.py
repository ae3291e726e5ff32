"""mince reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from mince_gui.app.reference import (
    CHAT_USES,
    import_references,
    import_stored_logs,
    listing,
    remove,
    show,
    typed_in,
)
from mince_gui.app.score_units import percent_typed
from mince_gui.base.errors import UsageError
from mince_gui.cli.console import AMOUNT, LiveLine, json_option, print_json, table, visible, workspace_option
from mince_gui.report.format import percent
from mince_gui.report.format import seconds as duration
from mince_gui.report.types import Reference

F = TypeVar("F", bound=Callable[..., Any])
_SOURCE_WIDTH = 40


@click.group("reference")
@workspace_option
def reference_group(workspace: Path) -> None:
    """Stored full-benchmark scores, to hold runs against."""


def _json(reference: Reference) -> dict[str, Any]:
    return {
        "reference_id": reference.reference_id,
        "kind": reference.kind,
        "benchmark": reference.benchmark,
        "model": reference.model,
        "precision": reference.precision,
        "scores": {name: ratio.percent for name, ratio in reference.metrics.items()},
        "items": {name: ratio.items for name, ratio in reference.metrics.items()},
        "source": reference.source,
        "date": reference.date,
        "task": reference.task,
        "task_version": reference.task_version,
        "lm_eval_version": reference.lm_eval_version,
        "few_shot": reference.few_shot,
        "chat_template": reference.chat_template,
        "runtime": reference.runtime,
        "device": reference.device,
        "machine": reference.machine,
        "wall_seconds": reference.wall_seconds,
        "per_item_outcomes": None if reference.rows is None else len(reference.rows),
        "note": reference.note,
        "warnings": list(reference.warnings),
    }


def _scores(reference: Reference) -> str:
    return "  ".join(f"{name} {percent(ratio.percent, digits=2)}" for name, ratio in reference.metrics.items())


def _first_score(reference: Reference) -> str:
    """Of a list that holds many, each on one line."""
    name, ratio = next(iter(reference.metrics.items()))
    rest = len(reference.metrics) - 1
    return f"{name} {percent(ratio.percent, digits=2)}{f', {rest} more' if rest else ''}"


def _print(references: Sequence[Reference], as_json: bool, scores: Callable[[Reference], str] = _scores) -> None:
    if as_json:
        print_json([_json(reference) for reference in references])
        return
    if not references:
        click.echo("There are no references.")
        return
    head = ("reference", "kind", "benchmark", "model", "precision", "scores", "date", "source")
    rows = [
        tuple(
            visible(cell or "-")
            for cell in (
                r.reference_id,
                r.kind,
                r.benchmark,
                r.model,
                r.precision,
                scores(r),
                r.date,
                _short(r.source),
            )
        )
        for r in references
    ]
    click.echo(table(head, rows, left=len(head)))


def _short(text: str) -> str:
    return text if len(text) <= _SOURCE_WIDTH else f"{text[: _SOURCE_WIDTH - 3]}..."


def _facts_options(command: F) -> F:
    """What may be known of scores that stand elsewhere."""
    for option in (
        click.option("--note", default="", help="Anything else that a reader must know."),
        click.option("--machine", default="", help="Whose clock made --seconds."),
        click.option("--seconds", type=AMOUNT, help="Wall clock of the full benchmark."),
        click.option("--device", default="", help="What it ran on, such as CPU or the name of a GPU."),
        click.option("--runtime", default="", help="What ran it, such as vllm."),
        click.option("--chat-template", type=click.Choice(CHAT_USES), help="Whether prompts went through one."),
        click.option("--few-shot", type=click.IntRange(min=0), help="Examples before each question."),
        click.option("--lm-eval-version", default="", help="Such as 0.4.13."),
        click.option("--task-version", default="", help="The task's, as lm-eval counts them."),
        click.option("--task", default="", help="The lm-eval task, such as gsm8k_cot."),
    ):
        command = option(command)
    return command


@reference_group.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True), required=False)
@click.option(
    "--log", "logged", metavar="MODEL", help="Take this model's imported logs (mince logs) instead of a PATH."
)
@click.option("--benchmark", help="With --log: this benchmark alone.")
@click.option("--model", help="The model whose runs it is held against (default: the log's own name).")
@click.option("--precision", default="", help="Such as bf16 or int4 (default: what the log tells).")
@click.option("--unit", type=click.Choice(["percent", "share"]), help="What a results file's scores are.")
@workspace_option
@json_option
def import_command(
    path: Path | None,
    logged: str | None,
    benchmark: str | None,
    model: str | None,
    precision: str,
    unit: Literal["percent", "share"] | None,
    workspace: Path,
    as_json: bool,
) -> None:
    """Import full-benchmark logs or an lm-eval results file as references."""
    if path is not None and logged is None:
        if benchmark is not None:
            raise UsageError("--benchmark goes with --log.", "Leave it out: a PATH is imported whole.")
        references = import_references(workspace, path, model=model, precision=precision, unit=unit, emit=LiveLine())
    elif logged is not None and path is None:
        if unit is not None:
            raise UsageError("--unit is for results files; a log's scores are counted.", "Leave --unit out.")
        references = import_stored_logs(workspace, logged, benchmark=benchmark, model=model, precision=precision)
    else:
        raise UsageError("Name either a PATH or --log MODEL.", "mince reference import PATH")
    _print(references, as_json)


@reference_group.command("add")
@click.option("--benchmark", required=True)
@click.option("--model", required=True, help="The model whose runs it is held against.")
@click.option("--metric", "scores", multiple=True, required=True, metavar="NAME=PERCENT", help="Such as acc=65.39.")
@click.option("--unit", type=click.Choice(["percent", "share"]), help="What the scores are (default: percent).")
@click.option("--source", required=True, help="Where the figures stand.")
@click.option("--date", "on", help="When they were measured, such as 2026-03-01 or 2026 (default: today).")
@click.option("--precision", default="", help="Such as bf16 or int4.")
@_facts_options
@workspace_option
@json_option
def add_command(
    scores: tuple[str, ...],
    unit: Literal["percent", "share"] | None,
    chat_template: str | None,
    workspace: Path,
    as_json: bool,
    **facts: Any,
) -> None:
    """Type in scores that stand elsewhere."""
    percents: dict[str, float] = {}
    for score in scores:
        name, _, number = score.rpartition("=")
        if not name:
            raise UsageError(f"'{score}' is not NAME=PERCENT, such as acc=65.39.", "Check --metric.")
        if name in percents:
            raise UsageError(f"{name} is there twice.", "Give each --metric once.")
        percents[name] = percent_typed(name, number, unit)
    reference = typed_in(workspace, scores=percents, unit="percent", chat_template=chat_template or "", **facts)
    _print([reference], as_json)


@reference_group.command("list")
@click.option("--benchmark", help="Of this benchmark alone.")
@workspace_option
@json_option
def list_command(benchmark: str | None, workspace: Path, as_json: bool) -> None:
    """List the references: those of the workspace, newest first, then the published ones.

    `mince reference show ID` tells all that is known of one.
    """
    _print(listing(workspace, benchmark), as_json, _first_score)


@reference_group.command("show")
@click.argument("reference_id", metavar="ID")
@workspace_option
@json_option
def show_command(reference_id: str, workspace: Path, as_json: bool) -> None:
    """Show all that is known of a reference."""
    reference = show(workspace, reference_id)
    if as_json:
        print_json(_json(reference))
        return
    wall = None if reference.wall_seconds is None else duration(reference.wall_seconds)
    lines = [
        ("reference", reference.reference_id),
        ("kind", reference.kind),
        ("benchmark", reference.benchmark),
        ("model", reference.model),
        ("precision", reference.precision),
        *((name, f"{percent(r.percent, digits=2)} of {r.items:,} items") for name, r in reference.metrics.items()),
        ("outcomes of items", "no" if reference.rows is None else f"{len(reference.rows):,}"),
        ("source", reference.source),
        ("date", reference.date),
        ("task", reference.task),
        ("task version", reference.task_version),
        ("lm-eval", reference.lm_eval_version),
        ("examples", None if reference.few_shot is None else str(reference.few_shot)),
        ("chat template", reference.chat_template),
        ("runtime", reference.runtime),
        ("device", reference.device),
        ("machine", reference.machine),
        ("wall clock", wall),
        ("note", reference.note or "-"),
        *(("caution", warning) for warning in reference.warnings),
    ]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        click.echo(visible(f"{name.ljust(width)}  {value or 'not known'}"))


@reference_group.command("remove")
@click.argument("reference_id", metavar="ID")
@workspace_option
@json_option
def remove_command(reference_id: str, workspace: Path, as_json: bool) -> None:
    """Take a stored reference out of the workspace."""
    reference = remove(workspace, reference_id)
    if as_json:
        print_json(_json(reference))
    else:
        click.echo(f"Removed {reference_id}: {reference.model}, {reference.benchmark}.")


COMMANDS = {"reference": reference_group}
