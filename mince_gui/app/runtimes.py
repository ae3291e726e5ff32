"""Runtimes: the bundled one, those that the user registered, and those that lie on this machine."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui import __version__
from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, MinceError, UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.base.paths import expanded
from mince_gui.run import Runtime, bundled_runtime, external_runtime
from mince_gui.run.devices import machine_state
from mince_gui.run.discovery import Candidate, environments, python_in
from mince_gui.run.runtime_facts import RuntimeFacts, probe_runtime
from mince_gui.store import Workspace
from mince_gui.store import runtimes as stored_runtimes
from mince_gui.store.runtimes import StoredRuntime

BUNDLED = "bundled"
_LIST = "`mince runtimes` lists them."


@dataclass(frozen=True)
class KnownRuntime:
    """A runtime with what its last probe found: `facts` None where it was never probed by this version of mince.

    `is_there`: whether its Python still exists.
    """

    runtime: Runtime
    python: Path
    facts: RuntimeFacts | None
    probed_at: str | None
    is_there: bool = True

    @property
    def name(self) -> str:
        """What it is called: "bundled", or the user's name for it."""
        return self.runtime.name


@dataclass(frozen=True)
class Survey:
    """Everything that `mince runtimes` shows; `machine` as run.devices.machine_state has it."""

    runtimes: list[KnownRuntime]
    machine: dict[str, Any]
    found: list[Candidate]


def find_runtime(ws: Workspace, named: str | None) -> Runtime:
    """The runtime that is meant: None or "bundled", a registered name, or the path of a Python.

    Raises UsageError for a name that is not registered, InputError for a path that is no Python (any more).
    """
    if named is None or named == BUNDLED:
        return bundled_runtime()
    registered = [stored for stored in stored_runtimes.listing(ws) if stored.kind == "external"]
    for stored in registered:
        if named == stored.name:
            return _external(stored)
    path = expanded(named)
    if not path.exists() and path.name == named:
        names = ", ".join([BUNDLED, *(stored.name for stored in registered)])
        raise UsageError(
            f"'{named}' is neither a registered runtime nor the path of a Python.",
            f"Runtimes: {names}. Register one: mince runtimes add PYTHON --name {named}",
        )
    python = _python(path)
    for stored in registered:
        if stored.python == python:
            return _external(stored)
    return external_runtime(python)


def listing(workspace: Path, *, probe: bool = True, cancel: CancelToken | None = None) -> list[KnownRuntime]:
    """The bundled runtime first, then the registered ones by name.

    The bundled one is probed where that was not done yet by this installation (about a second), unless `probe` is
    False: then nothing is started, and its facts may be None. Raises CancelledError.
    """
    with Workspace(workspace) as ws:
        stored = stored_runtimes.listing(ws)
        mine = next((s for s in stored if s.kind == "bundled"), None)
        known = [_bundled(ws, mine, probe=probe, cancel=cancel)]
        return known + [_known(s) for s in stored if s.kind == "external"]


