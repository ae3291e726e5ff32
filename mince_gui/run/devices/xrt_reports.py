"""What xrt-smi writes, parsed: its JSON, and its tables, which change from release to release."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RULE = re.compile(r"^[|\-=+ ]*[-=][|\-=+ ]*$")
_MAX_DEPTH = 40
_IDLE = "no hardware contexts running"


@dataclass(frozen=True)
class HostReport:
    """The driver's and firmware's versions as written, None where not told; the names of the devices."""

    driver: str | None
    firmware: str | None
    devices: tuple[str, ...]


@dataclass(frozen=True)
class PlatformReport:
    """The NPU's own power mode ("default", "turbo", ...), estimated watts; None where not told."""

    power_mode: str | None
    watts: float | None


@dataclass(frozen=True)
class HwContext:
    """A hardware context on the NPU: whose it is, and its commands so far. None where the report does not tell."""

    pid: int | None
    process: str | None
    submissions: int | None
    completions: int | None
    errors: int | None


def parse_host(text: str) -> HostReport | None:
    """`xrt-smi examine`, as JSON or text; None where it is neither."""
    body = _json(text)
    if body is not None:
        hosts = [node["host"] for node in _objects(body) if isinstance(node.get("host"), dict)]
        if not hosts:
            return None
        nodes = list(_objects(hosts[0]))
        rows = [row for node in nodes for row in _list(node.get("drivers")) if isinstance(row, dict)]
        drivers = [str(row.get("version", "")) for row in sorted(rows, key=lambda row: not _is_npu(row.get("name")))
                   if _is_npu(row.get("name"))]  # fmt: skip
        devices = [row for node in nodes for row in _list(node.get("devices")) if isinstance(row, dict)]
        firmware = [_told(row.get("firmware_version")) for row in devices]
        return HostReport(
            _told(drivers[0] if drivers else None),
            next((version for version in firmware if version), None),
            tuple(str(row["name"]) for row in devices if row.get("name")),
        )
    lines = _lines(text)
    pairs = _pairs(lines)
    if not {"XRT", "System Configuration"} & set(lines):
        return None
    driver = _first(pairs, "npu driver version", "npu driver", "amdxdna version", "amdxdna")
    names = tuple(record["name"] for record in _tables(lines) if record.get("name"))
    return HostReport(driver and driver.split(",")[0].strip(), _first(pairs, "npu firmware version"), names)


def parse_platform(text: str) -> PlatformReport | None:
    """`xrt-smi examine --report platform`, as JSON or text; None where it is neither."""
    body = _json(text)
    if body is not None:
        found = [row for node in _objects(body) for row in _list(node.get("platforms")) if isinstance(row, dict)]
        if not found:
            return None
        status, electrical = (found[0].get(key) for key in ("status", "electrical"))
        mode = status.get("power_mode") if isinstance(status, dict) else None
        watts = electrical.get("power_consumption_watts") if isinstance(electrical, dict) else None
        return PlatformReport(_told(mode), _number(watts))
    pairs = _pairs(_lines(text))
    if "power mode" not in pairs and "estimated power" not in pairs:
        return None
    return PlatformReport(_first(pairs, "power mode"), _number(pairs.get("estimated power")))


def parse_partitions(text: str) -> tuple[HwContext, ...] | None:
    """`xrt-smi examine --report aie-partitions`, as JSON or text; None where it is neither."""
    body = _json(text)
    if body is not None:
        # The report, where it is there at all, says of an idle NPU: "partitions": "".
        reports = [node["aie_partitions"] for node in _objects(body) if "aie_partitions" in node]
        if not reports:
            return None
        rows = [row for report in reports for node in _objects(report) for row in _list(node.get("hw_contexts"))]
        return tuple(
            HwContext(
                _count(row.get("pid")),
                _told(row.get("process_name")),
                _count(row.get("command_submissions")),
                _count(row.get("command_completions")),
                _count(row.get("errors")),
            )
            for row in rows
            if isinstance(row, dict)
        )
    lines = _lines(text)
    records = [record for record in _tables(lines) if any(key.startswith(("compl", "sub")) for key in record)]
    if not records:
        return () if any(_IDLE in line.lower() for line in lines) else None
    return tuple(
        HwContext(
            _count(record.get("pid")),
            _told(record.get("process name")),
            _count(_first(record, "submissions", "sub")),
            _count(_first(record, "completions", "compl")),
            _count(_first(record, "errors", "err")),
        )
        for record in records
    )


# -- JSON --------------------------------------------------------------------------------------------


def _json(text: str) -> Any:
    """The text as JSON, None where it is none (or is nested beyond reason)."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _objects(node: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else _list(node):
        yield from _objects(inner, depth + 1)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_npu(name: Any) -> bool:
    # Windows: "NPU Driver"; Linux: "amdxdna"; beside them drivers of other cards, mostly "unknown".
    return isinstance(name, str) and ("npu" in name.lower() or name.lower() == "amdxdna")


# -- values ------------------------------------------------------------------------------------------


def _told(value: Any) -> str | None:
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    return None if text.lower() in ("", "n/a", "unknown") else text


def _count(value: Any) -> int | None:
    text = _told(value)
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 19 else None


def _number(value: Any) -> float | None:
    found = re.match(r"\d{1,9}(\.\d{1,9})?", _told(value) or "")
    return float(found[0]) if found else None


# -- tables ------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    return [_ESCAPES.sub("", line).strip() for line in text.splitlines()]


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    """Lines of "name : value", names in small letters; the first of equal names counts."""
    pairs: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        told = _told(value) if colon and not line.startswith(("|", "[")) else None
        if told is not None:
            pairs.setdefault(" ".join(name.lower().split()), told)
    return pairs


def _first(pairs: Mapping[str, str], *names: str) -> str | None:
    return next((pairs[name] for name in names if name in pairs), None)


def _tables(lines: Sequence[str]) -> Iterator[dict[str, str]]:
    """Every record of every table with bars, by column name in small letters.

    A head of several lines means records of as many lines: a column's second name stands under its first.
    """
    head: list[list[str]] = []
    rows: list[list[str]] = []
    ruled = False
    for line in lines:
        if not line.startswith("|"):
            head, rows, ruled = [], [], False
        elif _RULE.match(line):
            ruled, rows = True, []
        elif not ruled:
            head.append(_cells(line))
        else:
            rows.append(_cells(line))
            if len(rows) == len(head):
                yield {
                    name.lower(): value
                    for names, values in zip(head, rows, strict=True)
                    for name, value in zip(names, values, strict=False)
                    if name
                }
                rows = []


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"\|+", line.strip("|"))]
