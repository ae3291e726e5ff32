from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import shutil
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.base.events import Event, Progress
from mince_gui.logs import archives, detect, read

Row = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


@pytest.fixture
def logs(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> Path:
    """A folder with two models' runs."""
    for model in ("lab/a", "lab/b"):
        rows = [gsm8k_row(i, i % 2) for i in range(40)]
        write_run(tmp_path / "logs" / model.replace("/", "__"), "gsm8k", rows, model=model)
    return tmp_path / "logs"


def why(path: Path) -> str:
    """The one reason for which everything in the archive was passed over."""
    with detect([path]) as detection:
        assert detection.found == ()
        reasons = {str(p): reason for p, reason in detection.skipped}
        return reasons[str(path)]


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar", "bztar", "xztar"])
def test_an_archived_folder_reads_like_the_folder_and_names_its_places(tmp_path: Path, logs: Path, kind: str) -> None:
    made = Path(shutil.make_archive(str(tmp_path / "all"), kind, logs))
    plain = [read(found) for found in detect([logs]).found]
    with detect([made]) as detection:
        assert detection.skipped == ()
        assert [f.model for f in detection.found] == ["lab/a", "lab/b"]
        inside = f"{made}/lab__a/samples_gsm8k_2026-01-02T03-04-05.678901.jsonl"
        assert detection.found[0].source == inside
        found = [read(f) for f in detection.found]
        assert found[0].source == inside
        assert [log.hashes for log in found] == [log.hashes for log in plain]
        folder = detection.scratch.folder if detection.scratch is not None else None
        assert folder is not None
        assert folder.is_dir()
    assert not folder.exists()


def test_what_was_unpacked_lives_as_long_as_a_found_run_and_no_longer(tmp_path: Path, logs: Path) -> None:
    made = Path(shutil.make_archive(str(tmp_path / "all"), "zip", logs))
    found = list(detect([made]).found)
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    assert len(read(found[0]).keys) == 40
    del found
    assert not list((tmp_path / "tmp").iterdir())


def test_a_fault_inside_an_archive_is_named_by_archive_and_inner_path(tmp_path: Path, logs: Path) -> None:
    broken = next((logs / "lab__a").glob("samples*"))
    broken.write_bytes(broken.read_bytes()[:-40])
    made = Path(shutil.make_archive(str(tmp_path / "all"), "gztar", logs))
    with detect([made]) as detection:
        with pytest.raises(InputError) as caught:
            read(detection.found[0])
        assert caught.value.message.startswith(f"{made}/lab__a/{broken.name}, line 40: the last row is cut off")
        salvaged = read(detection.found[0], salvage=True)
        assert len(salvaged.keys) == 39
        assert any(
            f"{made}/lab__a/{broken.name}, line 40" in c.message for c in salvaged.checks if c.kind == "salvaged"
        )


def test_logs_at_the_top_of_an_archive_are_of_the_model_that_its_name_says(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    path = write_run(tmp_path / "x", "gsm8k", [gsm8k_row(0, 1.0)], model=None)
    with zipfile.ZipFile(tmp_path / "my-model.v1.zip", "w") as archive:
        archive.write(path, path.name)
    with detect([tmp_path / "my-model.v1.zip"]) as detection:
        assert [f.model for f in detection.found] == ["my-model.v1"]


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_a_compressed_file_that_no_format_reads_as_it_is_is_unpacked_beside_its_siblings(
    tmp_path: Path, logs: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    for path in list((logs / "lab__a").iterdir()):
        path.with_name(path.name + ending).write_bytes(pack(path.read_bytes()))
        path.unlink()
    with detect([logs / "lab__a"]) as detection:
        assert detection.skipped == ()
        (found,) = detection.found
        assert found.model == "lab/a"
        assert found.source.endswith(f".jsonl{ending}")
        assert len(read(found).keys) == 40


def test_an_archive_inside_an_archive_is_left_as_it_is(tmp_path: Path, logs: Path) -> None:
    inner = Path(shutil.make_archive(str(tmp_path / "inner"), "zip", logs))
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.write(inner, "deep/inner.zip")
    with detect([tmp_path / "outer.zip"]) as detection:
        assert detection.found == ()
        assert [str(p) for p, _ in detection.skipped] == [f"{tmp_path}/outer.zip/deep/inner.zip"]
        assert "an archive inside an archive" in detection.skipped[0][1]


def test_an_eval_file_is_a_zip_that_is_not_unpacked() -> None:
    assert not archives.is_archive(Path("2026-01-01T00-00-00_ifeval.eval"))
    assert archives.is_archive(Path("logs.TAR.GZ"))
    assert archives.is_compressed(Path("reviews.json.gz"))


def zip_of(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), b"{}")
    return path


def tar_of(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, **more: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for field, value in more.items():
        setattr(info, field, value)
    return info


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../out.jsonl", "leads outside"),
        ("a/../../out.jsonl", "leads outside"),
        ("..\\out.jsonl", "leads outside"),
        ("/etc/out.jsonl", "absolute name"),
        ("C:\\out.jsonl", "absolute name"),
        ("\\\\host\\share\\out.jsonl", "absolute name"),
    ],
)
def test_a_member_that_would_land_outside_makes_the_archive_unusable(tmp_path: Path, name: str, words: str) -> None:
    before = sorted(p.name for p in tmp_path.iterdir())
    assert words in why(zip_of(tmp_path / "evil.zip", "good.jsonl", name))
    assert words in why(tar_of(tmp_path / "evil.tar", member(name)))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*before, "evil.zip", "evil.tar"])


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_passed_over_by_name(tmp_path: Path, kind: bytes) -> None:
    path = tar_of(tmp_path / "x.tar", member("dir/link", type=kind, linkname="/etc/passwd"))
    with detect([path]) as detection:
        assert dict(detection.skipped) == {path / "dir" / "link": "a link or a device, which is not unpacked"}


