"""benchmarks: declared facts: items N, keys, order, metrics, categories, default step, task names.

Comes in: a benchmark's or an lm-eval task's name. Goes out: a `Benchmark`; the keys of its items (`keys_of`), and which
item a prompt or question is (`item_key_of`, `KeyFinder`), known by hashes alone.
May import: base.

An item key is text: IFEVAL "1000" (doc.key), GSM8K "17" (doc_id), MMLU "anatomy/17"
(subject/doc_id), demo "3" (doc.id). Metrics are named as lm-eval names them; a filter other than
"none" follows after a comma ("exact_match,strict-match").
"""

from mince_gui.benchmarks.content import answer_index, content_hash, content_of
from mince_gui.benchmarks.facts import BENCHMARKS, Benchmark, Metric, get, of_task, step_for
from mince_gui.benchmarks.known_items import KeyFinder, item_key_of, keys_of

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "KeyFinder",
    "Metric",
    "answer_index",
    "content_hash",
    "content_of",
    "get",
    "item_key_of",
    "keys_of",
    "of_task",
    "step_for",
]
