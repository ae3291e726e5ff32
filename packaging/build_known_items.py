"""Write resources/items.json: the keys of all items of IFEVAL, MMLU and GSM8K, with hashes of their texts and contents.

    python packaging/build_known_items.py FOLDER [--out FILE]

FOLDER holds ifeval/test.jsonl, gsm8k/test.jsonl, mmlu/test.jsonl.gz (with subject and doc_id) and, where there are any,
lm-eval logs of IFEVAL under logs/: a prompt that was sent in another wording than the data set's is listed too, so that
logs of either copy are known.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mince_gui.base.files import write_atomic
from mince_gui.benchmarks import BENCHMARKS, content_hash
from mince_gui.benchmarks.known_items import CONTENT_DIGITS, FILE_NAME, SCHEMA, choices_hash, text_hash


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file, gzipped or not."""
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        yield json.loads(line)


Docs = dict[str, dict[str, Any]]
"""Item key to doc."""


def in_order(name: str, docs: Docs) -> Docs:
    """The same in canonical order; the number of items must be the benchmark's."""
    benchmark = BENCHMARKS[name]
    if len(docs) != benchmark.total_items or not all(benchmark.is_key(key) for key in docs):
        raise SystemExit(f"{name}: {len(docs)} items, not the {benchmark.total_items} of {benchmark.title}")
    return {key: docs[key] for key in sorted(docs, key=benchmark.sort_key)}


def contents(name: str, docs: Docs) -> str:
    """The beginnings of the content hashes, one after the other."""
    return "".join(content_hash(BENCHMARKS[name], doc)[:CONTENT_DIGITS] for doc in docs.values())


def ifeval(folder: Path) -> dict[str, Any]:
    """Key to hash, and the hashes of other wordings that logs show."""
    docs = in_order("ifeval", {str(row["key"]): row for row in rows(folder / "ifeval" / "test.jsonl")})
    texts = {key: text_hash(doc["prompt"]) for key, doc in docs.items()}
    others: dict[str, str] = {}
    for path in sorted((folder / "logs").rglob("samples_ifeval_*.jsonl*")):
        for row in rows(path):
            key, sent = str(row["doc"]["key"]), text_hash(row["arguments"]["gen_args_0"]["arg_0"])
            if sent != texts[key]:
                others[sent] = key
    if set(others) & set(texts.values()):
        raise SystemExit("ifeval: one wording stands for two items")
    return {"texts": {"": texts}, "other_wordings": dict(sorted(others.items())), "contents": contents("ifeval", docs)}


def gsm8k(folder: Path) -> dict[str, Any]:
    """Hashes by position."""
    listed = enumerate(rows(folder / "gsm8k" / "test.jsonl"))
    docs = in_order("gsm8k", {str(place): row for place, row in listed})
    return {
        "texts": {"": [text_hash(doc["question"]) for doc in docs.values()]},
        "contents": contents("gsm8k", docs),
    }


def mmlu(folder: Path) -> dict[str, Any]:
    """Hashes by subject and position; of the choices too where another item has the same question."""
    listed = rows(folder / "mmlu" / "test.jsonl.gz")
    docs = in_order("mmlu", {f"{row['subject']}/{row['doc_id']}": row for row in listed})
    texts = {key: text_hash(doc["question"]) for key, doc in docs.items()}
    groups: dict[str, list[str]] = {}
    for key, text in texts.items():
        subject, _, place = key.rpartition("/")
        group = groups.setdefault(subject, [])
        if int(place) != len(group):
            raise SystemExit(f"mmlu: {key} is not the next of its subject")
        group.append(text)
    often = Counter(texts.values())
    choices = {key: choices_hash(docs[key]["choices"]) for key, text in texts.items() if often[text] > 1}
    return {"texts": groups, "choices": choices, "contents": contents("mmlu", docs)}


def main() -> None:
    """Read the folder, write the resource."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "resources" / FILE_NAME)
    given = parser.parse_args()
    folder: Path = given.folder
    body = {
        "schema": SCHEMA,
        "of": "first 16 hex digits of the SHA-256 of each prompt or question, outer blanks stripped; contents: "
        f"the first {CONTENT_DIGITS} of each item's canonical content hash, one after the other",
        "items": {"ifeval": ifeval(folder), "mmlu": mmlu(folder), "gsm8k": gsm8k(folder)},
    }
    text = json.dumps(body, separators=(",", ":")).replace("],", "],\n").replace("},", "},\n")
    write_atomic(given.out, f"{text}\n")
    print(f"{given.out.name}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
