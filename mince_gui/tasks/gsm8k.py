"""What the filters of GSM8K's tasks read; prompts and filters themselves are declared with the benchmark."""

from __future__ import annotations

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS, TextPrompt
from mince_gui.tasks.exact_match import ExactMatch

_GSM8K = BENCHMARKS["gsm8k"]
_TASKS = {asked.task: ExactMatch(_GSM8K, asked) for asked in _GSM8K.prompts if isinstance(asked, TextPrompt)}


def extract(text: str | None, filter_name: str, task: str = _GSM8K.default_task) -> str:
    """What "strict-match" or "flexible-extract" of a GSM8K task reads in a response; "[invalid]" if nothing.

    The strict phrase differs between tasks: "The answer is 7." for the default and gsm8k_cot, "#### 7" for gsm8k,
    "The final answer is 7" for gsm8k_cot_llama. None, which logs have where no answer came, is read as "". Raises
    UsageError for an unknown filter or task.
    """
    if task not in _TASKS:
        raise UsageError(f"There is no GSM8K task '{task}'.", f"Known: {', '.join(_TASKS)}.")
    return _TASKS[task].extract(text or "", filter_name)
