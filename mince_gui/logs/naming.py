"""Names that come out of files: made fit to be shown and stored; the benchmark a task may be; times."""

from __future__ import annotations

import re

from mince_gui.benchmarks import BENCHMARKS, Benchmark

NAME_LIMIT = 200
"""Characters that a name may have."""

_SIGNS = (("ifeval", re.compile("if[-_]?eval", re.I)), ("gsm8k", re.compile("gsm8k|gsm", re.I)),
          ("mmlu", re.compile("mmlu|hendrycks", re.I)))  # fmt: skip
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2})[:-](\d{2})[:-](\d{2}(?:\.\d+)?)")


def storable(text: str) -> str:
    """The text with lone surrogates (file names that are no text, hostile JSON) as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def tidy_name(text: str) -> str:
    """A name for people and for the workspace: one line, bounded, storable, without control characters."""
    shown = "".join(sign if sign.isprintable() else " " for sign in storable(text))
    return " ".join(shown.split())[:NAME_LIMIT].rstrip()


def candidate(task: str) -> Benchmark | None:
    """The known benchmark that a task's name suggests; whether it is, its items must say."""
    return next((BENCHMARKS[name] for name, sign in _SIGNS if sign.search(task)), None)


def own_name(prefix: str, task: str) -> str:
    """The name of a format's task as a benchmark of its own; it can be part of a file's name everywhere."""
    return f"{prefix}-{_UNSAFE.sub('-', task).strip('-.') or 'unnamed'}"[:100]


def dated(text: str) -> str:
    """A time as lm-eval writes it in names, by which runs are put in order; "" where there is none in the text."""
    match = _TIME.search(text)
    return f"{match[1]}T{match[2]}-{match[3]}-{match[4]}" if match else ""
