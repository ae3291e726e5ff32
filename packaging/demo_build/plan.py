"""Which models are trained, which checkpoints make the pool, and which one is the device model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from tokenizers import Tokenizer

from demo_build.network import TinyLlama
from demo_build.training import Run

RUNS: dict[str, Run] = {
    run.name: run
    for run in (
        Run("medium", seed=11, hidden=128, layers=3, heads=4, intermediate=352, steps=1600, save_every=50),
        Run("device", seed=23, hidden=128, layers=3, heads=4, intermediate=352, steps=1600, save_every=50),
    )
}


@dataclass(frozen=True)
class Variant:
    """One model of the demo: a checkpoint of a run. ``stamp`` dates its logs and never changes."""

    name: str
    run: str
    step: int
    stamp: datetime


def _stamp(minute: int) -> datetime:
    return datetime(2026, 11, 29, 12, minute, 0, 1, tzinfo=UTC)


POOL: tuple[Variant, ...] = (
    Variant("demo-100-steps", "medium", 100, _stamp(1)),
    Variant("demo-300-steps", "medium", 300, _stamp(2)),
    Variant("demo-500-steps", "medium", 500, _stamp(3)),
    Variant("demo-700-steps", "medium", 700, _stamp(4)),
    Variant("demo-900-steps", "medium", 900, _stamp(5)),
    Variant("demo-1200-steps", "medium", 1200, _stamp(6)),
)
DEVICE = Variant("demo-device-int4", "device", 600, _stamp(59))
UNQUANTISED = Variant("demo-device-fp32", "device", 600, _stamp(58))
"""The device model before it was quantised."""


def load_variant(variant: Variant, runs: Path, tokenizer: Tokenizer) -> TinyLlama:
    """The model at the variant's checkpoint, from the shape its run recorded."""
    folder = runs / variant.run
    fields = json.loads((folder / "run.json").read_text())
    model = TinyLlama(Run(**fields).shape(tokenizer.get_vocab_size()))
    model.load_state_dict(torch.load(folder / f"step-{variant.step:05d}.pt", weights_only=True))
    return model.eval()


def parameters(model: TinyLlama) -> int:
    """Number of trained weights (tied embeddings once)."""
    return sum(weight.numel() for weight in model.parameters())
