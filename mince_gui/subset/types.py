"""A frozen subset and a pack, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mince_gui.base.draws import bound_title

SCHEMA = 1
"""Version of the subset file, and of the manifest of a pack that carries docs alone."""

PACK_SCHEMA = 2
"""Version of the manifest of a pack with logged requests, or with few-shot docs of single items."""


@dataclass(frozen=True)
class FrozenSubset:
    """The item keys drawn once at n, kept in a file and used for every later model. No item text.

    `item_keys` are in canonical order; `hashes[i]` is the canonical content hash of `item_keys[i]`,
    None where the calibration logs carried no docs. `n == total_items` and sampler "full" make a
    full benchmark. `revision` is the SHA-256 of the dataset files that a full benchmark was made from; "" for a drawn
    subset: logs name no revision of their dataset, so the hashes alone tell it. `evidence` is the sizing that
    justified n (rule, tau, step, p95_pp, pool, ...); `drift_table` the calibration models' signed drift at freeze time:
    {model: {metric: [full percent, subset percent, drift pp]}}.
    """

    name: str
    benchmark: str
    total_items: int
    n: int
    seed: int | None
    sampler: str
    item_keys: tuple[str, ...]
    hashes: tuple[str | None, ...]
    dataset: str
    revision: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    drift_table: Mapping[str, Mapping[str, tuple[float, float, float]]] = field(default_factory=dict)
    tool_version: str = ""

    @property
    def p95_pp(self) -> float | None:
        """The bound at freeze time in pp; None where no sizing justified n."""
        value = self.evidence.get("p95_pp")
        return float(value) if value is not None else None

    @property
    def rule(self) -> str | None:
        """The worst-case rule of the bound; None where no sizing justified n."""
        value = self.evidence.get("rule")
        return str(value) if value is not None else None

    @property
    def bound_title(self) -> str:
        """What its bound is called, as `bound_title` says."""
        return bound_title(self.sampler)


@dataclass(frozen=True)
class PackItem:
    """One item with the content needed to run it offline.

    `asked` is the request as an lm-eval log has it (see `tasks.logged`), None where a task makes it from the doc.
    """

    key: str
    category: str | None
    doc: Mapping[str, Any]
    asked: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Pack:
    """A subset plus docs and few-shot examples. `fewshot` maps a category (or "") to example docs, in order.

    `accepted_differences` are keys of items whose content differs from the subset's hash and was
    accepted; `source` names the dataset file and its SHA-256. `logged` is the definition of the task whose requests the
    items carry (JSON, see `tasks.logged`), None where a native task asks. `item_fewshot` maps an item's key to few-shot
    docs of its own, in order, before those of `fewshot`.
    """

    subset: FrozenSubset
    items: tuple[PackItem, ...]
    fewshot: Mapping[str, tuple[Mapping[str, Any], ...]]
    licence: str = ""
    accepted_differences: tuple[str, ...] = ()
    source: str = ""
    logged: Mapping[str, Any] | None = None
    item_fewshot: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)

    @property
    def unverified(self) -> tuple[str, ...]:
        """Keys of items that the subset has no content hash for, so that nothing proves their content."""
        hashes = self.subset.hashes
        return tuple(key for key, known in zip(self.subset.item_keys, hashes, strict=True) if known is None)
