"""Choices of any number of tokens, with one prompt or several: every method gives the same, and the one of plain OGA.

No graph that returns the last row alone can be had here (NPU folders have them): the real worker and the real model run
with the other rows hidden, or with a generator that refuses to be appended to twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.run import Runtime, WorkerProcess
from mince_gui.run.protocol import ChoiceRequest, ChoiceResult
from tests.run.conftest import Load
from tests.run.stacks import LAST_ROW_ONLY, ONE_GENERATOR, no_rewind, no_second_append

_PROMPT = "Which number is the largest?\nOptions: two, nine\nAnswer:"
_ONE = ChoiceRequest((_PROMPT,), (" two", " nine"))
_MANY = ChoiceRequest((_PROMPT,), (" two", " nine and two", " two and two and nine", " nine"))
_OWN = ChoiceRequest((_PROMPT, "Which number is the smallest?\nAnswer:"), (" nine", " nine"))
_FORGETS = """
real = w['Engine']._generator
class Forgets:
    # A stack that takes a second append as the beginning of a new sequence: no error, other logits.
    def __init__(self, engine, length):
        self._engine, self._length, self._inner = engine, length, real(engine, length)[0]
        self._used = False
    def append_tokens(self, ids):
        if self._used:
            self._inner = real(self._engine, self._length)[0]
        self._used = True
        self._inner.append_tokens(ids)
    def __getattr__(self, name):
        return getattr(self._inner, name)
w['Engine']._generator = lambda self, length: (Forgets(self, length), real(self, length)[1])
"""


def _ask(runtime: Runtime, request: Any, *asked: ChoiceRequest) -> list[ChoiceResult]:
    with WorkerProcess(runtime) as process:
        process.load(request)
        return [process.choice(one) for one in asked]


@pytest.fixture(scope="module")
def plain(model_dir: Path) -> Callable[[str, str], float]:
    """The log-probability of a continuation by plain onnxruntime-genai and numpy, in this process."""
    import onnxruntime_genai as oga

    model = oga.Model(str(model_dir))
    tokenizer = oga.Tokenizer(model)

    def logprob(context: str, continuation: str) -> float:
        ids = tokenizer.encode(context + continuation)
        start = len(tokenizer.encode(context))
        params = oga.GeneratorParams(model)
        params.set_search_options(max_length=len(ids), do_sample=False)
        generator = oga.Generator(model, params)
        generator.append_tokens(ids)
        logits = np.asarray(generator.get_output("logits"))[0].astype(np.float64)
        rows = logits[start - 1 : len(ids) - 1]
        total = rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))
        return float(total[np.arange(len(ids) - start), ids[start:]].sum())

    return logprob


@pytest.mark.parametrize("asked", [_ONE, _MANY, _OWN], ids=["one token", "several tokens", "prompts of their own"])
def test_sums_are_those_of_plain_onnxruntime_genai(
    worker: WorkerProcess, plain: Callable[[str, str], float], asked: ChoiceRequest
) -> None:
    prompts = asked.prompts * len(asked.choices) if len(asked.prompts) == 1 else asked.prompts
    expected = [plain(*pair) for pair in zip(prompts, asked.choices, strict=True)]
    reply = worker.choice(asked)
    assert reply.logprobs == pytest.approx(expected, abs=1e-5)
    assert reply.picked == expected.index(max(expected))
    assert reply.method == ("all_rows" if asked is _MANY else "last_logits")
    assert [len(ids) for ids in reply.choice_ids] == [1 + choice.count(" and") * 2 for choice in asked.choices]


@pytest.mark.parametrize(
    ("source", "method"),
    [
        ("", "token_by_token"),
        (no_second_append(), "fresh"),
        (_FORGETS, "fresh"),
    ],
    ids=["appending works", "appending is refused", "appending loses the place"],
)
def test_a_graph_of_last_rows_gives_the_same_sums_by_a_way_that_is_recorded(
    patched_runtime: Callable[[str], Runtime],
    worker: WorkerProcess,
    model_dir: Path,
    load_request: Load,
    source: str,
    method: str,
) -> None:
    one, many = _ask(patched_runtime(LAST_ROW_ONLY + source), load_request(model_dir), _ONE, _MANY)
    assert (one.method, many.method) == ("last_logits", method)
    expected = worker.choice(_MANY)
    # Kernels for one row round otherwise than those for many.
    assert many.logprobs == pytest.approx(expected.logprobs, abs=0.05)
    assert (many.picked, many.greedy, many.choice_ids) == (expected.picked, expected.greedy, expected.choice_ids)
    assert one.logprobs == worker.choice(_ONE).logprobs


@pytest.mark.parametrize("source", ["", LAST_ROW_ONLY], ids=["all rows", "last row only"])
@pytest.mark.parametrize("fresh_only", [False, True])
def test_no_way_of_scoring_has_two_generators_at_once(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load, source: str, fresh_only: bool
) -> None:
    request = dataclasses.replace(load_request(model_dir), fresh_only=fresh_only)
    one, many, own = _ask(patched_runtime(source + ONE_GENERATOR), request, _ONE, _MANY, _OWN)
    assert many.method == ("all_rows" if not source else "fresh" if fresh_only else "token_by_token")
    assert one.method == own.method == "last_logits"


def test_what_choices_begin_with_is_read_once_where_every_prefix_takes_a_generator(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    passes = "print('a pass', file=sys.stderr, flush=True)"
    source = f"""
