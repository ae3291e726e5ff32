"""Fast mode: the tokens that prompts share are read once, and every logit is the one of a pass over the whole prompt.

Stacks that cannot rewind, or whose graphs give the last row alone, cannot be had here: the real worker and the real
model run with a generator that refuses, or with the other rows hidden.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mince_gui.run import Runtime, WorkerProcess
from mince_gui.run.protocol import ChoiceRequest, ChoiceResult, GenerateRequest, ShareRequest, ShareResult
from mince_gui.run.worker import is_trap_length, rest_length, shared_length
from mince_gui.tasks import get
from tests.run.conftest import Load
from tests.run.stacks import LAST_ROW_ONLY, ONE_GENERATOR, no_rewind, no_second_append

_CHOICES = (" two", " nine")
_SHOTS = "Which number is the smallest?\nOptions: one, five\nAnswer: one\n\n" * 3
_PROMPTS = tuple(
    f"{_SHOTS}Which number is the largest?\nOptions: {options}\nAnswer:"
    for options in ("two, nine", "one, four", "six, five, two", "seven, eight")
)
_SHARE = ShareRequest(_PROMPTS, _CHOICES, 0)


def _ask(process: WorkerProcess, prompts: tuple[str, ...], *, fast: bool) -> list[ChoiceResult]:
    return [process.choice(ChoiceRequest((prompt,), _CHOICES, fast)) for prompt in prompts]


def _share(process: WorkerProcess, request: ShareRequest) -> ShareResult:
    result = process.request(request)
    assert isinstance(result, ShareResult)
    return result


def _is_read(tokens: int) -> bool:
    return tokens > 1 and not is_trap_length(tokens)


# -- where prompts are split -------------------------------------------------------------------------


@given(
    shared=st.integers(0, 600),
    rests=st.lists(st.integers(0, 400), min_size=2, max_size=12),
    rows=st.booleans(),
)
@example(shared=129, rests=[1, 5], rows=True)
@example(shared=2, rests=[127, 255], rows=False)
@settings(max_examples=200, deadline=None)
def test_what_is_kept_begins_every_prompt_and_no_pass_has_one_token_or_a_trap_length(
    shared: int, rests: list[int], rows: bool
) -> None:
    prompts = [(7,) * shared + (100 + place,) * rest for place, rest in enumerate(rests)]
    kept = shared_length(prompts, rows)
    common = min([shared, *map(len, prompts)])
    assert 0 <= kept <= common
    if kept == 0:
        return
    assert _is_read(kept)
    chunks = [rest_length(len(prompt), kept, rows) for prompt in prompts]
    assert any(chunks)
    for prompt, chunk in zip(prompts, chunks, strict=True):
        assert len(prompt) > kept
        if chunk == 0:
            # Read whole: a trap length that only a graph of all rows could avoid.
            assert not rows
            assert is_trap_length(len(prompt)) or not _is_read(len(prompt) - kept)
        else:
            assert _is_read(chunk)
            assert chunk - (len(prompt) - kept) in ((0, 1) if rows else (0,))


@given(tokens=st.integers(1, 2_000), kept=st.integers(2, 2_000), rows=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_letter_follows_a_prompt_of_trap_length_in_both_ways_unless_that_makes_a_trap(
    tokens: int, kept: int, rows: bool
) -> None:
    chunk = rest_length(tokens, kept, rows)
    if chunk and is_trap_length(tokens) and _is_read(tokens - kept + 1):
        assert chunk == tokens - kept + 1


@pytest.mark.parametrize(
    ("common", "lengths", "rows", "kept"),
    [
        (200, (220, 250), False, 200),
        # A rest of 129 tokens moves the split, unless a letter can follow.
        (200, (329, 220), False, 199),
        (200, (329, 328, 220), False, 198),
        (200, (329, 328, 220), True, 200),
        # So does a rest of one token.
        (200, (201, 210), False, 199),
        (200, (201, 210), True, 200),
        # What is kept has no trap length itself.
        (129, (150, 160), True, 128),
        # One prompt is all that the others begin with.
        (200, (200, 210), False, 198),
        # A prompt of trap length is read whole where it must be, and moves nothing.
        (200, (257, 250), False, 200),
        (1, (50, 60), True, 0),
    ],
)
def test_the_split_is_the_last_one_that_leaves_the_fewest_tokens_to_read(
    common: int, lengths: tuple[int, ...], rows: bool, kept: int
) -> None:
    prompts = [(7,) * common + (100 + place,) * (length - common) for place, length in enumerate(lengths)]
    assert shared_length(prompts, rows) == kept


# -- the same answers --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mmlu(shared: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Prompts and choices of real MMLU items with five shots; the seventh has 257 tokens, a trap length."""
    folder = shared / "reference" / "lm_eval_runs" / "mmlu_5shot"
    (path,) = folder.glob("*/samples_mmlu_world_religions_*.jsonl")
    shots = [json.loads(line) for line in (shared / "data/mmlu/dev.jsonl").read_text(encoding="utf-8").splitlines()]
    docs = [json.loads(line)["doc"] for line in path.read_text(encoding="utf-8").splitlines()]
    asked = [get("mmlu").request(doc, shots, render=None, max_new_tokens=None) for doc in docs[:8]]
    return [(request.prompt, request.choices) for request in asked]


