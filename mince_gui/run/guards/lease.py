"""Leases: one run on a device at a time on this machine, whichever workspace or process it belongs to."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import filelock

from mince_gui.base.errors import MinceError, UsageError
from mince_gui.base.files import write_atomic

# Whoever asks who holds a device locks it for a moment; that must refuse nobody.
_PATIENCE_SECONDS = 1.0
_POLL_SECONDS = 0.05


class DeviceBusyError(UsageError):
    """Another run has the device."""


def _file(folder: Path, device: str, suffix: str) -> Path:
    return folder / f"{re.sub(r'[^a-z0-9]+', '-', device.lower())}{suffix}"


def _lock(folder: Path, device: str) -> filelock.BaseFileLock:
    return filelock.FileLock(_file(folder, device, ".lock"))


@contextlib.contextmanager
def leases(folder: Path, devices: Sequence[str], holder: str) -> Iterator[None]:
    """Hold all of `devices` while inside, or none of them; leave on the thread that entered.

    The system itself gives a device back when the process ends, however it ends: nothing needs to be cleaned up. No
    child inherits it. `holder` says who we are ("run 20250101-abc"); the process id and the time are added.

    Raises DeviceBusyError that names who has a device, and MinceError where `folder` cannot be written.
    """
    with contextlib.ExitStack() as held:
        # One order for all: of two runs that want the same two devices, one gets both.
        for device in sorted(set(devices)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                lock = _lock(folder, device)
                lock.acquire(timeout=_PATIENCE_SECONDS, poll_interval=_POLL_SECONDS)
                held.callback(lock.release)
                words = _file(folder, device, ".json")
                held.callback(_forget, words)
                _say(words, holder)
            except filelock.Timeout:
                raise DeviceBusyError(
                    f"The device {device} is in use by {_holder_words(folder, device)}.",
                    "Wait until that run has ended (mince run --wait does), or stop it.",
                ) from None
            except OSError as exc:
                raise MinceError(
                    f"The lease of the {device} cannot be taken: {exc}",
                    f"Make the folder {folder} writable for you.",
                ) from exc
        yield


def holder(folder: Path, device: str) -> str | None:
    """Who has `device` now, in words; None if nobody has."""
    lock = _lock(folder, device)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return _holder_words(folder, device)
    except OSError:
        # No such folder, or none that we can write: we took nothing there, and whether others did cannot be known.
        return None
    lock.release()
    return None


def _say(words: Path, holder: str) -> None:
    """Leave words for whom we keep out. The lock does not need them: on Windows a reader may be in their way."""
    since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    with contextlib.suppress(OSError):
        write_atomic(words, json.dumps({"holder": holder, "pid": os.getpid(), "since": since}))


def _forget(words: Path) -> None:
    with contextlib.suppress(OSError):
        words.unlink()


def _holder_words(folder: Path, device: str) -> str:
    """What the holder left beside its lock. Only asked while the lock is held: a dead holder's words are never read."""
    try:
        said = json.loads(_file(folder, device, ".json").read_text(encoding="utf-8"))
        return f"{said['holder']} (process {said['pid']}, since {said['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another run"
