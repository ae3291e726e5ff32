"""The real worker process: handshake, requests, refusals, and how it ends."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mince_gui.run import Runtime, WorkerProcess, WorkerRefusedError, read_model_folder
from mince_gui.run import protocol as wire
from mince_gui.run.protocol import ChoiceRequest, GenerateRequest, LoadRequest
from tests.run.stacks import NAN_LOGITS, generators

Load = Callable[..., LoadRequest]


@pytest.fixture
def bare(runtime: Runtime) -> Iterator[subprocess.Popen[bytes]]:
    """A worker under `python -I` spoken to by hand."""
    with subprocess.Popen(runtime.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def _say(process: subprocess.Popen[bytes], line: bytes) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_both_sides_have_the_same_schema(worker: WorkerProcess) -> None:
    assert "-I" in worker.runtime.command
    assert worker.schema().schema == wire.schema()


def test_the_hello_names_the_protocol_and_the_versions(worker: WorkerProcess) -> None:
    hello = worker.hello
    assert hello is not None
    assert hello.protocol == wire.PROTOCOL
    assert hello.error is None
    assert hello.distribution == "onnxruntime-genai"
    assert hello.oga_version
    assert "onnxruntime " in (hello.ort_version or "")
    assert psutil.Process(hello.pid).is_running()


def test_a_python_without_oga_says_so_in_its_hello_and_refuses_to_load(
    runtime: Runtime, model_dir: Path, load_request: Load
) -> None:
    # -S leaves out site-packages, where OGA is.
    command = (runtime.command[0], "-S", "-I", runtime.command[-1])
    with WorkerProcess(Runtime("no OGA", command, runtime.kind)) as worker:
        assert worker.hello is not None
        assert "onnxruntime_genai" in (worker.hello.error or "")
        assert worker.hello.oga_version is None
        worker.ping()
        with pytest.raises(WorkerRefusedError) as caught:
            worker.load(load_request(model_dir))
        assert caught.value.kind == "not_loaded"


def test_print_of_native_code_on_descriptor_1_does_not_break_the_protocol(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    noise = r"""
def noisy(inner):
    def method(self, text):
        os.write(1, b'{"id":1}\nnative noise without line end')
        print('and from Python', flush=True)
        return inner(self, text)
    return method
w['Engine']._encode = noisy(w['Engine']._encode)
"""
    with WorkerProcess(patched_runtime(noise)) as worker:
        worker.load(load_request(model_dir))
        assert worker.encode("a").ids
        worker.close()
        assert any("native noise" in line for line in worker.stderr_tail)


def test_a_bad_request_is_refused_by_name_and_the_worker_goes_on(
    bare: subprocess.Popen[bytes], subtests: pytest.Subtests
) -> None:
    assert bare.stdout is not None
    bare.stdout.readline()
    for line, words in (
        (b"not json\n", "not a JSON object"),
        (b"[1]\n", "not a JSON object"),
        (b"\xff\xfe\n", "not a JSON object"),
        (b'{"id":1,"op":"dance"}\n', "no op 'dance'"),
        (b'{"id":1,"op":"encode"}\n', "encode takes ['text']"),
        (b'{"id":1,"op":"encode","text":"a","more":1}\n', "encode takes ['text']"),
        (b'{"id":1,"op":"encode","text":5}\n', "text is not str"),
        (b'{"id":1,"op":"choice","prompts":["a"],"choices":"ab","fast":false}\n', "choices is not list[str]"),
    ):
        with subtests.test(words):
            reply = _say(bare, line)
            assert reply["error"]["type"] == "bad_request"
            assert words in reply["error"]["message"]
            assert _say(bare, b'{"id":2,"op":"ping"}\n') == {"id": 2, "ok": True, "result": {}}


def test_a_worker_whose_parent_is_gone_begins_nothing_more(
    bare: subprocess.Popen[bytes], model_dir: Path, load_request: Load
) -> None:
    assert bare.stdin is not None
    assert bare.stdout is not None
    bare.stdin.write(wire.request_line(1, load_request(model_dir)))
    bare.stdin.write(wire.request_line(2, GenerateRequest("1 2 3", (), 400)))
    bare.stdin.close()
    lines = [wire.parse_line(raw) for raw in bare.stdout]
    assert [line for line in lines if isinstance(line, wire.ReplyLine) and line.id == 2] == []
    assert bare.wait(30) == 0


def test_end_of_stdin_ends_the_worker_with_code_0(bare: subprocess.Popen[bytes]) -> None:
    assert bare.stdin is not None
    bare.stdin.close()
    assert bare.wait(30) == 0


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_of_the_terminal_does_not_reach_the_worker(bare: subprocess.Popen[bytes]) -> None:
    assert bare.stdout is not None
    bare.stdout.readline()
    bare.send_signal(signal.SIGINT)
    assert _say(bare, b'{"id":1,"op":"ping"}\n')["ok"]


def test_a_worker_whose_parent_is_killed_ends_by_itself() -> None:
    parent = """
