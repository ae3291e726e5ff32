"""How a run's state is said: word, colour and icon."""

from __future__ import annotations

from datetime import datetime

from mince_gui.report import format as fmt
from mince_gui.report.answers import is_empty
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.ui.entries import Entry

_ENDS = {
    "done": ("done", "good", "good"),
    "failed": ("failed", "bad", "bad"),
    "crashed": ("crashed", "bad", "bad"),
    "hung": ("hung", "bad", "bad"),
    "not_started": ("could not start", "bad", "bad"),
}


def state_of(run: StoredRun) -> tuple[str, str, str]:
    """Word, colour role and icon."""
    at = f"{run.done + run.missing:,} of {run.plan.items:,}"
    if run.state == "interrupted":
        return f"interrupted at {at}", "warn", "warn"
    if run.state == "paused":
        return f"paused at {at}", "warn", "pause"
    if run.state == "running":
        return f"running, {at}", "accent", "play"
    if run.state == "started":
        return ("starting", "accent", "busy") if run.pid is not None else ("not started", "muted", "none")
    if run.cause == "incomplete":
        return f"done, {run.missing:,} missing", "warn", "warn"
    if run.cause == "stopped":
        return f"stopped at {at}", "warn", "stop"
    return _ENDS.get(run.cause or "failed", ("ended", "muted", "none"))


def can_resume(run: StoredRun) -> bool:
    """Whether a new runner would have something to do. A run from elsewhere goes on where it was made, if at all."""
    if run.rescored_of or run.origin:
        return False
    if run.state == "interrupted" or (run.state == "started" and run.pid is None):
        return True
    return run.state == "ended" and run.done < run.plan.items


def is_live(run: StoredRun) -> bool:
    """Whether a runner is at work, or about to be."""
    return run.is_going_on


def when(stamp: str) -> str:
    """A stored time, or one from a file name (with dashes for colons), to the minute."""
    day, _, clock = stamp[:16].partition("T")
    return f"{day} {clock.replace('-', ':')}".strip()


def local(stamp: str) -> str:
    """A stored time (UTC) as the clock on the wall shows it, to the minute."""
    return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"


def about(seconds: float) -> str:
    """A time to come, no finer than it can be known."""
    return f"{max(1, round(seconds))} s" if seconds < 60 else fmt.seconds(60 * round(seconds / 60))


def entry(run: StoredRun) -> Entry:
    """The run in a list."""
    word, state, shape = state_of(run)
    whose = f"{run.plan.model}, rescored" if run.rescored_of else run.plan.model
    return Entry(run.run_id, run.plan.subset, local(run.created_at)[5:], whose, word, state, shape)


def verdict(item: StoredItem) -> tuple[str, str]:
    """An item's verdict by its first metric (or why it is missing), and the colour role with icon."""
    if item.state == "missing":
        return f"missing: {item.cause}" if item.cause else "missing", "bad:warn"
    passed, trials = next(iter(item.scores.values()), (0.0, 0.0))
    if not trials:
        return "not scored", "muted:none"
    cut = ", cut" if item.capped else ", empty" if is_empty(item.text) else ""
    cut += ", repeating" if item.repeats is not None else ""
    if passed == trials:
        return f"right{cut}", "good"
    return (f"wrong{cut}", "bad") if passed == 0 else (f"{passed:g} of {trials:g}{cut}", "warn")
