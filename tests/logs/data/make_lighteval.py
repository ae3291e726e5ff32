"""How lighteval/ was made: EvaluationTracker of lighteval 0.13.0 and 0.10.0. python make_lighteval.py NAME

NAME is the folder to write: "new" with lighteval 0.13.0, "structs" with 0.10.0. The items are made up here. lighteval
puts "|" and ":" into the file names, which Windows does not allow: they are written as "+" and "=" here, and the
tests put them back.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from lighteval.logging.evaluation_tracker import EvaluationTracker

HERE = Path(__file__).parent / "lighteval"
MODEL = "lab/small-model"
QUESTIONS = [(f"How much is {i} and {i}?", 2 * i) for i in range(2, 7)]


def rows() -> dict[str, list[tuple[dict[str, Any], str, dict[str, Any]]]]:
    """Per task: the doc, the model's text, the metrics."""
    sums = [
        (
            {"query": f"Question: {question}\nAnswer:", "choices": [f" #### {answer}"], "gold_index": 0},
            "" if i == 3 else str(answer + i % 2),
            {"extractive_match": float(i % 2 == 0), "length": 10 + i},
        )
        for i, (question, answer) in enumerate(QUESTIONS)
    ]
    follow = [
        (
            {"query": f"Write line {i}.", "choices": [""], "gold_index": 0,
             "specific": {"instructions_id_list": ["punctuation:no_comma", "keywords:existence"][: 1 + i % 2],
                          "kwargs": [{"keywords": None}, {"keywords": ["a"]}][: 1 + i % 2]}},
            "text",
            {"prompt_level_strict_acc": int(i % 2 == 0), "inst_level_strict_acc": [True, False][: 1 + i % 2],
             "prompt_level_loose_acc": 1, "inst_level_loose_acc": [True, True][: 1 + i % 2]},
        )
        for i in range(4)
    ]  # fmt: skip
    choice = [
        (
            {"query": f"The following are multiple choice questions (with answers) about anatomy.\n\n"
                      f"Question: Which number is {i}?\nA. 0\nB. 1\nC. 2\nD. 3\nAnswer:",
             "choices": [" A", " B", " C", " D"], "gold_index": i % 4},
            " A",
            {"em": float(i % 4 == 0)},
        )
        for i in range(3)
    ]  # fmt: skip
    return {"gsm8k|0": sums, "ifeval|0": follow, "mmlu:anatomy|5": choice, "mmlu:virology|5": choice[:2]}


def log_new(tracker: Any, task: str, doc: dict[str, Any], text: str, metrics: dict[str, Any]) -> None:
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    response = ModelResponse(input=doc["query"], text=[text], input_tokens=[1, 2], output_tokens=[[3]])
    detail = tracker.details_logger.Detail(Doc(task_name=task, **doc), response, metrics)
    tracker.details_logger.details[task].append(detail)


def log_old(tracker: Any, task: str, doc: dict[str, Any], text: str, metrics: dict[str, Any]) -> None:
    """What the older DetailsLogger.log fills in from its own classes."""
    detail = tracker.details_logger.Detail()
    detail.example = doc["query"]
    detail.instruction = ""
    detail.full_prompt = "Question: an example\nAnswer: 1\n\n" + doc["query"]
    detail.predictions = [text]
    detail.input_tokens = [[1, 2]]
    detail.cont_tokens = [[3]]
    detail.truncated = [0]
    detail.padded = [0]
    detail.choices = doc["choices"]
    detail.gold_index = [doc["gold_index"]]
    detail.gold = [doc["choices"][doc["gold_index"]]]
    detail.specifics = doc.get("specific")
    detail.metrics = metrics
    tracker.details_logger.details[task].append(detail)


def main(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tracker = EvaluationTracker(output_dir=folder, save_details=True)
        tracker.general_config_logger.model_name = MODEL
        if name == "new":
            from lighteval.models.dummy.dummy_model import DummyModelConfig

            tracker.general_config_logger.log_model_info(DummyModelConfig(model_name=MODEL))
        tracker.general_config_logger.max_samples = None
        for task, entries in rows().items():
            bare = task if name == "new" else f"lighteval|{task}"
            for doc, text, metrics in entries:
                (log_new if name == "new" else log_old)(tracker, bare, doc, text, metrics)
            scores = [metrics for _, _, metrics in entries]
            first = next(iter(scores[0]))
            if not isinstance(scores[0][first], list):
                tracker.metrics_logger.metric_aggregated[bare][first] = sum(s[first] for s in scores) / len(scores)
        tracker.save()
        target = HERE / name
        shutil.rmtree(target, ignore_errors=True)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                copy = target / str(path.relative_to(folder)).replace("|", "+").replace(":", "=")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)


if __name__ == "__main__":
    main(sys.argv[1])
