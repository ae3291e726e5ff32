"""Bundle files that no honest program wrote are refused whole; what is taken can be given on, and reported."""

from __future__ import annotations

import io
import json
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.app.bundle import export_runs, import_bundle, show_bundle
from mince_gui.app.demo import model_dir
from mince_gui.app.listings import show_run
from mince_gui.app.report import compute
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import InputError, MinceError
from mince_gui.report.documents.write import json_text
from mince_gui.store import Workspace, transfer
from mince_gui.store.transfer import RunRecord
from tests.app.bundles import content, lines, members, put_together, zipped

Parts = dict[str, bytes]
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.fixture(scope="module")
def run_id(prepared: Path) -> str:
    """A real run of twelve word problems in the prepared workspace."""
    made = create(prepared, RunOrder(model_dir(), "demo-math-175", limit=12))
    execute(prepared, made)
    return made


@pytest.fixture(scope="module")
def bundle(prepared: Path, run_id: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_runs(prepared, [run_id], tmp_path_factory.mktemp("bundle") / "good").path


@pytest.fixture(scope="module")
def record(prepared: Path, run_id: str) -> RunRecord:
    with Workspace(prepared) as ws:
        return transfer.take_out(ws, run_id)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A workspace with nothing in it."""
    with Workspace(tmp_path / "lab"):
        return tmp_path / "lab"


def refused(lab: Path, raw: bytes, words: str) -> None:
    """Both ways in refuse the bytes with these words, name the file, and leave nothing behind."""
    bad = lab.parent / "bad.mincerun"
    bad.write_bytes(raw)
    before = content(lab)
    with pytest.raises(InputError, match=words) as caught:
        import_bundle(lab, bad)
    assert str(bad) in caught.value.message
    with pytest.raises(InputError, match=words):
        show_bundle(bad)
    assert content(lab) == before
    assert sorted(lab.parent.iterdir()) == sorted({*lab.parent.iterdir(), lab, bad})


def with_member(info: zipfile.ZipInfo | str, raw: bytes, parts: Parts) -> bytes:
    buffer = io.BytesIO(zipped(parts))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(info, raw)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "name",
    [
        "../evil.json", "runs/../../evil/run.json", "/etc/passwd", "C:\\Windows\\evil.dll", "runs\\a\\run.json",
        "readme.txt", "runs/20261130-120000-abcd/other.json", "runs/٢٠٢٦١١٣٠-120000-abcd/run.json", "runs/",
        "subsets/abc.json", "manifest.json/", "MANIFEST.json",
    ],
)  # fmt: skip
def test_a_member_that_a_bundle_does_not_have_is_refused_by_its_name(lab: Path, bundle: Path, name: str) -> None:
    refused(lab, with_member(name, b"{}", members(bundle)), "does not belong into a bundle")


def test_a_second_member_of_one_name_is_refused(lab: Path, bundle: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        raw = with_member("manifest.json", b"{}", members(bundle))
    refused(lab, raw, "manifest.json more than once")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_a_link_or_a_device_is_refused(lab: Path, bundle: Path, run_id: str, kind: int) -> None:
    info = zipfile.ZipInfo(f"runs/{run_id}/run.json")
    info.external_attr = (kind | 0o777) << 16
    parts = members(bundle)
    del parts[info.filename]
    refused(lab, with_member(info, b"/etc/passwd", parts), "run.json is a link or a device")


def test_other_compressions_and_encryption_are_refused(lab: Path, bundle: Path, run_id: str) -> None:
    info = zipfile.ZipInfo(f"runs/{run_id}/run.json")
    info.compress_type = zipfile.ZIP_LZMA
    parts = members(bundle)
    plain = parts.pop(info.filename)
    refused(lab, with_member(info, plain, parts), "compressed in another way")
    raw = bytearray(bundle.read_bytes())
    # The flag of the first member in the zip's directory.
    at = raw.index(b"PK\x01\x02") + 8
    struct.pack_into("<H", raw, at, 1)
    refused(lab, bytes(raw), "encrypted")


def test_bombs_are_refused_before_they_are_unpacked(lab: Path, bundle: Path, run_id: str) -> None:
    parts = members(bundle)
    large = {**parts, f"runs/{run_id}/run.json": b" " * (17 << 20)}
    refused(lab, zipped(large), "would unpack to 17 MB")
    dense = {**parts, f"runs/{run_id}/items.jsonl": b" " * (100 << 20)}
    refused(lab, zipped(dense), "grow to more than 500 times")


def test_a_member_that_is_larger_than_it_says_is_never_read_whole(lab: Path, bundle: Path, run_id: str) -> None:
    name = f"runs/{run_id}/items.jsonl".encode()
    raw = bytearray(zipped({**members(bundle), name.decode(): b" " * (20 << 20)}))
    for sign, size, start in ((b"PK\x03\x04", 22, 30), (b"PK\x01\x02", 24, 46)):
        at = raw.index(sign)
        while raw[at + start : at + start + len(name)] != name:
            at = raw.index(sign, at + 1)
        struct.pack_into("<I", raw, at + size, 100)
    refused(lab, bytes(raw), "items.jsonl cannot be unpacked|is not what the manifest says")


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_off_is_refused(lab: Path, bundle: Path, kept: float) -> None:
    raw = bundle.read_bytes()
    refused(lab, raw[: int(kept * len(raw))], "no whole bundle")


def test_a_file_that_is_not_there_or_a_folder_is_refused(lab: Path) -> None:
    for path in (lab.parent / "nothing.mincerun", lab):
        with pytest.raises(InputError, match="cannot be read"):
            import_bundle(lab, path)


def drop(name: str) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        del parts[next(found for found in parts if name in found)]

    return change


def manifest(**values: Any) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts["manifest.json"] = json.dumps({**json.loads(parts["manifest.json"]), **values}).encode()

    return change


def other_subset(parts: Parts) -> None:
    parts[f"subsets/{'0' * 64}.json"] = b"{}"


def other_pack(parts: Parts) -> None:
    name = next(found for found in parts if found.endswith("run.json"))
    parts[name] = json.dumps({**json.loads(parts[name]), "pack_sha256": "0" * 64}).encode()


def unlisted_run(parts: Parts) -> None:
    parts["runs/20260101-000000-abcd/run.json"] = b"{}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (drop("manifest"), "it holds no manifest.json"),
        (drop("items.jsonl"), r"manifest.json: runs/.*/items.jsonl is missing"),
        (drop("subsets/"), "run.json: the subset of its pack is not in the bundle"),
        (other_subset, r"manifest.json: subsets/0+\.json belongs to none of its runs"),
        (other_pack, r"manifest.json: subsets/.* belongs to none of its runs"),
        (unlisted_run, r"'runs' does not list the run of runs/20260101"),
        (manifest(kind="something else"), "no manifest of a run bundle"),
        (manifest(schema=2), "newer mince-gui: bundle schema 2, this one knows 1"),
        (manifest(schema="1"), "'schema' is not a whole number"),
        (manifest(tool_version="\x1b[31m"), "'tool_version' is no version"),
        (manifest(runs=[]), "'runs' is not a list of runs"),
        (manifest(runs=[7]), "'run_id' is missing"),
        (manifest(runs=[{"run_id": "../../x", "digest": ""}]), "is not the id of a run"),
    ],
)
def test_a_manifest_and_its_members_must_fit(
    lab: Path, bundle: Path, change: Callable[[Parts], None], words: str
) -> None:
    parts = members(bundle)
    change(parts)
    refused(lab, put_together(parts) if "manifest.json" in parts else zipped(parts), words)


def test_a_run_that_is_listed_twice_a_wrong_hash_and_a_wrong_digest_are_refused(
    lab: Path, bundle: Path, run_id: str
) -> None:
    parts = members(bundle)
    told = json.loads(parts["manifest.json"])
    for name in (f"runs/{run_id}/run.json", f"runs/{run_id}/items.jsonl"):
        refused(lab, zipped({**parts, name: parts[name] + b" "}), rf"{name} is not what the manifest says")
    twice = {**told, "runs": told["runs"] * 2}
    refused(lab, zipped({**parts, "manifest.json": json.dumps(twice).encode()}), "listed twice")
    parts[f"runs/{run_id}/items.jsonl"] = parts[f"runs/{run_id}/items.jsonl"].replace(
        b'"capped": false', b'"capped": true', 1
    )
    refused(lab, put_together(parts, digests=False), "not what its digest")


DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("run_id", "20260101-000000-abcd", "this is run 20260101"),
        ("run_id", "../../x", "'run_id' is not the id"),
        ("created_at", "2026-11-30", "'created_at' is not a time in UTC"),
        ("created_at", "2026-11-30T09:00:00+01:00", "'created_at' is not a time in UTC"),
        ("model", "", "'model' is not a name"),
        ("model", "x\ny", "'model' is not a name"),
        ("model_dir", "/home/somebody/model", "'model_dir' is not a name without a folder"),
        ("pack", "..\\..\\pack", "'pack' is not a name without a folder"),
        ("items", 176, "does not fit its subset"),
        ("total_items", 501, "does not fit its subset"),
        ("items", 0, "'items' is not a whole number"),
        ("items", True, "'items' is not a whole number"),
        ("subset", "another", "does not fit its subset"),
        ("state", "running", "'state' is not one of ended, interrupted"),
        ("state", "interrupted", "an ended run has a cause"),
        ("cause", "good luck", "'cause' is not one of"),
        ("settings", [], "'settings' is not an object"),
        ("settings", {}, "'settings' lacks 'runtime'"),
        ("settings", {"runtime": "/usr/bin/python3", "chat_template": "auto"}, "'runtime' is a name without a folder"),
        ("conditions", {}, "'conditions' lacks 'model_sha256'"),
        ("conditions", {"model_sha256": "", "device": {}}, "'device' is a text"),
        ("conditions", {"model_sha256": "", "smoke": {"decode_seconds_per_token": 1e-320}}, "an amount of seconds"),
        ("conditions", {"model_sha256": "", "smoke": None}, "'smoke' is an object"),
        ("conditions", {"model_sha256": "", "machine_state": {"unknown": 3}}, "'unknown' is a list"),
        ("detail", "\ud800", "half a character"),
        ("rescored_of", "x", "'rescored_of' is not the id"),
        ("surprise", 1, "'surprise' does not belong"),
    ],
)
def test_a_field_of_a_run_that_is_not_what_it_should_be_is_refused_by_its_name(
    lab: Path, bundle: Path, run_id: str, field: str, value: Any, words: str
) -> None:
    parts = members(bundle)
    name = f"runs/{run_id}/run.json"
    parts[name] = json.dumps({**json.loads(parts[name]), field: value}).encode()
    refused(lab, put_together(parts), rf"run\.json.*{words}")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"position": -1}, "'position' is not a whole number"),
        ({"position": 12}, "its place is 12, after 4, of 12"),
        ({"position": 4}, "its place is 4, after 4"),
        ({"position": 10**30}, "'position' is not a whole number"),
        ({"item_key": "500"}, "not of the run's subset"),
        ({"item_key": None}, "'item_key' is missing"),
        ({"state": "great"}, "'state' is not one of done, missing"),
        ({"state": "missing"}, "a done item has scores, a missing one has none"),
        ({"scores": None}, "a done item has scores"),
        ({"scores": {"exact_match,strict-match": [1, 1]}}, "its metrics are not"),
        ({"scores": {"bleu": [1, 1]}}, "its metrics are not"),
        ({"scores": {"exact_match,strict-match": [-1, 1]}}, "passed from 0 to trials"),
        ({"scores": {"exact_match,strict-match": [2, 1]}}, "passed from 0 to trials"),
        ({"scores": {"exact_match,strict-match": [0, 0]}}, "at least one trial"),
        ({"scores": {"exact_match,strict-match": [1]}}, r"\[passed, trials\]"),
        ({"scores": {"exact_match,strict-match": ["1", 1]}}, "a number"),
        ({"scores": {"exact_match,strict-match": [1e300, 1e300]}}, "a number"),
        ({"wall_seconds": -0.5}, "'wall_seconds' is not an amount of seconds"),
        ({"elapsed_seconds": 1e300}, "'elapsed_seconds' is not a number"),
        ({"prefill_seconds": 1e-320}, "'prefill_seconds' is not an amount"),
        ({"prompt_tokens": 1.5}, "'prompt_tokens' is not a whole number"),
        ({"capped": 1}, "'capped' is not true or false"),
        ({"text": ["a"]}, "'text' is not a text"),
        ({"text": "\ud800"}, "half a character"),
        ({"extracted": {"strict-match": 3}}, "'extracted' is not an object of texts"),
        ({"logprobs": ["x"]}, "'logprobs' is not a number"),
        ({"prompt_sha256": "zz"}, "'prompt_sha256' is not a SHA-256"),
        ({"finished_at": "soon"}, "'finished_at' is not a time"),
        ({"surprise": 1}, "'surprise' does not belong"),
    ],
)
def test_a_field_of_an_item_that_is_not_what_it_should_be_is_refused_by_its_line(
    lab: Path, bundle: Path, run_id: str, change: dict[str, Any], words: str
) -> None:
    parts = members(bundle)
    name = f"runs/{run_id}/items.jsonl"
    items = [json.loads(line) for line in parts[name].splitlines()]
    items[5] |= change
    parts[name] = lines(items)
    refused(lab, put_together(parts), rf"items\.jsonl, line 6: .*{words}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"not json", "is not valid JSON"),
        (b"", "is not valid JSON"),
        (b"[1]", "holds no JSON object"),
        (b'{"position": NaN}', "NaN"),
        (b'{"position": Infinity}', "Infinity"),
        (b'{"wall_seconds": 1e999}', "too large"),
        (f'{{"text": {DEEP}}}'.encode(), "is not valid JSON|nests more than"),
        (b'{"text": "\xff"}', "is not UTF-8"),
        (b'{"position": ' + b"9" * 5000 + b"}", "too long for a number"),
    ],
)
def test_a_line_that_is_no_item_at_all_is_refused_by_its_number(
    lab: Path, bundle: Path, run_id: str, line: bytes, words: str
) -> None:
    parts = members(bundle)
    name = f"runs/{run_id}/items.jsonl"
    parts[name] = b"\n".join([*parts[name].splitlines()[:3], line, *parts[name].splitlines()[4:]])
    refused(lab, put_together(parts), rf"(?s)items\.jsonl, line 4.*({words})")


METRICS = ("exact_match,flexible-extract", "exact_match,strict-match")
TEXTS = st.text(max_size=30)
SECONDS = st.none() | st.just(0.0) | st.floats(1e-9, 1e9)
COUNTS = st.none() | st.integers(0, 10**15)
CELLS = st.tuples(st.booleans(), st.integers(1, 40)).map(lambda cell: [float(cell[0] * cell[1]), float(cell[1])])


@st.composite
def an_item(draw: st.DrawFn) -> dict[str, Any]:
    """Whatever may be stored of an item, without its place and key."""
    done = draw(st.booleans())
    return {
        "category": draw(st.none() | TEXTS), "state": "done" if done else "missing",
        "text": draw(st.none() | TEXTS), "picked": draw(COUNTS),
        "logprobs": draw(st.none() | st.lists(st.floats(-1e6, 0, width=64), min_size=1, max_size=4)),
        # What is read in an answer may hold halves of characters.
        "extracted": draw(st.none() | st.dictionaries(TEXTS, st.text(st.characters(), max_size=9) | st.just("\udc80"))),
        "expected": draw(st.none() | TEXTS), "prompt_tokens": draw(COUNTS), "output_tokens": draw(COUNTS),
        "prefill_seconds": draw(SECONDS), "first_token_seconds": draw(SECONDS), "decode_seconds": draw(SECONDS),
        "wall_seconds": draw(SECONDS), "elapsed_seconds": draw(SECONDS), "capped": draw(st.booleans()),
        "attempts": draw(st.integers(0, 9)), "cause": draw(st.none() | TEXTS),
        "finished_at": "2026-11-30T09:00:00+00:00", "method": draw(st.none() | TEXTS),
        "finish": draw(st.none() | TEXTS),
        "greedy": draw(st.none() | st.lists(st.booleans(), min_size=1, max_size=4)), "leading_bos": draw(COUNTS),
        "read_tokens": draw(COUNTS), "repeats": draw(COUNTS), "memory_bytes": draw(COUNTS),
        "scores": {metric: draw(CELLS) for metric in METRICS} if done else None,
    }  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(
    rows=st.lists(an_item(), max_size=8),
    seed=st.integers(0, 10**6),
    machine=st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9),
    detail=TEXTS,
    interrupted=st.booleans(),
)
def test_whatever_is_stored_comes_back_as_the_same_bytes(
    record: RunRecord,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    seed: int,
    machine: str,
    detail: str,
    interrupted: bool,
) -> None:
    keys = random.Random(seed).sample(record.subset["item_keys"], len(rows))
    order = [*transfer.ITEM_COLUMNS, "scores"]
    items = []
    for position, (row, key) in enumerate(zip(rows, keys, strict=True)):
        whole = {**row, "position": position, "item_key": key}
        items.append({name: whole[name] for name in order if whole.get(name) is not None})
    made = RunRecord(
        **{
            **record.__dict__, "items": items, "machine": machine, "detail": detail,
            "state": "interrupted" if interrupted else "ended", "cause": None if interrupted else "stopped",
            "ended_at": None if interrupted else record.ended_at,
        }
    )  # fmt: skip
    place = tmp_path_factory.mktemp("trip")
    with Workspace(place / "here") as ws, ws.writing() as db:
        transfer.put_in(db, made, {"bundle": "x"})
    first = export_runs(place / "here", [made.run_id], place / "first").path
    assert [one.what for one in import_bundle(place / "there", first).runs] == ["new"]
    second = export_runs(place / "there", [made.run_id], place / "second").path
    assert second.read_bytes() == first.read_bytes()
    assert show_run(place / "there", made.run_id)[1] == show_run(place / "here", made.run_id)[1]
    assert [one.what for one in import_bundle(place / "there", first).runs] == ["already here"]


ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 10**18, 0.5, -0.5, 1e-9, 1e9, 1e300, "", "x", "done", "missing", "/etc/passwd",
    "2026-11-30T09:00:00+00:00", "NaN", "<script>", "=1+1", "\x1b[0m", [], [1], ["x"], {}, {"a": 1}, [[[]]], "9" * 600,
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [way for key, entry in inner for way in places(entry, (*path, key))]


def put(value: Any, path: tuple[Any, ...], odd: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = odd


def why_refused(work: Callable[[], object]) -> str | None:
    """The message of the error that a user can act on; None where there is none. Any other error is a defect."""
    try:
        work()
    except MinceError as exc:
        return exc.message
    return None


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that each example leaves without runs."""
    return tmp_path_factory.mktemp("emptied")


@settings(max_examples=120, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_one_odd_value_anywhere_is_refused_or_taken_so_that_the_run_can_be_reported(
    bundle: Path, run_id: str, emptied: Path, data: st.DataObject
) -> None:
    parts = members(bundle)
    name = data.draw(st.sampled_from(sorted(parts)))
    read = [json.loads(line) for line in parts[name].splitlines()] if name.endswith("l") else json.loads(parts[name])
    ways = places(read)
    if name.startswith("subsets/"):
        # Its 175 keys and hashes are much alike.
        ways = [way for way in ways if way[0] not in ("item_keys", "hashes") or way[1:] in ((), (7,))]
    put(read, data.draw(st.sampled_from(ways)), data.draw(st.sampled_from(ODD)))
    parts[name] = lines(read) if isinstance(read, list) else json.dumps(read).encode()
    bad, again = emptied.parent / "odd.mincerun", emptied.parent / "again.mincerun"
    bad.write_bytes(zipped(parts) if name == "manifest.json" else put_together(parts))
    empty = content(emptied)
    if (why := why_refused(lambda: import_bundle(emptied, bad))) is not None:
        assert str(bad) in why
        assert content(emptied) == empty
        return
    why_refused(lambda: json_text(compute(emptied, run_id)))
    show_run(emptied, run_id)
    export_runs(emptied, [run_id], again)
    assert [one.what for one in import_bundle(emptied, again).runs] == ["already here"]
    with Workspace(emptied) as ws, ws.writing() as db:
        db.execute("DELETE FROM runs")
        db.execute("DELETE FROM pack_subsets")


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4))
def test_bytes_that_changed_on_the_way_are_refused_or_change_nothing(
    bundle: Path, emptied: Path, changes: list[tuple[float, int]]
) -> None:
    raw = bytearray(bundle.read_bytes())
    for at, byte in changes:
        raw[int(at * len(raw))] = byte
    bad = emptied.parent / "bytes.mincerun"
    bad.write_bytes(bytes(raw))
    if (why := why_refused(lambda: show_bundle(bad))) is not None:
        assert str(bad) in why
        return
    # Dates and rights in the zip carry nothing.
    assert show_bundle(bad).runs == show_bundle(bundle).runs
