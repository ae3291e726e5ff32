"""tasks: prompts, stop rules, answer extraction and scoring of benchmark items.

Comes in: docs (dicts as the dataset has them), few-shot docs, a chat template or none; later the model's answer.
Goes out: a `Request` for the worker, then a `Scored`: (passed, trials) per metric, what each filter read, the gold.
May import: base, benchmarks, logs, sizing, subset.

A task is stateless and has `name`, `benchmark`, `metrics`, `uses_chat`, `kind`, `shots`, `request`, `score` (see
`types.Task`).
Prompts, stop strings, budgets, filters and verdicts are those of lm-eval 0.4.13, which is not imported.
Few-shot docs are what `shots` says: 5 dev rows per subject for MMLU, 2 per category for demo_choice, for gsm8k the 5
training rows that lm-eval draws for the very item; gsm8k_cot and gsm8k_cot_llama carry their own. A choice task takes
the first docs of the item's own topic, so the docs of all topics may be handed over together.

To add a benchmark: one module in `benchmarks.declared` that says how it asks (its docstring tells how, and
`benchmarks.declared.arc_challenge` shows it), and its line in `benchmarks.registry`. Nothing is written here:
`registry` makes a `MultipleChoice` of each declared `ChoicePrompt` and an `ExactMatch` of each `TextPrompt`. Only where
answers are scored by code of their own (IFEVAL), a module here holds the task, named in `registry`.
"""

from mince_gui.tasks.chat import ChatTemplate, load_template
from mince_gui.tasks.registry import get, names
from mince_gui.tasks.types import Answer, Doc, Message, Render, Request, Scored, Task

__all__ = [
    "Answer",
    "ChatTemplate",
    "Doc",
    "Message",
    "Render",
    "Request",
    "Scored",
    "Task",
    "get",
    "load_template",
    "names",
]
