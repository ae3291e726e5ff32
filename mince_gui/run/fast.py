"""Fast mode of choice tasks: what the items of a group begin with is read once and rewound to.

Used only where a probe, with the run's own split points, shows bit-identical logits, and on the CPU alone until an
NPU has been proven.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mince_gui.base.cancel import CancelToken
from mince_gui.run.model_folder import ModelFolder
from mince_gui.run.protocol import ShareRequest, ShareResult
from mince_gui.run.supervisor import WorkerProcess, WorkerRefusedError
from mince_gui.run.types import RunItem

_COMPARED = 3


@dataclass(frozen=True)
class Probe:
    """Whether fast mode is on, and what was seen, or why it is off, in words."""

    on: bool
    words: str


def groups_of(items: Sequence[RunItem]) -> list[tuple[RunItem, ...]]:
    """Neighbours that begin with the same examples, and are weighed after one prompt each; a group has two at least."""
    groups: list[list[RunItem]] = []
    for item in items:
        request = item.request
        if request.kind != "choice" or request.contexts or not request.prefix:
            continue
        if groups and groups[-1][0].request.prefix == request.prefix:
            groups[-1].append(item)
        else:
            groups.append([item])
    return [tuple(group) for group in groups if len(group) > 1]


class FastMode:
    """The groups of one sitting, and which of them a worker keeps at the moment."""

    def __init__(self, items: Sequence[RunItem]) -> None:
        self._groups = groups_of(items)
        self._group_of = {item.position: place for place, group in enumerate(self._groups) for item in group}
        self._kept: tuple[int, int] | None = None
        self.on = False

    def probe(self, worker: WorkerProcess, folder: ModelFolder, cancel: CancelToken) -> Probe:
        """Look whether this stack gives bit-identical logits at some of the sitting's own split points."""
        found = self._probe(worker, folder, cancel)
        self.on = found.on
        return found

    def _probe(self, worker: WorkerProcess, folder: ModelFolder, cancel: CancelToken) -> Probe:
        if folder.devices != ("cpu",):
            return Probe(False, "off: it is not proven on any device but the CPU")
        if not self._groups:
            return Probe(False, "off: no two neighbouring items begin with the same examples")
        seen: list[ShareResult] = []
        for group in self._probed():
            try:
                result = worker.share(_request(group, _COMPARED), cancel=cancel)
            except WorkerRefusedError as exc:
                return Probe(False, f"off: the probe failed ({exc.kind}: {exc.message})")
            if not result.kept:
                return Probe(False, f"off: {result.reason}")
            if not result.identical:
                return Probe(
                    False,
                    f"off: logits after the {result.kept} tokens that are kept are not those of whole prompts, bit for "
                    "bit",
                )
            seen.append(result)
        kept = sorted(result.kept for result in seen)
        compared = sum(result.compared for result in seen)
        which = "one group that keeps" if len(seen) == 1 else f"{len(seen)} groups that keep"
        words = f"on: bit-identical logits for {compared} prompts of {which} "
        words += f"{kept[0]} to {kept[-1]} tokens" if kept[0] != kept[-1] else f"{kept[0]} tokens"
        shifts = [result.trap_shift for result in seen if result.trap_shift is not None]
        if shifts:
            words += f"; lengths that are avoided shift a logit by up to {max(shifts):.2g}"
        return Probe(True, words)

    def _probed(self) -> list[tuple[RunItem, ...]]:
        """The first group, and those with the shortest and the longest beginning."""
        by_length = sorted(range(len(self._groups)), key=lambda place: len(self._groups[place][0].request.prefix))
        return [self._groups[place] for place in dict.fromkeys([0, by_length[0], by_length[-1]])]

    def ready(self, worker: WorkerProcess, item: RunItem, cancel: CancelToken, told: Callable[[str], None]) -> bool:
        """Have the worker keep what `item`'s group begins with; whether the item can be asked fast.

        `told` hears why a group is read in the standard way. Raises as a request to the worker does.
        """
        place = self._group_of.get(item.position)
        if not self.on or place is None:
            return False
        if self._kept is None or self._kept[0] != place:
            left = [other for other in self._groups[place] if other.position >= item.position]
            kept, why = _share(worker, left, cancel) if len(left) > 1 else (0, "")
            self._kept = (place, kept)
            if why:
                told(why)
        return self._kept[1] > 0

    def forget(self) -> None:
        """A new worker keeps nothing."""
        self._kept = None


def _share(worker: WorkerProcess, group: Sequence[RunItem], cancel: CancelToken) -> tuple[int, str]:
    """How many tokens the worker keeps for the items of `group`, and why none ("" where it does)."""
    try:
        result = worker.share(_request(group, 0), cancel=cancel)
    except WorkerRefusedError as exc:
        # Another item's prompt may be the cause: each is still asked by itself.
        return 0, f"{exc.kind}: {exc.message}"
    return result.kept, result.reason or ""


def _request(group: Sequence[RunItem], compare: int) -> ShareRequest:
    return ShareRequest(tuple(item.request.prompt for item in group), group[0].request.choices, compare)
