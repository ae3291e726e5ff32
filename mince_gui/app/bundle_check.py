"""The fields of a run that comes from elsewhere: each is what the workspace and a report take it for, or refused.

What is read here ends up in sums, rates and pages beside runs that were made here: a wrong type, a number beyond all
measure or an item of another benchmark would be found by a defect there, long after.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from mince_gui.app import bundle_kinds as kinds
from mince_gui.app.bundle_kinds import Kind, OddValue
from mince_gui.base.events import Cause
from mince_gui.run.types import TimingMode
from mince_gui.store.transfer import ITEM_COLUMNS, PLACES, PLAN, RunRecord
from mince_gui.subset.jsonfile import Fields
from mince_gui.subset.types import FrozenSubset
from mince_gui.tasks import get as get_task
from mince_gui.tasks import names as task_names

_MAYBE_TEXT = kinds.or_none(kinds.text)
_MAYBE_WHOLE = kinds.or_none(kinds.whole())
_MAYBE_SECONDS = kinds.or_none(kinds.seconds)

_SETTINGS: Mapping[str, Kind] = {
    "runtime": kinds.or_none(kinds.place), "timing": kinds.one_of(*get_args(TimingMode)), "threads": _MAYBE_WHOLE,
    "chat_template": kinds.place, "prompt_date": _MAYBE_TEXT, "limit": _MAYBE_WHOLE, "max_new_tokens": _MAYBE_WHOLE,
    "system_prompt": _MAYBE_TEXT, "max_item_seconds": _MAYBE_SECONDS, "worker_bytes": _MAYBE_WHOLE,
    "precision": _MAYBE_TEXT,
    "accepted_differences": kinds.list_of(kinds.text), "unverified": kinds.whole(),
}  # fmt: skip

_CONDITIONS: Mapping[str, Kind] = {
    **dict.fromkeys(
        ("runtime", "oga_version", "ort_version", "distribution", "python_version", "platform", "cpu", "model_name",
         "model_sha256", "chat_template", "chat_template_sha256", "bos_check", "token_check", "fast_probe", "sleep",
         "machine", "device", "device_proof", "precision"), kinds.text),
    **dict.fromkeys(("threads", "max_new_tokens", "budget", "examples", "fewer_examples", "limit"), _MAYBE_WHOLE),
    **dict.fromkeys(("load_seconds", "warmup_seconds"), _MAYBE_SECONDS),
    **dict.fromkeys(("system_prompt", "logged_from", "prompt_date"), _MAYBE_TEXT),
    **dict.fromkeys(("left_out", "changed"), kinds.list_of(kinds.text)),
    **dict.fromkeys(("device_proven", "thinking_off"), kinds.or_none(kinds.flag)),
    "timing": kinds.one_of(*get_args(TimingMode)),
    "search_options": kinds.object_with({}),
    "smoke": kinds.object_with({
        "prompt": kinds.text, "text": kinds.text, "ids": kinds.list_of(kinds.whole()),
        "second_ids": kinds.or_none(kinds.list_of(kinds.whole())), "repeated": kinds.flag,
        "prefill_seconds_per_token": _MAYBE_SECONDS, "decode_seconds_per_token": _MAYBE_SECONDS,
    }),
    "machine_state": kinds.object_with({
        "remarks": kinds.list_of(kinds.text), "unknown": kinds.list_of(kinds.text),
        "npu_users": kinds.list_of(kinds.anything),
        **dict.fromkeys(("battery_percent", "cpu_load_percent", "npu_watts"), kinds.or_none(kinds.number)),
        **dict.fromkeys(("free_memory_bytes", "total_memory_bytes"), kinds.or_none(kinds.number)),
    }),
    "rescored": kinds.object_with({"of": kinds.run_id, "version": kinds.text, "task": kinds.text, "at": kinds.moment}),
}  # fmt: skip

_RUN: Mapping[str, Kind] = {
    "run_id": kinds.run_id, "created_at": kinds.moment,
    **dict.fromkeys(("benchmark", "task", "subset", "model"), kinds.name),
    **dict.fromkeys(("total_items", "subset_items", "items"), kinds.whole(1)),
    "pack_sha256": kinds.sha256, "rescored_of": kinds.or_none(kinds.run_id),
    "settings": kinds.object_with(_SETTINGS), "conditions": kinds.or_none(kinds.object_with(_CONDITIONS)),
    "state": kinds.one_of("ended", "interrupted"), "cause": kinds.or_none(kinds.one_of(*get_args(Cause))),
    "detail": kinds.text, "ended_at": kinds.or_none(kinds.moment), "machine": kinds.name, "model_dir": kinds.place,
    "pack": kinds.place,
}  # fmt: skip

_ITEM: Mapping[str, Kind] = {
    **dict.fromkeys(("position", "attempts", "picked", "prompt_tokens", "output_tokens", "read_tokens", "leading_bos",
                     "repeats", "memory_bytes"), kinds.whole()),
    **dict.fromkeys(("prefill_seconds", "first_token_seconds", "decode_seconds", "wall_seconds", "elapsed_seconds"),
                    kinds.as_real(kinds.seconds)),
    **dict.fromkeys(("category", "text", "expected", "cause", "method", "finish"), kinds.text),
    "item_key": kinds.name, "state": kinds.one_of("done", "missing"),
    "logprobs": kinds.list_of(kinds.number), "greedy": kinds.list_of(kinds.flag), "extracted": kinds.read_by_filter,
    "prompt_sha256": kinds.sha256, "capped": kinds.flag,
    "finished_at": kinds.moment, "scores": kinds.scores,
}  # fmt: skip
_ITEM_NEEDS = ("position", "item_key", "state", "capped", "attempts", "finished_at")
_ORDER = (*ITEM_COLUMNS, "scores")


def _checked(fields: Fields, known: Mapping[str, Kind], name: str) -> Any:
    try:
        return known[name](fields.body[name])
    except OddValue as exc:
        raise fields.refuse(f"'{name}' is not {exc}.") from exc


def run_of(fields: Fields, subset: FrozenSubset, body: Mapping[str, Any]) -> RunRecord:
    """The run of its JSON object, still without items. `subset` and its `body` are those of its pack.

    Raises InputError that names the field at fault.
    """
    for name in fields.body:
        if name not in _RUN:
            raise fields.refuse(f"'{name:.40}' does not belong into a run.")
    for name in _RUN:
        if name not in fields.body:
            raise fields.refuse(f"'{name}' is missing.")
    found = {name: _checked(fields, _RUN, name) for name in _RUN}
    for name in PLACES:
        # `settings` of older versions may lack what later ones keep, but never these.
        if name not in found["settings"]:
            raise fields.refuse(f"'settings' lacks '{name}'.")
    if found["conditions"] is not None and "model_sha256" not in found["conditions"]:
        raise fields.refuse("'conditions' lacks 'model_sha256'.")
    if (found["state"] == "ended") != (found["cause"] is not None) or (found["state"] == "ended") != (
        found["ended_at"] is not None
    ):
        raise fields.refuse("an ended run has a cause and a time of its end, an interrupted one has neither.")
    stated = (found["subset"], found["benchmark"], found["total_items"], found["subset_items"])
    if stated != (subset.name, subset.benchmark, subset.total_items, subset.n) or found["items"] > subset.n:
        raise fields.refuse(f"it does not fit its subset, {subset.n} of {subset.total_items} items of {subset.name}.")
    return RunRecord(
        plan={name: found.pop(name) for name in PLAN}, items=(), subset=body, **found,
    )  # fmt: skip


class ItemChecks:
    """The rows of one run's items, checked one after the other in their order."""

    def __init__(self, run: RunRecord, subset: FrozenSubset) -> None:
        self._planned: int = run.plan["items"]
        self._keys = set(subset.item_keys)
        self._last = -1
        self._metrics = _native_metrics(run)

    def row(self, fields: Fields) -> dict[str, Any]:
        """The row as the workspace has it. Raises InputError that names the field at fault."""
        body = fields.body
        for name in body:
            if name not in _ITEM:
                raise fields.refuse(f"'{name:.40}' does not belong into an item.")
        for name in _ITEM_NEEDS:
            if body.get(name) is None:
                raise fields.refuse(f"'{name}' is missing.")
        item = {name: _checked(fields, _ITEM, name) for name in _ORDER if body.get(name) is not None}
        if not self._last < item["position"] < self._planned:
            raise fields.refuse(f"its place is {item['position']}, after {self._last}, of {self._planned}.")
        self._last = item["position"]
        if item["item_key"] not in self._keys:
            raise fields.refuse(f"item {item['item_key']!r:.60} is not of the run's subset, or is there twice.")
        self._keys.discard(item["item_key"])
        scores = item.get("scores")
        if (item["state"] == "done") != (scores is not None):
            raise fields.refuse("a done item has scores, a missing one has none.")
        if scores is not None:
            self._metrics = self._metrics or scores.keys()
            if scores.keys() != self._metrics:
                raise fields.refuse(f"its metrics are not {', '.join(sorted(self._metrics))}.")
        return item


def _native_metrics(run: RunRecord) -> frozenset[str]:
    """What the task scores by; empty where requests were logged or another scorer was used, and so not known here."""
    conditions = run.conditions or {}
    if "logged_from" in conditions or "rescored" in conditions or run.plan["task"] not in task_names():
        return frozenset()
    return frozenset(get_task(run.plan["task"]).metrics)
