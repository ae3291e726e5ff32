"""benchmarks: all that is declared of a benchmark: facts, data, the way its tasks ask; and its items by their hashes.

Comes in: a benchmark's or an lm-eval task's name. Goes out: a `Benchmark`; the keys of its items (`keys_of`), and which
item a prompt or question is (`item_key_of`, `KeyFinder`), known by hashes alone.
May import: base.

An item key is text: IFEVAL "1000" (doc.key), GSM8K and ARC-Challenge "17" (doc_id), MMLU "anatomy/17"
(subject/doc_id), demo "3" (doc.id). Metrics are named as lm-eval names them; a filter other than
"none" follows after a comma ("exact_match,strict-match").

To add a benchmark, write one module in `declared` and name it in `registry`; other rooms only ask the `Benchmark`:
- the facts: name, title, N, metrics, what makes an item's key, its lm-eval tasks, where the data is from;
- `data`: the fields that a doc must have, what of them is its content (public copies must hash alike), and where its
  files differ from the usual layouts of a dataset's folder: configuration folders, file names, few-shot examples;
- `prompts`: for each task a `ChoicePrompt` (given answers are weighed; acc, acc_norm) or a `TextPrompt` (an answer is
  written, filters read it; exact_match), from which `tasks` makes the task of that name.
`declared.arc_challenge` is a short one to begin from. A benchmark whose answers are scored in another way (IFEVAL)
declares no prompts; its task is a module of its own in `tasks`, named in `tasks.registry`.
"""

from mince_gui.benchmarks.content import content_hash, content_of
from mince_gui.benchmarks.docs import Doc, answer_index, text_field
from mince_gui.benchmarks.known_items import KeyFinder, item_key_of, keys_of
from mince_gui.benchmarks.registry import BENCHMARKS, get, of_task, step_for
from mince_gui.benchmarks.types import Benchmark, ChoicePrompt, Data, Metric, Reading, TextPrompt

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "ChoicePrompt",
    "Data",
    "Doc",
    "KeyFinder",
    "Metric",
    "Reading",
    "TextPrompt",
    "answer_index",
    "content_hash",
    "content_of",
    "get",
    "item_key_of",
    "keys_of",
    "of_task",
    "step_for",
    "text_field",
]
