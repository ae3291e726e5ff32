"""lm-eval 0.4.13 itself over the reference's items, beside our run on the same machine: nothing may differ.

In the environment of tests/requirements-oracle.txt; takes about ten minutes on two cores:

    HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 NLTK_DATA=... pytest -m oracle tests/parity

lm-eval's backend lacks the two methods that a chat template needs; they are added here as its own HFLM has them.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.parity.conftest import BUDGET, RUNS, Compared, Row, WholeRuns

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.shared,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(3600),
]


def _model(folder: Path) -> Any:
    module = pytest.importorskip("lm_eval.models.onnxruntime_genai", reason="lm-eval is not installed")
    lm = module.ONNXRuntimeGenAILM(pretrained=str(folder))

    def apply_chat_template(chat_history: Any, add_generation_prompt: bool = True) -> str:
        text: str = lm.tokenizer.apply_chat_template(
            chat_history,
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=not add_generation_prompt,
        )
        return text

    lm.apply_chat_template = apply_chat_template
    type(lm).tokenizer_name = "of-the-folder"
    return lm


def _write_data(folder: Path, shared: Path, runs: WholeRuns) -> None:
    """The docs of the reference, where its task files look for them."""
    files: dict[str, list[Row]] = {}
    for one in runs.compared:
        run, subject, _ = one.asked.name.split("/")
        match one.asked.task.name:
            case "mmlu":
                files.setdefault(f"{subject}_test", []).append(one.asked.doc)
            case "ifeval":
                files.setdefault("ifeval", []).append(one.asked.doc)
            case _ if not run.endswith("_chat"):
                files.setdefault("gsm8k_test", []).append(one.asked.doc)
    for line in (shared / "data/mmlu/dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if f"mmlu_{row['subject']}_test" in files:
            files.setdefault(f"mmlu_{row['subject']}_dev", []).append(row)
    folder.mkdir()
    for name, docs in files.items():
        text = "".join(json.dumps(doc) + "\n" for doc in docs)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _evaluate(lm: Any, manager: Any, run: str, ours: list[Compared]) -> dict[str, list[Row]]:
    """lm-eval's rows of one run, by the name that the items bear here."""
    evaluator = pytest.importorskip("lm_eval.evaluator")
    tasks = sorted({f"{one.asked.name.split('/')[1]}_local" for one in ours})
    results = evaluator.simple_evaluate(
        model=lm,
        tasks=tasks,
        task_manager=manager,
        num_fewshot=5 if run.startswith("mmlu") else None,
        limit=len(ours) / len(tasks),
        gen_kwargs=None if run.startswith("mmlu") else f"max_gen_toks={BUDGET}",
        apply_chat_template=run.endswith("_chat"),
        log_samples=True,
        bootstrap_iters=0,
    )
    rows: dict[str, list[Row]] = {}
    for task, samples in results["samples"].items():
        for row in samples:
            rows.setdefault(f"{run}/{task.removesuffix('_local')}/{row['doc_id']}", []).append(row)
    return rows


def _same(one: Compared, rows: list[Row]) -> None:
    scored = one.result.scored
    assert scored is not None
    for row in rows:
        match one.asked.task.name:
            case "mmlu":
                theirs = [float(pair[0][0]) for pair in row["resps"]]
                assert one.result.logprobs == pytest.approx(theirs, abs=1e-5)
                assert one.result.picked == theirs.index(max(theirs))
                assert list(one.result.greedy) == [bool(pair[0][1]) for pair in row["resps"]]
                assert scored.scores["acc"] == (row["acc"], 1)
            case "ifeval":
                assert one.result.text == row["resps"][0][0]
                for way in ("strict", "loose"):
                    verdicts = list(row[f"inst_level_{way}_acc"])
                    assert json.loads(scored.extracted[way]) == verdicts
                    assert scored.scores[f"prompt_level_{way}_acc"] == (row[f"prompt_level_{way}_acc"], 1)
            case _:
                assert one.result.text == row["resps"][0][0]
                assert scored.extracted[row["filter"]] == row["filtered_resps"][0]
                assert scored.scores[f"exact_match,{row['filter']}"] == (row["exact_match"], 1)


def test_our_run_is_lm_evals_run(
    whole_runs: WholeRuns,
    shared: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR, logger="lm_eval")  # it warns of every option that it is given
    tasks = pytest.importorskip("lm_eval.tasks", reason="lm-eval is not installed")
    pytest.importorskip("tqdm").tqdm.monitor_interval = 0
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    _write_data(tmp_path / "data", shared, whole_runs)
    monkeypatch.chdir(tmp_path)  # the task files name their data from there
    manager = tasks.TaskManager(include_path=str(shared / "reference/recipe/tasks"), include_defaults=False)
    lm = _model(model)
    compared = 0
    for run, (_, count) in RUNS.items():
        ours = [one for one in whole_runs.compared if one.asked.run == run]
        theirs = _evaluate(lm, manager, run, ours)
        assert len(theirs) == count
        for one in ours:
            _same(one, theirs[one.asked.name])
            compared += 1
    assert compared == 70
