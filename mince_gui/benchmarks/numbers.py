"""Worked answers that end in a number after "####", and lm-eval's filters and cleaning for them: GSM8K's kind."""

from __future__ import annotations

import re

from mince_gui.base.errors import MinceError
from mince_gui.benchmarks.docs import Doc
from mince_gui.benchmarks.types import Metric, Reading

METRICS = (
    Metric("exact_match,strict-match", "strict match"),
    Metric("exact_match,flexible-extract", "flexible extract"),
)
_NUMBER = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_MARK = "#### "

AFTER_MARK = Reading(re.compile(r"#### (-?[0-9.,]+)"))
"""The strict filter where the model answers as the dataset does."""


def filters(strict: Reading) -> dict[str, Reading]:
    """The task's own phrase, and the last thing that looks like a number."""
    return {"strict-match": strict, "flexible-extract": Reading(_NUMBER, last=True)}


def cleaned(text: str) -> str:
    """`text` without commas, dollar signs, all up to the last "#### " and one final point; in lower case."""
    return re.sub(r"\.$", "", text.replace(",", "").replace("$", "").rpartition(_MARK)[2]).lower()


def gold(doc: Doc) -> str:
    """The number after the mark in the doc's answer, cleaned. Raises MinceError where there is none."""
    answer = doc.get("answer")
    if not isinstance(answer, str) or _MARK not in answer:
        raise MinceError(f"An item's 'answer' holds no gold after '{_MARK}'.", "Check the dataset's file.")
    return cleaned(answer)