@pytest.mark.shared
def test_real_items_have_the_same_log_probabilities_bit_for_bit(
    shared_worker: WorkerProcess, mmlu: list[tuple[str, tuple[str, ...]]]
) -> None:
    share = _share(shared_worker, ShareRequest(tuple(prompt for prompt, _ in mmlu), mmlu[0][1], 1))
    assert (share.reason, share.identical, share.compared) == (None, True, 1)
    assert share.kept > 200
    # Between 0.13 and 0.59 in the reference, by the text.
    assert share.trap_shift is not None
    assert share.trap_shift > 0.05
    requests = [ChoiceRequest((prompt,), choices, True) for prompt, choices in mmlu]
    fast = [shared_worker.choice(request) for request in requests]
    whole = [shared_worker.choice(dataclasses.replace(request, fast=False)) for request in requests]
    assert {reply.method for reply in fast} == {"kept_prefix"}
    assert [reply.method for reply in whole].count("row_before") == 1
    for one, other in zip(fast, whole, strict=True):
        assert (one.logprobs, one.picked, one.greedy) == (other.logprobs, other.picked, other.greedy)
        assert (one.trap, one.choice_ids) == (other.trap, other.choice_ids)
        # A letter more where the standard way appends one.
        assert one.timing.read_tokens - (one.timing.prompt_tokens - share.kept) == (other.method == "row_before")
        assert other.timing.read_tokens == other.timing.prompt_tokens == one.timing.prompt_tokens


@pytest.mark.parametrize("source", ["", LAST_ROW_ONLY], ids=["all rows", "last row only"])
def test_both_ways_are_compared_where_asked_and_agree(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load, source: str
) -> None:
    with WorkerProcess(patched_runtime(source)) as process:
        process.load(load_request(model_dir))
        share = _share(process, dataclasses.replace(_SHARE, compare=3))
        assert (share.identical, share.compared, share.reason) == (True, 3, None)
        assert 60 <= share.kept < min(len(process.encode(prompt).ids) for prompt in _PROMPTS)
        assert share.seconds > 0
        # These prompts are too short for a trap length.
        assert share.trap_shift is None
        fast = _ask(process, _PROMPTS, fast=True)
        assert {reply.method for reply in fast} == {"kept_prefix"}
        assert [r.logprobs for r in fast] == [r.logprobs for r in _ask(process, _PROMPTS, fast=False)]
        assert _share(process, dataclasses.replace(_SHARE, compare=50)).compared == len(_PROMPTS)


def test_a_fixed_kv_length_changes_nothing(
    runtime: Runtime, worker: WorkerProcess, model_dir: Path, load_request: Load
) -> None:
    with WorkerProcess(runtime) as process:
        process.load(dataclasses.replace(load_request(model_dir), kv_length=128, ceiling=100))
        assert _share(process, dataclasses.replace(_SHARE, compare=2)).identical
        fast = _ask(process, _PROMPTS, fast=True)
    assert {reply.method for reply in fast} == {"kept_prefix"}
    assert [r.logprobs for r in fast] == [r.logprobs for r in _ask(worker, _PROMPTS, fast=False)]


