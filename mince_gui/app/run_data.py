"""A stored run as a report needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mince_gui.app.run_sink import TIMED_BY
from mince_gui.app.summary import answers_of, conditions_of, methods_of
from mince_gui.app.timing import (
    decode_rates,
    first_token_seconds,
    input_tokens,
    item_seconds,
    output_tokens,
    prefill_rates,
    prefill_seconds,
)
from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.base.errors import UsageError
from mince_gui.report.names import precision_of
from mince_gui.report.types import NOT_RUN, RunData
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.subset.subset_file import subset_sha256
from mince_gui.subset.types import FrozenSubset


def device_key(run: StoredRun) -> str:
    """Equal for runs that were made on the same machine, runtime, threads and timing mode."""
    conditions = run.conditions or {}
    facts: dict[str, Any] = {name: conditions.get(name) for name in TIMED_BY}
    return sha256_text(canonical_json(facts))[:16]


class Subsets:
    """The frozen subsets of a workspace's runs with their SHA-256, each read once for all runs of its pack."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._read: dict[str, tuple[FrozenSubset, str]] = {}

    def of(self, run: StoredRun) -> tuple[FrozenSubset, str]:
        """As the run's pack had it then."""
        pack = run.plan.pack_sha256
        if pack not in self._read:
            subset = stored_runs.subset_of(self._ws, run)
            self._read[pack] = subset, subset_sha256(subset)
        return self._read[pack]


def run_data(ws: Workspace, run: StoredRun, subsets: Subsets | None = None) -> RunData:
    """A stored run as the report needs it: with the subset as it was run, whatever lies in its pack's place now.

    `subsets` are those that were read for other runs already.
    """
    subset, sha256 = (subsets or Subsets(ws)).of(run)
    conditions = run.conditions or {}
    items = stored_runs.items(ws, run.run_id)
    done = [item for item in items if item.state == "done"]
    missing = {item.item_key: item.cause or "" for item in items if item.state == "missing"}
    seen = {item.item_key for item in items}
    missing.update({key: NOT_RUN for key in subset.item_keys if key not in seen})
    return RunData(
        run_id=run.run_id,
        benchmark=run.plan.benchmark,
        model=run.plan.model,
        subset_name=run.plan.subset,
        subset_keys=subset.item_keys,
        total_items=run.plan.total_items,
        bound_pp=subset.p95_pp,
        rows={item.item_key: item.scores for item in done},
        run_order=tuple(item.item_key for item in done),
        categories={item.item_key: item.category for item in items},
        # Sittings on other devices, or with other threads, make no one wall clock.
        wall_seconds=run.elapsed_seconds if done and not missing and not conditions.get("changed") else None,
        item_seconds=item_seconds(done),
        first_token_seconds=first_token_seconds(done),
        prefill_seconds=prefill_seconds(done),
        prefill_rates=prefill_rates(done),
        decode_rates=decode_rates(done),
        input_tokens=input_tokens(done),
        output_tokens=output_tokens(done),
        missing=missing,
        answers=answers_of(run, items),
        methods=methods_of(items),
        conditions=conditions_of(run, items),
        created=run.created_at,
        ended=run.ended_at or "",
        device_key=device_key(run),
        evidence=subset.evidence,
        sampler=subset.sampler,
        accepted=tuple(run.plan.settings.get("accepted_differences", ())),
        unverified=run.plan.settings.get("unverified", 0),
        pack_sha256=run.plan.pack_sha256,
        subset_sha256=sha256,
        precision=precision(run),
        answers_given=_answers(done),
        expected={item.item_key: item.expected for item in items if item.expected is not None},
        prompts=prompts(run, items),
        rescored_of=run.rescored_of,
        origin=run.origin,
    )


def precision(run: StoredRun) -> str:
    """Of the weights: as the folder's files told it, else as the user did, else by the model's name; "" = unknown."""
    seen, told = (run.conditions or {}).get("precision"), run.plan.settings.get("precision")
    return str(seen or told or "") or precision_of(run.plan.model)


def said_precision(said: str) -> str:
    """One word for the precision that somebody typed, as everything else here writes it; "" stays "".

    It decides whether a difference is that of quantisation. Raises UsageError for what names none.
    """
    word = precision_of(said)
    if said.strip() and not word:
        raise UsageError(
            f"'{said}' is no precision that is known.", "Say bf16, fp16, fp32, int8, int4 or the like with --precision."
        )
    return word


def _answers(done: Sequence[StoredItem]) -> dict[str, str]:
    """Item key -> the text that was written, or the choice that was picked."""
    given = {item.item_key: item.extracted.get("none") if item.text is None else item.text for item in done}
    return {key: answer for key, answer in given.items() if answer is not None}


def prompts(run: StoredRun, items: Sequence[StoredItem]) -> dict[str, str]:
    """Item key -> SHA-256 of its prompt, without items whose content is another than was frozen."""
    accepted = frozenset(run.plan.settings.get("accepted_differences", ()))
    return {i.item_key: i.prompt_sha256 for i in items if i.prompt_sha256 and i.item_key not in accepted}


def scoring_key(run: StoredRun) -> tuple[str, str, str]:
    """Equal for runs whose answers were scored alike as far as a rescoring tells: (version, task, filter).

    Runs that were never scored again have ("", "", "").
    """
    facts = (run.conditions or {}).get("rescored") or {}
    own = facts.get("filter") or {}
    named = " ".join(str(own.get(name, "")) for name in ("name", "pattern", "last")) if own else ""
    return str(facts.get("version", "")), str(facts.get("task", "")), named
