"""A bundle of runs as one file, `.mincerun`: a zip that is verified whole before anything of it is used.

    manifest.json                kind, schema, tool_version; files: {member: {bytes, sha256}};
                                 runs: [{run_id, digest}]
    runs/<run id>/run.json       plan, settings, conditions, state, cause, times, machine: see `bundle_check`
    runs/<run id>/items.jsonl    one line per item: every column of `run_items` that is not NULL, and its scores
    subsets/<pack SHA-256>.json  the frozen subset of every pack that was run

It holds answers and right answers, as the items have them; no prompts and no docs. What the same program writes of the
same runs is the same bytes. A run's `digest` is over its plan, conditions and items: the same in every bundle of it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mince_gui import __version__
from mince_gui.app.bundle_check import ItemChecks, run_of
from mince_gui.app.bundle_kinds import RUN_ID
from mince_gui.base.errors import InputError
from mince_gui.logs.archives import RATIO_FREE, RATIO_LIMIT, ArchiveError, check_directory
from mince_gui.store.transfer import RunRecord
from mince_gui.subset.jsonfile import Fields, parse_object
from mince_gui.subset.subset_file import subset_from_json
from mince_gui.subset.types import FrozenSubset

KIND = "mince-gui/run-bundle"
SCHEMA = 1
SUFFIX = ".mincerun"

_MANIFEST = "manifest.json"
_MEMBER = re.compile(rf"runs/{RUN_ID.pattern}/(run\.json|items\.jsonl)|subsets/[0-9a-f]{{64}}\.json|manifest\.json")
_LIMITS = {_MANIFEST: 16 << 20, "run.json": 16 << 20, "items.jsonl": 512 << 20, "json": 64 << 20}
"""Uncompressed bytes of a member, by its name or its ending; 14,042 items of MMLU have 8 MB."""
_BESIDES = ("settings", "conditions", "state", "cause", "detail", "ended_at", "machine", "model_dir", "pack")
"""What run.json has of a run besides id, creation and plan."""
_TOTAL_LIMIT = 16 << 30
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_LEVEL = 6
_REMEDY = "Copy the file again, or make it again where the run was made: mince bundle export"
# zipfile takes numbers from a hostile file without a look: ValueError, OverflowError
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OverflowError,
)  # fmt: skip


def write_bundle(records: Iterable[RunRecord]) -> bytes:
    """The bundle's bytes, of `records` in the order of their ids. Raises InputError for a run that is too large."""
    buffer, files, runs = io.BytesIO(), dict[str, dict[str, Any]](), list[dict[str, str]]()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:

        def put(name: str, raw: bytes) -> None:
            # The system's own name, time and rights stay out, so that the bytes depend on the content alone.
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, raw, compresslevel=_LEVEL)

        for record in records:
            runs.append({"run_id": record.run_id, "digest": record.digest})
            for name, raw in _members(record).items():
                if name in files:
                    continue
                if len(raw) > (most := _limit(name)):
                    raise InputError(f"{name} would have {len(raw) >> 20} MB; {most >> 20} MB is the most of a bundle.")
                files[name] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
                put(name, raw)
        manifest = {
            "kind": KIND,
            "schema": SCHEMA,
            "tool_version": __version__,
            "runs": runs,
            "files": dict(sorted(files.items())),
        }
        put(_MANIFEST, _json(manifest))
    return buffer.getvalue()


def require_readable(record: RunRecord) -> None:
    """Raise InputError for a run that no reader would take: on its own machine, and not when it is carried away.

    A much older version may have stored what is not understood any more.
    """
    where, remedy = f"run {record.run_id}", "It cannot be carried to another workspace."
    subset = subset_from_json(record.subset, f"the subset of {where}", seen_before=True)
    checks = ItemChecks(run_of(Fields(_run(record), where, remedy), subset, record.subset), subset)
    for item in record.items:
        checks.row(Fields(item, f"{where}, item {item['item_key']}", remedy))


def _run(record: RunRecord) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "created_at": record.created_at,
        **record.plan,
        **{name: getattr(record, name) for name in _BESIDES},
    }


