"""Whether a model folder can be run here, and on which runtime, before anything is loaded."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil

from mince_gui.app import runtimes
from mince_gui.base.cancel import CancelToken
from mince_gui.run import read_model_folder
from mince_gui.run.checking import Machine, ModelCheck
from mince_gui.run.checking import check_model as check
from mince_gui.run.devices.pci import find_npu
from mince_gui.run.model_folder import ModelFolder
from mince_gui.run.runtime_facts import RuntimeFacts, probe_runtime
from mince_gui.store import Workspace


def check_model(
    workspace: Path,
    path: Path,
    *,
    runtime: str | None = None,
    trust_native_code: bool = False,
    machine: Machine | None = None,
    cancel: CancelToken | None = None,
) -> ModelCheck:
    """Check the model folder `path` against all known runtimes, or against `runtime` alone (a name, or a Python).

    Loads nothing native. The bundled runtime, and a Python that is not registered, are probed where that was not done
    yet (a second or more). `machine` None: this one.
    Raises InputError for a folder that is none or a Python that is none, UsageError for an unknown runtime, and
    CancelledError.
    """
    folder = read_model_folder(path)
    known = [_named(workspace, runtime, cancel)] if runtime is not None else _all(workspace, cancel)
    return check(path, known, machine or this_machine(folder), trust_native_code=trust_native_code)


def this_machine(folder: ModelFolder) -> Machine:
    """This machine as far as the model needs to know it: the NPU is looked for only where the model asks for one."""
    memory = psutil.virtual_memory()
    asked = "npu" in folder.devices
    found = find_npu() if asked else None
    npu = found.value if found is not None else None
    nothing = found is not None and not found.unknown and npu is None
    return Machine(
        platform.system(),
        free_memory=memory.available,
        total_memory=memory.total,
        npu=npu.name if npu is not None else "" if nothing else None,
        npu_runs_llms=npu.runs_llms if npu is not None else None,
    )


def _all(workspace: Path, cancel: CancelToken | None) -> list[RuntimeFacts]:
    return [_facts(known) for known in runtimes.listing(workspace, cancel=cancel)]


def _named(workspace: Path, name: str, cancel: CancelToken | None) -> RuntimeFacts:
    for known in runtimes.listing(workspace, probe=name == runtimes.BUNDLED, cancel=cancel):
        if known.name == name:
            return _facts(known)
    with Workspace(workspace) as ws:
        found = runtimes.find_runtime(ws, name)
    for known in runtimes.listing(workspace, probe=False):
        if known.facts is not None and known.runtime.command == found.command:
            return known.facts
    return probe_runtime(found, cancel=cancel)


def _facts(known: runtimes.KnownRuntime) -> RuntimeFacts:
    if known.facts is not None and known.is_there:
        return known.facts
    gone = "its Python is gone" if not known.is_there else "it was never probed by this version of mince"
    error = f"{gone} (mince runtimes probe {known.name})"
    return RuntimeFacts(known.name, known.runtime.kind, str(known.python), error=error)