def add(
    workspace: Path,
    python: Path,
    name: str | None = None,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> KnownRuntime:
    """Probe a Python (or the folder of its environment) and register it; nothing is installed into it.

    Adding it again probes it again. Raises InputError for what is no Python or has no OGA that can be imported, and
    UsageError for a name that is taken or reserved.
    """
    program = _python(expanded(python))
    with Workspace(workspace) as ws, stream(emit, "probe", detail=str(program)):
        before = next((s for s in stored_runtimes.listing(ws) if s.python == program), None)
        runtime = external_runtime(program, name or (before.name if before else None))
        _check_name(ws, runtime.name, program)
        facts = probe_runtime(runtime, cancel=cancel)
        if facts.error is not None:
            cause = f" {facts.cause}" if facts.cause else ""
            raise InputError(f"{program} was not registered: {facts.error.rstrip('.')}.{cause}", facts.remedy or "")
        if before is not None and before.name != runtime.name:
            stored_runtimes.remove(ws, before.name)
        stored_runtimes.put(ws, facts, program)
        return _get(ws, runtime.name)


def probe(
    workspace: Path, name: str | None = None, *, emit: Emit = ignore, cancel: CancelToken | None = None
) -> list[KnownRuntime]:
    """Probe one runtime again, or all; one that has become unusable is kept, with its error.

    Raises UsageError for an unknown name, and CancelledError.
    """
    with Workspace(workspace) as ws, stream(emit, "probe", detail=name or "all runtimes"):
        stored = stored_runtimes.listing(ws)
        names = [BUNDLED, *(s.name for s in stored if s.kind == "external")]
        if name is not None and name not in names:
            raise UsageError(f"There is no runtime '{name}'.", _LIST)
        for each in [name] if name is not None else names:
            if each == BUNDLED:
                _probe_bundled(ws, cancel)
                continue
            kept = next(s for s in stored if s.name == each)
            try:
                facts = probe_runtime(_external(kept), cancel=cancel)
            except InputError as exc:
                facts = RuntimeFacts(kept.name, "external", str(kept.python), error=exc.message, remedy=exc.remedy)
            stored_runtimes.put(ws, facts, kept.python)
        known = [_bundled(ws, stored_runtimes.get(ws, BUNDLED), probe=False)]
        known += [_known(s) for s in stored_runtimes.listing(ws) if s.kind == "external"]
        return [k for k in known if name is None or k.name == name]


def remove(workspace: Path, name: str) -> None:
    """Forget a registered runtime; its environment stays as it is. Raises UsageError for an unknown name."""
    if name == BUNDLED:
        raise UsageError("The bundled runtime belongs to mince and cannot be removed.")
    with Workspace(workspace) as ws:
        if stored_runtimes.get(ws, name) is None:
            raise UsageError(f"There is no runtime '{name}'.", _LIST)
        stored_runtimes.remove(ws, name)


def discover(workspace: Path) -> list[Candidate]:
    """Environments of AMD's on this machine that are not registered; reads folders, starts nothing."""
    with Workspace(workspace) as ws:
        taken = {stored.python for stored in stored_runtimes.listing(ws)}
    return [candidate for candidate in environments(os.environ, expanded("~")) if candidate.python not in taken]


def survey(workspace: Path, *, machine: Callable[[], dict[str, Any]] = machine_state) -> Survey:
    """Runtimes, machine and what could be added; bounded in time whatever the machine's tools do."""
    with ThreadPoolExecutor(1, thread_name_prefix="survey") as pool:
        asked = pool.submit(machine)
        return Survey(listing(workspace), asked.result(), discover(workspace))


# -- inner --------------------------------------------------------------------------------------------


def _python(path: Path) -> Path:
    """The program that is meant: itself, or the Python of the environment whose folder it is."""
    inside = python_in(path) if path.is_dir() else None
    # Not resolved: the link of a virtual environment's Python leads out of the environment.
    return Path(os.path.abspath(inside or path))  # noqa: PTH100


def _external(stored: StoredRuntime) -> Runtime:
    try:
        return external_runtime(stored.python, stored.name)
    except InputError as exc:
        raise InputError(
            f"The runtime {stored.name} cannot be used: {exc.message}",
            f"Put its environment back, or forget it: mince runtimes remove {stored.name}",
        ) from exc


def _check_name(ws: Workspace, name: str, python: Path) -> None:
    if name == BUNDLED or not name.strip() or name != Path(name).name or not name.isprintable():
        raise UsageError(f"A runtime cannot be called '{name}'.", "Give another name with --name.")
    taken = stored_runtimes.get(ws, name)
    if taken is not None and taken.python != python:
        raise UsageError(f"The name {name} is taken by {taken.python}.", "Give another one with --name.")


def _get(ws: Workspace, name: str) -> KnownRuntime:
    stored = stored_runtimes.get(ws, name)
    assert stored is not None
    return _known(stored)


def _known(stored: StoredRuntime) -> KnownRuntime:
    try:
        runtime, is_there = external_runtime(stored.python, stored.name), True
    except InputError:
        runtime, is_there = Runtime(stored.name, (str(stored.python),), "external"), False
    return KnownRuntime(runtime, stored.python, stored.facts, stored.probed_at, is_there)


def _bundled(
    ws: Workspace, stored: StoredRuntime | None, *, probe: bool, cancel: CancelToken | None = None
) -> KnownRuntime:
    runtime = bundled_runtime()
    python = Path(runtime.command[0])
    if stored is None or stored.python != python or stored.signature != _signature() or stored.facts is None:
        if not probe:
            return KnownRuntime(runtime, python, None, None)
        if ws.read_only:
            # What it has can be told, if not kept.
            return KnownRuntime(runtime, python, probe_runtime(runtime, cancel=cancel), None)
        stored = _probe_bundled(ws, cancel)
    return KnownRuntime(runtime, python, stored.facts, stored.probed_at)


def _probe_bundled(ws: Workspace, cancel: CancelToken | None) -> StoredRuntime:
    runtime = bundled_runtime()
    facts = probe_runtime(runtime, cancel=cancel)
    stored_runtimes.put(ws, facts, Path(runtime.command[0]), _signature())
    stored = stored_runtimes.get(ws, BUNDLED)
    if stored is None:
        raise MinceError("What the bundled runtime's probe found could not be kept.")
    return stored


def _signature() -> str:
    """Changes with this program and with the OGA beside it."""
    try:
        return f"{__version__} {importlib.metadata.version('onnxruntime-genai')}"
    except importlib.metadata.PackageNotFoundError:
        return __version__  # in a frozen bundle, OGA changes only with it
