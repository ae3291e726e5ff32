"""xrt-smi, the tool of AMD's NPU driver: driver, power mode, and who computes on the NPU."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from mince_gui.run.devices.reading import Reading
from mince_gui.run.devices.tools import Tool, system_program
from mince_gui.run.devices.xrt_reports import (
    HostReport,
    HwContext,
    PlatformReport,
    parse_host,
    parse_partitions,
    parse_platform,
)

T = TypeVar("T")
Report = Literal["host", "platform", "aie-partitions"]
_XRT = Path("/opt/xilinx/xrt")


def find_xrt_smi() -> tuple[str, ...] | None:
    """How to call xrt-smi here; None where it is not installed. On Windows it is not on PATH."""
    if sys.platform == "win32":
        usual = system_program("AMD/xrt-smi.exe")
        named = str(usual) if usual.is_file() else shutil.which("xrt-smi.exe")
    else:
        usual = _XRT / "bin/xrt-smi"
        named = shutil.which("xrt-smi") or (str(usual) if usual.is_file() else None)
    return (named,) if named else None


class Sample:
    """One report that is being made. `poll` never waits; close it, or poll until it answers."""

    def __init__(self, command: Sequence[str], report: Report, seconds: float) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._file: Path | None = None
        # On a full disk the table has to do.
        with contextlib.suppress(OSError):
            self._folder = tempfile.TemporaryDirectory(prefix="mince-xrt-", ignore_cleanup_errors=True)
            self._file = Path(self._folder.name, "report.json")
        words = [*command, "examine", *([] if report == "host" else ["--report", report])]  # the host's is the default
        # A path beyond ASCII (a user's name in it) is not everywhere understood; the table then has to do.
        if self._file is not None and str(self._file).isascii():
            words += ["-f", "JSON", "-o", str(self._file)]
        # What AMD's setup.sh would set: without it the tool finds its own libraries in the usual place only.
        home = {} if sys.platform == "win32" or "XILINX_XRT" in os.environ else {"XILINX_XRT": str(_XRT)}
        self._tool = Tool(words, seconds, extra=home if _XRT.is_dir() else None)
        self._texts: Reading[tuple[str, ...]] | None = None

    def poll(self) -> Reading[tuple[str, ...]] | None:
        """What there is to parse, best first (the JSON file, then the table); None while the tool works."""
        if self._texts is None and (answer := self._tool.poll()) is not None:
            texts = [] if answer.value is None else [answer.value]
            # An older tool, or one that failed, leaves no file: the table alone is left.
            if self._file is not None:
                with contextlib.suppress(OSError):
                    texts.insert(0, self._file.read_text(encoding="utf-8", errors="replace"))
            self._texts = Reading(tuple(texts)) if texts else Reading(None, answer.unknown)
            self._clean()
        return self._texts

    def wait(self) -> Reading[tuple[str, ...]]:
        """The same; waits for it, in bounded time."""
        self._tool.wait()
        texts = self.poll()
        assert texts is not None
        return texts

    def close(self) -> None:
        """End the tool if it still works."""
        self._tool.close()
        self._clean()

    def _clean(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def read_sample(texts: Reading[tuple[str, ...]], parse: Callable[[str], T | None], report: Report) -> Reading[T]:
    """The first of a sample's texts that `parse` understands; a format that is not known is a reason."""
    if texts.value is None:
        return Reading(None, texts.unknown)
    for text in texts.value:
        parsed = parse(text)
        if parsed is not None:
            return Reading(parsed)
    return Reading(None, f"xrt-smi's {report} report has a format that is not known here")


class XrtSmi:
    """xrt-smi at `command` (None = look for it); every report is bounded by `seconds`."""

    def __init__(self, command: Sequence[str] | None = None, *, seconds: float = 10.0) -> None:
        self._command = tuple(command) if command is not None else find_xrt_smi()
        self._seconds = seconds

    @property
    def is_there(self) -> bool:
        """Whether there is a tool to ask."""
        return self._command is not None

    def host(self) -> Reading[HostReport]:
        """Driver, firmware and devices."""
        return self._read("host", parse_host)

    def platform(self) -> Reading[PlatformReport]:
        """Power mode, estimated power, load and temperature."""
        return self._read("platform", parse_platform)

    def partitions(self) -> Reading[tuple[HwContext, ...]]:
        """Every hardware context on the NPU, of any process."""
        return self._read("aie-partitions", parse_partitions)

    def sample(self, report: Report) -> Sample | None:
        """Begin a report without waiting for it; None where there is no tool."""
        return None if self._command is None else Sample(self._command, report, self._seconds)

    def _read(self, report: Report, parse: Callable[[str], T | None]) -> Reading[T]:
        sample = self.sample(report)
        if sample is None:
            return Reading(None, "xrt-smi is not there")
        return read_sample(sample.wait(), parse, report)
