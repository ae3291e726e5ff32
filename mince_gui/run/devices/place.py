"""Where a run ran, and how that is known."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from mince_gui.run.devices.reading import Reading
from mince_gui.run.devices.state import users
from mince_gui.run.devices.xrt_reports import HwContext, parse_partitions
from mince_gui.run.devices.xrt_smi import Sample, XrtSmi, read_sample
from mince_gui.run.model_folder import ModelFolder
from mince_gui.run.provider_names import provider_key
from mince_gui.run.types import Place

# Providers that OGA has a device type for: "CPU" then contradicts the folder. VitisAI has none, and reports "CPU"
# wherever it runs.
_HAS_TYPE = frozenset({"ryzenai", "cuda", "dml", "webgpu", "openvino", "nvtensorrtrtx"})
_SECOND_LOOK = 5.0
_UNPROVEN_EVERY = 60.0
_PROVEN_EVERY = 600.0
_GIVE_UP_AFTER = 3


def place_at_load(folder: ModelFolder, device_type: str | None) -> Place:
    """What is known once the model is loaded. The CPU is certain where nothing else was asked for.

    `device_type` is OGA's word for where it put the model, None where it has none. A folder that asks for another
    device while OGA says CPU is called CPU: a fallback is never called NPU.
    """
    said = f"OGA reports {device_type}" if device_type else "OGA reports no device type"
    on_cpu = (device_type or "cpu").lower() == "cpu"
    if folder.devices == ("cpu",) and folder.custom_ops_library is None:
        if on_cpu:
            return Place("CPU", True, f"proven: the folder names no device but the CPU; {said}")
        return Place(str(device_type), False, f"not proven: the folder names no device but the CPU, yet {said}")
    asked = {provider_key(name) for name in folder.providers} & _HAS_TYPE
    if asked and device_type is not None and on_cpu:
        wanted = "the NPU" if "npu" in folder.devices else folder.device
        fallback = "NPU" if "npu" in folder.devices else "GPU"
        return Place(
            "CPU",
            False,
            f"not proven: the folder asks for {wanted}, but OGA reports the CPU: a CPU fallback is not the {fallback}",
        )
    return Place(folder.device, False, f"not proven: declared by genai_config.json; {said}")


class PlaceWatch:
    """Looks, while the worker computes, whether the NPU itself shows our process.

    xrt-smi is asked at the first poll, again soon after, about every minute until the place is proven, then about
    every ten minutes (an error that comes later takes the proof back). Proven means: contexts of the worker's process
    id whose completed commands grow from one look to the next, without errors. No call waits for the tool.
    """

    def __init__(
        self, place: Place, pid: int, *, tool: XrtSmi | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.place = place
        self._first = place
        self._proved = False
        self._pid = pid
        self._tool = tool or XrtSmi()
        self._clock = clock
        self._sample: Sample | None = None
        self._due: float | None = clock()
        self._failures = 0
        self._completed: int | None = None
        self._begun: int | None = None
        self._looked_again = False
        self._others: tuple[str, ...] = ()
        # Only an NPU can be shown, or refuted; "CPU" unproven may be an NPU whose type OGA does not tell.
        if place.proven or not ("NPU" in place.device or place.device == "CPU"):
            self._due = None

    def poll(self) -> bool:
        """Look if it is time to, without waiting; whether `place` has changed."""
        if self._sample is not None:
            texts = self._sample.poll()
            if texts is None:
                return False
            self._sample.close()
            self._sample = None
            return self._take(read_sample(texts, parse_partitions, "aie-partitions"))
        if self._due is not None and self._clock() >= self._due:
            self._sample = self._tool.sample("aie-partitions")
            if self._sample is None:
                self._due = None
                return self._say("xrt-smi is not there, so the NPU cannot be asked")
        return False

    @property
    def looking(self) -> bool:
        """Whether xrt-smi is at work now; the next polls will hear of it."""
        return self._sample is not None

    def others(self) -> tuple[str, ...]:
        """Other processes that had contexts on the NPU at the last look, in words."""
        return self._others

    def for_worker(self, pid: int) -> PlaceWatch:
        """The watch of the worker that comes after this one: what was seen of another process proves nothing of it.

        Its `place` is this one's until something is seen.
        """
        following = PlaceWatch(self._first, pid, tool=self._tool, clock=self._clock)
        following.place = self.place
        return following

    def close(self) -> None:
        """End what is still looking; `place` keeps what was seen."""
        if self._sample is not None:
            self._sample.close()
            self._sample = None
        self._due = None

    def _take(self, seen: Reading[tuple[HwContext, ...]]) -> bool:
        if seen.value is None:
            self._failures += 1
            self._due = None if self._failures >= _GIVE_UP_AFTER else self._clock() + _UNPROVEN_EVERY
            # One look that fails takes nothing back that another has shown.
            return False if self._proved else self._say(seen.unknown)
        self._failures = 0
        self._others = users(seen.value, (self._pid,))
        changed = self._judge([c for c in seen.value if c.pid == self._pid], seen.value)
        wait = _PROVEN_EVERY if self._proved else _UNPROVEN_EVERY
        if self._begun is not None and not self._looked_again:
            self._looked_again, wait = True, _SECOND_LOOK
        self._due = self._clock() + wait
        return changed

    def _judge(self, ours: list[HwContext], everyone: tuple[HwContext, ...]) -> bool:
        if not ours:
            if self._proved:
                # Between two requests a driver may have put our contexts away; what was seen was seen.
                return False
            nameless = everyone and all(context.pid is None for context in everyone)
            missing = "names no process ids" if nameless else f"shows no context of our process {self._pid}"
            return self._say(f"the device {missing}")
        errors = sum(context.errors or 0 for context in ours)
        completed = [context.completions for context in ours if context.completions is not None]
        before, self._completed = self._completed, sum(completed) if completed else None
        if errors:
            return self._say(f"the NPU reports {errors} errors of our process {self._pid}")
        if self._completed is None or any(context.errors is None for context in ours):
            return self._say("xrt-smi does not count completed commands and errors")
        if self._begun is None or before is None or self._completed < self._begun:
            self._begun = before = self._completed
        if self._proved:
            return False
        if self._completed > before:
            return self._prove(before, self._completed)
        words = f"contexts of our process {self._pid} are on the NPU, but no command was completed between two looks"
        return self._say(words)

    def _prove(self, before: int, after: int) -> bool:
        device = self._first.device if "NPU" in self._first.device else "NPU"
        proof = (
            f"proven: xrt-smi shows contexts of our process {self._pid} on the NPU, completed commands grew from "
            f"{before:,} to {after:,}, without errors"
        )
        if "GPU" in device:
            proof += "; the GPU's part is not shown by it"
        if self._first.device == "CPU":
            proof += "; OGA itself reports the CPU"
        self._proved = True
        return self._set(Place(device, True, proof))

    def _say(self, words: str) -> bool:
        self._proved = False
        return self._set(Place(self._first.device, False, f"{self._first.proof}; {words}"))

    def _set(self, place: Place) -> bool:
        changed = dataclasses.asdict(place) != dataclasses.asdict(self.place)
        self.place = place
        return changed
