"""What becomes of one item: its result from the worker's reply, and the event that tells of it."""

from __future__ import annotations

from mince_gui.base.events import ItemDone
from mince_gui.run.guards.repetition import repeating
from mince_gui.run.protocol import ChoiceResult, GenerateResult
from mince_gui.run.tally import Tally
from mince_gui.run.types import ItemResult, RunItem
from mince_gui.tasks.types import Answer, Scored


def answer(reply: ChoiceResult | GenerateResult) -> Answer:
    """What the scorer gets."""
    if isinstance(reply, ChoiceResult):
        return Answer(picked=reply.picked, logprobs=reply.logprobs, greedy=reply.greedy)
    return Answer(text=reply.text)


def answered(
    item: RunItem,
    reply: ChoiceResult | GenerateResult,
    given: Answer,
    scored: Scored | None,
    *,
    attempts: int,
    cause: str = "",
    memory_bytes: int | None = None,
) -> ItemResult:
    """An item with an answer. Without `scored` it is missing, with `cause`, but the answer is kept for another try."""
    return ItemResult(
        position=item.position,
        key=item.key,
        category=item.category,
        state="missing" if scored is None else "done",
        scored=scored,
        text=given.text,
        picked=given.picked,
        logprobs=given.logprobs,
        timing=reply.timing,
        capped=isinstance(reply, GenerateResult) and reply.finish in ("budget", "context", "time"),
        attempts=attempts,
        cause=cause,
        prompt_sha256=item.request.sha256,
        method=reply.method if isinstance(reply, ChoiceResult) else "",
        finish=reply.finish if isinstance(reply, GenerateResult) else "",
        greedy=given.greedy,
        leading_bos=reply.leading_bos,
        repeats=repeating(reply.ids) if isinstance(reply, GenerateResult) else None,
        memory_bytes=memory_bytes,
    )


def missing(item: RunItem, cause: str, *, attempts: int = 1) -> ItemResult:
    """An item without an answer."""
    return ItemResult(
        position=item.position,
        key=item.key,
        category=item.category,
        state="missing",
        scored=None,
        text=None,
        picked=None,
        logprobs=(),
        timing=None,
        attempts=attempts,
        cause=cause,
        prompt_sha256=item.request.sha256,
    )


def item_event(run_id: str, result: ItemResult, tally: Tally, seconds: float) -> ItemDone:
    """The event of a committed item that took `seconds` in all; the tally has counted it already."""
    timing = result.timing
    return ItemDone(
        run_id=run_id,
        done=tally.done,
        total=tally.total,
        item_key=result.key,
        category=result.category,
        state=result.state,
        scores=dict(result.scored.scores) if result.scored is not None else {},
        running=tally.running(),
        prompt_tokens=timing.prompt_tokens if timing else None,
        output_tokens=timing.output_tokens if timing else None,
        prefill_seconds=timing.prefill_seconds if timing else None,
        first_token_seconds=timing.first_token_seconds if timing else None,
        decode_rate=timing.decode_rate if timing else None,
        wall_seconds=timing.wall_seconds if timing else seconds,
        seconds_left=tally.seconds_left(),
        missing=tally.missing,
        capped=tally.capped,
        cause=result.cause,
        memory_bytes=result.memory_bytes,
    )
