"""GSM8K: the four prompts of lm-eval 0.4.13, and both of its filters.

`data/gsm8k_cot.json` holds the eight worked examples of chain-of-thought prompting (Wei et al., 2022) in the wording
of lm-eval's task files (MIT licence): they are prompt text and no items of the benchmark.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

from mince_gui.tasks.word_problems import WordProblems

_DEFAULT = "gsm8k_cot_zeroshot"
_ENDS = ("</s>", "<|im_end|>")
_ANSWER_IS = re.compile(r"The answer is (-?[0-9.,]+).")


def _examples(closing: str) -> tuple[tuple[str, str], ...]:
    """The eight worked examples of chain-of-thought prompting, each ending in `closing` with its answer."""
    rows = json.loads(files("mince_gui.tasks").joinpath("data/gsm8k_cot.json").read_text(encoding="utf-8"))
    return tuple((row["question"], f"{row['reasoning']} {closing.format(row['answer'])}") for row in rows)


def tasks() -> list[WordProblems]:
    """gsm8k_cot_zeroshot, gsm8k (5 training examples), gsm8k_cot (8 examples of its own), gsm8k_cot_llama."""
    return [
        WordProblems(
            name="gsm8k_cot_zeroshot",
            benchmark="gsm8k",
            question="Q: {question}\nA: Let's think step by step.",
            until=("Q:", *_ENDS),
            strict=_ANSWER_IS,
        ),
        WordProblems(
            name="gsm8k",
            benchmark="gsm8k",
            question="Question: {question}\nAnswer:",
            until=("Question:", *_ENDS),
            strict=re.compile(r"#### (-?[0-9.,]+)"),
            shots=5,
        ),
        WordProblems(
            name="gsm8k_cot",
            benchmark="gsm8k",
            question="Q: {question}\nA:",
            until=("Q:", *_ENDS),
            strict=_ANSWER_IS,
            examples=_examples("The answer is {}."),
        ),
        WordProblems(
            name="gsm8k_cot_llama",
            benchmark="gsm8k",
            question=(
                "Given the following problem, reason and give a final answer to the problem.\n"
                "Problem: {question}\n"
                'Your response should end with "The final answer is [answer]" where [answer] is the response '
                "to the problem.\n"
            ),
            until=("<|eot_id|>", "<|start_header_id|>user<|end_header_id|>", "Q:", *_ENDS),
            strict=re.compile(r"The final answer is ((?:-?[$0-9.,]{2,})|(?:-?[0-9]+))"),
            strict_last=True,
            answer_gap="",
            examples=_examples("The final answer is {}"),
        ),
    ]


_BY_NAME = {task.name: task for task in tasks()}


def task(name: str = _DEFAULT) -> WordProblems:
    """The GSM8K task of that name, whether it can be run yet or not. Raises KeyError for another."""
    return _BY_NAME[name]


def extract(text: str, filter_name: str, task: str = _DEFAULT) -> str:
    """What "strict-match" or "flexible-extract" of a GSM8K task reads in a response; "[invalid]" if nothing.

    The strict phrase differs between tasks: "The answer is 7." for the default and gsm8k_cot, "#### 7" for gsm8k,
    "The final answer is 7" for gsm8k_cot_llama. Raises UsageError for an unknown filter, KeyError for another task.
    """
    return _BY_NAME[task].extract(text, filter_name)