def test_a_link_in_a_zip_is_passed_over_by_name(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with detect([tmp_path / "x.zip"]) as detection:
        assert [why for _, why in detection.skipped] == ["a link or a device, which is not unpacked"]


@pytest.mark.parametrize("kind", ["zip", "gztar", "bztar", "xztar"])
def test_a_bomb_is_refused_by_its_ratio_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(archives, "RATIO_FREE", 1 << 18)
    (tmp_path / "in").mkdir()
    with (tmp_path / "in" / "x.jsonl").open("wb") as file:
        file.truncate(16 << 20)
    made = Path(shutil.make_archive(str(tmp_path / "bomb"), kind, tmp_path / "in"))
    assert "more than 500 times its size" in why(made)
    assert not list((tmp_path / "tmp").iterdir())


def test_a_bomb_of_one_compressed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "RATIO_FREE", 1 << 18)
    (tmp_path / "x.bin.bz2").write_bytes(bz2.compress(bytes(8 << 20)))
    assert "more than 500 times its size" in why(tmp_path / "x.bin.bz2")


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MEMBER_LIMIT", 10)
    names = [f"{i}.txt" for i in range(11)]
    assert "more than 10 files" in why(zip_of(tmp_path / "x.zip", *names))
    assert "more than 10 files" in why(tar_of(tmp_path / "x.tar", *map(member, names)))


def test_a_directory_that_would_fill_the_memory_is_refused_unread(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "x.zip", "a")
    raw = bytearray(path.read_bytes())
    struct.pack_into("<I", raw, raw.rfind(b"PK\x05\x06") + 12, 900 << 20)
    path.write_bytes(raw)
    assert "more than 100,000 files" in why(path)


def test_more_than_the_total_or_the_disk_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar_of(tmp_path / "x.tar", member("a", size=3 << 20))
    monkeypatch.setattr(archives, "TOTAL_LIMIT", 1 << 20)
    assert "holds more than" in why(path)
    monkeypatch.undo()
    monkeypatch.setattr(archives, "_SPARE", 1 << 60)
    assert "not enough room" in why(path)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_would_fill_the_memory_is_refused_unread(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(member("a", type=kind, size=8 << 30).tobuf(tarfile.GNU_FORMAT) + bytes(10_000))
    assert "far too long" in why(path)


def test_folders_count_as_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MEMBER_LIMIT", 10)
    path = tar_of(tmp_path / "x.tar", *(member(f"d{i}", type=tarfile.DIRTYPE) for i in range(11)))
    assert "more than 10 files" in why(path)


def test_the_same_name_twice_is_refused(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "x.tar", member("a.jsonl", size=3), member("./a.jsonl", size=4))
    assert "holds a.jsonl twice" in why(path)


def test_an_encrypted_zip_is_named_as_one(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "x.zip", "a.jsonl")
    raw = bytearray(path.read_bytes())
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.find(sign) + place] |= 1
    path.write_bytes(raw)
    assert "encrypted" in why(path)


def test_an_unknown_method_of_compression_is_named(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "x.zip", "a.jsonl")
    raw = bytearray(path.read_bytes())
    for sign, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        raw[raw.find(sign) + place] = 93
    path.write_bytes(raw)
    assert "compressed in a way that is not read here" in why(path)


@pytest.mark.parametrize("name", ["photo.zip", "photo.tar", "photo.tgz", "photo.tar.xz", "photo.bin.gz"])
def test_a_photo_named_like_an_archive_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xd8\xff\xe0" + random.Random(0).randbytes(2_000))
    assert any(word in why(tmp_path / name) for word in ("is none", "broken"))


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_a_cut_archive_is_refused_and_a_cut_tar_gives_what_was_whole_if_asked(
    tmp_path: Path, gsm8k_row: Row, write_run: Write, kind: str
) -> None:
    for model in ("a", "b"):
        row = gsm8k_row(0, 1.0) | {"noise": random.Random(model).randbytes(20_000).hex()}
        write_run(tmp_path / "logs" / model, "gsm8k", [row], model=f"lab/{model}")
    made = Path(shutil.make_archive(str(tmp_path / "all"), kind, tmp_path / "logs"))
    made.write_bytes(made.read_bytes()[:-15_000])
    assert any(word in why(made) for word in ("cut off", "broken"))
    with detect([made], salvage=True) as detection:
        assert [f.model for f in detection.found] == (["lab/a"] if kind == "gztar" else [])
        assert any(word in dict(detection.skipped)[made] for word in ("cut off", "broken"))


def test_unpacking_says_how_far_it_is_and_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.bin").write_bytes(random.Random(0).randbytes(5 << 20))
    made = Path(shutil.make_archive(str(tmp_path / "x"), "zip", tmp_path / "in"))
    events: list[Event] = []
    cancel = CancelToken()

    def emit(event: Event) -> None:
        events.append(event)
        cancel.cancel()

    with pytest.raises(CancelledError):
        detect([made], emit=emit, cancel=cancel)
    assert events == [Progress(1, None, "MiB unpacked from x.zip")]
    assert not list((tmp_path / "tmp").iterdir())
