"""The sentences of a report: banner, warnings, and what cannot be separated."""

from __future__ import annotations

from collections.abc import Sequence

from mince_gui.base.draws import bound_note
from mince_gui.report import format as fmt
from mince_gui.report.model import Bound, Coverage, MetricReport, Repeatability, Speedup, Verdict
from mince_gui.report.place import cautions
from mince_gui.report.scores import limit_of
from mince_gui.report.types import NOT_RUN, Reference, RunData

_GRAVITY: tuple[Verdict, ...] = (
    "outside", "not judged", "no score", "no bound", "total gap only", "no full score", "inside", "full run"
)  # fmt: skip
_HEADS: dict[Verdict, str] = {
    "inside": "Inside the bound",
    "outside": "Outside the bound",
    "no bound": "No bound to judge by",
    "not judged": "Not judged",
    "total gap only": "Total gap only",
    "no full score": "No full score stored",
    "full run": "Full run",
    "no score": "No score",
}
_EDGE_PP = 1e-9
_PLACES = {"device": "device", "runtime": "runtime", "oga_version": "version of onnxruntime-genai"}
"""What answers may depend on, of the conditions in which sittings of a run may differ."""
_NAMED = 5
"""Items that a warning names before it says that there are more."""
VERDICT_WORDS = _HEADS
"""What each verdict is called in documents and in the window."""


def name_of(reference: Reference) -> str:
    """The reference's model, with its precision unless the name says it already."""
    if reference.precision.lower() in reference.model.lower():
        return reference.model
    return f"{reference.model} {reference.precision}"


def overall(metrics: Sequence[MetricReport]) -> Verdict:
    """The gravest verdict of the metrics. Inside only where every metric is; where only some are, not judged."""
    gravest: Verdict = min((metric.verdict for metric in metrics), key=_GRAVITY.index, default="no score")
    return "not judged" if gravest != "outside" and 0 < len(_inside(metrics)) < len(metrics) else gravest


def _inside(metrics: Sequence[MetricReport]) -> list[MetricReport]:
    return [metric for metric in metrics if metric.verdict == "inside"]


def headline(metrics: Sequence[MetricReport]) -> MetricReport | None:
    """The metric that the banner names: of those that it speaks of, the largest |drift| (or total gap)."""
    verdict = overall(metrics)
    # Where only a part could be judged, the banner tells that part.
    partly = _inside(metrics) if verdict == "not judged" else []
    candidates = partly or [metric for metric in metrics if metric.verdict == verdict]
    return max(candidates, key=lambda m: abs(_size(m)), default=None)


def _size(metric: MetricReport) -> float:
    return next((pp for pp in (metric.drift_pp, metric.total_gap_pp) if pp is not None), 0.0)


def banner(
    title: str,
    run: RunData,
    coverage: Coverage,
    metrics: Sequence[MetricReport],
    speed: Speedup,
    other: Reference | None,
    bound: Bound | None,
) -> str:
    """One sentence: verdict, score, drift (or total gap) and speed; a partial run says so at once."""
    verdict = overall(metrics)
    metric = headline(metrics)
    head = _HEADS[verdict]
    inside = len(_inside(metrics))
    if verdict == "not judged" and inside:
        head = f"{_HEADS['inside']} on {inside} of {len(metrics)} metrics"
    if limit_of(run) is not None:
        head += f" (--limit {limit_of(run)})"
    if not coverage.complete:
        head += f": only {fmt.coverage(coverage.done, coverage.wanted)} done"
    if metric is None or metric.score is None:
        return f"{head}: {title} has no scored item."
    of_part = f" ({fmt.coverage(metric.done, metric.wanted)})" if metric.partial else ""
    parts = [f"{title} {metric.title} {fmt.percent(metric.score)}{of_part}"]
    if metric.drift_pp is not None:
        so_far = "drift so far" if metric.partial else "drift"
        parts.append(f"{so_far} {fmt.pp(metric.drift_pp)}{of_part}")
        if metric.difference_pp is not None and abs(metric.difference_pp - metric.drift_pp) > _EDGE_PP:
            parts.append(f"this run's score {fmt.pp(metric.difference_pp)} from the full run's, as answers changed")
        if bound is not None:
            parts.append(f"{bound.title} {fmt.pp(bound.pp, signed=False)} ({bound.name})")
    elif metric.total_gap_pp is not None and other is not None:
        named = name_of(other)
        parts.append(f"total gap {fmt.pp(metric.total_gap_pp)}{of_part} to the full score of {named} ({other.kind})")
    elif metric.interval is not None and verdict != "full run":
        parts.append(f"projected full score {fmt.interval(metric.interval.low, metric.interval.high)}{of_part}")
    return f"{head}: {', '.join(parts)}{_speed_words(coverage, speed)}."


