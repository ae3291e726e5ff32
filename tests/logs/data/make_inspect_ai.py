"""How inspect_ai/ was made: inspect_ai 0.3.285 itself with its mock model. python make_inspect_ai.py

The items are made up here. Tracebacks and places on disk are taken out of the logs, through the library.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log, write_log_dir_manifest
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, includes, match, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

HERE = Path(__file__).parent / "inspect_ai"
ANSWERS = ("4", "wrong", "8", "10", "", "14")
SAMPLES = [
    Sample(
        id=f"sum-{i}",
        input=f"How much is {i} and {i}?",
        target=str(2 * i),
        metadata={"category": ("odd", "even")[i % 2 == 0]},
    )
    for i in range(2, 8)
]


def model(answers: Sequence[str]) -> Any:
    def outputs() -> Iterator[ModelOutput]:
        while True:
            for answer in answers:
                output = ModelOutput.from_content("mockllm/model", answer)
                output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
                yield output

    return get_model("mockllm/model", custom_outputs=outputs())


@scorer(metrics=[mean()])
def graded() -> Scorer:
    """Letters, words and numbers: what a scorer may give."""
    values = {"sum-2": "C", "sum-3": "I", "sum-4": "P", "sum-5": "N", "sum-6": True, "sum-7": 0.25}

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=values[str(state.sample_id)])

    return score


@scorer(metrics=[mean()])
def unscored() -> Scorer:
    """One sample without a score: NaN."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score.unscored() if state.sample_id == "sum-4" else Score(value=1)

    return score


@scorer(metrics=[mean()])
def length() -> Scorer:
    """No share of 1: cannot be sized."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=len(state.output.completion) + 2)

    return score


@scorer(metrics=[])
def parts() -> Scorer:
    """A list of verdicts."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=[1, 0, 1] if state.sample_id == "sum-2" else [1, 1])

    return score


@scorer(metrics={"clear": [mean()], "short": [mean()]})
def style() -> Scorer:
    """A dictionary of shares."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value={"clear": 0.5, "short": state.sample_id != "sum-5"})

    return score


@scorer(metrics=[])
def instruction_following() -> Scorer:
    """The value of inspect_evals' ifeval: verdicts per prompt, counts per instruction."""

    async def score(state: TaskState, target: Target) -> Score:
        strict = 1 if state.sample_id in ("sum-2", "sum-3") else 2
        return Score(
            value={
                "prompt_level_strict": strict == 2,
                "inst_level_strict": strict,
                "prompt_level_loose": True,
                "inst_level_loose": 2,
                "num_instructions": 2,
            }
        )

    return score


@scorer(metrics=[accuracy()])
def by_epoch() -> Scorer:
    """Right in as many of three epochs as the sample's number allows."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value="C" if state.epoch <= int(str(state.sample_id)[-1]) % 4 else "I")

    return score


@solver
def stumbling() -> Solver:
    """Fails on one sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == "sum-5":
            raise RuntimeError("the solver stumbled")
        return await generate(state)

    return solve


def neutral(log: EvalLog) -> EvalLog:
    log.eval.task_file = None
    log.eval.revision = None
    for error in (log.error, *(sample.error for sample in log.samples or ())):
        if error is not None:
            error.traceback = error.traceback_ansi = ""
    for sample in log.samples or ():
        sample.events = []
        sample.attachments = {}
    return log


def made(name: str, task: Task, suffix: str = "eval", answers: Sequence[str] = ANSWERS, **options: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (log,) = evaluate(
            task, model=model(answers), log_dir=folder, log_format=suffix, display="none", max_samples=1,
            max_connections=1,
            **options,
        )  # fmt: skip
        log = neutral(read_eval_log(log.location))
    write_eval_log(log, str(HERE / f"{name}.{suffix}"))


def main() -> None:
    data = MemoryDataset(SAMPLES, name="sums")
    made("sums", Task(data, solver=generate(), scorer=[match(numeric=True), includes()], name="sums", version=3))
    made(
        "kinds", Task(data, solver=generate(), scorer=[graded(), unscored(), length(), parts(), style()], name="kinds")
    )
    made(
        "2026-01-02T03-04-05+00-00_kinds_Ab",
        Task(data, solver=generate(), scorer=[graded(), unscored()], name="kinds"),
        "json",
    )
    made("epochs", Task(data, solver=generate(), scorer=by_epoch(), name="repeated", epochs=3))
    made("ifeval", Task(data, solver=generate(), scorer=instruction_following(), name="ifeval"))
    made("errors", Task(data, solver=stumbling(), scorer=match(numeric=True), name="sums"), fail_on_error=False)
    made("stopped", Task(data, solver=stumbling(), scorer=match(numeric=True), name="sums"))
    made("limited", Task(data, solver=generate(), scorer=match(numeric=True), name="sums"), limit=2)
    numbered = MemoryDataset([Sample(id=i, input=s.input, target=s.target) for i, s in enumerate(SAMPLES)], name="sums")
    made("numbered", Task(numbered, solver=generate(), scorer=match(numeric=True), name="sums"))
    write_log_dir_manifest(str(HERE), filename="logs.json")


if __name__ == "__main__":
    main()
