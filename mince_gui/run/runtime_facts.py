"""What a runtime is: asked once, of its own worker; what follows from its packages; JSON for keeping."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mince_gui.base.cancel import CancelToken
from mince_gui.run.checking.messages import explain
from mince_gui.run.checking.providers import OGA_OF_RELEASE
from mince_gui.run.checking.types import Remedy
from mince_gui.run.deadlines import Deadlines
from mince_gui.run.discovery import provider_library
from mince_gui.run.protocol import DevicesResult, Hello, ProtocolError
from mince_gui.run.provider_names import provider_key
from mince_gui.run.runtimes import Runtime
from mince_gui.run.supervisor import WorkerLostError, WorkerProcess, WorkerRefusedError

PROBE_DEADLINES = Deadlines(start=90.0, idle=30.0, busy_factor=1.5, ask=5.0)
"""A first import of AMD's stack reads gigabytes under a virus scanner; a probe waits for that, and not much longer."""

_BY_HAND = "It must be Python 3.10 or newer; start it by hand and import onnxruntime_genai to see what is wrong."
_WHEELS = {
    "onnxruntime-genai": "public wheel, CPU",
    "onnxruntime-genai-cuda": "public wheel, CUDA",
    "onnxruntime-genai-directml": "public wheel, DirectML",
    "onnxruntime-genai-winml": "public wheel, Windows ML",
    "onnxruntime-genai-directml-ryzenai": "AMD's wheel, Ryzen AI",
}
# Wheels that all install the one folder "onnxruntime": the last one that was installed has overwritten the others.
_ORT = frozenset(f"onnxruntime{tail}" for tail in (
    "", "-gpu", "-directml", "-vitisai", "-windowsml", "-qnn", "-openvino", "-rocm", "-migraphx"))  # fmt: skip
# Providers that onnxruntime itself brings; for the others OGA must be built as well.
_OF_ORT = frozenset({"vitisai", "qnn", "openvino", "webgpu", "nvtensorrtrtx"})
_FINE_TOKENIZERS = (0, 12)  # seen: 0.11.2 refuses the class that transformers 5 writes, 0.14.0 takes it
_UPSTREAM_RYZENAI = (0, 12)


@dataclass(frozen=True)
class RuntimeFacts:
    """What is known of a runtime.

    `distribution` names OGA's wheel, `wheel` says whose it is; `packages` are name -> version of what matters;
    `providers` and `devices` are onnxruntime's own (see protocol.DevicesResult). `release` is the Ryzen AI release it
    belongs to ("1.7"), None for a public wheel. `can_run` are providers that a model may ask for, in small letters
    ("cpu", "ryzenai", "vitisai", "dml", "cuda" ...): what the wheels promise, not what was seen to run.
    `refused_tokenizers` are tokenizer classes that it cannot load. `warnings` are for the user. `error` says why
    nothing can run on it, with `cause` and `remedy` in plain words where the message is known; None if all is well.
    """

    name: str
    kind: Literal["bundled", "external"]
    executable: str
    python: str | None = None
    platform: str | None = None
    oga_version: str | None = None
    distribution: str | None = None
    wheel: str | None = None
    ort_version: str | None = None
    packages: Mapping[str, str] = dataclasses.field(default_factory=dict)
    providers: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    release: str | None = None
    can_run: frozenset[str] = frozenset()
    refused_tokenizers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str | None = None
    cause: str | None = None
    remedy: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the workspace and --json."""
        return {**dataclasses.asdict(self), "can_run": sorted(self.can_run)}

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> RuntimeFacts | None:
        """The facts that `to_json` wrote; None for those of another version of this program."""
        names = {field.name for field in dataclasses.fields(RuntimeFacts)}
        if set(body) != names:
            return None
        tuples = ("providers", "devices", "refused_tokenizers", "warnings")
        values = {**body, "can_run": frozenset(body["can_run"]), **{name: tuple(body[name]) for name in tuples}}
        return RuntimeFacts(**values)


def probe_runtime(
    runtime: Runtime, *, deadlines: Deadlines = PROBE_DEADLINES, cancel: CancelToken | None = None
) -> RuntimeFacts:
    """Start the shipped worker with the runtime and ask what it has; installs nothing, loads no model.

    A runtime that does not start, or whose OGA cannot be imported, has facts too: with `error`. Bounded by `deadlines`.
    Raises CancelledError.
    """
    worker = WorkerProcess(runtime, deadlines=deadlines)
    try:
        try:
            hello = worker.start(cancel)
            devices = worker.devices(cancel=cancel) if hello.error is None else None
        except (WorkerLostError, WorkerRefusedError, ProtocolError) as exc:
            return _without(runtime, worker.hello, exc)
    finally:
        worker.close()
    return facts_of(runtime, hello, devices)


def facts_of(runtime: Runtime, hello: Hello, devices: DevicesResult | None) -> RuntimeFacts:
    """What follows from a worker's hello, and from what onnxruntime listed (None = not asked)."""
    packages = {str(name): str(version) for name, version in hello.packages.items()}
    providers = devices.providers if devices is not None else ()
    amd = any("ryzen" in name or name == "onnxruntime-vitisai" for name in packages)
    # On Linux AMD's provider lies in the environment and is no package.
    library = runtime.kind == "external" and provider_library(Path(runtime.command[0]), os.environ) is not None
    can_run = _can_run(hello, packages, providers, library=library)
    warnings = _warnings(runtime, hello, packages)
    if amd and hello.error is None and "ryzenai" not in can_run:
        # RyzenAI-SW#333
        warnings.append(
            f"This environment belongs to Ryzen AI, but its OGA is {hello.distribution or 'of unknown origin'}: it "
            "does not know the provider RyzenAI. AMD's installer brings onnxruntime-genai-directml-ryzenai."
        )
    if devices is not None and devices.error is not None and any(name in _ORT for name in packages):
        warnings.append(f"onnxruntime did not list its devices: {devices.error}")
    remedy = None
    if hello.error is not None:
        remedy = explain(hello.error) or Remedy(
            "The package onnxruntime_genai cannot be imported.", "Install it into that environment."
        )
    return RuntimeFacts(
        name=runtime.name,
        kind=runtime.kind,
        executable=hello.executable,
        python=hello.python,
        platform=hello.platform,
        oga_version=hello.oga_version,
        distribution=hello.distribution,
        wheel=_wheel(hello.distribution),
        ort_version=hello.ort_version,
        packages=packages,
        providers=providers,
        devices=devices.devices if devices is not None else (),
        release=release_of(hello.oga_version, packages) if amd or library else None,
        can_run=can_run,
        refused_tokenizers=_refused(hello.oga_version),
        warnings=tuple(warnings),
        error=hello.error,
        cause=remedy.cause if remedy is not None else None,
        remedy=remedy.remedy if remedy is not None else None,
    )


