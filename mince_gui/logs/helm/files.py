"""Which folders are HELM runs, which belong together, and whose they are."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import BENCHMARKS, Benchmark, KeyFinder, of_task
from mince_gui.logs.helm.states import instances
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.naming import candidate, own_name, tidy_name
from mince_gui.logs.types import Claim, Found

FORMAT = "HELM"
PREFIX = "helm"
STATS = "per_instance_stats.json"
SPEC = "run_spec.json"
STATES = "scenario_state.json"

_BESIDE = (
    SPEC, STATES, "scenario.json", "stats.json", "instances.json", "display_predictions.json", "display_requests.json",
)  # fmt: skip
_SPEC_LIMIT = 16 << 20
_LOOKED_AT = 3
_STATS_HEAD = re.compile(rb'\s*\[\s*(?:\]|\{\s*"instance_id")')


@dataclass(frozen=True)
class Spec:
    """A run's run_spec.json: its name as name and arguments, and how the model was asked."""

    folder: Path
    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    adapter: Mapping[str, Any] = field(default_factory=dict)

    @property
    def subject(self) -> str | None:
        """The MMLU subject of the run, None for other runs."""
        subject = self.arguments.get("subject")
        return subject if self.name == "mmlu" and subject in BENCHMARKS["mmlu"].subjects else None

    @property
    def task(self) -> str:
        """The run's name without the model, and without the subject where the subjects are put together."""
        left_out = {"model", "model_deployment", "groups", *(("subject",) if self.subject else ())}
        arguments = ",".join(f"{name}={value}" for name, value in self.arguments.items() if name not in left_out)
        return f"{self.name}:{arguments}" if arguments else self.name

    @property
    def model(self) -> str:
        """The model's name."""
        named = self.adapter.get("model") or self.adapter.get("model_deployment") or self.arguments.get("model")
        return tidy_name(named) if isinstance(named, str) else ""


def load_spec(folder: Path) -> Spec:
    """Read a run's run_spec.json. Raises InputError; the folder's name stands in where there is none."""
    path = folder / SPEC
    body: Any = {}
    if path.is_file():
        try:
            if path.stat().st_size > _SPEC_LIMIT:
                raise InputError(f"{path}: larger than {_SPEC_LIMIT >> 20} MiB, which no run's specification is.")
            body = json.loads(path.read_bytes())
        except OSError as exc:
            raise InputError(f"{path}: cannot be read ({exc.strerror}).") from exc
        except (ValueError, RecursionError) as exc:
            raise InputError(f"{path}: not JSON ({exc}).", "Take a whole copy of the run's folder.") from exc
    body = body if isinstance(body, dict) else {}
    named = body.get("name")
    whole = named if isinstance(named, str) and named else folder.name
    name, _, listed = whole.partition(":")
    pairs = (part.partition("=") for part in listed.split(",") if "=" in part)
    if not listed:
        # no arguments of its own: "gsm,model=..."
        name, *rest = whole.split(",")
        pairs = (part.partition("=") for part in rest)
    adapter = body.get("adapter_spec")
    return Spec(
        folder, tidy_name(name) or "unnamed", {key.strip(): value for key, _, value in pairs},
        adapter if isinstance(adapter, dict) else {},
    )  # fmt: skip


def claim(files: Sequence[Path]) -> Claim:
    """The runs among `files`, by their per_instance_stats.json."""
    refused: dict[Path, str] = {}
    runs: dict[Path, Path] = {}
    for path in files:
        if path.name == STATS:
            reason = _why_unusable(path)
            if reason:
                refused[path] = reason
            else:
                runs[path.parent] = path
    beside = {path for path in files if path.parent in runs and path.name in _BESIDE}
    refused |= {
        path: f"a HELM run without {STATS}: run helm-run to its end"
        for path in files
        if path.name == SPEC and path.parent not in runs and path.parent / STATS not in refused and _is_spec(path)
    }
    groups: dict[tuple[Path, str, str], list[Spec]] = {}
    for folder, path in runs.items():
        try:
            spec = load_spec(folder)
        except InputError as exc:
            refused[path] = exc.message
            continue
        groups.setdefault((folder.parent if spec.subject else folder, spec.task, spec.model), []).append(spec)
    return Claim(tuple(_found(members) for members in groups.values()), refused, frozenset(beside))


def _why_unusable(path: Path) -> str:
    try:
        head = first_bytes(path, 256)
    except (OSError, EOFError, ValueError) as exc:
        return f"cannot be read ({exc})"
    return "" if _STATS_HEAD.match(head) else "named as HELM names its statistics, but it is no list of instances"


def _is_spec(path: Path) -> bool:
    try:
        return b'"scenario_spec"' in first_bytes(path, 4096)
    except (OSError, EOFError, ValueError):
        return False


def _found(members: Sequence[Spec]) -> Found:
    first = members[0]
    benchmark, told, time = _benchmark(first)
    shape = f"{len(members)} run folders of HELM" if len(members) > 1 else "a run folder of HELM"
    whence = f"from {SPEC}" if first.adapter.get("model") else "from the folder's name"
    return Found(
        format=FORMAT,
        model=first.model or "unnamed",
        benchmark=benchmark,
        task=tidy_name(first.task),
        files=tuple(sorted(spec.folder / STATS for spec in members)),
        results_file=None,
        timestamp=time,
        why=f"{shape} (suite {tidy_name(first.folder.parent.name)}); the model's name is {whence}; {told}",
    )


def _benchmark(spec: Spec) -> tuple[Benchmark, str, str]:
    """The benchmark as far as the first instances tell, how that is known, and the time of the first request."""
    try:
        first = list(itertools.islice(instances(spec.folder / STATES), _LOOKED_AT))
    except InputError:
        first = []  # said when the run is read
    times = [instance.time for instance in first if instance.time is not None]
    time = datetime.fromtimestamp(min(times), UTC).strftime("%Y-%m-%dT%H-%M-%S") if times else ""
    own, known = of_task(own_name(PREFIX, spec.task)), candidate(spec.name)
    if known is None:
        return own, f"its scenario {spec.name} is a benchmark of its own", time
    if not first:
        return own, f"there is no readable {STATES} that tells its items, so it is a benchmark of its own", time
    for instance in first:
        if KeyFinder(known).key(instance.text, spec.subject, instance.references or None) is None:
            told = (
                f"instance {tidy_name(instance.key)} is none of {known.title}, so {spec.name} is a benchmark of its own"
            )
            return own, told, time
    return known, f"the items are those of {known.title}, told by their texts", time
