"""mince import, mince logs."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from mince_gui.app.import_logs import (
    Imported,
    ImportSummary,
    Looked,
    NothingImportedError,
    choose,
    import_logs,
    look,
    set_excluded,
)
from mince_gui.app.listings import list_logs
from mince_gui.cli.console import LiveLine, cancel_on_interrupt, json_option, print_json, table, workspace_option
from mince_gui.logs.types import Check, Found
from mince_gui.report.format import percent

_SEVERE = {"warning": "!", "refusal": "x", "info": " "}
_SKIPPED_SHOWN = 10


def _when(timestamp: str) -> str:
    day, _, hour = timestamp.partition(".")[0].partition("T")
    return f"{day} {hour.replace('-', ':')}".strip() or "not said"


def _folder(found: Found) -> str:
    source = Path(found.source)
    return source.parent.name if len(found.files) == 1 else source.name


def _print_skipped(skipped: Sequence[tuple[Path, str]]) -> None:
    for path, why in skipped[:_SKIPPED_SHOWN]:
        click.echo(f"- passed over {path}: {why}")
    if len(skipped) > _SKIPPED_SHOWN:
        click.echo(f"- and {len(skipped) - _SKIPPED_SHOWN} files more")


def _print_found(seen: Looked, chosen: Sequence[Found]) -> None:
    """The table of what was found, before anything is stored."""
    if chosen:
        rows = [
            (f.model, f.benchmark.title, _when(f.timestamp), str(len(f.files)), _folder(f), f.format, f.why)
            for f in chosen
        ]
        click.echo(table(("model", "benchmark", "run", "files", "folder", "format", "why"), rows, left=7))
    for (model, title), runs in Counter((f.model, f.benchmark.title) for f in chosen).items():
        if runs > 1:
            click.echo(f"  {model} · {title}: {runs} runs. Each is stored; sizing takes the newest that is whole.")
    for path in seen.artifacts:
        click.echo(f"  a frozen subset of amd-quark: {seen.shown(str(path))}")


def _print_checks(name: str, checks: Sequence[Check]) -> None:
    for check in checks:
        if check.severity != "info":
            click.echo(f"{_SEVERE[check.severity]} {name}: {check.message}")


def print_summary(summary: ImportSummary) -> None:
    """The table of what was stored, then what was not and why."""
    rows = [
        (
            log.model,
            log.title,
            _when(log.timestamp),
            _of(log.items, log.total_items),
            "  ".join(percent(score) for score in log.scores.values()),
            "new" if log.new else "there already, details updated" if log.updated else "there already",
        )
        for log in summary.imported
    ]
    if rows:
        click.echo(table(("model", "benchmark", "run", "items", "scores", ""), rows, left=3))
    for log in summary.imported:
        _print_checks(f"{log.model} · {log.title}", log.checks)
    several = {f"{log.model} · {log.title}": log for log in summary.imported if log.new and log.others}
    for name, log in several.items():
        click.echo(f"! {name}: {_several(log)}")
    for subset in summary.subsets:
        click.echo(f"subset {subset.name} ({subset.n:,} items): {'new' if subset.new else 'there already'}")
    for found, why in summary.refused:
        click.echo(f"x {found.model} · {found.benchmark.title} was refused: {why}")
    for path, why in summary.refused_subsets:
        click.echo(f"x {path} was refused: {why}")
    _print_skipped(summary.skipped)


def _several(log: Imported) -> str:
    have = f"the workspace has {log.others + 1} runs of it now. None was replaced; "
    if log.whole:
        return f"{have}sizing takes the newest whole one (mince logs --exclude NUMBER leaves one out)."
    if log.together:
        return (
            f"{have}none is whole, but together they have all {log.total_items:,} items: put their samples files into "
            "one folder under one and the same time in their names, and import that as one run."
        )
    return f"{have}none is whole, so sizing takes none of them."


def _of(items: int, total: int | None) -> str:
    return f"{items:,}/{total:,}" if total is not None else f"{items:,}/?"


def _summary_json(summary: ImportSummary) -> dict[str, object]:
    return {
        "imported": [dataclasses.asdict(log) for log in summary.imported],
        "subsets": [dataclasses.asdict(subset) for subset in summary.subsets],
        "refused": [
            *(
                {"model": found.model, "benchmark": found.benchmark.name, "source": found.source, "why": why}
                for found, why in summary.refused
            ),
            *({"source": str(path), "why": why} for path, why in summary.refused_subsets),
        ],
        "skipped": _skipped_json(summary.skipped),
    }


def _found_json(seen: Looked, chosen: Sequence[Found]) -> dict[str, object]:
    return {
        "found": [
            {
                "model": found.model,
                "benchmark": found.benchmark.name,
                "task": found.task,
                "timestamp": found.timestamp,
                "files": len(found.files),
                "format": found.format,
                "source": found.source,
                "why": found.why,
            }
            for found in chosen
        ],
        "subsets": [seen.shown(str(path)) for path in seen.artifacts],
        "skipped": _skipped_json(seen.skipped),
    }


def _skipped_json(skipped: Sequence[tuple[Path, str]]) -> list[dict[str, str]]:
    return [{"path": str(path), "why": why} for path, why in skipped]


def _go_on(count: int) -> bool:
    """Ask, where somebody sits at a terminal; else the order itself is the answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return click.confirm(f"Import {count} of them?" if count > 1 else "Import it?", default=True)


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--benchmark", help="Only logs of this benchmark.")
@click.option("--model", help="Store the log under this model name.")
@click.option("--encoding", default="", help="The logs' text encoding where it is not UTF-8: cp1252, gbk, ...")
@click.option("--salvage", is_flag=True, help="Of a broken log, import what is whole in front of the broken place.")
@click.option("--dry-run", is_flag=True, help="Show what was found and store nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before storing.")
@workspace_option
@json_option
def import_command(
    paths: tuple[Path, ...],
    benchmark: str | None,
    model: str | None,
    encoding: str,
    salvage: bool,
    dry_run: bool,
    yes: bool,
    workspace: Path,
    as_json: bool,
) -> None:
    """Import per-item evaluation logs: folders (searched whole), archives (.zip, .tar, .gz) or single files.

    What was found is shown first; on a terminal nothing is stored before you agree.

    \b
    Read are what these write per item:
      lm-eval (--log_samples), lighteval (--save-details), inspect_ai, HELM,
      OpenCompass, EvalScope, IFEval's own script; frozen subsets of amd-quark;
    and tables (.csv, .tsv, .parquet) with a column item_key and
      wide: a column per model, or
      long: columns model, passed, and if need be trials, metric.
    An outcome is 0 or 1, a share between, or "2/3"; empty is missing. Columns
    benchmark, metric and category may be there. What no column says is in the
    file's name: BENCHMARK[__METRIC[__MODEL]].csv. A matrix.npy of items x models
    has matrix.keys.txt and matrix.models.txt beside it, one name a line.
    """
    with cancel_on_interrupt() as cancel:
        seen = look(paths, encoding=encoding, salvage=salvage, emit=LiveLine(), cancel=cancel)
    with seen:
        try:
            chosen = choose(seen, benchmark)
        except NothingImportedError as exc:
            if as_json:
                print_json(_found_json(seen, ()) if dry_run else _summary_json(exc.summary))
            raise
        if dry_run:
            if as_json:
                print_json(_found_json(seen, chosen))
            else:
                _print_found(seen, chosen)
                _print_skipped(seen.skipped)
            return
        if not as_json:
            _print_found(seen, chosen)
            count = len(chosen) + len(seen.artifacts)
            if not yes and not _go_on(count):
                click.echo("Nothing was stored.")
                raise click.exceptions.Exit(1)
        try:
            with cancel_on_interrupt() as cancel:
                summary = import_logs(
                    workspace, seen, benchmark=benchmark, model=model, salvage=salvage, emit=LiveLine(), cancel=cancel
                )
        except NothingImportedError as exc:
            if as_json:
                print_json(_summary_json(exc.summary))
            raise
    if as_json:
        print_json(_summary_json(summary))
    else:
        click.echo()
        print_summary(summary)
    if summary.refused or summary.refused_subsets:
        raise click.exceptions.Exit(3)


