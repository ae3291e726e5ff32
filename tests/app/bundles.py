"""Bundles taken apart and put together again, by hand: what a careless or a hostile program may write."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from mince_gui.store import Workspace

PLAN = ("benchmark", "task", "subset", "total_items", "subset_items", "items", "model", "pack_sha256", "rescored_of")
TABLES = ("runs", "run_items", "run_scores", "pack_subsets", "controls")


def members(path: Path) -> dict[str, bytes]:
    """Name -> bytes of every member."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def lines(items: list[Any]) -> bytes:
    """An items.jsonl."""
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def digest(run: dict[str, Any], items: list[dict[str, Any]]) -> str:
    """As the format has it: canonical JSON of what was to be done and on what, then of every item."""
    facts = {name: run.get(name) for name in (*PLAN, "created_at", "settings", "conditions")}
    raw = [json.dumps(part, sort_keys=True, separators=(",", ":")).encode() for part in (facts, *items)]
    return hashlib.sha256(b"\n".join(raw)).hexdigest()


def put_together(parts: dict[str, bytes], *, digests: bool = True) -> bytes:
    """A zip of the parts, whose manifest names them with their true sizes and hashes."""
    manifest = json.loads(parts["manifest.json"])
    manifest["files"] = {
        name: {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        for name, raw in parts.items()
        if name != "manifest.json"
    }
    if digests:
        for entry in manifest["runs"]:
            try:
                folder = f"runs/{entry['run_id']}/"
                run, items = json.loads(parts[folder + "run.json"]), parts[folder + "items.jsonl"].splitlines()
                entry["digest"] = digest(run, [json.loads(line) for line in items])
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                # What is no run has no digest.
                continue
    return zipped({**parts, "manifest.json": json.dumps(manifest).encode()})


def zipped(parts: dict[str, bytes]) -> bytes:
    """A zip of the parts as they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    return buffer.getvalue()


def content(workspace: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the tables in which runs lie."""
    with Workspace(workspace) as ws:
        return {table: [tuple(row) for row in ws.db.execute(f"SELECT * FROM {table}")] for table in TABLES}
