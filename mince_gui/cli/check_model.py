"""mince check-model."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from mince_gui.app.check_model import check_model
from mince_gui.base.errors import MinceError
from mince_gui.cli.console import cancel_on_interrupt, json_option, print_json, visible, workspace_option
from mince_gui.run.checking import ModelCheck

# Words beside the colour: neither pipes nor everybody's eyes keep colours.
_MARKS = {"good": ("ok  ", "green"), "warn": ("note", "yellow"), "bad": ("BAD ", "red")}
_WIDTH = 110


@click.command("check-model")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--runtime", help="Check against this runtime alone: its name, or the path of a Python.")
@click.option("--trust-native-code", is_flag=True, help="The model's native libraries are trusted.")
@workspace_option
@json_option
def check_model_command(
    folder: Path, runtime: str | None, trust_native_code: bool, workspace: Path, as_json: bool
) -> None:
    """Say what a model folder is, and which runtime can run it, without loading it.

    Ends with exit code 1 where none can, with what to install or to mend.
    """
    with cancel_on_interrupt() as cancel:
        found = check_model(workspace, folder, runtime=runtime, trust_native_code=trust_native_code, cancel=cancel)
    if as_json:
        print_json(found.to_json())
    else:
        _print_card(found)
    if not found.ok:
        raise MinceError(visible(found.verdict), visible(found.remedy))


def _print_card(found: ModelCheck) -> None:
    click.echo(visible(found.folder.name))
    wide = max(len(fact.topic) for fact in found.facts)
    for fact in found.facts:
        words = f"{fact.words}. {fact.remedy}" if fact.remedy else fact.words
        _print_line(fact.level, fact.topic.ljust(wide), words)
    click.echo()
    click.echo("Runtimes")
    wide = max((len(verdict.runtime) for verdict in found.verdicts), default=0)
    for verdict in found.verdicts:
        _print_line("good" if verdict.fits else "bad", verdict.runtime.ljust(wide), verdict.words)
    if found.ok:
        click.echo()
        click.echo(visible(found.verdict))


def _print_line(level: str, topic: str, words: str) -> None:
    mark, colour = _MARKS[level]
    head = f"  {mark}  {visible(topic)}  "
    lines = textwrap.wrap(visible(words), max(_WIDTH - len(head), 40), break_on_hyphens=False) or [""]
    click.echo(f"  {click.style(mark, fg=colour)}  {visible(topic)}  {lines[0]}")
    for line in lines[1:]:
        click.echo(" " * len(head) + line)


COMMANDS = {"check-model": check_model_command}
