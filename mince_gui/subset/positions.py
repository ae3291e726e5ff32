"""Where items stand in their benchmark, counted from 0 in canonical order."""

from __future__ import annotations

from collections.abc import Sequence

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, keys_of


def positions_of(benchmark: Benchmark, item_keys: Sequence[str]) -> tuple[int, ...]:
    """The place of each item among the benchmark's.

    The items of a benchmark that is not listed with the program are at the place that their key, a doc_id, says.
    Raises InputError that names an item which the benchmark does not have, or whose key is no place.
    """
    all_keys = keys_of(benchmark)
    if all_keys is None:
        for key in item_keys:
            if not key.isdecimal():
                raise InputError(
                    f"Item {key[:40]} of {benchmark.title} has a name in place of a number, so its place is not known.",
                    "Export the subset as csv.",
                )
        return tuple(int(key) for key in item_keys)
    places = {key: place for place, key in enumerate(all_keys)}
    for key in item_keys:
        if key not in places:
            raise InputError(
                f"{benchmark.title} has no item {key}.", "Use the subset with the benchmark that it was drawn from."
            )
    return tuple(places[key] for key in item_keys)
