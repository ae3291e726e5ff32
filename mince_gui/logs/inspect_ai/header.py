"""What the header of an inspect_ai log says of its run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mince_gui.base.canonical import canonical_json
from mince_gui.logs.types import Check

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

_SHAPING = {
    "system_message", "max_tokens", "temperature", "top_p", "top_k", "stop_seqs", "best_of", "frequency_penalty",
    "presence_penalty", "seed", "num_choices", "reasoning_effort", "reasoning_tokens",
}  # fmt: skip
_MEANS = ("accuracy", "mean")
_IFEVAL = {
    "prompt_strict_acc": "prompt_level_strict_acc",
    "inst_strict_acc": "inst_level_strict_acc",
    "prompt_loose_acc": "prompt_level_loose_acc",
    "inst_loose_acc": "inst_level_loose_acc",
}


def limit_of(head: EvalLog) -> float | None:
    """How many samples the run was limited to, None where it was not."""
    limit = head.eval.config.limit
    if isinstance(limit, tuple):
        return float(limit[1] - limit[0])
    return None if limit is None else float(limit)


def meta_of(head: EvalLog) -> dict[str, Any]:
    """What a reader of the log may want to know of the run; JSON values only, absent where not said."""
    spec = head.eval
    shots = spec.task_args.get("fewshot")
    meta: dict[str, Any] = {
        "inspect_version": spec.packages.get("inspect_ai"),
        "task_version": spec.task_version,
        "n_shot": int(shots) if isinstance(shots, int) else None,
        "date": str(spec.created),
        "model_args": spec.model_args or None,
        "gen_kwargs": _generation(head) or None,
        "dataset": spec.dataset.name or spec.dataset.location,
        "limit": limit_of(head),
        "epochs": spec.config.epochs,
        "status": head.status,
        "items_meant": spec.dataset.samples,
        "reported": _reported(head) or None,
    }
    return {name: value for name, value in meta.items() if value is not None and _is_plain(value)}


def _generation(head: EvalLog) -> dict[str, Any]:
    """The settings that shape an answer; retries and connections do not. The model's own stand above the task's."""
    given = (head.plan.config, head.eval.model_generate_config)
    parts = [config.model_dump(mode="json", exclude_none=True, include=_SHAPING) for config in given]
    return {**parts[0], **parts[1]}


def _is_plain(value: Any) -> bool:
    try:
        canonical_json(value)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _reported(head: EvalLog) -> dict[str, float]:
    """The means that the log's own results state, as shares of 1, named as the outcomes are."""
    reported: dict[str, float] = {}
    for score in head.results.scores if head.results is not None else ():
        if score.reducer not in (None, "mean"):
            continue
        name = score.scorer if score.name == score.scorer else f"{score.scorer}.{score.name}"
        for metric, value in score.metrics.items():
            own = name if metric in _MEANS else _IFEVAL.get(metric)
            if own is not None and math.isfinite(value.value):
                reported[own] = float(value.value)
    return reported


def checks_of(head: EvalLog) -> Iterator[Check]:
    """What the header says against the run."""
    if head.status != "success":
        why = f" ({' '.join(head.error.message.split())[:200]})" if head.error is not None else ""
        yield Check("unfinished_run", "warning", f"The run did not end well: its status is '{head.status}'{why}.")
    if head.invalidated:
        yield Check("invalidated", "warning", "Some samples were taken back after the run: they count as missing.")
    reducers = [name for name in head.eval.config.epochs_reducer or () if name != "mean"]
    if (head.eval.config.epochs or 1) > 1 and reducers:
        yield Check(
            "other_reducer", "info",
            f"The log's own scores take {', '.join(reducers)} of {head.eval.config.epochs} epochs; here every epoch is "
            "one trial of its item.",
        )  # fmt: skip
