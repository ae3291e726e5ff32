"""subset: which items, kept for good: drawing, frozen subset files, datasets, packs, other tools' forms.

Comes in: a score matrix, a sizing result, the user's own dataset files, embeddings and ONNX sentence models, subset and
pack files and amd-quark's artifacts from elsewhere (never trusted). Goes out: `FrozenSubset`, `Dataset`, `Pack`, and
their files; lm-eval's `--samples` map and amd-quark's artifact.
May import: sizing, logs, benchmarks, base. `embeddings` alone imports onnxruntime. `embeddings` and `vectors` (pyarrow)
are imported by name, where they are needed: they are slow to load.

To draw: uniform (`draw_uniform`), or by strata (`draw_stratified`): categories, or the clusters of `cluster`.

Subset file (JSON, no item text), schema 1: kind "mince-gui subset", schema, name, benchmark, dataset,
revision (SHA-256 of the dataset files for full; "" for a drawn subset: logs name no revision, `hashes` alone tell it),
total_items, n, seed (null for full), sampler (uniform | stratified | kmeans | full), tool_version,
evidence, drift_table {model: {metric: [full percent, subset percent, signed drift pp]}}, item_keys in
canonical order, hashes (canonical content hash of each item, or null), sha256 (of the canonical JSON of
all the rest). `evidence` holds rule (per-model | joint), tau_pp, step, quantile, method, draws, seed
(both null for exact), p95_pp and gain_pp (null where n was no candidate size), sizes and curve_pp (the
whole P95 curve), n_star, n_star_smooth, pool (model names), metrics, warnings; it is empty where no
sizing justified n. For kmeans it also has sampler {k, silhouette, silhouette_items, silhouettes {k: value},
cluster_sizes, clusters (of each subset item), embeddings {kind, file or model, sha256, ...}}; a subset that came as
amd-quark's artifact has artifact {of, file, sha256, generated, lm_eval_version}. Every read checks these: types,
ranges, the bound, its gain and n* against curve and tau, the drift table's models against the pool, N and keys
against the benchmark, seats against the clusters, and, where the benchmark's items are known, that the seed draws
these; other entries are kept as they are. An existing file is replaced by the same items alone.

Bound: the sizing's bound is the bound of uniform draws. `base.draws` has the words for it (`FrozenSubset.bound_title`),
wherever it is shown; a subset that another sampler drew has the note among its evidence's warnings.

Pack file (.mincepack, zip), schema 1: manifest.json (kind "mince-gui pack", schema, tool_version,
licence, source, accepted_differences and unverified as item keys, files {name: {bytes, sha256}},
subset as above; both lists must be what the docs and the subset's hashes give), items.jsonl (key,
category, doc; in the subset's order), fewshot.jsonl (category, doc).
Schema 2, only where it is needed: a logged pack's manifest has logged (the definition of `tasks.logged`) and each item
asked (its request); docs are {} where the log has none. An item with examples of its own has examples: their places,
from 0, among the rows of fewshot.jsonl that have no category.
"""

from mince_gui.subset.clustering import Clustering, Embeddings, cluster
from mince_gui.subset.dataset import Dataset, read_dataset, read_items, text_of
from mince_gui.subset.drawing import draw_stratified, draw_uniform, running_order, webster
from mince_gui.subset.freezing import SAMPLERS, check_request, default_name, freeze, full_subset, is_name
from mince_gui.subset.pack_file import SUFFIX, read_pack, write_pack
from mince_gui.subset.packing import build_logged_pack, build_pack, differing_items, some_of
from mince_gui.subset.positions import positions_of
from mince_gui.subset.quark import is_artifact, read_artifact, write_artifact
from mince_gui.subset.samples_map import samples_map
from mince_gui.subset.subset_file import bundled, read_subset, same_items, write_subset
from mince_gui.subset.types import FrozenSubset, Pack, PackItem

__all__ = [
    "SAMPLERS",
    "SUFFIX",
    "Clustering",
    "Dataset",
    "Embeddings",
    "FrozenSubset",
    "Pack",
    "PackItem",
    "build_logged_pack",
    "build_pack",
    "bundled",
    "check_request",
    "cluster",
    "default_name",
    "differing_items",
    "draw_stratified",
    "draw_uniform",
    "freeze",
    "full_subset",
    "is_artifact",
    "is_name",
    "positions_of",
    "read_artifact",
    "read_dataset",
    "read_items",
    "read_pack",
    "read_subset",
    "running_order",
    "same_items",
    "samples_map",
    "some_of",
    "text_of",
    "webster",
    "write_artifact",
    "write_pack",
    "write_subset",
]
