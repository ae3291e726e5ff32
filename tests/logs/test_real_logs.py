"""The real logs beside the project: counts and scores as their makers give them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.benchmarks import BENCHMARKS, content_hash
from mince_gui.logs import PerItemLog, build_matrix, detect, read

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def logs(shared: Path) -> dict[str, list[PerItemLog]]:
    by_benchmark: dict[str, list[PerItemLog]] = {}
    for found in detect([shared / "data" / "logs" / "lm_eval"]).found:
        by_benchmark.setdefault(found.benchmark.name, []).append(read(found))
    return by_benchmark


def items(lines: Iterable[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def test_ifeval_has_17_models_541_prompts_and_834_instructions(logs: dict[str, list[PerItemLog]]) -> None:
    matrix = build_matrix(BENCHMARKS["ifeval"], logs["ifeval"])
    assert matrix.passed.shape == (17, 4, 541)
    assert matrix.trials[:, 1].sum(axis=1).tolist() == [834] * 17
    assert matrix.trials[:, 3].sum(axis=1).tolist() == [834] * 17
    assert matrix.checks == ()


def test_every_score_equals_the_one_of_the_results_file(shared: Path, logs: dict[str, list[PerItemLog]]) -> None:
    compared = 0
    for log in [*logs["ifeval"], *logs["gsm8k"]]:
        path = Path(log.source).with_name(f"results_{log.timestamp}.json")
        said = json.loads(path.read_text(encoding="utf-8"))["results"][log.task]
        for metric in log.metrics:
            score = log.score(metric)
            assert score is not None
            assert score / 100 == pytest.approx(said[metric if "," in metric else f"{metric},none"], abs=1e-12)
            compared += 1
    assert compared == 17 * 4 + 8
    assert not [check for log in logs["ifeval"] for check in log.checks if check.kind == "results_disagree"]


def test_the_known_faults_of_the_ifeval_logs_are_found(logs: dict[str, list[PerItemLog]]) -> None:
    nulls, below = {}, {}
    for log in logs["ifeval"]:
        for check in log.checks:
            if check.kind == "null_responses":
                nulls[log.model] = check.count
            if check.kind == "loose_below_strict":
                below[log.model] = check.count
                assert set(check.examples) <= {"1122", "1129", "3424"}
    assert nulls == {"o1-preview-2024-09-12": 22, "o1-mini-2024-09-12": 21}
    assert len(below) == 9
    assert sum(below.values()) == 10


def test_mmlu_has_57_subjects_and_the_published_counts(logs: dict[str, list[PerItemLog]]) -> None:
    matrix = build_matrix(BENCHMARKS["mmlu"], logs["mmlu"])
    assert matrix.passed.shape == (2, 1, 14_042)
    assert len(set(matrix.categories)) == 57
    right = dict(zip(matrix.models, matrix.passed.sum(axis=(1, 2)).tolist(), strict=True))
    assert right == {"gpt-4-1106-preview": 11_315, "mistralai/Mixtral-8x7B-Instruct-v0.1": 9_560}
    assert list(matrix.keys[98:102]) == [
        "abstract_algebra/98", "abstract_algebra/99", "anatomy/0", "anatomy/1",
    ]  # fmt: skip


def test_gsm8k_has_the_published_counts(logs: dict[str, list[PerItemLog]]) -> None:
    metric = "exact_match,flexible-extract"
    assert {log.model: int(log.passed[metric].sum()) for log in logs["gsm8k"]} == {
        "mistralai/Mixtral-8x7B-Instruct-v0.1": 842,
        "gpt-4-1106-preview": 1_130,
        "6b_finetuning": 286,
        "6b_verification": 515,
        "175b_finetuning": 458,
        "175b_verification": 742,
        "tora-70b-v1.0": 1_112,
        "tora-code-34b-v1.0": 1_064,
    }
    matrix = build_matrix(BENCHMARKS["gsm8k"], logs["gsm8k"])
    assert not np.isnan(matrix.passed).any()
    assert {check.kind for check in matrix.checks} == {"mixed_setup"}


def test_hashes_agree_with_the_data_sets_themselves(shared: Path, logs: dict[str, list[PerItemLog]]) -> None:
    data = shared / "data"
    with (data / "ifeval" / "test.jsonl").open(encoding="utf-8") as file:
        ifeval = {str(doc["key"]): doc for doc in items(file)}
    with (data / "gsm8k" / "test.jsonl").open(encoding="utf-8") as file:
        gsm8k = {str(i): doc for i, doc in enumerate(items(file))}
    with gzip.open(data / "mmlu" / "test.jsonl.gz", "rt", encoding="utf-8") as file:
        mmlu = {f"{doc['subject']}/{doc['doc_id']}": doc for doc in items(file)}
    for name, docs in (("ifeval", ifeval), ("gsm8k", gsm8k), ("mmlu", mmlu)):
        benchmark = BENCHMARKS[name]
        expected = {key: content_hash(benchmark, doc) for key, doc in docs.items()}
        for log in logs[name]:
            assert dict(zip(log.keys, log.hashes, strict=True)) == expected


def test_real_lm_eval_runs_with_a_limit_are_read_and_called_partial(shared: Path) -> None:
    found = detect([shared / "reference" / "lm_eval_runs"]).found
    assert len(found) == 7
    for item in found:
        log = read(item)
        assert log.model == "models/smollm2-135m-instruct-int4-cpu"
        assert [check.severity for check in log.checks if check.kind == "partial"] == ["refusal"]
    gsm8k = next(read(item) for item in found if item.task == "gsm8k_cot_zeroshot_local")
    assert gsm8k.metrics == ("exact_match,strict-match", "exact_match,flexible-extract")
    assert len(gsm8k.keys) == 12
