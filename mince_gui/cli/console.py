"""What every command shares: options, tables, the live line, Ctrl-C."""

from __future__ import annotations

import json
import math
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Ended, Event, ItemDone, Progress, Started, Warned
from mince_gui.base.paths import default_workspace
from mince_gui.report.format import percent
from mince_gui.report.format import seconds as duration

F = TypeVar("F", bound=Callable[..., Any])


def _nearest(ctx: click.Context, name: str) -> Any:
    """The value given to the nearest group above, None if to none."""
    above = ctx.parent
    while above is not None:
        if above.params.get(name):
            return above.params[name]
        above = above.parent
    return None


def _workspace(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path:
    found: Path = value or _nearest(ctx, "workspace") or default_workspace()
    return found


def _as_json(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    return value or bool(_nearest(ctx, "as_json"))


def workspace_option(command: F) -> F:
    """--workspace, which may stand before or after the command's name."""
    return click.option(
        "--workspace",
        type=click.Path(path_type=Path, file_okay=False),
        callback=_workspace,
        help="The workspace's folder.",
    )(command)


def json_option(command: F) -> F:
    """--json: one JSON object on stdout."""
    return click.option("--json", "as_json", is_flag=True, callback=_as_json, help="Print one JSON object.")(command)


class Amount(click.FloatRange):
    """A finite number in a range: click itself lets "nan" and "inf" through."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As click's, which says what is wrong with the option."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no amount.", param, ctx)
        return number


AMOUNT = Amount(0, min_open=True)
"""The type of options that take an amount of something, above 0."""


def print_json(value: object) -> None:
    """One object, one line end."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False))


def visible(text: str) -> str:
    """The text with everything that a terminal would obey, line ends excepted, made visible as an escape."""
    return "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Plain columns; the first `left` are aligned left, the others right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])


class LiveLine:
    """Shows events on stderr: one line that is redrawn on a terminal, now and then a line elsewhere."""

    _EVERY = 0.1
    _EVERY_PIPED = 10.0

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = ""
        self._last = 0.0
        self._started = Started("")
        self._times: deque[float] = deque(maxlen=21)

    def __call__(self, event: Event) -> None:
        """The emit that draws."""
        match event:
            case Started():
                self._started = event
                self._times.clear()
            case Progress(lasting=True):
                self.say(event.note)
            case Progress():
                self._draw(self._progress(event), final=event.done == event.total)
            case ItemDone():
                self._draw(self._item(event), final=event.done + event.missing == event.total)
            case Warned():
                self.say(f"warning: {event.message}" + (f" {event.detail}" if event.detail else ""))
            case Ended():
                self.clear()

    def _progress(self, event: Progress) -> str:
        of = f"{event.done:,}/{event.total:,}" if event.total else f"{event.done:,}"
        return f"{self._started.action} {self._started.detail} {of} {self._started.unit} {event.note}".strip()

    def _item(self, event: ItemDone) -> str:
        self._times.append(time.monotonic())
        scores = "  ".join(f"{_short(name)} {percent(value)}" for name, value in event.running.items())
        left = f"{duration(event.seconds_left)} left  " if event.seconds_left else ""
        missing = f"  missing {event.missing}" if event.missing else ""
        missing += f"  capped {event.capped}" if event.capped else ""
        return f"{self._started.detail}  {event.done}/{event.total}  {self._speed()}{left}{scores}{missing}"

    def _speed(self) -> str:
        """Of the latest items: the model's loading and former sittings do not count."""
        if len(self._times) < 2:
            return ""
        rate = (len(self._times) - 1) / max(self._times[-1] - self._times[0], 1e-6)
        return f"{rate:.1f} items/s  " if rate >= 1 else f"{60 * rate:.1f} items/min  "

    def _draw(self, text: str, *, final: bool) -> None:
        now = time.monotonic()
        if not final and now - self._last < (self._EVERY if self._terminal else self._EVERY_PIPED):
            return
        self._last = now
        if not self._terminal:
            click.echo(text, err=True)
            return
        width = click.get_current_context().terminal_width or _columns()
        text = text[: width - 1]
        sys.stderr.write("\r" + text + " " * max(0, len(self._shown) - len(text)))
        sys.stderr.flush()
        self._shown = text

    def say(self, text: str) -> None:
        """A whole line, above the live one."""
        self.clear()
        click.echo(text, err=True)

    def clear(self) -> None:
        """Wipe the live line."""
        if self._terminal and self._shown:
            sys.stderr.write("\r" + " " * len(self._shown) + "\r")
            sys.stderr.flush()
        self._shown = ""


def _short(metric: str) -> str:
    """The part of a metric's name that tells it from its siblings."""
    return metric.rpartition(",")[2].removesuffix("_acc")


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


@contextmanager
def cancel_on_interrupt() -> Iterator[CancelToken]:
    """A token that the first Ctrl-C (or a polite kill) sets; the second Ctrl-C ends at once."""
    token = CancelToken()

    def stop(number: int, frame: FrameType | None) -> None:
        if token.cancelled and number == signal.SIGINT:
            raise KeyboardInterrupt
        token.cancel()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield token
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
