"""mince runtimes."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mince_gui.app.runtimes import KnownRuntime, add, probe, remove, survey
from mince_gui.cli.console import (
    cancel_on_interrupt,
    json_option,
    print_json,
    table,
    visible,
    workspace_option,
)
from mince_gui.run.checking.providers import provider_title
from mince_gui.run.discovery import Candidate

_NONE = "-"


@click.group("runtimes", invoke_without_command=True)
@workspace_option
@json_option
@click.pass_context
def runtimes_group(ctx: click.Context, workspace: Path, as_json: bool) -> None:
    """List the runtimes, this machine's NPU, and AMD environments that could be added.

    A runtime is a Python that has onnxruntime-genai: the bundled one (CPU), and those that you add, such as the conda
    environment that AMD's installer makes for a Ryzen AI release. Nothing is ever installed into them.
    """
    if ctx.invoked_subcommand is not None:
        return
    seen = survey(workspace)
    if as_json:
        print_json(
            {
                "runtimes": [_facts(known) for known in seen.runtimes],
                "machine": seen.machine,
                "found": [{"python": str(c.python), "name": c.name, "found": c.found} for c in seen.found],
            }
        )
        return
    _print_runtimes(seen.runtimes)
    click.echo("\nThis machine")
    for line in _machine_lines(seen.machine):
        click.echo(visible(f"  {line}"))
    if seen.found:
        click.echo("\nFound, and not registered")
        for candidate in seen.found:
            click.echo(visible(f"  {_add_words(candidate)}    ({candidate.found})"))


@runtimes_group.command("add")
@click.argument("python", type=click.Path(path_type=Path))
@click.option("--name", help="What to call it (default: the environment's name).")
@workspace_option
@json_option
def add_command(python: Path, name: str | None, workspace: Path, as_json: bool) -> None:
    """Probe PYTHON (a python executable, or its environment's folder) and register it."""
    with cancel_on_interrupt() as cancel:
        known = add(workspace, python, name, cancel=cancel)
    _print([known], as_json)


@runtimes_group.command("probe")
@click.argument("name", required=False)
@workspace_option
@json_option
def probe_command(name: str | None, workspace: Path, as_json: bool) -> None:
    """Probe a runtime again, or all: after an environment was changed."""
    with cancel_on_interrupt() as cancel:
        found = probe(workspace, name, cancel=cancel)
    _print(found, as_json)


@runtimes_group.command("remove")
@click.argument("name")
@workspace_option
@json_option
def remove_command(name: str, workspace: Path, as_json: bool) -> None:
    """Forget a runtime; its environment stays as it is."""
    remove(workspace, name)
    if as_json:
        print_json({"removed": name})
    else:
        click.echo(visible(f"{name} is no longer registered"))


def _print(runtimes: list[KnownRuntime], as_json: bool) -> None:
    if as_json:
        print_json([_facts(known) for known in runtimes])
    else:
        _print_runtimes(runtimes)


def _facts(known: KnownRuntime) -> dict[str, object]:
    return {
        "name": known.name,
        "python": str(known.python),
        "is_there": known.is_there,
        "probed_at": known.probed_at,
        "facts": known.facts.to_json() if known.facts is not None else None,
    }


def _print_runtimes(runtimes: Sequence[KnownRuntime]) -> None:
    rows, below = [], []
    for known in runtimes:
        facts = known.facts
        cells = [_NONE] * 6
        if facts is not None:
            can_run = "nothing" if facts.error else ", ".join(map(provider_title, sorted(facts.can_run)))
            cells = [
                facts.python or _NONE,
                facts.oga_version or _NONE,
                facts.wheel or _NONE,
                facts.release or _NONE,
                can_run or _NONE,
                ", ".join(dict.fromkeys(device.rpartition(", ")[2] for device in facts.devices)) or _NONE,
            ]
        rows.append([visible(cell) for cell in (known.name, *cells)])
        below += _notes(known)
    click.echo(table(("runtime", "Python", "OGA", "wheel", "Ryzen AI", "providers", "devices"), rows, left=7))
    for line in below:
        click.echo(visible(line))


def _notes(known: KnownRuntime) -> list[str]:
    facts = known.facts
    notes = [f"  {known.name}: {known.python}"] if known.runtime.kind == "external" else []
    if not known.is_there:
        return [*notes, f"! {known.name}: its Python is gone; forget it: mince runtimes remove {known.name}"]
    if facts is None:
        return [*notes, f"! {known.name}: not probed yet; mince runtimes probe {known.name}"]
    if facts.error:
        notes.append(f"! {known.name}: {facts.error}")
        notes += [f"  {words}" for words in (facts.cause, facts.remedy) if words]
    return notes + [f"! {known.name}: {warning}" for warning in facts.warnings]


def _machine_lines(machine: Mapping[str, Any]) -> list[str]:
    def known(value: object, after: str = "") -> str:
        return "not known" if value is None else f"{value}{after}"

    battery = f", battery at {machine['battery_percent']:g} %" if machine["battery_percent"] is not None else ""
    pairs = [
        ("NPU", known(machine["npu"], f", PCI {machine['npu_pci']}" if machine["npu_pci"] else "")),
        ("power", f"{known(machine['power_source'])}{battery}; mode: {known(machine['power_mode'])}"),
        (
            "memory",
            f"{machine['free_memory_bytes'] / 2**30:.1f} of {machine['total_memory_bytes'] / 2**30:.1f} GiB free",
        ),
        ("CPU load", f"{machine['cpu_load_percent']:.0f} %"),
    ]
    if machine["npu"] != "none":
        date = f" of {machine['npu_driver_date']}" if machine["npu_driver_date"] else ""
        watts = f", about {machine['npu_watts']:g} W" if machine["npu_watts"] is not None else ""
        pairs[1:1] = [
            ("driver", known(machine["npu_driver"], date)),
            ("firmware", known(machine["npu_firmware"])),
            ("NPU mode", known(machine["npu_power_mode"], watts)),
        ]
    lines = [f"{name:<9} {words}" for name, words in pairs]
    lines += [f"! {remark}" for remark in machine["remarks"]]
    return lines + [f"? {unknown}" for unknown in machine["unknown"]]


def _add_words(candidate: Candidate) -> str:
    """The command that registers a candidate, quoted as this system's shell wants it."""
    words = ["mince", "runtimes", "add", str(candidate.python), "--name", candidate.name]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


COMMANDS = {"runtimes": runtimes_group}
