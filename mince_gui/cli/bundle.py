"""mince bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from mince_gui.app.bundle import BundledRun, Imported, export_runs, import_bundle, show_bundle
from mince_gui.base.errors import InputError, MinceError, UsageError
from mince_gui.cli.console import LiveLine, json_option, print_json, table, visible, workspace_option

_WORDS = {
    "new": "new",
    "updated": "brought up to date",
    "already here": "already here",
    "older": "already here, and further on",
}


@click.group("bundle")
@workspace_option
@json_option
def bundle_group(workspace: Path, as_json: bool) -> None:
    """Carry runs from one machine to another: write them to a file, read them in.

    A bundle (.mincerun) holds the runs' settings, conditions, answers, right answers, scores and times, and the frozen
    subset; no prompts, no questions, no paths of the machine. Elsewhere it is reported and compared, but not resumed.
    """


def _table(runs: Sequence[BundledRun], words: Sequence[str] = ()) -> str:
    """The runs, and for each of them what became of it, where that is to be said."""
    head: tuple[str, ...] = ("run", "subset", "model", "machine", "device", "state", "done")
    rows: list[tuple[str, ...]] = [
        (run.run_id, visible(run.subset), visible(run.model), visible(run.machine), visible(run.device or "-"),
         run.cause or run.state, f"{run.done}/{run.items}")
        for run in runs
    ]  # fmt: skip
    if words:
        head, rows = (*head, ""), [(*row, said) for row, said in zip(rows, words, strict=True)]
    return table(head, rows, left=6)


@bundle_group.command("export")
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All runs that have ended.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write.")
@workspace_option
@json_option
def export_command(runs: tuple[str, ...], everything: bool, out: Path, workspace: Path, as_json: bool) -> None:
    """Write runs to one file (.mincerun). Answers and right answers are in it."""
    if everything == bool(runs):
        raise click.UsageError("Name runs, or say --all.")
    exported = export_runs(workspace, runs, out, everything=everything, emit=LiveLine())
    if as_json:
        print_json(
            {
                "path": str(exported.path),
                "sha256": exported.sha256,
                "runs": [run.to_json() for run in exported.runs],
                "left_out": exported.left_out,
            }
        )
        return
    click.echo(_table(exported.runs))
    click.echo(str(exported.path))


@bundle_group.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@workspace_option
@json_option
def import_command(files: tuple[Path, ...], workspace: Path, as_json: bool) -> None:
    """Read bundles into the workspace: all runs of a file, or none.

    Every hash is checked first. Runs that are here already are not stored twice.
    """
    done, refused = list[Imported](), list[MinceError]()
    for file in files:
        try:
            done.append(import_bundle(workspace, file, emit=LiveLine()))
        except (InputError, UsageError) as exc:
            # One bad stick does not keep the others out.
            refused.append(exc)
    if as_json:
        print_json(
            {
                "bundles": [
                    {
                        "path": str(bundle.path),
                        "sha256": bundle.sha256,
                        "tool_version": bundle.tool_version,
                        "runs": [{**one.run.to_json(), "what": one.what, "here": one.here} for one in bundle.runs],
                    }
                    for bundle in done
                ],
                "refused": [exc.message for exc in refused],
            }
        )
    else:
        rows = [one for bundle in done for one in bundle.runs]
        if rows:
            words = [_WORDS[one.what] + (f" as {one.here}" if one.here != one.run.run_id else "") for one in rows]
            click.echo(_table([one.run for one in rows], words))
    if len(refused) == 1:
        raise refused[0]
    if refused:
        for error in refused:
            click.echo(f"! {error.message} {error.remedy}", err=True)
        others = "the others are in the workspace" if done else "nothing was changed"
        raise InputError(f"{len(refused)} of {len(files)} files were refused (see above); {others}.")


@bundle_group.command("show")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def show_command(file: Path, as_json: bool) -> None:
    """Verify a bundle and list its runs, without reading it in."""
    shown = show_bundle(file)
    if as_json:
        print_json(
            {
                "path": str(shown.path),
                "sha256": shown.sha256,
                "tool_version": shown.tool_version,
                "runs": [run.to_json() for run in shown.runs],
            }
        )
        return
    click.echo(_table(shown.runs))
    click.echo(f"written by mince-gui {shown.tool_version}; SHA-256 {shown.sha256}")


COMMANDS = {"bundle": bundle_group}
