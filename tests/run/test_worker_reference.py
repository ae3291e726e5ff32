"""The worker against what lm-eval and plain onnxruntime-genai give for the same prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_genai as og
import pytest

from mince_gui.run import WorkerProcess
from mince_gui.run.protocol import ChoiceRequest, ChoiceResult, GenerateRequest

pytestmark = pytest.mark.shared

_TRAP = ("world_religions", 6)


@pytest.fixture(scope="module")
def plain(shared_model: Path) -> Any:
    """Model and tokenizer of plain onnxruntime-genai, in this process."""
    model = og.Model(str(shared_model))
    return model, og.Tokenizer(model)


def _samples(shared: Path, run: str, pattern: str) -> list[dict[str, Any]]:
    (path,) = (shared / "reference" / "lm_eval_runs" / run).glob(f"*/samples_{pattern}_*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(rows, key=lambda row: int(row["doc_id"]))


def _ask(worker: WorkerProcess, row: dict[str, Any]) -> ChoiceResult:
    arguments = row["arguments"].values()
    prompts = {a["arg_0"] for a in arguments}
    return worker.choice(ChoiceRequest((prompts.pop(),), tuple(a["arg_1"] for a in arguments)))


def _plain_logprobs(
    plain: Any, prompt: str, more: list[int], row: int | None, choices: tuple[tuple[int, ...], ...]
) -> Any:
    """Log-probabilities of one pass over the prompt's ids and `more`; `row` None reads the last row."""
    model, tokenizer = plain
    ids = np.append(tokenizer.encode(prompt), np.array(more, dtype=np.int32))
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(ids) + 1, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(ids)
    logits = np.asarray(generator.get_output("logits"))[0, -1 if row is None else row].astype(np.float64)
    shifted = logits - logits.max()
    return (shifted - np.log(np.exp(shifted).sum()))[[ids[0] for ids in choices]]


@pytest.mark.parametrize(("subject", "doc_id"), [("world_religions", 3)])
def test_choices_are_picked_as_lm_eval_picks_them(
    shared_worker: WorkerProcess, plain: Any, shared: Path, subject: str, doc_id: int
) -> None:
    """Items whose first two choices are at least 0.5 apart.

    The reference was made without AVX-512; with it INT4 kernels give log-probabilities about 0.1 away, which
    turns picks that are nearer. The worker must equal plain onnxruntime-genai on the same machine.
    """
    row = _samples(shared, "mmlu_5shot", f"mmlu_{subject}")[doc_id]
    reply = _ask(shared_worker, row)
    theirs = [float(resp[0][0]) for resp in row["resps"]]
    assert reply.picked == int(np.argmax(theirs))
    assert reply.logprobs == pytest.approx(theirs, abs=0.25)
    assert reply.choice_ids == ((330,), (389,), (340,), (422,))
    assert (reply.method, reply.trap) == ("last_logits", False)
    prompt = next(iter(row["arguments"].values()))["arg_0"]
    assert reply.logprobs == pytest.approx(_plain_logprobs(plain, prompt, [], None, reply.choice_ids), abs=5e-6)
    assert reply.timing.first_token_seconds is None
    assert 0 < reply.timing.prefill_seconds <= reply.timing.wall_seconds


def test_a_prompt_of_trap_length_is_read_one_row_before_an_appended_letter(
    shared_worker: WorkerProcess, plain: Any, shared: Path
) -> None:
    subject, doc_id = _TRAP
    row = _samples(shared, "mmlu_5shot", f"mmlu_{subject}")[doc_id]
    reply = _ask(shared_worker, row)
    assert reply.timing.prompt_tokens == 257
    assert reply.trap
    assert reply.method == "row_before"
    prompt = next(iter(row["arguments"].values()))["arg_0"]
    expected = _plain_logprobs(plain, prompt, [*reply.choice_ids[0]], 256, reply.choice_ids)
    assert reply.logprobs == pytest.approx(expected, abs=5e-6)


def _plain_ids(plain: Any, prompt: str, budget: int) -> list[int]:
    model, tokenizer = plain
    ids = tokenizer.encode(prompt)
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(ids) + budget, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(ids)
    while not generator.is_done():
        generator.generate_next_token()
    return [int(i) for i in generator.get_sequence(0)[len(ids) :]]


@pytest.mark.parametrize("doc_id", [3])
def test_generated_ids_are_those_of_plain_onnxruntime_genai(
    shared_worker: WorkerProcess, plain: Any, shared: Path, doc_id: int
) -> None:
    row = _samples(shared, "gsm8k_cot_zeroshot", "gsm8k_cot_zeroshot_local")[doc_id]
    arguments = next(iter(row["arguments"].values()))
    budget = 24
    reply = shared_worker.generate(GenerateRequest(arguments["arg_0"], (), budget))
    assert list(reply.ids) == _plain_ids(plain, arguments["arg_0"], budget)
    assert reply.timing.output_tokens == len(reply.ids)
    assert reply.timing.decode_rate == pytest.approx(
        (len(reply.ids) - 1) / (reply.timing.decode_seconds or float("nan"))
    )


def test_eos_ends_an_answer_and_is_not_part_of_it(shared_worker: WorkerProcess, plain: Any, shared: Path) -> None:
    """One answer of the reference ended by EOS; it is asked for here with its own chat prompt."""
    tokens = json.loads((shared / "reference/lm_eval_runs/ifeval_chat/token_ids.json").read_text(encoding="utf-8"))
    ended = min((t for t in tokens if t["ended_by_eos"]), key=lambda t: len(t["new_ids"]))
    row = _samples(shared, "ifeval_chat", "ifeval_local")[ended["doc_id"]]
    prompt = next(iter(row["arguments"].values()))["arg_0"]
    budget = 2 * len(ended["new_ids"])
    reply = shared_worker.generate(GenerateRequest(prompt, (), budget))
    expected = _plain_ids(plain, prompt, budget)
    assert list(reply.ids) == [i for i in expected if i != 2]
    assert 2 not in reply.ids
    assert reply.finish == ("eos" if len(reply.ids) < budget else "budget")
