"""Made-up runs of a small IFEVAL-like benchmark and of a plain one; sizes and rates as real ones have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mince_gui.report import Ratio, Reference, RunData

Rows = dict[str, dict[str, tuple[float, float]]]
MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]
TOTAL = 541


def ifeval_rows(seed: int = 5, total: int = TOTAL) -> Rows:
    """Rows of a whole run: instruction-level trials 1..3, prompt level passes where all instructions do."""
    rng = np.random.default_rng(seed)
    rows: Rows = {}
    for place in range(total):
        trials = int(rng.choice([1, 2, 3], p=[0.6, 0.26, 0.14]))
        strict = int(rng.binomial(trials, 0.72))
        loose = min(trials, strict + int(rng.random() < 0.06))
        rows[str(1000 + place)] = {
            "prompt_level_strict_acc": (float(strict == trials), 1.0),
            "inst_level_strict_acc": (float(strict), float(trials)),
            "prompt_level_loose_acc": (float(loose == trials), 1.0),
            "inst_level_loose_acc": (float(loose), float(trials)),
        }
    return rows


def subset_keys(n: int = 250, total: int = TOTAL) -> tuple[str, ...]:
    places = sorted(np.random.default_rng(42).choice(total, size=n, replace=False).tolist())
    return tuple(str(1000 + place) for place in places)


@pytest.fixture(scope="session")
def full_rows() -> Rows:
    return ifeval_rows()


@pytest.fixture
def make_run(full_rows: Rows) -> MakeRun:
    """A complete run of the 250-item subset; keyword arguments replace fields."""

    def make(**fields: Any) -> RunData:
        keys = subset_keys()
        rng = np.random.default_rng(3)
        times = rng.lognormal(2.4, 0.5, size=len(keys))
        run = RunData(
            run_id="20261129-phi4-ifeval250", benchmark="ifeval", model="Phi-4-mini-instruct INT4",
            subset_name="ifeval-250", subset_keys=keys, total_items=TOTAL, bound_pp=4.6,
            rows={key: full_rows[key] for key in keys}, categories=dict.fromkeys(keys, "keywords:existence"),
            wall_seconds=float(times.sum()) + 3.0, item_seconds=tuple(times.tolist()),
            first_token_seconds=tuple((times / 14).tolist()), prefill_seconds=tuple((times / 15).tolist()),
            prefill_rates=tuple((900 / times).tolist()),
            decode_rates=tuple(rng.normal(18.4, 1.5, size=len(keys)).tolist()), missing={},
            conditions={
                "runtime": "bundled", "device": "CPU", "device_proof": "the only provider is CPU",
                "oga_version": "0.18.0", "threads": None, "timing": "standard", "model_sha256": "ab" * 32,
                "search_options": {"do_sample": False, "batch_size": 1}, "load_seconds": 4.21,
            },
            created="2026-11-29T20:00:00+00:00", ended="2026-11-29T20:52:00+00:00",
            device_key="machine-a/bundled/standard",
            evidence={
                "sizes": [50, 100, 150, 200, 250, 300, 350, 400, 450, 500],
                "p95_pp": [12.4, 8.6, 6.8, 5.6, 4.6, 3.8, 3.1, 2.5, 1.9, 1.2],
                "n_star": 250, "tau_pp": 1.0, "quantile": 0.95, "rule": "per-model",
                "pool": [f"model {i}" for i in range(17)],
            },
        )  # fmt: skip
        return replace(run, **fields)

    return make


@pytest.fixture
def make_own(full_rows: Rows) -> MakeReference:
    """The model's own full run, with rows; keyword arguments replace fields."""

    def make(**fields: Any) -> Reference:
        rows: Mapping[str, Mapping[str, tuple[float, float]]] = full_rows
        own = Reference(
            reference_id="full-1", kind="own full run", benchmark="ifeval", model="Phi-4-mini-instruct INT4",
            metrics={}, source="run full-1", date="2026-11-28", precision="INT4", wall_seconds=6_480.0,
            device_key="machine-a/bundled/standard", rows=rows,
        )  # fmt: skip
        return replace(own, **fields)

    return make


@pytest.fixture
def make_other() -> MakeReference:
    """A stored full score of another precision; keyword arguments replace fields."""

    def make(**fields: Any) -> Reference:
        other = Reference(
            reference_id="bf16-1", kind="imported", benchmark="ifeval", model="Phi-4-mini-instruct",
            metrics={
                "prompt_level_strict_acc": Ratio(0.685 * TOTAL, TOTAL, TOTAL),
                "inst_level_strict_acc": Ratio(641.0, 834.0, TOTAL),
            },
            source="results.json of lm-eval 0.4.9", date="2026-10-02", precision="BF16", wall_seconds=3_000.0,
            device_key="machine-a/bundled/standard",
        )  # fmt: skip
        return replace(other, **fields)

    return make
