"""A JSON file beside the per-item rows that says what was run: helpful, never needed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from mince_gui.logs.lines import open_plain
from mince_gui.logs.values import object_under

_SIZE_LIMIT = 256 << 20


@dataclass(frozen=True)
class ResultsFile:
    """A results file's object, or the `fault` that makes it useless. Every field may be absent or of another type."""

    path: Path
    body: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file, gzipped or plain; a fault is said, never raised: the rows count without it."""
        try:
            with open_plain(path) as file:
                raw = file.read(_SIZE_LIMIT + 1)
            if len(raw) > _SIZE_LIMIT:
                return cls(path, fault=f"larger than {_SIZE_LIMIT >> 20} MiB, which no results file is")
            body = json.loads(raw)
        except (OSError, EOFError, zlib.error) as exc:
            return cls(path, fault=f"cannot be read ({exc})")
        except (ValueError, RecursionError) as exc:
            return cls(path, fault=f"not a JSON results file ({exc})")
        return cls(path, body) if isinstance(body, dict) and body else cls(path, fault="not a JSON results file")

    def part(self, *names: str) -> Mapping[str, Any]:
        """The object under these names, one inside the other; empty where there is none."""
        return object_under(self.body, *names)


NO_RESULTS = ResultsFile(Path())
"""Stands for a results file that is not there: it says nothing."""