def test_a_prompt_of_trap_length_is_read_one_row_before_a_letter_or_whole(
    patched_runtime: Callable[[str], Runtime], worker: WorkerProcess, model_dir: Path, load_request: Load
) -> None:
    """The first prompt's length is declared a trap: with all rows a letter follows it, with the last row alone the
    trap cannot be avoided, and fast mode then reads it as the standard way does."""
    tokens = len(worker.encode(_PROMPTS[2]).ids)
    trap = f"w['Engine'].choice.__globals__['is_trap_length'] = lambda tokens: tokens == {tokens}\n"
    for source, method in (("", "kept_prefix"), (LAST_ROW_ONLY, "last_logits")):
        with WorkerProcess(patched_runtime(trap + source)) as process:
            process.load(load_request(model_dir))
            share = _share(process, _SHARE)
            (fast,) = _ask(process, _PROMPTS[2:3], fast=True)
            (whole,) = _ask(process, _PROMPTS[2:3], fast=False)
        assert (fast.method, fast.trap, fast.logprobs) == (method, True, whole.logprobs)
        assert fast.timing.read_tokens == (tokens - share.kept + 1 if method == "kept_prefix" else tokens)


# -- what is scored in the standard way --------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "method"),
    [
        (ChoiceRequest((_PROMPTS[0],), (" two", " nine and two")), "all_rows"),
        (ChoiceRequest((_PROMPTS[0], _PROMPTS[1]), _CHOICES), "last_logits"),
        (ChoiceRequest(("Which number is the largest?\nAnswer:",), _CHOICES), "last_logits"),
        (ChoiceRequest((_SHOTS + "Which",), _CHOICES), "last_logits"),
        (ChoiceRequest((_PROMPTS[0] + " two nine" * 40 + " and",), _CHOICES), "last_logits"),
    ],
    ids=["several tokens", "prompts of their own", "another beginning", "the shots alone", "longer than all"],
)
def test_other_requests_are_scored_as_without_fast_mode(
    worker: WorkerProcess, request_: ChoiceRequest, method: str
) -> None:
    expected = worker.choice(request_)
    assert _share(worker, _SHARE).kept
    reply = worker.choice(dataclasses.replace(request_, fast=True))
    assert reply.method == expected.method == method
    assert reply.logprobs == pytest.approx(expected.logprobs, abs=1e-4)


def test_fast_without_anything_kept_is_the_standard_way(runtime: Runtime, model_dir: Path, load_request: Load) -> None:
    with WorkerProcess(runtime) as process:
        process.load(load_request(model_dir))
        assert {reply.method for reply in _ask(process, _PROMPTS, fast=True)} == {"last_logits"}


_TOO_LONG = _SHOTS + "one two three " * 600


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ShareRequest(_PROMPTS[:1], _CHOICES, 1), "no two prompts"),
        (ShareRequest((), _CHOICES, 1), "no two prompts"),
        (ShareRequest(_PROMPTS, (), 1), "no two prompts"),
        (ShareRequest(_PROMPTS, (" two", " nine and two"), 1), "no two prompts"),
        (ShareRequest((_PROMPTS[0], _TOO_LONG, _PROMPTS[0] + "\x00"), _CHOICES, 1), "no two prompts"),
        (ShareRequest(("one two three", "two three four", "Which"), _CHOICES, 1), "do not begin alike"),
    ],
    ids=["one prompt", "no prompt", "no choices", "several tokens", "prompts that cannot be asked", "nothing common"],
)
def test_nothing_is_kept_where_nothing_is_shared_and_the_reason_is_given(
    worker: WorkerProcess, request_: ShareRequest, words: str
) -> None:
    share = _share(worker, request_)
    assert (share.kept, share.compared, share.identical) == (0, 0, None)
    assert words in (share.reason or "")