real_forward = w['Engine']._forward
def forward(self, *args):
    {passes}
    return real_forward(self, *args)
w['Engine']._forward = forward
"""
    with WorkerProcess(patched_runtime(LAST_ROW_ONLY + source)) as process:
        process.load(dataclasses.replace(load_request(model_dir), fresh_only=True))
        assert process.choice(dataclasses.replace(_MANY, choices=(" two and two", " two and nine"))).method == "fresh"
        process.close()
        # The prompt, then with " two" and with " two and".
        assert process.stderr_tail.count("a pass") == 3


@pytest.mark.parametrize("cannot", ["raise RuntimeError('not here')", "pass"], ids=["refused", "does nothing"])
def test_a_stack_that_cannot_rewind_reads_the_prompt_again_for_every_choice(
    patched_runtime: Callable[[str], Runtime], worker: WorkerProcess, model_dir: Path, load_request: Load, cannot: str
) -> None:
    source = no_rewind(cannot)
    expected = [worker.choice(_MANY) for _ in range(2)]
    assert expected[0].logprobs == pytest.approx(expected[1].logprobs, abs=1e-4)
    for reply in _ask(patched_runtime(source), load_request(model_dir), _MANY, _MANY):
        assert reply.method == "all_rows"
        assert reply.logprobs == pytest.approx(expected[0].logprobs, abs=1e-5)


@pytest.mark.shared
def test_a_rewound_prompt_whose_kept_part_would_have_a_trap_length_gives_the_sums_of_whole_passes(
    runtime: Runtime, shared_worker: WorkerProcess, shared_model: Path, load_request: Load
) -> None:
    """129 tokens in one pass shift this model's logits on the CPU; a worker reads its first item in whole passes."""
    choices = (" two apples", " nine pears", " one apple and two pears")
    prompt = "Which?"
    while len(shared_worker.encode(prompt).ids) < 130:
        prompt = "one " + prompt
    assert len(shared_worker.encode(prompt).ids) == 130
    asked = ChoiceRequest((prompt,), choices)
    shared_worker.choice(ChoiceRequest(("Which is more?",), choices))
    with WorkerProcess(runtime) as fresh:
        fresh.load(load_request(shared_model))
        whole = fresh.choice(asked)
    assert shared_worker.choice(asked).logprobs == pytest.approx(whole.logprobs, abs=1e-3)