def _speed_words(coverage: Coverage, speed: Speedup) -> str:
    if speed.factor is None or not coverage.complete:
        return ""
    how = "measured" if speed.kind == "measured" else "estimated"
    if speed.factor < 1:
        return f"; not faster than the full run ({fmt.factor(speed.factor)}, {how})"
    return f"; {fmt.factor(speed.factor)} as fast as the full run, {how}"


def warnings(
    run: RunData,
    coverage: Coverage,
    metrics: Sequence[MetricReport],
    own: Reference | None,
    repeats: Repeatability | None,
    bound: Bound | None,
) -> tuple[str, ...]:
    """What a reader must know before trusting the numbers."""
    found = []
    limit = limit_of(run)
    if limit is not None:
        found.append(
            f"The run was started with --limit {limit}: its items are a part of the frozen subset; "
            "no drift is judged and no bound applies."
        )
    if not coverage.complete:
        causes = coverage.causes()
        listed = "; ".join(f"{cause} ({number:,})" for cause, number in causes.items())
        # Items run in random order: what a stop or a limit leaves is a random part, what a fault leaves is not.
        random = set(causes) <= {NOT_RUN}
        found.append(
            f"Only {fmt.coverage(coverage.done, coverage.wanted)} are done ({listed}). Every score is of this part, "
            + (
                "a random one, as items run in random order; no drift is judged."
                if random
                else "which was not drawn at random: the intervals do not account for that."
            )
        )
    if run.accepted:
        named = ", ".join(run.accepted[:_NAMED]) + (" and more" if len(run.accepted) > _NAMED else "")
        found.append(
            f"{fmt.coverage(len(run.accepted), len(run.subset_keys))} differ in content from what was frozen and were "
            f"accepted when the pack was made ({named}): the score is not quite of the frozen subset, and drift is not "
            "judged."
        )
    if run.unverified:
        found.append(
            f"{fmt.coverage(run.unverified, len(run.subset_keys))} carry no content hash in the subset: nothing proves "
            "that they are the ones that were frozen."
        )
    if not run.drawn_uniformly:
        drawn = bound_note(run.sampler) if bound is not None else f"This subset was drawn by sampler {run.sampler}."
        found.append(f"{drawn} Intervals are computed as if it had been drawn uniformly, and so approximate.")
    short = [metric.title for metric in metrics if coverage.done > metric.done]
    if short:
        found.append(f"Some finished items have no outcome for: {', '.join(short)}.")
    places = [_PLACES[name] for name in run.conditions.get("changed") or () if name in _PLACES]
    if places:
        found.append(f"The run was continued with another {', another '.join(places)}: its score is not of one alone.")
    foreign = len(set(run.rows).difference(run.subset_keys))
    if foreign:
        found.append(f"{foreign:,} finished items are not in the subset and were left out.")
    if own is not None and any(m.full is not None and m.full.items != run.total_items for m in metrics):
        found.append(f"The full run does not cover all {run.total_items:,} items; drift against it is not judged.")
    if repeats is not None and repeats.differing:
        found.append(
            f"{len(repeats.differing):,} of {repeats.common:,} items got another verdict in this run than in the full "
            "run: drift is computed from the full run's own answers, and this run's score differs from them."
        )
    found.extend(cautions(run.conditions))
    found.extend(whole for _, whole in run.answers.words())
    if fewer := run.conditions.get("fewer_examples"):
        most = run.conditions.get("examples")
        found.append(
            f"{fewer:,} items were asked with fewer than {most} examples: their prompts are not the usual ones."
        )
    if bos := run.conditions.get("bos_check"):
        found.append(f"The beginning of sequence (BOS) of the prompts is {bos}.")
    tokens = str(run.conditions.get("token_check") or "")
    if tokens.startswith("differ"):
        found.append(f"The token ids of the first prompt {tokens}.")
    if bound is not None and any(metric.verdict == "outside" for metric in metrics):
        found.append(
            f"Outside the bound is expected for {bound.outside_by_chance}, even when nothing is wrong, and when the "
            "model is unlike the calibration pool; it is drift of the subset, not damage to the model."
        )
    return tuple(found)