def _members(record: RunRecord) -> dict[str, bytes]:
    items = "".join(json.dumps(item, ensure_ascii=True, allow_nan=False) + "\n" for item in record.items)
    return {
        _folder(record.run_id) + "run.json": _json(_run(record)),
        _folder(record.run_id) + "items.jsonl": items.encode("ascii"),
        _subset_member(record.plan["pack_sha256"]): _json(record.subset),
    }


def _json(value: Any) -> bytes:
    """In ASCII, so that any text, lone surrogates too, comes back as it was."""
    return (json.dumps(value, ensure_ascii=True, indent=1, allow_nan=False) + "\n").encode("ascii")


def _folder(run_id: str) -> str:
    return f"runs/{run_id}/"


def _subset_member(pack_sha256: str) -> str:
    return f"subsets/{pack_sha256}.json"


def _limit(name: str) -> int:
    last = name.rpartition("/")[2]
    return _LIMITS.get(last, _LIMITS["json"])


@dataclass(frozen=True)
class Stated:
    """A run as the manifest names it."""

    run_id: str
    digest: str


class BundleFile:
    """An open bundle whose members are those of its manifest, with its hashes. Use `open_bundle`."""

    def __init__(self, path: Path, file: io.BufferedReader, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._file = file
        self._archive = archive
        self._files: dict[str, Any] = {}
        self._subsets: dict[str, tuple[FrozenSubset, dict[str, Any]]] = {}
        self._check_members()
        manifest = self._object(_MANIFEST)
        if manifest.body.get("kind") != KIND:
            raise manifest.refuse("this is no manifest of a run bundle.")
        if (schema := manifest.whole("schema", 1)) > SCHEMA:
            raise InputError(
                f"{path} was made by a newer mince-gui: bundle schema {schema}, this one knows {SCHEMA}.",
                "Update mince-gui.",
            )
        self.tool_version = manifest.text("tool_version")
        if not self.tool_version.isprintable() or len(self.tool_version) > 100:
            raise manifest.refuse("'tool_version' is no version.")
        self.runs = _stated(manifest)
        self._files = manifest.object("files")
        self._check_files(manifest)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of the file's bytes."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()

    def record(self, stated: Stated) -> RunRecord:
        """One run with every field checked. Raises InputError that names the member, the line and the field at fault.

        Only one run is in memory at a time.
        """
        fields = self._object(_folder(stated.run_id) + "run.json")
        subset, body = self._subset(fields)
        run = run_of(fields, subset, body)
        if run.run_id != stated.run_id:
            raise fields.refuse(f"this is run {run.run_id}.")
        member = _folder(stated.run_id) + "items.jsonl"
        checks, items = ItemChecks(run, subset), []
        for number, line in enumerate(io.BytesIO(self._read(member)), start=1):
            where = f"{self.path}, {member}, line {number}"
            items.append(checks.row(Fields(parse_object(line, where, _REMEDY), where, _REMEDY)))
        record = replace(run, items=items)
        if record.digest != stated.digest:
            raise fields.refuse("the run is not what its digest in the manifest says.")
        return record

    def _subset(self, run: Fields) -> tuple[FrozenSubset, dict[str, Any]]:
        name = _subset_member(run.text("pack_sha256"))
        if name not in self._subsets:
            if name not in self._files:
                raise run.refuse("the subset of its pack is not in the bundle.")
            body = self._object(name).body
            self._subsets[name] = subset_from_json(body, f"{self.path}, {name}"), dict(body)
        return self._subsets[name]

    def _check_members(self) -> None:
        """Refuse before anything is unpacked."""
        seen, total = set[str](), 0
        for info in self._archive.infolist():
            name = info.filename
            if _MEMBER.fullmatch(name) is None or info.is_dir():
                raise self._refuse(f"it holds {name!r:.80}, which does not belong into a bundle")
            if name in seen:
                raise self._refuse(f"it holds {name} more than once")
            seen.add(name)
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
                raise self._refuse(f"{name} is a link or a device")
            if info.flag_bits & 0x1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._refuse(f"{name} is encrypted, or compressed in another way than mince does")
            if info.file_size > (most := _limit(name)):
                raise self._refuse(f"{name} would unpack to {info.file_size >> 20} MB; {most >> 20} MB is the most")
            if info.file_size > max(RATIO_FREE, RATIO_LIMIT * info.compress_size):
                raise self._refuse(f"{name} would grow to more than {RATIO_LIMIT} times its size, as no run does")
            total += info.file_size
        if total > _TOTAL_LIMIT:
            raise self._refuse(f"it would unpack to {total >> 30} GiB; {_TOTAL_LIMIT >> 30} GiB is the most")
        if _MANIFEST not in seen:
            raise self._refuse(f"it holds no {_MANIFEST}")
        self._names = seen - {_MANIFEST}

    def _check_files(self, manifest: Fields) -> None:
        """Every member against the manifest, and the manifest against the members; then every hash."""
        wanted = {_folder(run.run_id) + name for run in self.runs for name in ("run.json", "items.jsonl")}
        for names, others, words in (
            (self._names, self._files.keys(), "'files' does not list {}, which is there."),
            (self._files.keys(), self._names, "'files' lists {!r:.80}, which is not there."),
            (wanted, self._names, "{} is missing."),
            ({name for name in self._names if name.startswith("runs/")}, wanted, "'runs' does not list the run of {}."),
        ):
            if odd := sorted(set(names) - set(others)):
                raise manifest.refuse(words.format(odd[0]))
        used = set[str]()
        for name in sorted(self._names):
            raw = self._read(name)
            if name.endswith("/run.json"):
                where = f"{self.path}, {name}"
                body = parse_object(raw, where, _REMEDY)
                used.add(_subset_member(Fields(body, where, _REMEDY).text("pack_sha256")))
        if odd := sorted(name for name in self._names if name.startswith("subsets/") and name not in used):
            raise manifest.refuse(f"{odd[0]} belongs to none of its runs.")

    def _object(self, name: str) -> Fields:
        where = f"{self.path}, {name}"
        return Fields(parse_object(self._read(name), where, _REMEDY), where, _REMEDY)

    def _read(self, name: str) -> bytes:
        """A member, which is what the manifest says of it. Never more bytes than were declared, so no bomb."""
        try:
            raw = self._archive.read(name)
        except (*_BROKEN, OSError) as exc:
            raise self._refuse(f"{name} cannot be unpacked ({exc or type(exc).__name__})") from exc
        if name != _MANIFEST:
            stated, found = self._files[name], {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
            if stated != found:
                raise self._refuse(f"{name} is not what the manifest says (size or SHA-256)")
        return raw

    def _refuse(self, why: str) -> InputError:
        return InputError(f"{self.path}: {why}.", _REMEDY)


def _stated(manifest: Fields) -> tuple[Stated, ...]:
    runs = manifest.body.get("runs")
    if not isinstance(runs, list) or not runs:
        raise manifest.refuse("'runs' is not a list of runs.")
    found: dict[str, Stated] = {}
    for entry in runs:
        fields = Fields(entry if isinstance(entry, dict) else {}, f"{manifest.where}, 'runs'", manifest.remedy)
        stated = Stated(fields.text("run_id"), fields.text("digest"))
        if RUN_ID.fullmatch(stated.run_id) is None:
            raise fields.refuse(f"{stated.run_id!r:.40} is not the id of a run.")
        if stated.run_id in found:
            raise fields.refuse(f"run {stated.run_id} is listed twice.")
        found[stated.run_id] = stated
    return tuple(found.values())


@contextmanager
def open_bundle(path: Path) -> Iterator[BundleFile]:
    """The verified bundle of `path`. Raises InputError that names the file and the member at fault."""
    with ExitStack() as stack:
        try:
            check_directory(path)
            file = stack.enter_context(path.open("rb"))
            found = BundleFile(path, file, stack.enter_context(zipfile.ZipFile(file)))
        except OSError as exc:
            raise InputError(f"{path} cannot be read: {exc.strerror or exc}.", "Check the path.") from exc
        except (ArchiveError, *_BROKEN) as exc:
            raise InputError(f"{path} is no whole bundle of runs: {exc or type(exc).__name__}.", _REMEDY) from exc
        yield found
