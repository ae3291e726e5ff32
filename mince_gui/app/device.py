"""One run on a device at a time: taking a device, or waiting for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.base.events import Emit, Progress
from mince_gui.base.paths import state_dir
from mince_gui.run.guards.lease import DeviceBusyError, leases

_LOOK_SECONDS = 0.5


@contextmanager
def taken(
    devices: Sequence[str],
    holder: str,
    *,
    wait: bool,
    emit: Emit,
    cancel: CancelToken,
    stopped: Callable[[], bool],
    progress: Progress,
) -> Iterator[None]:
    """Hold `devices` while inside; the system gives them back when this process ends, however it ends.

    Where another run holds one: raises DeviceBusyError, or with `wait` stays until it is free; `progress` is then told
    with who holds it. Raises CancelledError, also where `stopped` says meanwhile that the run is not wanted any more.
    """
    with ExitStack() as held:
        told = ""
        while True:
            try:
                held.enter_context(leases(state_dir() / "leases", devices, holder))
                break
            except DeviceBusyError as exc:
                if not wait:
                    raise
                if exc.message != told:
                    told = exc.message
                    emit(Progress(progress.done, progress.total, f"waits: {exc.message}", lasting=True))
                cancel.check()
                if stopped():
                    raise CancelledError("Stopped.") from None
                time.sleep(_LOOK_SECONDS)
        yield
