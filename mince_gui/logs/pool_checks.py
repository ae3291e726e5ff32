"""What does not fit together in a pool of logs: each said once, with the models it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mince_gui.logs.checks import ANSWERS, counted
from mince_gui.logs.types import Check, FloatArray, PerItemLog

_EXAMPLES = 5
_SETUP = (
    ("lm_eval_version", "lm-eval versions"),
    ("evalscope_version", "EvalScope versions"),
    ("task_version", "task versions"),
    ("dataset", "data sets"),
    ("n_shot", "numbers of examples"),
    ("fewshot_as_multiturn", "ways of giving examples (fewshot_as_multiturn)"),
    ("system_instruction_sha", "system instructions"),
    ("gen_kwargs", "generation settings"),
)


def trials_differ(keys: Sequence[str], metrics: Sequence[str], trials: FloatArray) -> Iterator[Check]:
    """Items that one model was judged on more often than another: `trials` has shape (K, M, N)."""
    for m, metric in enumerate(metrics):
        rows = trials[:, m][~np.isnan(trials[:, m]).any(axis=1)]
        if len(rows) < 2:
            continue
        places = np.flatnonzero((rows != rows[0]).any(axis=0))
        if len(places):
            yield Check(
                "trials_differ", "warning",
                f"{metric}: {len(places)} items were judged a different number of times in some logs.",
                len(places), tuple(keys[i] for i in places[:_EXAMPLES]),
            )  # fmt: skip


def identical(logs: Sequence[PerItemLog], passed: FloatArray) -> Iterator[Check]:
    """Models with the same outcomes throughout, or that gave the same answers; `passed` has shape (K, M, N)."""
    if passed.shape[2] < 2:
        return
    groups: dict[bytes, list[str]] = {}
    for log, column in zip(logs, passed, strict=True):
        groups.setdefault(column.tobytes(), []).append(log.model)
    for models in groups.values():
        if len(models) > 1:
            yield Check(
                "identical_columns", "warning",
                f"{', '.join(models)} have the same outcome on every item: one log under two names, or a shared cache. "
                "Exclude all but one.",
                passed.shape[2],
            )  # fmt: skip
    yield from _same_answers(logs)


def _same_answers(logs: Sequence[PerItemLog]) -> Iterator[Check]:
    groups: dict[str, list[str]] = {}
    for log in logs:
        digest = log.meta.get(ANSWERS)
        if isinstance(digest, str):
            groups.setdefault(digest, []).append(log.model)
    for models in groups.values():
        if len(models) > 1:
            yield Check(
                "identical_responses", "warning",
                f"{', '.join(models)} gave the same text in every response: one model under two names, or a shared "
                "cache (lm-eval --use_cache) that gave one model's answers to the other. Exclude all but one.",
                len(models),
            )  # fmt: skip


def setup(logs: Sequence[PerItemLog]) -> Iterator[Check]:
    """What the runs did differently: task, format, versions, examples, templates, backends."""
    for title, names in (("tasks", [log.task for log in logs]), ("formats", [log.format for log in logs])):
        if len(set(names)) > 1:
            yield Check(
                "mixed_setup", "warning", f"The logs are of different {title}: {', '.join(sorted(set(names)))}."
            )
    for name, title in _SETUP:
        yield from _differing(title, [(log.model, log.meta.get(name)) for log in logs])
    # a run of lm-eval that names no chat template had none
    templates = [
        (log.model, log.meta.get("chat_template_sha") or ("none" if log.meta.get("lm_eval_version") else None))
        for log in logs
    ]
    yield from _differing("chat templates", templates)
    templated = any(template not in (None, "none") for _, template in templates)
    bos = " With a chat template, some put the begin-of-text token twice, others not at all." if templated else ""
    backends = [(log.model, log.meta.get("model") or log.meta.get("model_source")) for log in logs]
    yield from _differing("backends", backends, bos)


def _differing(title: str, values: Sequence[tuple[str, Any]], more: str = "") -> Iterator[Check]:
    said: dict[str, list[str]] = {}
    for model, value in values:
        if value is not None:
            said.setdefault(str(value)[:40], []).append(model)
    if len(said) > 1:
        parts = "; ".join(
            f"{value}: {counted(len(models), 'model')}, as {models[0]}" for value, models in sorted(said.items())
        )
        yield Check("mixed_setup", "warning", f"The logs have different {title} ({parts}).{more}", len(said))


def metrics_differ(logs: Sequence[PerItemLog], metrics: Sequence[str]) -> Iterator[Check]:
    """Metrics that some models do not have at all."""
    for metric in metrics:
        without = [log.model for log in logs if metric not in log.passed or bool(np.isnan(log.trials[metric]).all())]
        if without:
            shown = ", ".join(without[:_EXAMPLES]) + (", ..." if len(without) > _EXAMPLES else "")
            yield Check(
                "metrics_differ",
                "info",
                f"{metric} is not in the logs of {counted(len(without), 'model')}: {shown}.",
                len(without),
            )
