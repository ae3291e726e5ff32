"""mince freeze, pack and export, as typed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mince_gui.cli import main


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A workspace with logs of a task that no benchmark knows, and its dataset."""
    docs = [{"question": f"item {i}"} for i in range(60)]
    for k, model in enumerate(("alpha", "beta", "gamma")):
        folder = tmp_path / "logs" / model
        folder.mkdir(parents=True)
        rows = [
            {"doc_id": i, "doc": doc, "filter": "none", "metrics": ["acc"], "acc": float((i * 7 + k) % (k + 2) == 0)}
            for i, doc in enumerate(docs)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "samples_tiny_2026-01-01T00-00-00.000001.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    assert main(["import", str(tmp_path / "logs"), "--workspace", str(tmp_path / "ws")]) == 0
    return tmp_path


def test_freeze_by_kmeans_says_how_many_clusters(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tiny / "e.npy", np.eye(6)[np.arange(60) % 6] + np.random.default_rng(0).normal(size=(60, 6)) * 0.05)
    words = ["freeze", "--benchmark", "tiny", "--n", "12", "--sampler", "kmeans", "--workspace", str(tiny / "ws")]
    assert main(words) == 2
    assert "--embeddings FILE" in capsys.readouterr().err
    assert main([*words, "--embeddings", str(tiny / "e.npy")]) == 0
    shown = capsys.readouterr().out
    assert "tiny-12-kmeans: 12 of 60 items" in shown
    assert "6 clusters, silhouette 0." in shown
    assert main([*words, "--embeddings", str(tiny / "e.npy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"] == 6


def test_a_bound_is_called_that_of_uniform_draws_where_another_sampler_drew(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ws = ["--workspace", str(tiny / "ws")]
    np.save(tiny / "e.npy", np.eye(6)[np.arange(60) % 6] + np.random.default_rng(0).normal(size=(60, 6)) * 0.05)
    groups = ["--sampler", "kmeans", "--embeddings", str(tiny / "e.npy"), "--name", "mine"]
    assert main(["size", "--benchmark", "tiny", "--sizes", "10,20,30", *ws]) == 0
    capsys.readouterr()
    for words, name, title in (([], "tiny-20", "bound"), (groups, "mine", "bound of uniform draws")):
        request = ["freeze", "--benchmark", "tiny", "--n", "20", *words, *ws]
        assert main(request) == 0
        assert re.search(
            rf"{name}: 20 of 60 items, seed 42, {title} [0-9.]+ pp, rule per-model", capsys.readouterr().out
        )
        assert main(["freeze", "--benchmark", "tiny", "--n", "20", *words, *ws, "--json"]) == 0
        body = json.loads(capsys.readouterr().out)
        assert (body["name"], body["bound"], body["rule"]) == (name, title, "per-model")
        assert body["sampler"] == ("kmeans" if words else "uniform")
    assert main(["subsets", *ws]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"mine +kmeans +20/60 +bound of uniform draws [0-9.]+ pp, rule per-model", shown)
    assert main(["subsets", "--json", *ws]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["subsets"]}
    assert {name: (entry["sampler"], entry["bound"]) for name, entry in listed.items()} == {
        "tiny-20": ("uniform", "bound"), "mine": ("kmeans", "bound of uniform draws"),
    }  # fmt: skip


def test_freeze_shows_the_drift_of_the_pool_a_line_per_metric(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["freeze", "--benchmark", "tiny", "--n", "20", "--workspace", str(tiny / "ws")]
    assert main(["size", "--benchmark", "tiny", "--sizes", "10,20,30", "--workspace", str(tiny / "ws")]) == 0
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    frozen = json.loads(capsys.readouterr().out)
    drifts = {model: scores["acc"]["drift_pp"] for model, scores in frozen["calibration"].items()}
    assert set(drifts) == {"alpha", "beta", "gamma"}
    for scores in frozen["calibration"].values():
        assert scores["acc"]["drift_pp"] == pytest.approx(scores["acc"]["subset"] - scores["acc"]["full"])
    assert main(words) == 0
    shown = capsys.readouterr().out
    worst = max(drifts, key=lambda model: abs(drifts[model]))
    mean = sum(map(abs, drifts.values())) / 3
    inside = sum(abs(drift) <= frozen["p95_pp"] for drift in drifts.values())
    line = rf"acc +3 +{mean:.1f} pp +{re.escape(f'{drifts[worst]:+.1f}')} pp +{worst} +{inside} of 3\n"
    assert re.search(line, shown)
    assert shown.count("acc") == 1


def test_the_number_of_accepted_differences_is_said(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ws = ["--workspace", str(tiny / "ws")]
    assert main(["freeze", "--benchmark", "tiny", "--n", "30", *ws]) == 0
    text = (tiny / "test.jsonl").read_text(encoding="utf-8")
    (tiny / "test.jsonl").write_text(text.replace("item 1", "thing 1"), encoding="utf-8")
    words = ["pack", "--subset", "tiny-30", "--dataset", str(tiny / "test.jsonl"), *ws]
    assert main(words) == 3
    capsys.readouterr()
    assert main([*words, "--accept-revision", "--json"]) == 0
    count = len(json.loads(capsys.readouterr().out)["accepted"])
    assert main([*words, "--accept-revision"]) == 0
    assert f"tiny-30: 30 items; {count} of 30 items differ in content" in capsys.readouterr().out


def test_a_frozen_subset_is_packed_and_exported(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ws = ["--workspace", str(tiny / "ws")]
    assert main(["freeze", "--benchmark", "tiny", "--n", "10", *ws]) == 0
    assert main(["pack", "--subset", "tiny-10", "--dataset", str(tiny / "test.jsonl"), *ws]) == 0
    capsys.readouterr()
    assert main(["export", "tiny-10", "--as", "lm-eval", "--out", str(tiny / "s.json"), *ws]) == 0
    shown = capsys.readouterr().out
    assert f"--tasks tiny --samples {tiny / 's.json'}" in shown
    (places,) = json.loads((tiny / "s.json").read_text(encoding="utf-8")).values()
    assert places == sorted(set(places))
    assert main(["export", "tiny-10", "--as", "csv", "--out", str(tiny / "s.csv"), "--json", *ws]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "tiny-10",
        "n": 10,
        "path": str(tiny / "s.csv"),
        "tasks": [],
    }
    keys = [line.split(",")[1] for line in (tiny / "s.csv").read_text(encoding="utf-8").splitlines()[1:]]
    assert keys == [str(place) for place in places]


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["export", "nope", "--as", "csv"], 2, "nope"),
        (["export", "gsm8k-400", "--as", "xml"], 2, "'xml' is not one of"),
        (["export", "gsm8k-400", "--as", "lm-eval", "--task", "mmlu"], 2, "no task of GSM8K"),
        (["freeze", "--benchmark", "tiny", "--n", "5", "--embeddings", "FILE"], 2, "kmeans sampler alone"),
        (["freeze", "--benchmark", "tiny", "--n", "5", "--dataset", "FILE"], 2, "--dataset would serve the kmeans"),
        (["freeze", "--benchmark", "tiny", "--n", "5", "--name", "a/b"], 2, "cannot be the name of a file"),
        (["freeze", "--benchmark", "tiny", "--n", "5", "--sampler", "kmeans", "--embeddings", "FILE"], 3, "neither a"),
        (["pack", "--all", "mmlu", "--dataset", "FILE"], 3, "no 'subject'"),
        (["pack", "--all", "mmlu", "--dataset", "FOLDER"], 3, "no test set of MMLU"),
    ],
)
def test_a_wrong_request_ends_with_its_code_and_no_traceback(
    tiny: Path, words: list[str], code: int, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tiny / "empty").mkdir()
    places = {"FILE": str(tiny / "test.jsonl"), "FOLDER": str(tiny / "empty")}
    assert main([*(places.get(word, word) for word in words), "--workspace", str(tiny / "ws")]) == code
    err = capsys.readouterr().err
    assert named in err
    assert "Traceback" not in err
