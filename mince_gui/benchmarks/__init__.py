"""benchmarks: declared facts: items N, keys, order, metrics, categories, default step, task names.

Comes in: a benchmark's or an lm-eval task's name. Goes out: a `Benchmark`.
May import: base.

An item key is text: IFEVAL "1000" (doc.key), GSM8K "17" (doc_id), MMLU "anatomy/17"
(subject/doc_id), demo "3" (doc.id). Metrics are named as lm-eval names them; a filter other than
"none" follows after a comma ("exact_match,strict-match").
"""

from mince_gui.benchmarks.content import answer_index, content_hash, content_of
from mince_gui.benchmarks.facts import BENCHMARKS, Benchmark, Metric, get, of_task, step_for

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Metric",
    "answer_index",
    "content_hash",
    "content_of",
    "get",
    "of_task",
    "step_for",
]
