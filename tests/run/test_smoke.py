"""The smoke test, with the real worker and a real model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.run import Runtime, WorkerProcess, WorkerRefusedError, bundled_runtime
from mince_gui.run.protocol import LoadRequest
from mince_gui.run.smoke import smoke_test
from tests.run.stacks import NAN_LOGITS

Load = Callable[..., LoadRequest]
Patch = Callable[[str], Runtime]


def test_an_answer_is_repeated_stored_and_timed(worker: WorkerProcess) -> None:
    smoke = smoke_test(worker, CancelToken())
    assert smoke.repeated
    assert len(smoke.ids) == 24
    assert smoke.text
    assert smoke.prefill_tokens >= 200
    assert smoke.prefill_seconds_per_token is not None
    assert smoke.decode_seconds_per_token is not None
    assert 0 < smoke.prefill_seconds_per_token * smoke.prefill_tokens < smoke.seconds
    assert 0 < smoke.decode_seconds_per_token * 23 < smoke.seconds
    stored = json.loads(json.dumps(smoke.to_json()))
    assert stored == smoke.to_json()
    assert (stored["prompt"], stored["repeated"], stored["ids"]) == ("smoke-1", True, list(smoke.ids))


def test_another_worker_gives_the_same_answer(worker: WorkerProcess, model_dir: Path, load_request: Load) -> None:
    with WorkerProcess(bundled_runtime()) as other:
        other.load(load_request(model_dir))
        assert smoke_test(other, CancelToken()).ids == smoke_test(worker, CancelToken()).ids


def test_an_answer_that_differs_the_second_time_is_kept_and_told(
    patched_runtime: Patch, model_dir: Path, load_request: Load
) -> None:
    """A device that computes differently from time to time is a worker whose second answer is cut by one token."""
    source = """
inner, calls = w['Engine']._decode_loop, []
def decode_loop(self, generator, tokens, budget, *rest):
    calls.append(1)
    return inner(self, generator, tokens, budget - (len(calls) == 2), *rest)
w['Engine']._decode_loop = decode_loop
"""
    with WorkerProcess(patched_runtime(source)) as worker:
        worker.load(load_request(model_dir))
        smoke = smoke_test(worker, CancelToken())
    assert not smoke.repeated
    assert smoke.second_ids == smoke.ids[:-1]
    stored = smoke.to_json()
    assert stored["repeated"] is False
    assert json.loads(json.dumps(stored)) == stored


def test_a_model_that_ends_at_once_has_an_empty_answer(
    worker: WorkerProcess, model_dir: Path, load_request: Load
) -> None:
    first = smoke_test(worker, CancelToken()).ids[0]
    with WorkerProcess(bundled_runtime()) as other:
        request = load_request(model_dir)
        other.load(dataclasses.replace(request, eos_ids=(*request.eos_ids, first)))
        smoke = smoke_test(other, CancelToken())
    assert (smoke.text, smoke.ids, smoke.repeated, smoke.decode_seconds_per_token) == ("", (), True, None)
    assert smoke.prefill_seconds_per_token is not None


@pytest.mark.parametrize(("ceiling", "answers"), [(60, True), (8, False)])
def test_a_short_context_gets_shorter_prompts_and_is_not_refused(
    model_dir: Path, load_request: Load, ceiling: int, answers: bool
) -> None:
    with WorkerProcess(bundled_runtime()) as worker:
        worker.load(load_request(model_dir, ceiling=ceiling))
        smoke = smoke_test(worker, CancelToken())
    assert smoke.prefill_tokens < ceiling
    assert bool(smoke.ids) is answers


def test_a_model_without_finite_logits_is_refused(patched_runtime: Patch, model_dir: Path, load_request: Load) -> None:
    with WorkerProcess(patched_runtime(NAN_LOGITS)) as worker:
        worker.load(load_request(model_dir))
        with pytest.raises(WorkerRefusedError) as caught:
            smoke_test(worker, CancelToken())
    assert caught.value.kind == "non_finite"


def test_it_can_be_cancelled(patched_runtime: Patch, model_dir: Path, load_request: Load) -> None:
    cancel = CancelToken()
    with WorkerProcess(patched_runtime("w['Engine'].generate = lambda *_, **__: time.sleep(600)")) as worker:
        worker.deadlines = dataclasses.replace(worker.deadlines, ask=0.1)
        worker.load(load_request(model_dir))
        cancel.cancel()
        with pytest.raises(CancelledError):
            smoke_test(worker, cancel)