import sys, time
from pathlib import Path
from mince_gui.run import WorkerProcess, bundled_runtime
worker = WorkerProcess(bundled_runtime())
print(worker.start().pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        process.kill()
        process.wait()
        gone, _ = psutil.wait_procs([child], timeout=30)
    assert gone


def test_a_missing_model_folder_is_refused_in_words_and_the_worker_goes_on(runtime: Runtime, tmp_path: Path) -> None:
    with WorkerProcess(runtime) as worker:
        with pytest.raises(WorkerRefusedError) as caught:
            worker.load(LoadRequest(str(tmp_path), None, {}, 100, None, (0,), None))
        assert caught.value.kind == "load_failed"
        assert "genai_config.json" in caught.value.message
        worker.ping()


def test_a_second_model_is_refused(worker: WorkerProcess, model_dir: Path, load_request: Load) -> None:
    with pytest.raises(WorkerRefusedError) as caught:
        worker.load(load_request(model_dir))
    assert caught.value.kind == "bad_request"


def test_threads_reach_onnx_runtime_and_are_reported(runtime: Runtime, model_dir: Path, load_request: Load) -> None:
    with WorkerProcess(runtime) as worker:
        loaded = worker.load(load_request(model_dir, threads=1))
        assert loaded.threads == 1
        assert loaded.device_type == "CPU"
        assert loaded.all_rows
        assert loaded.search["do_sample"] is False
        assert loaded.vocab_size == read_model_folder(model_dir).vocab_size
        assert loaded.warmup_seconds > 0


def _refusal(ask: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(WorkerRefusedError) as caught:
        ask()
    return caught.value.kind, caught.value.message


def test_what_cannot_be_run_is_refused_and_never_cut(
    runtime: Runtime, worker: WorkerProcess, model_dir: Path, load_request: Load, subtests: pytest.Subtests
) -> None:
    ceiling = read_model_folder(model_dir).ceiling
    long = "one two three " * ceiling
    with subtests.test("a prompt for generation that leaves no room"):
        kind, message = _refusal(lambda: worker.generate(GenerateRequest(long, (), 10)))
        assert kind == "does_not_fit"
        assert str(ceiling) in message
    with subtests.test("a prompt for a choice beyond the ceiling"):
        choice = ChoiceRequest((long,), (" four",))
        assert _refusal(lambda: worker.choice(choice))[0] == "does_not_fit"
    with subtests.test("NUL, behind which OGA would silently cut"):
        assert _refusal(lambda: worker.generate(GenerateRequest("a\x00b", (), 10)))[0] == "bad_prompt"
    with subtests.test("a lone surrogate"):
        assert _refusal(lambda: worker.generate(GenerateRequest("a\ud800", (), 10)))[0] == "bad_prompt"
    with subtests.test("an empty prompt"):
        assert _refusal(lambda: worker.generate(GenerateRequest("", (), 10)))[0] == "bad_prompt"
    with subtests.test("a choice that adds nothing"):
        kind, message = _refusal(lambda: worker.choice(ChoiceRequest(("one",), (" two", ""))))
        assert kind == "bad_prompt"
        assert "''" in message
    with subtests.test("choices of several tokens that fit with the prompt no more"):
        room = dataclasses.replace(load_request(model_dir), ceiling=8)
        with WorkerProcess(runtime) as small:
            small.load(room)
            prompt = "one two three"
            assert small.choice(ChoiceRequest((prompt,), (" four",))).method == "last_logits"
            wide = ChoiceRequest((prompt,), (" four", " four five six seven eight nine ten"))
            assert _refusal(lambda: small.choice(wide))[0] == "does_not_fit"
    with subtests.test("prompts that are neither one nor one per choice"):
        three = ChoiceRequest(("a", "b"), (" one", " two", " three"))
        assert _refusal(lambda: worker.choice(three))[0] == "bad_request"
    with subtests.test("no choices"):
        assert _refusal(lambda: worker.choice(ChoiceRequest(("one",), ())))[0] == "bad_request"
    with subtests.test("no budget"):
        assert _refusal(lambda: worker.generate(GenerateRequest("one", (), 0)))[0] == "bad_request"
    assert worker.generate(GenerateRequest("one", (), 3)).ids is not None


def test_the_model_context_ends_an_answer_with_its_own_reason(
    runtime: Runtime, model_dir: Path, load_request: Load
) -> None:
    with WorkerProcess(runtime) as worker:
        worker.load(load_request(model_dir, ceiling=40))
        tokens = len(worker.encode("1 2 3").ids)
        answer = worker.generate(GenerateRequest("1 2 3", (), 500))
        if answer.finish != "eos":
            assert answer.finish == "context"
            assert len(answer.ids) == 40 - tokens


def test_an_abort_ends_its_own_request_only(bare: subprocess.Popen[bytes], model_dir: Path, load_request: Load) -> None:
    assert bare.stdin is not None
    assert bare.stdout is not None
    ask = GenerateRequest("1 2 3", (), 5)
    bare.stdin.write(wire.request_line(1, load_request(model_dir)) + wire.abort_line(2))
    bare.stdin.write(
        wire.request_line(2, ask) + wire.request_line(3, ask) + wire.request_line(4, wire.ShutdownRequest())
    )
    bare.stdin.flush()
    replies = [line for line in map(wire.parse_line, bare.stdout) if isinstance(line, wire.ReplyLine)]
    assert [(r.id, r.error.type if r.error else None) for r in replies][:2] == [(1, None), (2, "aborted")]
    assert replies[-1].error is None
    assert bare.wait(30) == 0


def test_a_stop_string_ends_the_text_before_it_and_saves_the_rest_of_the_budget(worker: WorkerProcess) -> None:
    free = worker.generate(GenerateRequest("One, two, three,", (), 24))
    if len(free.text) < 4:
        pytest.skip("the model says too little to be stopped")
    stop = free.text[len(free.text) // 2 :][:3]
    cut = worker.generate(GenerateRequest("One, two, three,", ("never said", stop), 24))
    assert cut.text == free.text[: free.text.index(stop)]
    assert cut.finish == "stop"
    assert free.ids[: len(cut.ids)] == cut.ids
    assert len(cut.ids) < len(free.ids)


_CHOICE = ChoiceRequest(("Which number is the largest?\nOptions: two, nine\nAnswer:",), (" two", " nine"))


def test_a_choice_takes_the_likeliest_and_a_tie_goes_to_the_first(worker: WorkerProcess) -> None:
    reply = worker.choice(_CHOICE)
    assert reply.picked == reply.logprobs.index(max(reply.logprobs))
    assert all(value < 0 for value in reply.logprobs)
    assert sum(map(math.exp, reply.logprobs)) <= 1
    tie = worker.choice(dataclasses.replace(_CHOICE, choices=(" nine", " two", " nine")))
    assert tie.logprobs[0] == tie.logprobs[2]
    assert tie.picked == (1 if reply.picked == 0 else 0)


@pytest.mark.parametrize(("all_rows", "method"), [(True, "row_before"), (False, "last_logits")])
def test_a_trap_length_is_avoided_where_the_graph_gives_every_row_and_told_where_not(
    patched_runtime: Callable[[str], Runtime],
    worker: WorkerProcess,
    model_dir: Path,
    load_request: Load,
    all_rows: bool,
    method: str,
) -> None:
    """Every length is declared a trap; a graph that gives the last row only is what NPU folders have."""
    source = f"""
w['Engine'].choice.__globals__['is_trap_length'] = lambda tokens: True
inner = w['Engine']._warm_up
def warm_up(self):
    result = inner(self)
    self._all_rows = {all_rows}
    return result
w['Engine']._warm_up = warm_up
"""
    with WorkerProcess(patched_runtime(source)) as patched:
        patched.load(load_request(model_dir))
        reply = patched.choice(_CHOICE)
    assert (reply.trap, reply.method) == (True, method)
    assert reply.logprobs == pytest.approx(worker.choice(_CHOICE).logprobs, abs=0.05)


def test_logits_that_are_no_numbers_are_refused_and_give_no_answer(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    with WorkerProcess(patched_runtime(NAN_LOGITS)) as patched:
        patched.load(load_request(model_dir))
        assert _refusal(lambda: patched.choice(_CHOICE))[0] == "non_finite"
        assert _refusal(lambda: patched.generate(GenerateRequest("1 2 3", (), 5)))[0] == "non_finite"


@pytest.mark.parametrize(("sound", "places"), [(2, {3}), (31, {32}), (45, {46, 47, 48, 49})])
def test_logits_that_break_only_after_some_tokens_are_refused_with_the_place(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load, sound: int, places: set[int]
) -> None:
    """As an NPU build was reported to do: numbers after the prompt, NaN from the third token on, and text goes on."""
    source = generators(f"""
steps = 0
def generate_next_token(self):
    self.steps += 1
    self._inner.generate_next_token()
def get_logits(self):
    logits = self._inner.get_logits()
    if self.steps >= {sound}:
        logits[..., 5] = float('nan')
    return logits
""")
    with WorkerProcess(patched_runtime(source)) as patched:
        patched.load(load_request(model_dir))
        assert len(patched.generate(GenerateRequest("1 2 3", (), sound)).ids) == sound
        for budget in (sound + 1, 60):
            kind, message = _refusal(lambda: patched.generate(GenerateRequest("1 2 3", (), budget)))  # noqa: B023
            assert kind == "non_finite"
            assert int(message.partition("at token ")[2].split()[0]) in places


def test_every_row_is_looked_at_where_a_broken_one_would_end_the_answer_in_silence(
    patched_runtime: Callable[[str], Runtime], model_dir: Path, load_request: Load
) -> None:
    """Greedy search takes token 0 of a row of NaN; this folder is made to name it as an end token."""
    source = generators("""
steps, looks = 0, 0
def generate_next_token(self):
    self.steps += 1
    assert self.looks == self.steps or self.steps < 3
    self._inner.generate_next_token()
def get_logits(self):
    self.looks += 1
    return self._inner.get_logits()
""")
    request = load_request(model_dir)
    with WorkerProcess(patched_runtime(source)) as patched:
        patched.load(dataclasses.replace(request, eos_ids=(*request.eos_ids, 0)))
        assert len(patched.generate(GenerateRequest("1 2 3", (), 60)).ids) == 60


def test_text_has_the_ids_of_a_bare_loop_of_the_same_runtime(
    runtime: Runtime, worker: WorkerProcess, model_dir: Path
) -> None:
    bare_loop = """
import sys
import onnxruntime_genai as og
model = og.Model(sys.argv[1])
ids = og.Tokenizer(model).encode(sys.argv[2])
params = og.GeneratorParams(model)
params.set_search_options(max_length=len(ids) + 60, do_sample=False)
generator = og.Generator(model, params)
generator.append_tokens(ids)
while not generator.is_done():
    generator.generate_next_token()
print(*generator.get_sequence(0)[len(ids):])
"""
    for prompt in ("1 2 3", "Question: Sue has 5 shells and finds 7 more. How many shells does Sue have?\nAnswer:"):
        command = [runtime.command[0], "-I", "-c", bare_loop, str(model_dir), prompt]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        answer = worker.generate(GenerateRequest(prompt, (), 60))
        expected = [int(token) for token in done.stdout.split()]
        # Before OGA 0.11 the end token was appended.
        eos = read_model_folder(model_dir).eos_ids
        assert list(answer.ids) == (expected[:-1] if expected[-1] in eos else expected)


def test_time_ends_an_answer_at_a_token_and_what_was_written_is_kept(
    patched_runtime: Callable[[str], Runtime], worker: WorkerProcess, model_dir: Path, load_request: Load
) -> None:
    """The worker's clock goes on by a second whenever it is looked at."""
    source = """
class Clock:
    monotonic = time.monotonic
    seconds = 0
    def perf_counter(self):
        self.seconds += 1
        return self.seconds
w['Engine'].choice.__globals__['time'] = Clock()
"""
    ask = GenerateRequest("1 2 3", (), 40)
    free = worker.generate(ask)
    assert worker.generate(dataclasses.replace(ask, max_seconds=1e6)).ids == free.ids
    one = worker.generate(dataclasses.replace(ask, max_seconds=0.0))
    assert (one.finish, one.ids) == ("time", free.ids[:1])
    with WorkerProcess(patched_runtime(source)) as patched:
        patched.load(load_request(model_dir))
        answer = patched.generate(dataclasses.replace(ask, max_seconds=12.0))
    assert answer.finish == "time"
    assert answer.ids == free.ids[: len(answer.ids)]
    assert 1 < len(answer.ids) <= 12
    assert answer.text == free.text[: len(answer.text)] != ""


def test_devices_are_those_of_onnxruntime_or_an_error_in_words(runtime: Runtime, worker: WorkerProcess) -> None:
    told = worker.request(wire.DevicesRequest())
    assert isinstance(told, wire.DevicesResult)
    assert told.error is None
    assert "CPUExecutionProvider" in told.providers
    assert all(len(device.split(", ")) == 3 for device in told.devices)
    assert any(device.startswith("CPUExecutionProvider, ") for device in told.devices)
    # -S leaves out site-packages, where onnxruntime is.
    with WorkerProcess(Runtime("bare", (runtime.command[0], "-S", "-I", runtime.command[-1]), runtime.kind)) as bare:
        told = bare.request(wire.DevicesRequest())
    assert isinstance(told, wire.DevicesResult)
    assert (told.providers, told.devices) == ((), ())
    assert "onnxruntime" in (told.error or "")


def test_a_fixed_kv_length_is_taken_whole_and_the_budget_still_ends_the_answer(
    runtime: Runtime, worker: WorkerProcess, model_dir: Path, load_request: Load
) -> None:
    ask = GenerateRequest("1 2 3", (), 6)
    with WorkerProcess(runtime) as fixed:
        loaded = fixed.load(dataclasses.replace(load_request(model_dir), kv_length=128, ceiling=100))
        assert loaded.kv_length == 128
        answer = fixed.generate(ask)
    free = worker.generate(ask)
    assert (answer.ids, answer.finish, answer.text) == (free.ids, free.finish, free.text)
    assert len(answer.ids) <= 6