def test_greedy_says_which_choice_the_model_would_write(worker: WorkerProcess) -> None:
    from mince_gui.run.protocol import GenerateRequest

    written = worker.generate(GenerateRequest(_PROMPT, (), 3)).text
    reply = worker.choice(ChoiceRequest((_PROMPT,), (written, written + " two two", " Zebra")))
    assert reply.greedy[0]
    assert not reply.greedy[2]


def test_blanks_at_the_prompts_end_belong_to_the_choice(worker: WorkerProcess) -> None:
    """As lm-eval parts them: "Answer: " + "two" is "Answer:" + " two"."""
    moved = worker.choice(dataclasses.replace(_ONE, prompts=(_PROMPT + " ",), choices=("two", "nine")))
    assert moved.choice_ids == worker.choice(_ONE).choice_ids
    assert moved.logprobs == worker.choice(_ONE).logprobs


def test_ties_fall_as_in_float32_and_to_the_first(
    patched_runtime: Callable[[str], Runtime], worker: WorkerProcess, model_dir: Path, load_request: Load
) -> None:
    """The second choice's logit is the larger one, by less than float32 keeps after the log-softmax: lm-eval sees a tie
    and takes the first, which float64 would not."""
    ids = [choice[0] for choice in worker.choice(_ONE).choice_ids]
    source = f"""
names = w['Engine'].choice.__globals__
inner = names['_last_row']
def last_row(logits):
    row = inner(logits).copy()
    row[:] = -5.0
    row[0, 0] = 100.0
    row[0, {ids[0]}], row[0, {ids[1]}] = 0.0, 1e-6
    return row
names['_last_row'] = last_row
"""
    (reply,) = _ask(patched_runtime(source), load_request(model_dir), _ONE)
    assert 0 not in ids
    assert reply.logprobs == (-100.0, -100.0)
    assert reply.picked == 0


def test_an_item_with_prompts_of_its_own_is_timed_after_items_that_share_theirs(worker: WorkerProcess) -> None:
    own = ChoiceRequest((_PROMPT + " x", _PROMPT, _PROMPT), _MANY.choices[:3])
    *_, reply = [worker.choice(request) for request in (_MANY, _MANY, own)]
    assert reply.method == "all_rows"
    assert reply.timing.prefill_seconds > 1e-4
    assert reply.timing.wall_seconds >= reply.timing.prefill_seconds
    # Every different prompt counts once, its choices do not.
    assert reply.timing.prompt_tokens == sum(len(worker.encode(prompt).ids) for prompt in own.prompts[:2])


def test_an_empty_prompt_begins_with_the_first_end_token_where_there_is_no_bos(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    """As lm-eval: the first that the folder lists, not the smallest."""
    plain = load_request(model_dir)
    empty = ChoiceRequest(("",), (" two", " nine"))
    sums = {
        eos: _ask(patched_runtime(""), dataclasses.replace(plain, bos_id=None, eos_ids=eos), empty)[0].logprobs
        for eos in ((17,), (17, 2), (2, 17))
    }
    assert sums[17, 2] == sums[(17,)]
    assert sums[2, 17] != sums[17, 2]


def test_bos_at_the_beginning_is_counted(
    worker: WorkerProcess, patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    first = worker.encode(_PROMPT).ids[0]
    request = dataclasses.replace(load_request(model_dir), bos_id=first)
    doubled = f"""
inner = w['Engine']._encode
w['Engine']._encode = lambda self, text: [{first}, *inner(self, text)]
"""
    assert _ask(patched_runtime(""), request, _ONE)[0].leading_bos == 1
    assert _ask(patched_runtime(doubled), request, _ONE)[0].leading_bos == 2
    unknown = dataclasses.replace(request, bos_id=None)
    assert _ask(patched_runtime(""), unknown, _ONE)[0].leading_bos is None
