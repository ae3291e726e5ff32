"""subset: which items, kept for good: drawing, frozen subset files, datasets, packs.

Comes in: a score matrix, a sizing result, the user's own dataset files, subset and pack files from
elsewhere (never trusted). Goes out: `FrozenSubset`, `Dataset`, `Pack`, and their files.
May import: sizing, logs, benchmarks, base.

Subset file (JSON, no item text), schema 1: kind "mince-gui subset", schema, name, benchmark, dataset,
revision, total_items, n, seed (null for full), sampler (uniform | stratified | full), tool_version,
evidence, drift_table {model: {metric: [full percent, subset percent, signed drift pp]}}, item_keys in
canonical order, hashes (canonical content hash of each item, or null), sha256 (of the canonical JSON of
all the rest). `evidence` holds rule (per-model | joint), tau_pp, step, quantile, method, draws, seed
(both null for exact), p95_pp and gain_pp (null where n was no candidate size), sizes and curve_pp (the
whole P95 curve), n_star, n_star_smooth, pool (model names), metrics, warnings; it is empty where no
sizing justified n. Every read checks these: types, ranges, the bound against the curve, N and keys against
the benchmark, and, where keys are positions, that the seed draws these items; other entries are kept as
they are. An existing file is replaced by the same items alone.

Pack file (.mincepack, zip), schema 1: manifest.json (kind "mince-gui pack", schema, tool_version,
licence, source, accepted_differences and unverified as item keys, files {name: {bytes, sha256}},
subset as above; both lists must be what the docs and the subset's hashes give), items.jsonl (key,
category, doc; in the subset's order), fewshot.jsonl (category, doc).
"""

from mince_gui.subset.dataset import Dataset, read_dataset
from mince_gui.subset.drawing import draw_stratified, draw_uniform, running_order, webster
from mince_gui.subset.freezing import SAMPLERS, default_name, freeze, full_subset
from mince_gui.subset.pack_file import read_pack, write_pack
from mince_gui.subset.packing import build_pack
from mince_gui.subset.subset_file import bundled, read_subset, same_items, write_subset
from mince_gui.subset.types import FrozenSubset, Pack, PackItem

__all__ = [
    "SAMPLERS",
    "Dataset",
    "FrozenSubset",
    "Pack",
    "PackItem",
    "build_pack",
    "bundled",
    "default_name",
    "draw_stratified",
    "draw_uniform",
    "freeze",
    "full_subset",
    "read_dataset",
    "read_pack",
    "read_subset",
    "running_order",
    "same_items",
    "webster",
    "write_pack",
    "write_subset",
]
