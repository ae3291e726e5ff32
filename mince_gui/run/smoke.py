"""The smoke test: does a loaded model answer at all, twice the same, and how fast."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.run.protocol import GenerateRequest, GenerateResult
from mince_gui.run.supervisor import WorkerProcess, WorkerRefusedError

# Stored answers are compared across runs, devices and drivers: other texts or lengths need another name.
_NAME = "smoke-1"
_PROMPT = "One, two, three, four, five, six, seven, eight, nine, ten. The capital of France is"
_NEW_TOKENS = 24
_SENTENCE = (
    "A river runs from the hills to the sea, and every town on its banks has a bridge, a market and a mill. "
    "In spring the water is high; in summer children swim from one side to the other. "
)
_LONG = _SENTENCE * 8
_WORDS = 4


@dataclass(frozen=True)
class Smoke:
    """What a model answered to a fixed prompt, and its rates.

    `prompt` names the prompt. `text` and `ids` are the first answer (both empty where the model ends at once),
    `second_ids` the second one if it differs from that, else None. Seconds per token are None where they were not
    measured: no prompt was short enough, or the answer has fewer than two tokens. `prefill_tokens` is the length of the
    prompt that prefill was measured with. `seconds` is what the whole test took.
    """

    prompt: str
    text: str
    ids: tuple[int, ...]
    second_ids: tuple[int, ...] | None
    prefill_tokens: int
    prefill_seconds_per_token: float | None
    decode_seconds_per_token: float | None
    seconds: float

    @property
    def repeated(self) -> bool:
        """Whether the same prompt gave the same tokens twice."""
        return self.second_ids is None

    def to_json(self) -> dict[str, Any]:
        """For the run's conditions, in the types that JSON gives back, so that runs can be compared."""
        again = None if self.second_ids is None else list(self.second_ids)
        return {**dataclasses.asdict(self), "ids": list(self.ids), "second_ids": again, "repeated": self.repeated}


def smoke_test(worker: WorkerProcess, cancel: CancelToken) -> Smoke:
    """Ask `worker`, whose model is loaded, for a fixed answer twice, then let it read some hundred tokens.

    Raises what WorkerProcess.generate raises, WorkerRefusedError "non_finite" among it: the model must not be run. A
    model whose context is too short for a prompt is not refused for that.
    """
    begin = time.monotonic()
    first = _ask(worker, _PROMPT, _NEW_TOKENS, cancel)
    second = _ask(worker, _PROMPT, _NEW_TOKENS, cancel) if first is not None else None
    # The second answer is measured: kernels may have been prepared during the first.
    decode = second.timing.decode_seconds if second is not None else None
    read = _ask(worker, _LONG, 1, cancel)
    return Smoke(
        prompt=_NAME,
        text=first.text if first is not None else "",
        ids=first.ids if first is not None else (),
        second_ids=second.ids if first is not None and second is not None and second.ids != first.ids else None,
        prefill_tokens=read.timing.read_tokens if read is not None else 0,
        prefill_seconds_per_token=read.timing.prefill_seconds / read.timing.read_tokens if read is not None else None,
        decode_seconds_per_token=decode / (second.timing.output_tokens - 1) if second is not None and decode else None,
        seconds=time.monotonic() - begin,
    )


def _ask(worker: WorkerProcess, text: str, new_tokens: int, cancel: CancelToken) -> GenerateResult | None:
    """The answer to `text`, or to its first half (quarter, ...) where it does not fit; None where nothing does."""
    words = text.split(" ")
    while len(words) >= _WORDS:
        try:
            return worker.generate(GenerateRequest(" ".join(words), (), new_tokens), cancel=cancel)
        except WorkerRefusedError as exc:
            if exc.kind != "does_not_fit":
                raise
        words = words[: len(words) // 2]
    return None
