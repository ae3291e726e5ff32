"""A report with everything that a document can show, made by hand: parts, pairs, changed items, categories."""

from __future__ import annotations

from dataclasses import replace

from mince_gui.report.model import (
    Categories,
    CategoryLine,
    ChangedItem,
    Histogram,
    Interval,
    PairedCategory,
    PairedMetric,
    PairedReport,
    Report,
    Split,
    SplitLine,
    SplitSum,
    SplitValue,
)
from mince_gui.report.types import Ratio

ANSWER = "Step 1: read the letter.\nStep 2: answer it.\n\n**Done**, in 40 words & no comma."


def with_everything(
    report: Report, *, answer: str = ANSWER, changed: int = 60, categories: int = 12, pairs: int = 2
) -> Report:
    """The report with a split that adds up, so many pairs with changed items, categories and histograms."""
    titles = {metric.name: metric.title for metric in report.metrics}
    return replace(
        report, split=_split(titles), paired=tuple(_pair(titles, p, answer, changed, categories) for p in range(pairs)),
        categories=_categories(categories), histograms=_histograms(),
    )  # fmt: skip


def _span(middle: float, reach: float) -> Interval:
    return Interval(middle - reach, middle + reach, 0.95, "paired, exact limits combined")


def _split(titles: dict[str, str]) -> Split:
    given = {"sampling drift": 0.8, "quantisation delta": -2.4, "hardware delta": -0.6}

    def values(pp: float) -> tuple[SplitValue, ...]:
        return tuple(
            SplitValue(name, title, pp + 0.3 * i, _span(pp + 0.3 * i, 1.7), 250)
            for i, (name, title) in enumerate(titles.items())
        )

    lines = (
        SplitLine("sampling drift", values(0.8), "run a on the subset minus run a on everything", "Same model."),
        SplitLine("quantisation delta", values(-2.4), "run b (INT4 on CPU) minus run a (BF16)", "Same items."),
        SplitLine("hardware delta", values(-0.6), "this run (INT4 on NPU) minus run b (INT4 on CPU)", "Same items."),
    )
    sums = tuple(
        SplitSum(
            name, title, sum(given.values()) + 0.9 * i,
            (
                ("sampling drift", 0.8 + 0.3 * i), ("quantisation delta", -2.4 + 0.3 * i),
                ("hardware delta", -0.6 + 0.3 * i),
            ),
        )
        for i, (name, title) in enumerate(titles.items())
    )  # fmt: skip
    return Split(lines, sums)


def _pair(titles: dict[str, str], place: int, answer: str, changed: int, categories: int) -> PairedReport:
    metrics = tuple(
        PairedMetric(
            name, title, Ratio(180, 250, 250), Ratio(186 - 4 * i, 250, 250), -2.4 + 1.6 * i, _span(-2.4 + 1.6 * i, 2.1),
            5, 11 - 4 * i, 0.2101 if i % 2 == 0 else None,
        )
        for i, (name, title) in enumerate(titles.items())
    )  # fmt: skip
    items = tuple(
        ChangedItem(
            str(1000 + n), "keywords:existence", ("gained", "lost", "both")[n % 3], {"prompt_level_strict_acc": (1, 1)},
            {"prompt_level_strict_acc": (0, 1)}, f"{answer} {n}", None if n % 5 == 0 else answer, "no comma",
        )
        for n in range(changed)
    )  # fmt: skip
    lines = tuple(
        PairedCategory(f"category {n:02}", 20 + n, -1.5 + n, 2, 1, 0.0004 * (n + 1), 1.0) for n in range(categories)
    )
    names = ("Phi-4-mini-instruct BF16 on GPU", "Phi-4-mini-instruct INT4 on CPU")
    return PairedReport(
        f"20261128-pair{place}", "run", ("quantisation and hardware", "hardware")[place % 2], "Phi-4-mini-instruct",
        "INT4", "CPU", names[place % 2], 250, 250, 250, 243, metrics, items, lines,
        ("7 items were asked with another prompt: their delta holds the prompt's effect as well.",),
    )  # fmt: skip


def _categories(number: int) -> Categories:
    lines = tuple(
        CategoryLine(
            f"detectable_format:number_{n:02}", Ratio(12 + n % 8, 24, 24), 50,
            Interval(40.0, 78.0, 0.95, "exact hypergeometric"), Ratio(27 + n % 15, 50, 50) if n % 2 else None,
        )
        for n in range(number)
    )  # fmt: skip
    caution = f"Of {number} intervals of 95 %, about {number * 0.05:.1f} miss by chance."
    return Categories("prompt_level_strict_acc", "prompt strict", lines, ("language:response_language",), caution)


def _histograms() -> tuple[Histogram, ...]:
    return (
        Histogram(
            "wall clock per item", "s", tuple(float(n) for n in range(0, 44, 4)), (3, 40, 71, 52, 38, 22, 12, 7, 3, 2)
        ),
        Histogram("time to first token", "s", (0.0, 0.25, 0.5, 0.75, 1.0, 1.25), (12, 80, 91, 50, 17)),
        Histogram("decode rate", "tok/s", (14.0, 16.0, 18.0, 20.0, 22.0), (14, 90, 116, 30)),
    )  # fmt: skip
