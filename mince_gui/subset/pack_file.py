"""A pack as one file, `.mincepack`: a zip of manifest.json, items.jsonl and fewshot.jsonl, verified on every read.

The room's docstring describes both schemas. The logged definition and the items' requests are read here as JSON objects
alone: `tasks.logged` checks every field of them before they are used.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mince_gui import __version__
from mince_gui.base.errors import InputError
from mince_gui.base.files import write_atomic
from mince_gui.benchmarks import of_task
from mince_gui.subset.jsonfile import Fields, parse_object
from mince_gui.subset.packing import is_doc_of, item_hash, misplaced
from mince_gui.subset.subset_file import subset_from_json, subset_to_json
from mince_gui.subset.types import PACK_SCHEMA, SCHEMA, FrozenSubset, Pack, PackItem

KIND = "mince-gui pack"
SUFFIX = ".mincepack"

_MANIFEST, _ITEMS, _FEWSHOT = "manifest.json", "items.jsonl", "fewshot.jsonl"
# Uncompressed bytes; the largest real pack (all of MMLU) has 8 MB of items.
_LIMITS = {_MANIFEST: 64 << 20, _ITEMS: 512 << 20, _FEWSHOT: 64 << 20}
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_REMEDY = "Make the pack again with mince pack, or take the original file."


def write_pack(path: Path, pack: Pack) -> None:
    """Write `pack` to `path` (atomic). Equal packs give equal bytes. Raises InputError for one that is too large."""
    own: dict[int, tuple[int, Mapping[str, Any]]] = {}
    items = [_item_row(pack, item, own) for item in pack.items]
    examples: list[dict[str, Any]] = [
        {"category": category, "doc": doc} for category, docs in pack.fewshot.items() for doc in docs
    ]
    examples += [{"doc": doc} for _, doc in own.values()]
    members = {_ITEMS: _lines(items), _FEWSHOT: _lines(examples)}
    for name, raw in members.items():
        if len(raw) > _LIMITS[name]:
            raise InputError(
                f"{pack.subset.name}: {name} would have {len(raw) >> 20} MB; {_LIMITS[name] >> 20} MB is the most that "
                "a pack holds.",
                "Pack a subset of it: mince freeze, then mince pack --subset.",
            )
    manifest = {
        "kind": KIND,
        "schema": SCHEMA if pack.logged is None and not own else PACK_SCHEMA,
        "tool_version": __version__,
        "licence": pack.licence,
        "source": pack.source,
        "accepted_differences": list(pack.accepted_differences),
        "unverified": list(pack.unverified),
        "files": {
            name: {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()} for name, raw in members.items()
        },
        "subset": subset_to_json(pack.subset),
    }
    if pack.logged is not None:
        manifest["logged"] = dict(pack.logged)
    text = json.dumps(manifest, ensure_ascii=True, indent=1, allow_nan=False) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, raw in {_MANIFEST: text.encode(), **members}.items():
            # The system's own name, time and rights stay out, so that the bytes depend on the content alone.
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system = 3
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, raw, compresslevel=9)
    write_atomic(path, buffer.getvalue())


def read_pack(path: Path, *, seen_before: bool = False) -> Pack:
    """The verified pack of `path`. Raises InputError that names the file, the member or the item at fault.

    `seen_before`: the file has the SHA-256 of a pack that was verified; its items are not verified once more.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = _check_members(archive, path)
            raw = {name: archive.read(name) for name in sizes}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InputError(f"{path} is not a whole pack file: {error}.", _REMEDY) from error
    manifest = Fields(parse_object(raw[_MANIFEST], f"{path}, {_MANIFEST}", _REMEDY), f"{path}, {_MANIFEST}", _REMEDY)
    if manifest.body.get("kind") != KIND:
        raise manifest.refuse("this is no pack manifest.")
    if (schema := manifest.whole("schema", 1)) not in (SCHEMA, PACK_SCHEMA):
        raise manifest.refuse(f"pack schema {schema}; this version reads schemas {SCHEMA} and {PACK_SCHEMA}.")
    files = manifest.object("files")
    for name in (_ITEMS, _FEWSHOT):
        stated = files.get(name)
        found = {"bytes": len(raw[name]), "sha256": hashlib.sha256(raw[name]).hexdigest()}
        if stated != found:
            raise InputError(f"{path}: {name} is not what the manifest says (size or SHA-256).", _REMEDY)
    subset = subset_from_json(manifest.object("subset"), f"{path}, subset", seen_before=seen_before)
    accepted = manifest.texts("accepted_differences")
    if schema == SCHEMA and "logged" in manifest.body:
        raise manifest.refuse(f"a logged task belongs to pack schema {PACK_SCHEMA}.")
    logged = manifest.object("logged") if "logged" in manifest.body else None
    fewshot, own = _fewshot(raw[_FEWSHOT], path, schema)
    items, item_fewshot = _items(raw[_ITEMS], subset, path, own, logged is not None)
    pack = Pack(
        subset=subset,
        items=items,
        fewshot=fewshot,
        item_fewshot=item_fewshot,
        logged=logged,
        licence=manifest.text("licence"),
        accepted_differences=accepted,
        source=manifest.text("source"),
    )
    if not seen_before:
        _check_contents(pack, path)
    if manifest.texts("unverified") != pack.unverified:
        raise manifest.refuse("'unverified' does not list the items that the subset has no hash for.")
    return pack


