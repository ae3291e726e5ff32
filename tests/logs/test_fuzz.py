"""Damaged logs: read, or refused in words; never another exception, never a hang."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.logs import detect, read

STAMP = "2026-01-02T03-04-05.678901"
ODD: list[Any] = [
    None, True, -1, 2**70, 1e308, math.nan, math.inf, "", "\ud83d", "\0", "x" * 300, [], [[]], [None], {}, {"a": []},
]  # fmt: skip
Mutation = Callable[[bytes, random.Random], bytes]


def _flip(raw: bytes, rng: random.Random) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.randint(1, 5)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def _cut(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(1, len(raw))]


def _swap(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines[: rng.randint(1, len(lines))] + rng.sample(lines, 1))


def _drop_or_change_keys(raw: bytes, rng: random.Random) -> bytes:
    rows = [json.loads(line) for line in raw.splitlines() if line]
    for row in rows:
        if rng.random() < 0.5:
            place: Any = row
            while True:
                key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
                inner = place[key]
                if isinstance(inner, dict | list) and inner and rng.random() < 0.6:
                    place = inner
                    continue
                if isinstance(place, dict) and rng.random() < 0.4:
                    del place[key]
                else:
                    place[key] = rng.choice(ODD)
                break
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _as_array(raw: bytes, rng: random.Random) -> bytes:
    return json.dumps([json.loads(line) for line in raw.splitlines() if line], indent=rng.choice([None, 2])).encode()


def _in_another_encoding(raw: bytes, rng: random.Random) -> bytes:
    name = rng.choice(["utf-16", "utf-8-sig", "cp1252", "utf-16-be", "utf-32"])
    return raw.decode("utf-8", "replace").encode(name, "replace")


def _gzipped(raw: bytes, rng: random.Random) -> bytes:
    return gzip.compress(raw, mtime=0)


MUTATIONS: list[Mutation] = [_flip, _cut, _swap, _drop_or_change_keys, _as_array, _in_another_encoding, _gzipped]


def damaged(raw: bytes, rng: random.Random) -> bytes:
    for mutation in rng.choices(MUTATIONS, k=rng.randint(1, 3)):
        try:
            raw = mutation(raw, rng) or b"\n"
        except (ValueError, IndexError, TypeError, AttributeError):
            continue  # a mutation that needs whole rows found none
    return raw


def look_and_read(folder: Path, rng: random.Random) -> None:
    """Whatever is found is read or refused; anything else fails the test by itself."""
    with detect([folder], salvage=rng.random() < 0.5) as detection:
        assert len(detection.found) + len(detection.skipped) >= 1
        for found in detection.found:
            try:
                log = read(found, salvage=rng.random() < 0.5)
            except InputError:
                continue
            for metric in log.metrics:
                assert len(log.passed[metric]) == len(log.trials[metric]) == len(log.keys)
            assert list(log.keys) == sorted(set(log.keys), key=log.benchmark.sort_key)
            for text in (log.model, log.source, log.task, *log.keys):
                text.encode("utf-8")


def as_archive(name: str, files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            for inner, raw in files.items():
                packed.writestr(zipfile.ZipInfo(inner), raw)
    else:
        with tarfile.open(fileobj=out, mode="w:gz" if name.endswith("gz") else "w") as tar:
            for inner, raw in files.items():
                info = tarfile.TarInfo(inner)
                info.size = len(raw)
                tar.addfile(info, io.BytesIO(raw))
    return out.getvalue()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_damaged_archives_end_in_words(
    tmp_path_factory: pytest.TempPathFactory, gsm8k_row: Callable[..., dict[str, Any]], seed: int
) -> None:
    rng = random.Random(seed)
    rows = b"".join(json.dumps(gsm8k_row(i, i % 2)).encode() + b"\n" for i in range(6))
    name = rng.choice(["x.zip", "x.tar", "x.tar.gz"])
    raw = as_archive(name, {f"m/samples_gsm8k_{STAMP}.jsonl": damaged(rows, rng), "m/photo.jpg": b"\xff\xd8" * 300})
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / name).write_bytes(rng.choice([_flip, _cut])(raw, rng) if rng.random() < 0.7 else raw)
    look_and_read(folder, rng)


class RealFiles(dict[str, bytes]):
    """Bytes by name; shown short, for the reports of hypothesis."""

    def __repr__(self) -> str:
        return f"RealFiles({', '.join(self)})"


@pytest.fixture(scope="session")
def real_files(shared: Path) -> RealFiles:
    """The first rows of real files of each benchmark, and a results file."""
    logs = shared / "data" / "logs" / "lm_eval"
    files = RealFiles()
    for task, pattern in (
        ("ifeval", "gpt-4o-2024-08-06/samples_ifeval_*"),
        ("gsm8k", "tora-70b-v1.0/samples_gsm8k_*"),
        ("mmlu_anatomy", "gpt-4-1106-preview/samples_mmlu_anatomy_*"),
    ):
        path = next(logs.glob(pattern))
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            files[task] = b"".join(itertools.islice(file, 7))
    files["results"] = next(logs.glob("tora-70b-v1.0/results_*")).read_bytes()
    return files


@pytest.mark.shared
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_damaged_real_logs_end_in_words(
    tmp_path_factory: pytest.TempPathFactory, real_files: RealFiles, seed: int
) -> None:
    rng = random.Random(seed)
    folder = tmp_path_factory.mktemp("fuzz")
    for task in rng.sample(["ifeval", "gsm8k", "mmlu_anatomy"], rng.randint(1, 3)):
        name = rng.choice([f"samples_{task}_{STAMP}.jsonl", f"samples_{task}.json", f"pretrained__lab__x_{task}.jsonl"])
        (folder / name).write_bytes(damaged(real_files[task], rng))
    if rng.random() < 0.7:
        results = rng.choice([f"results_{STAMP}.json", "results.json"])
        raw = real_files["results"]
        (folder / results).write_bytes(raw if rng.random() < 0.3 else damaged(raw, rng))
    look_and_read(folder, rng)
