"""A pack: a frozen subset plus the content needed to run it, from the user's own dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, Doc, content_hash, item_key_of
from mince_gui.subset.dataset import Dataset
from mince_gui.subset.types import FrozenSubset, Pack, PackItem

_EXAMPLES = 5


def build_pack(subset: FrozenSubset, dataset: Dataset, *, accept_revision: bool = False) -> Pack:
    """Join `subset` with the docs of `dataset`, each checked against its content hash.

    An item that differs is refused, or with `accept_revision` taken and recorded in `accepted_differences`; one that is
    another item of the benchmark is always refused, and so is a dataset in which more than half of the items that have
    a hash differ. Items without a hash in the subset are taken and stay `unverified`.
    Few-shot examples are those of the items' categories. Raises InputError that names the item.
    """
    benchmark = dataset.benchmark
    if subset.benchmark != benchmark.name:
        raise InputError(
            f"The subset {subset.name} is of {subset.benchmark}, but the dataset was read as {benchmark.name}.",
            f"Choose the dataset of {subset.benchmark}.",
        )
    absent = [key for key in subset.item_keys if key not in dataset.items]
    if absent:
        raise InputError(
            f"{dataset.source} lacks {len(absent)} of the {subset.n} items of {subset.name}: {some_of(absent)}.",
            f"Choose the complete test set of {benchmark.title}.",
        )
    for key in subset.item_keys:
        if (other := misplaced(benchmark, key, dataset.items[key])) is not None:
            raise InputError(
                f"{dataset.source} has at the place of item {key} what is item {other} of {benchmark.title}.",
                "Its rows are not in the benchmark's order: choose the original test set.",
            )
    differing = differing_items(dataset, subset.item_keys, subset.hashes)
    said = (
        f"{len(differing)} of the {subset.n} items of {subset.name} read differently in {dataset.source} "
        f"than where they were hashed (calibration logs, frozen subsets): {some_of(differing)}."
    )
    if 2 * len(differing) > (hashed := subset.n - subset.hashes.count(None)):
        raise InputError(
            f"{said} That is more than half of the {hashed} that have a hash: another dataset, not another revision.",
            f"Choose the test set of {benchmark.title}.",
        )
    if differing and not accept_revision:
        raise InputError(
            said,
            "Use the same revision of the dataset, or accept the difference (--accept-revision); "
            "the pack then names these items.",
        )
    items = tuple(
        PackItem(key, benchmark.category(dataset.items[key], key), dataset.items[key]) for key in subset.item_keys
    )
    needed = {item.category for item in items}
    fewshot: dict[str, tuple[Doc, ...]] = {
        category: docs for category, docs in sorted(dataset.fewshot.items()) if category in needed or not category
    }
    if dataset.fewshot:
        without = sorted(str(category) for category in needed if category not in fewshot)
        if without and "" not in fewshot:
            raise InputError(
                f"There are no few-shot examples for {some_of(without)}.",
                f"Choose the few-shot file that belongs to {dataset.source}.",
            )
    return Pack(
        subset=subset,
        items=items,
        fewshot=fewshot,
        item_fewshot={key: dataset.item_fewshot[key] for key in subset.item_keys if key in dataset.item_fewshot},
        licence=f"{benchmark.dataset}: {benchmark.licence}" if benchmark.licence else "",
        accepted_differences=tuple(differing),
        source=f"{dataset.source} (SHA-256 {dataset.revision})"
        + (f"; few-shot {dataset.fewshot_source}" if dataset.fewshot_source else ""),
    )


def build_logged_pack(
    subset: FrozenSubset,
    dataset: Dataset,
    asked: Mapping[str, Mapping[str, Any]],
    logged: Mapping[str, Any],
    *,
    accept_revision: bool = False,
) -> Pack:
    """As `build_pack`, with each item's logged request and their definition. `dataset` holds the log's docs.

    A doc that the log lacks is {}: such an item can be run where the subset has no hash for it, and stays `unverified`.
    Raises InputError as `build_pack` does, and where items have a hash and the log has no doc to prove them by.
    """
    without = [
        key
        for key, known in zip(subset.item_keys, subset.hashes, strict=True)
        if known is not None and dataset.items.get(key) == {}
    ]
    if without:
        raise InputError(
            f"{dataset.source} carries no docs, so nothing shows that its requests are those of the items of "
            f"{subset.name}: {some_of(without)}.",
            "Take another model's log, one with docs: --dataset LOGS or --model NAME.",
        )
    pack = build_pack(subset, replace(dataset, fewshot={}, item_fewshot={}), accept_revision=accept_revision)
    return replace(pack, items=tuple(replace(item, asked=asked[item.key]) for item in pack.items), logged=logged)


def differing_items(dataset: Dataset, item_keys: Sequence[str], hashes: Sequence[str | None]) -> list[str]:
    """The keys whose doc does not have the given hash; a hash of None says nothing.

    Raises InputError that names an item without readable content.
    """
    return [
        key
        for key, expected in zip(item_keys, hashes, strict=True)
        if expected is not None and item_hash(dataset.benchmark, key, dataset.items[key], dataset.source) != expected
    ]


def misplaced(benchmark: Benchmark, key: str, doc: Doc) -> str | None:
    """The key of the item that the doc's text belongs to, where that is another than `key`; None where it is not known.

    No revision of a dataset moves its items: a key that is a place then means another item, whatever the hashes say.
    """
    text, choices = doc.get("prompt", doc.get("question")), doc.get("choices")
    if not isinstance(text, str):
        return None
    subject = key.rpartition("/")[0] if benchmark.subjects else None
    found = item_key_of(benchmark, text, subject, choices if isinstance(choices, list) else None)
    return found if found != key else None


def item_hash(benchmark: Benchmark, key: str, doc: Doc, where: str) -> str:
    """The content hash of one doc. Raises InputError that names the item where it cannot be made."""
    try:
        return content_hash(benchmark, doc)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: item {key} has no readable content ({type(error).__name__}: {error}).",
            f"Choose the test set of {benchmark.title}.",
        ) from error


def is_doc_of(benchmark: Benchmark, key: str, doc: Doc) -> bool:
    """Whether the doc may stand under the key: what it says of its own id or subject does not contradict it."""
    if benchmark.key_field == "subject/doc_id":
        return doc.get("subject") in (None, key.rpartition("/")[0])
    return benchmark.key_field == "doc_id" or str(doc.get(benchmark.key_field, key)) == key


def some_of(keys: Sequence[str]) -> str:
    """A few of the keys, and how many more there are."""
    more = f" and {len(keys) - _EXAMPLES} more" if len(keys) > _EXAMPLES else ""
    return f"{', '.join(keys[:_EXAMPLES])}{more}"
