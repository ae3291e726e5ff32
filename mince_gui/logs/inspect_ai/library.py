"""The one door to inspect_ai: a large library, so it is an extra and imported when the first log is read.

Whatever it raises for a broken or hostile file becomes an InputError that names the file.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mince_gui.base.errors import InputError

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

EXTRA = "Install the library that reads inspect_ai's logs: pip install 'mince-gui[inspect]'."
_UNUSED = {
    "messages", "events", "store", "attachments", "events_data", "timelines", "model_usage", "role_usage",
    "error_retries", "model_fallbacks", "files", "setup", "sandbox",
}  # fmt: skip
_T = TypeVar("_T")


def installed() -> bool:
    """Whether the extra is there."""
    return importlib.util.find_spec("inspect_ai") is not None


def _call(where: str, function: Callable[[], _T]) -> _T:
    if not installed():
        raise InputError(f"{where}: a log of inspect_ai, which is not installed.", EXTRA)
    try:
        return function()
    except InputError:
        raise
    except Exception as exc:
        # the file is not ours and the library says nothing of what it may raise: pydantic, zip, zstd, JSON, assertions
        told = " ".join(str(exc).split())[:200]
        raise InputError(
            f"{where}: inspect_ai cannot read it ({type(exc).__name__}{': ' + told if told else ''}).",
            "Take a whole copy of the file, or install the inspect_ai with which it was written.",
        ) from exc


def header(path: Path) -> EvalLog:
    """The log without its samples. Raises InputError."""

    def read() -> EvalLog:
        from inspect_ai.log import read_eval_log

        return read_eval_log(str(path), header_only=True)

    return _call(str(path), read)


def sample_ids(path: Path) -> list[tuple[int | str, int]]:
    """Id and epoch of every sample in an .eval file. Raises InputError."""

    def read() -> list[tuple[int | str, int]]:
        from inspect_ai.log import read_eval_log_sample_summaries

        return [(summary.id, summary.epoch) for summary in read_eval_log_sample_summaries(str(path))]

    return _call(str(path), read)


def samples(path: Path, ids: Sequence[tuple[int | str, int]]) -> list[EvalSample]:
    """These samples of an .eval file, without their transcripts. Raises InputError that names the first."""

    def read() -> list[EvalSample]:
        from inspect_ai.log import read_eval_log_samples_by_id

        # one at a time: where one of several fails, the library leaves the file open that the others were reading
        return read_eval_log_samples_by_id(str(path), ids, concurrency=1, exclude_fields=_UNUSED)

    return _call(f"{path}, {place(*ids[0])}", read)


def sample_of(path: Path, body: Mapping[str, Any]) -> EvalSample:
    """One sample of a .json log from its JSON, without its transcript. Raises InputError."""

    def read() -> EvalSample:
        from inspect_ai.log import EvalSample

        return EvalSample.model_validate({name: value for name, value in body.items() if name not in _UNUSED})

    return _call(str(path), read)


def place(sample_id: int | str, epoch: int) -> str:
    """What names a sample in messages."""
    return f"sample {ascii(sample_id)[:60]}, epoch {epoch}"
