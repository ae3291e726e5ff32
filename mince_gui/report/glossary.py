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
        ("interval", _interval(report)),
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


CONDITION_WORDS: dict[str, str] = {
    "model_name": "model",
    "model_sha256": "model folder, SHA-256",
    "precision": "precision",
    "runtime": "runtime",
    "device": "device",
    "device_proof": "how the device is known",
    "oga_version": "onnxruntime-genai",
    "distribution": "distribution of onnxruntime-genai",
    "ort_version": "ONNX Runtime",
    "python_version": "Python of the runtime",
    "platform": "system",
    "cpu": "processor",
    "machine": "machine",
    "driver": "driver",
    "power_mode": "power mode",
    "machine_state": "machine at the start",
    "sleep": "sleep of the machine",
    "smoke": "smoke test",
    "threads": "threads",
    "timing": "timing mode",
    "limit": "limit of items",
    "search_options": "search options",
    "load_seconds": "model load, s (not in the wall clock)",
    "changed": "changed between sittings",
    "warmup_seconds": "warm-up, s (not in the wall clock)",
}
"""What each condition is called, in reading order; others follow by name."""