@click.command("logs")
@click.option("--benchmark", help="Only logs of this benchmark.")
@click.option("--exclude", multiple=True, metavar="NUMBER|MODEL", help="Leave a log, or all of a model, out of sizing.")
@click.option("--include", multiple=True, metavar="NUMBER|MODEL", help="Take it into sizing again.")
@workspace_option
@json_option
def logs_command(
    benchmark: str | None, exclude: tuple[str, ...], include: tuple[str, ...], workspace: Path, as_json: bool
) -> None:
    """List the imported logs; leave some out of sizing, or take them in again."""
    for which, excluded in ((exclude, True), (include, False)):
        if which:
            set_excluded(workspace, which, excluded)
    logs = list_logs(workspace, benchmark)
    if as_json:
        print_json([dataclasses.asdict(log) for log in logs])
        return
    if not logs:
        click.echo("No logs yet. Import some: mince import FOLDER")
        return
    rows = [
        (
            str(log.log_id),
            log.model + (" (excluded)" if log.excluded else ""),
            log.benchmark,
            _when(log.timestamp),
            _of(log.items, log.total_items),
            "  ".join(percent(score) for score in log.scores.values()),
            str(sum(check.severity != "info" for check in log.checks) or ""),
        )
        for log in logs
    ]
    click.echo(table(("number", "model", "benchmark", "run", "items", "scores", "warnings"), rows, left=4))


COMMANDS = {"import": import_command, "logs": logs_command}