def logged_definition(path: Path) -> Mapping[str, Any] | None:
    """What the manifest of a pack says of its logged task, unchecked, without the items being read; None without one.

    Raises InputError for a file that is no pack.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(archive, path)
            raw = archive.read(_MANIFEST)
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InputError(f"{path} is not a whole pack file: {error}.", _REMEDY) from error
    manifest = Fields(parse_object(raw, f"{path}, {_MANIFEST}", _REMEDY), f"{path}, {_MANIFEST}", _REMEDY)
    return manifest.object("logged") if "logged" in manifest.body else None


def _item_row(pack: Pack, item: PackItem, own: dict[int, tuple[int, Mapping[str, Any]]]) -> dict[str, Any]:
    """The item's row; examples of its own are put into `own` once each, by identity, and named by their place there."""
    row: dict[str, Any] = {"key": item.key, "category": item.category, "doc": item.doc}
    if pack.logged is not None:
        row["asked"] = item.asked
    if item.key in pack.item_fewshot:
        shown = pack.item_fewshot[item.key]
        row["examples"] = [own.setdefault(id(doc), (len(own), doc))[0] for doc in shown]
    return row


def _lines(rows: list[dict[str, Any]]) -> bytes:
    """JSON lines in ASCII, so that any text, lone surrogates too, comes back as it was."""
    return "".join(json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n" for row in rows).encode("ascii")


def _check_members(archive: zipfile.ZipFile, path: Path) -> list[str]:
    """The names of the three members. Raises InputError before anything is unpacked."""
    names = [info.filename for info in archive.infolist()]
    for name in names:
        if name not in _LIMITS:
            raise InputError(f"{path} holds {name!r}, which does not belong into a pack.", _REMEDY)
        if names.count(name) > 1:
            raise InputError(f"{path} holds {name} more than once.", _REMEDY)
    for name, limit in _LIMITS.items():
        if name not in names:
            raise InputError(f"{path} holds no {name}.", _REMEDY)
        size = archive.getinfo(name).file_size
        if size > limit:
            raise InputError(f"{path}: {name} would unpack to {size >> 20} MB; {limit >> 20} MB is the most.", _REMEDY)
    return names


def _rows(raw: bytes, name: str, path: Path) -> Iterator[Fields]:
    for number, line in enumerate(raw.splitlines(), start=1):
        where = f"{path}, {name}, line {number}"
        yield Fields(parse_object(line, where, _REMEDY), where, _REMEDY)


def _items(
    raw: bytes, subset: FrozenSubset, path: Path, own: Sequence[Mapping[str, Any]], is_logged: bool
) -> tuple[tuple[PackItem, ...], dict[str, tuple[Mapping[str, Any], ...]]]:
    """The items, and by key the examples of `own` that are shown before each."""
    items: list[PackItem] = []
    shown: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for row in _rows(raw, _ITEMS, path):
        category = None if row.body.get("category") is None else row.text("category")
        asked = row.object("asked") if is_logged else None
        items.append(PackItem(row.text("key"), category, row.object("doc"), asked))
        places = row.body.get("examples") if own else None
        if places is not None:
            if not isinstance(places, list) or not all(type(i) is int and 0 <= i < len(own) for i in places):
                raise row.refuse("'examples' names what is not in the pack.")
            shown[items[-1].key] = tuple(own[i] for i in places)
    if len(items) != subset.n:
        raise InputError(f"{path}: {_ITEMS} holds {len(items)} items, the subset {subset.n}.", _REMEDY)
    for item, key in zip(items, subset.item_keys, strict=True):
        if item.key != key:
            raise InputError(f"{path}: {_ITEMS} holds item {item.key} where the subset has {key}.", _REMEDY)
    return tuple(items), shown


def _check_contents(pack: Pack, path: Path) -> None:
    """Every doc against its hash, its key and its category; the accepted differences must be the real ones."""
    benchmark = of_task(pack.subset.benchmark)
    accepted = frozenset(pack.accepted_differences)
    differing: list[str] = []
    for item, expected in zip(pack.items, pack.subset.hashes, strict=True):
        if expected is not None and item_hash(benchmark, item.key, item.doc, str(path)) != expected:
            if item.key not in accepted:
                raise InputError(f"{path}: the content of item {item.key} is not what the subset's hash says.", _REMEDY)
            differing.append(item.key)
        if not is_doc_of(benchmark, item.key, item.doc) or misplaced(benchmark, item.key, item.doc) is not None:
            raise InputError(f"{path}: the content of item {item.key} is another item's.", _REMEDY)
        if item.category != benchmark.category(item.doc, item.key):
            raise InputError(f"{path}: item {item.key} is not of the category {item.category!r}.", _REMEDY)
    if pack.accepted_differences != tuple(differing):
        raise InputError(
            f"{path}, {_MANIFEST}: 'accepted_differences' does not list the items whose content differs.", _REMEDY
        )


def _fewshot(
    raw: bytes, path: Path, schema: int
) -> tuple[dict[str, tuple[Mapping[str, Any], ...]], tuple[Mapping[str, Any], ...]]:
    """The examples by category, and those without one, which single items name."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    own: list[Mapping[str, Any]] = []
    for row in _rows(raw, _FEWSHOT, path):
        if "category" in row.body or schema == SCHEMA:
            found.setdefault(row.text("category"), []).append(row.object("doc"))
        else:
            own.append(row.object("doc"))
    return {category: tuple(docs) for category, docs in found.items()}, tuple(own)