def _without(
    runtime: Runtime, hello: Hello | None, exc: WorkerLostError | WorkerRefusedError | ProtocolError
) -> RuntimeFacts:
    """The facts of a runtime whose worker said nothing that could be used."""
    outcome = exc.outcome if isinstance(exc, WorkerLostError) else None
    said = "\n".join(outcome.stderr) if outcome is not None else ""
    remedy = explain(f"{exc.message}\n{said}", code=outcome.code if outcome is not None else None)
    last = f" ({outcome.stderr[-1]})" if outcome is not None and outcome.stderr else ""
    return RuntimeFacts(
        name=runtime.name,
        kind=runtime.kind,
        executable=runtime.command[0],
        python=hello.python if hello is not None else None,
        platform=hello.platform if hello is not None else None,
        error=f"{exc.message}{last}",
        cause=remedy.cause if remedy is not None else None,
        remedy=remedy.remedy if remedy is not None else _BY_HAND,
    )


def numbers(version: str | None) -> tuple[int, ...]:
    """The leading numbers of a version, for comparing; () where it is not known."""
    found = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def release_of(oga_version: str | None, packages: Mapping[str, str]) -> str | None:
    """The Ryzen AI release of an environment of AMD's: its own packages name it, else its OGA; None if neither does."""
    for name in ("ryzen-ai-lt", "ryzenai-dynamic-dispatch", "onnxruntime-providers-ryzenai"):
        # The last one counted otherwise before 1.8 (0.11.1 in 1.7.1).
        version = numbers(packages.get(name))
        if len(version) > 1 and version[0] >= 1:
            return ".".join(map(str, version[:3] if len(version) > 2 and version[2] else version[:2]))
    mine = numbers(oga_version)
    return next((release for release, oga in OGA_OF_RELEASE.items() if numbers(oga) == mine[:3]), None)


def _wheel(distribution: str | None) -> str | None:
    if distribution is None:
        return None
    if "," in distribution:
        return "several wheels"
    known = _WHEELS.get(distribution)
    return known or ("AMD's wheel, Ryzen AI" if "ryzen" in distribution else "a wheel that is not known here")


def _can_run(hello: Hello, packages: Mapping[str, str], providers: tuple[str, ...], *, library: bool) -> frozenset[str]:
    if hello.error is not None or hello.oga_version is None:
        return frozenset()
    distribution = hello.distribution or ""
    found = {"cpu"}
    library = library or "onnxruntime-providers-ryzenai" in packages
    if "ryzenai" in distribution or (library and numbers(hello.oga_version) >= _UPSTREAM_RYZENAI):
        found.add("ryzenai")
    if "directml" in distribution:
        found.add("dml")
    if "cuda" in distribution:
        found.add("cuda")
    if "onnxruntime-vitisai" in packages or "winml" in distribution:
        found.add("vitisai")
    return frozenset(found | {key for name in providers if (key := provider_key(name)) in _OF_ORT})


def _refused(oga_version: str | None) -> tuple[str, ...]:
    known = numbers(oga_version)
    return ("TokenizersBackend",) if known and known < _FINE_TOKENIZERS else ()


def _warnings(runtime: Runtime, hello: Hello, packages: Mapping[str, str]) -> list[str]:
    warnings = []
    mixed = sorted(f"{name} {packages[name]}" for name in packages if name in _ORT)
    if len(mixed) > 1:
        # genai#555, RyzenAI-SW#231
        warnings.append(
            f"Several onnxruntime wheels are installed ({', '.join(mixed)}): each overwrites the others' files, and "
            "providers of one are gone. Make the environment again with one of them."
        )
    if "," in (hello.distribution or ""):
        warnings.append(f"Several onnxruntime-genai wheels are installed ({hello.distribution}): keep one.")
    path = runtime.command[0]
    if not path.isascii():
        # genai#1262, WindowsAppSDK#6173
        warnings.append(f"The path {path} has letters beyond ASCII, which parts of the stack cannot read.")
    return warnings
