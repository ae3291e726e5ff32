"""How the numbers were computed, in words for a reader who knows nothing of the project."""

from __future__ import annotations

from mince_gui.report.model import Report

_UNIFORM = (
    "Where the full score is expected, seen from the items that were run (95 %). Exact, by inverting the "
    "hypergeometric distribution, for pass/fail metrics; linearised (delta method, finite population) and "
    "approximate for metrics with several trials per item."
)


def _bound(report: Report) -> str:
    if report.bound is None:
        return "What |drift| of most random subsets of this size stays within. None applies here."
    return f"{report.bound.meaning} It speaks of models like those of the calibration pool."


def _interval(report: Report) -> str:
    if report.drawn_uniformly:
        return _UNIFORM
    return (
        "Where the full score is expected, seen from the items that were run (95 %), computed as if they had been "
        f"drawn uniformly; the subset was drawn by another sampler ({report.sampler}), so all of it is approximate."
    )


def glossary(report: Report) -> list[tuple[str, str]]:
    """(term, meaning) in reading order; bound and interval are explained as they are in this report."""
    return [*_always(report), *_parts(report)]


def _parts(report: Report) -> list[tuple[str, str]]:
    """Terms that only some reports use."""
    found = []
    if report.paired or any(line.values for line in report.split.lines):
        found += [
            (
                "paired delta",
                "This run's score - another's on the very items that both ran, in pp. Sampling plays no part in it: "
                "both had the same items. Its interval is of the difference over the whole benchmark.",
            ),
            (
                "quantisation delta",
                "A paired delta between two precisions of the same model: what fewer bits a weight did to its answers.",
            ),
            ("hardware delta", "A paired delta between two devices, with the same weights: what the device did."),
        ]
    if report.paired:
        found += [
            (
                "McNemar p",
                "How often at least so unlike numbers of gained and lost items would come about, if both were as "
                "likely (exact, two-sided). A small p says that the sides differ; a large one does not say that they "
                "are equal.",
            ),
        ]
    if any(pair.categories for pair in report.paired):
        found.append(("Holm", "Makes p values larger, as one of many comparisons is small by chance alone."))
    return found


def _always(report: Report) -> list[tuple[str, str]]:
    return [
        ("benchmark", "A fixed list of N items (questions or tasks) with one or more metrics."),
        ("frozen subset", "n of those items, drawn once at random and used for every model since."),
        (
            "score",
            "Passed trials / all trials, in percent. Where an item has several trials, trials count, not items.",
        ),
        ("drift", "Score on the subset - score on the full benchmark, of the same model, in percentage points (pp)."),
        ("bound", _bound(report)),
        (
            "total gap",
            "Score on the subset - a full score of another precision, device or source. It holds sampling, "
            "quantisation and hardware effects together and cannot be judged by the bound.",
        ),
        ("projected full score", _interval(report)),
        (
            "prefill, decode",
            "Reading the prompt, all of it at once, and writing the answer, token by token; a token (tok) is a word or "
            "a part of one.",
        ),
        ("OGA", "onnxruntime-genai, the program that runs the model; every model folder is made for a release of it."),
        ("pack", "A file with a frozen subset and the texts of its items, which a run reads without a network."),
        (
            "not proven",
            "Beside a device: the run was to run there, and nothing showed that it did; it may have run on the CPU.",
        ),
        (
            "fast timing",
            "For choices: examples that neighbouring items share are read once, where a probe showed bit-identical "
            "logits. Rates are then of the tokens that were read, and times are never compared with standard ones.",
        ),
        (
            "speedup",
            "Wall clock of the full benchmark / of the subset, same model, machine, runtime and timing mode, one item "
            "at a time. Without such a timed full run it is an estimate from the mean item time x N.",
        ),
        ("missing", "An item without a result. It is left out of every score, never counted as wrong."),
        ("capped", "An answer that reached its token budget and was cut there; it is scored as it stands."),
        ("cut by time", "An answer that was cut at the longest time an item may take; it is scored as it stands."),
        ("repeating", "An answer that ends in the same words over and over, cut or not; it is scored as it stands."),
        ("empty", "An answer of nothing or only blanks; it is scored as it stands."),
        ("does not fit", "A prompt longer than the model's ceiling allows: the item is missing, the prompt never cut."),
    ]