def test_prompts_that_cannot_be_asked_do_not_spoil_the_others(worker: WorkerProcess) -> None:
    share = _share(worker, dataclasses.replace(_SHARE, prompts=("a\x00", _TOO_LONG, *_PROMPTS), compare=2))
    assert share.kept == _share(worker, _SHARE).kept > 0
    assert share.identical


# -- stacks that cannot do it ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (no_second_append(), "RuntimeError: continuous decoding is not supported"),
        (no_rewind("raise RuntimeError('not here')"), "RuntimeError: not here"),
    ],
    ids=["a second append is refused", "rewinding is refused"],
)
def test_a_stack_that_refuses_keeps_nothing_says_why_and_scores_in_the_standard_way(
    patched_runtime: Callable[[str], Runtime],
    worker: WorkerProcess,
    model_dir: Path,
    load_request: Load,
    source: str,
    words: str,
) -> None:
    with WorkerProcess(patched_runtime(source)) as process:
        process.load(load_request(model_dir))
        share = _share(process, dataclasses.replace(_SHARE, compare=2))
        assert (share.kept, share.identical, share.reason) == (0, None, words)
        fast = _ask(process, _PROMPTS, fast=True)
        # It is not tried again.
        assert _share(process, _SHARE).reason == words
    assert {reply.method for reply in fast} == {"last_logits"}
    assert [r.logprobs for r in fast] == [r.logprobs for r in _ask(worker, _PROMPTS, fast=False)]


def test_a_stack_that_refuses_later_than_the_share_scores_the_items_in_the_standard_way(
    patched_runtime: Callable[[str], Runtime], worker: WorkerProcess, model_dir: Path, load_request: Load
) -> None:
    source = no_rewind("raise RuntimeError('not here')")
    with WorkerProcess(patched_runtime(source)) as process:
        process.load(load_request(model_dir))
        # Nothing is compared, so nothing was rewound.
        assert _share(process, _SHARE).kept
        fast = _ask(process, _PROMPTS, fast=True)
    assert {reply.method for reply in fast} == {"last_logits"}
    assert [r.logprobs for r in fast] == [r.logprobs for r in _ask(worker, _PROMPTS, fast=False)]


def test_a_rewind_that_does_nothing_is_seen_by_comparing(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    with WorkerProcess(patched_runtime(no_rewind("pass"))) as process:
        process.load(load_request(model_dir))
        share = _share(process, dataclasses.replace(_SHARE, compare=3))
    assert (share.compared, share.identical) == (3, False)


def test_a_worker_that_may_not_append_twice_keeps_nothing(
    runtime: Runtime, model_dir: Path, load_request: Load
) -> None:
    with WorkerProcess(runtime) as process:
        process.load(dataclasses.replace(load_request(model_dir), fresh_only=True))
        share = _share(process, _SHARE)
        assert share.kept == 0
        assert "died" in (share.reason or "")
        assert {reply.method for reply in _ask(process, _PROMPTS, fast=True)} == {"last_logits"}


def test_there_is_never_a_second_generator_and_what_was_given_back_is_read_again(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    with WorkerProcess(patched_runtime(ONE_GENERATOR)) as process:
        process.load(load_request(model_dir))
        asked: list[ChoiceResult] = []
        share = _share(process, dataclasses.replace(_SHARE, compare=3))
        asked += _ask(process, _PROMPTS[:2], fast=True)
        again = _share(process, dataclasses.replace(_SHARE, compare=3))
        assert (again.kept, again.identical, again.reason) == (share.kept, True, None)
        asked += _ask(process, _PROMPTS[:2], fast=True)
        process.generate(GenerateRequest("1 2 3", (), 3))
        asked += _ask(process, _PROMPTS[:2], fast=True)
        asked += _ask(process, _PROMPTS[:1], fast=False)
    read = [reply.timing.read_tokens - reply.timing.prompt_tokens for reply in asked]
    assert read == [-share.kept, -share.kept] * 2 + [0, -share.kept] + [0]
    assert len({reply.logprobs for reply in asked}) == 2
