"""What lm-eval's own saving code writes is read back (tests/requirements-oracle.txt)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.logs import detect, read

ARGUMENTS = "pretrained=lab/model:x,dtype=auto"


def sample(doc_id: int, filter_: str, right: bool) -> dict[str, Any]:
    """A row as lm_eval.evaluator makes it: arguments are tuples, verdicts numpy's."""
    doc = {"question": f"Wie viel ist {doc_id} \u20ac und eins?", "answer": f"#### {doc_id + 1}"}
    return {
        "doc_id": doc_id, "doc": doc, "target": doc["answer"],
        "arguments": [(f"Question: {doc['question']}", {"until": ["Q:"]})],
        "resps": [["caf\u00e9 one"]], "filtered_resps": ["1"], "filter": filter_, "metrics": ["exact_match"],
        "doc_hash": "a" * 64, "prompt_hash": "b" * 64, "target_hash": "c" * 64, "exact_match": np.float64(right),
    }  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("out", ["out", "out/mine.json"])
def test_two_runs_that_lm_eval_saves_are_two_logs(tmp_path: Path, out: str) -> None:
    loggers: Any = importlib.import_module("lm_eval.loggers")
    filters = ("strict-match", "flexible-extract")
    for right in (False, True):
        rows = [sample(i, name, right) for name in filters for i in range(5)]
        tracker = loggers.EvaluationTracker(output_path=str(tmp_path / out))
        tracker.general_config_tracker.log_experiment_args(
            model_source="hf", model_args=ARGUMENTS, system_instruction=None, chat_template=None,
            fewshot_as_multiturn=False,
        )  # fmt: skip
        results = {
            "results": {"gsm8k": {f"exact_match,{name}": float(right) for name in filters}},
            "configs": {"gsm8k": {"filter_list": [{"name": name} for name in filters]}},
            "n-samples": {"gsm8k": {"original": 1_319, "effective": 5}},
            "config": {"model": "hf", "model_args": ARGUMENTS, "limit": 5.0},
        }
        tracker.save_results_aggregated(results=results, samples={"gsm8k": rows})
        tracker.save_results_samples(task_name="gsm8k", samples=rows)
    detection = detect([tmp_path])
    assert detection.skipped == ()
    assert [found.model for found in detection.found] == ["lab/model:x"] * 2
    assert sorted(found.timestamp for found in detection.found) == [found.timestamp for found in detection.found]
    for found, score in zip(detection.found, (0.0, 100.0), strict=True):
        log = read(found)
        assert log.keys == tuple("01234")
        assert [log.score(f"exact_match,{name}") for name in filters] == [score, score]
        assert "results_disagree" not in {check.kind for check in log.checks}
