"""The supervisor: lost workers, silence, the ladder. Real workers where they can be made to do it.

Signals make the real worker crash (SIGKILL) and go silent (SIGSTOP). What they cannot do is a worker that
computes for ever or writes nonsense: small stand-ins that speak the protocol do that.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.run import (
    Deadlines,
    ProtocolError,
    Runtime,
    WorkerLostError,
    WorkerProcess,
    WorkerRefusedError,
    bundled_runtime,
    supervisor,
)
from mince_gui.run.protocol import (
    PHASES,
    PROTOCOL,
    GenerateRequest,
    LoadRequest,
    Note,
    PingRequest,
    ShareRequest,
)

Load = Callable[..., LoadRequest]
Script = Callable[[str], Runtime]

posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
_ASK = GenerateRequest("1 2 3", (), 4)
# Says hello and obeys the end of stdin; `answer(id)` is what each test adds.
_STAND_IN = """
import json, os, sys, time
def say(**body): os.write(1, json.dumps(body).encode() + b"\\n")
say(hello=dict(protocol=PROTOCOL, python="3", executable="", pid=os.getpid(), platform="", oga_version="0",
    distribution=None, ort_version=None, packages={}, import_seconds=0.0, error=None))
%s
for line in sys.stdin.buffer:
    body = json.loads(line)
    if body["op"] == "shutdown": break
    answer(body["id"])
""".replace("PROTOCOL", str(PROTOCOL))


def _probe(runtime: Runtime, *, deadlines: Deadlines | None = None, cancel: CancelToken | None = None) -> None:
    worker = WorkerProcess(runtime, deadlines=deadlines)
    try:
        worker.start(cancel)
    finally:
        worker.close()


def _gone(pid: int) -> bool:
    return not psutil.pid_exists(pid)


def test_close_asks_and_the_worker_ends_with_code_0(model_dir: Path, load_request: Load) -> None:
    worker = WorkerProcess(bundled_runtime())
    pid = worker.start().pid
    worker.load(load_request(model_dir))
    outcome = worker.close()
    assert (outcome.cause, outcome.code) == ("stopped", 0)
    assert _gone(pid)
    assert worker.close() is outcome
    with pytest.raises(WorkerLostError):
        worker.ping()


def test_a_program_that_is_not_there_is_not_started(tmp_path: Path) -> None:
    with pytest.raises(WorkerLostError) as caught:
        _probe(Runtime("none", (str(tmp_path / "none"),), "external"))
    assert caught.value.outcome.cause == "not_started"
    assert "none" in caught.value.outcome.detail


def test_a_program_that_ends_before_its_hello_is_not_started_and_its_last_words_are_kept(
    script_runtime: Script,
) -> None:
    with pytest.raises(WorkerLostError) as caught:
        _probe(script_runtime("import sys; sys.exit('a DLL is missing')"))
    outcome = caught.value.outcome
    assert (outcome.cause, outcome.code) == ("not_started", 1)
    assert outcome.stderr == ("a DLL is missing",)


def test_a_program_that_never_says_hello_is_ended(script_runtime: Script) -> None:
    with pytest.raises(WorkerLostError) as caught:
        _probe(script_runtime("import time; time.sleep(600)"), deadlines=Deadlines(start=0.5))
    assert caught.value.outcome.cause == "not_started"


def test_a_start_can_be_cancelled(script_runtime: Script) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        _probe(script_runtime("import time; time.sleep(600)"), cancel=cancel, deadlines=Deadlines(ask=0.1))


@posix
def test_a_killed_worker_is_lost_with_its_signal_and_what_it_did(model_dir: Path, load_request: Load) -> None:
    with WorkerProcess(bundled_runtime()) as worker:
        worker.load(load_request(model_dir))
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerLostError) as caught:
            worker.generate(_ASK)
        outcome = caught.value.outcome
        assert (outcome.cause, outcome.signal) == ("crashed", "SIGKILL")
        assert worker.close() is outcome


@posix
def test_a_stopped_worker_is_hung_after_its_deadline_and_even_that_one_is_ended(
    model_dir: Path, load_request: Load
) -> None:
    # A stopped process leaves SIGTERM pending: only the last step of the ladder ends it.
    deadlines = Deadlines(idle=0.5, ask=0.2, terminate=0.2)
    with WorkerProcess(bundled_runtime(), deadlines=deadlines) as worker:
        worker.load(load_request(model_dir))
        assert worker.pid is not None
        pid = worker.pid
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(WorkerLostError) as caught:
            worker.generate(_ASK)
        assert caught.value.outcome.cause == "hung"
        assert _gone(pid)


@posix
def test_close_ends_a_worker_that_neither_hears_nor_heeds() -> None:
    with WorkerProcess(bundled_runtime(), deadlines=Deadlines(ask=0.2, terminate=0.2)) as worker:
        assert worker.pid is not None
        pid = worker.pid
        os.kill(pid, signal.SIGSTOP)
        outcome = worker.close()
    assert (outcome.cause, outcome.signal) == ("stopped", "SIGKILL")
    assert _gone(pid)


@pytest.fixture
def surviving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[WorkerProcess], int]]:
    """Makes a started worker outlive every step of the ladder, and ends it after the test.

    No real process does that here: it takes a hung driver. So our own signals do not reach it; the rest is real.
    """
    hit: list[subprocess.Popen[bytes]] = []

    def survive(worker: WorkerProcess) -> int:
        assert worker._child is not None
        process = worker._child.process
        hit.append(process)
        for step in ("terminate", "kill"):
            monkeypatch.setattr(process, step, lambda: None)
        return process.pid

    yield survive
    monkeypatch.undo()
    for process in hit:
        process.kill()
        process.wait()


_SHORT = Deadlines(idle=0.4, ask=0.1, terminate=0.1, kill=0.2)
_SILENT = _STAND_IN % "def answer(n): time.sleep(600)"


def test_a_hung_worker_that_cannot_be_ended_is_told_with_what_to_do(
    script_runtime: Script, surviving: Callable[[WorkerProcess], int]
) -> None:
    worker = WorkerProcess(script_runtime(_SILENT), deadlines=_SHORT)
    worker.start()
    pid = surviving(worker)
    assert not worker.unkillable
    with pytest.raises(WorkerLostError) as caught:
        worker.ping()
    outcome = caught.value.outcome
    assert outcome.cause == "hung"
    assert "no sign of life" in outcome.detail
    assert f"process {pid} could not be ended; restart the computer" in outcome.detail
    assert worker.unkillable
    assert worker.close() is outcome


def test_a_worker_that_outlives_its_closing_is_told(
    script_runtime: Script, surviving: Callable[[WorkerProcess], int]
) -> None:
    source = _SILENT.replace("for line in sys.stdin.buffer:", "time.sleep(600)\nfor line in []:")
    worker = WorkerProcess(script_runtime(source), deadlines=_SHORT)
    worker.start()
    pid = surviving(worker)
    outcome = worker.close()
    assert outcome.cause == "hung"
    assert f"process {pid} could not be ended" in outcome.detail
    assert worker.unkillable


def test_a_worker_of_nonsense_that_cannot_be_ended_is_told(
    script_runtime: Script, surviving: Callable[[WorkerProcess], int]
) -> None:
    source = "def answer(n):\n    os.write(1, b'nonsense\\n')\n    time.sleep(600)"
    worker = WorkerProcess(script_runtime(_STAND_IN % source), deadlines=_SHORT)
    worker.start()
    pid = surviving(worker)
    with pytest.raises(ProtocolError):
        worker.ping()
    assert worker.unkillable
    assert f"process {pid} could not be ended" in worker.close().detail


def test_a_worker_that_ended_is_not_unkillable(script_runtime: Script) -> None:
    with WorkerProcess(script_runtime(_STAND_IN % "")) as worker:
        worker.close()
        assert not worker.unkillable


@posix
def test_a_worker_behind_a_launcher_is_ended_with_it(script_runtime: Script) -> None:
    command = list(bundled_runtime().command)
    launcher = script_runtime(f"import subprocess, sys; sys.exit(subprocess.call({command!r}))")
    with WorkerProcess(launcher, deadlines=Deadlines(ask=0.2, terminate=0.2)) as worker:
        assert worker.pid is not None
        pid = worker.pid
        os.kill(pid, signal.SIGSTOP)
        worker.close()
        assert not worker.unkillable
    assert _gone(pid)


@posix
def test_what_a_launcher_started_before_any_hello_is_ended_with_it(script_runtime: Script, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    launcher = script_runtime(
        "import subprocess, sys, pathlib; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"pathlib.Path({str(told)!r}).write_text(str(p.pid)); p.wait()"
    )
    with pytest.raises(WorkerLostError):
        _probe(launcher, deadlines=Deadlines(start=2.0, terminate=0.2))
    assert _gone(int(told.read_text(encoding="utf-8")))


def test_a_process_that_is_not_the_workers_own_is_left_alone(script_runtime: Script) -> None:
    """A worker in a container names a process id that belongs to another process outside."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        source = (_STAND_IN % "").replace("pid=os.getpid()", f"pid={other.pid}")
        with WorkerProcess(script_runtime(source)) as worker:
            assert worker.pid == other.pid
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_devices_and_shared_prefixes_are_asked_for_by_name(model_dir: Path, load_request: Load) -> None:
    prompts = ("a b c d e f g h i j k l m n o p q r s t", "a b c d e f g h i j k l m n o p q r s u")
    with WorkerProcess(bundled_runtime()) as worker:
        told = worker.devices()
        assert told.error is not None or "CPUExecutionProvider" in told.providers
        worker.load(load_request(model_dir))
        shared = worker.share(ShareRequest(prompts, (" A", " B"), 1))
    assert shared.kept > 0 or shared.reason


def test_silence_is_measured_by_the_phase_that_the_worker_named(script_runtime: Script) -> None:
    """A stand-in: the real worker cannot be made to fall silent in a phase of our choice."""
    source = """
def answer(n):
    say(id=n, note=dict(phase="decode", tokens=3, text="so far"))
    time.sleep(600)
"""
    notes: list[Note] = []
    deadlines = Deadlines(idle=600, prefill=600, decode_token=0.4)
    worker = WorkerProcess(script_runtime(_STAND_IN % source), deadlines=deadlines)
    with worker, pytest.raises(WorkerLostError) as caught:
        worker.generate(_ASK, on_note=notes.append)
    assert notes == [Note("decode", 3, "so far")]
    assert caught.value.outcome.cause == "hung"
    assert "while writing an answer" in caught.value.outcome.detail


def test_a_silent_worker_that_computes_gets_longer_but_not_for_ever(script_runtime: Script) -> None:
    """A stand-in that burns CPU: it comes through a deadline that an idle one does not, and ends at the factor."""
    source = """
def answer(n):
    end = time.process_time() + %s
    while time.process_time() < end: pass
    say(id=n, ok=True, result={})
"""
    patient = Deadlines(idle=0.3, busy_factor=100)
    with WorkerProcess(script_runtime(_STAND_IN % (source % 1.0)), deadlines=patient) as worker:
        worker.ping()
    strict = dataclasses.replace(patient, busy_factor=2)
    worker = WorkerProcess(script_runtime(_STAND_IN % (source % 600)), deadlines=strict)
    with worker, pytest.raises(WorkerLostError) as caught:
        worker.ping()
    assert caught.value.outcome.cause == "hung"


def test_silence_while_the_machine_sleeps_is_none_of_the_workers(
    script_runtime: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock that stands still in sleep is a stand-in that always stands still: no test can send us to sleep."""
    monkeypatch.setattr(supervisor, "awake_seconds", lambda: 0.0)
    source = "def answer(n):\n    time.sleep(0.5)\n    say(id=n, ok=True, result={})"
    with WorkerProcess(script_runtime(_STAND_IN % source), deadlines=Deadlines(idle=0.1)) as worker:
        worker.ping()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("def answer(n): os.write(1, b'Segmentation fault\\n')", "Segmentation fault"),
        ("def answer(n): say(id=n + 1, ok=True, result={})", "out of turn"),
        ("def answer(n): say(id=n, ok=True, result={'more': 1})", "more"),
    ],
)
def test_a_line_of_nonsense_ends_the_worker_and_is_named(script_runtime: Script, answer: str, words: str) -> None:
    with WorkerProcess(script_runtime(_STAND_IN % answer)) as worker:
        pid = worker.pid
        assert pid is not None
        with pytest.raises(ProtocolError) as caught:
            worker.request(PingRequest())
        assert words in caught.value.message
        assert _gone(pid)


def test_a_worker_that_closes_its_output_and_stays_is_ended(script_runtime: Script) -> None:
    source = "def answer(n):\n    os.close(1)\n    time.sleep(600)"
    worker = WorkerProcess(script_runtime(_STAND_IN % source), deadlines=Deadlines(terminate=0.3))
    with worker, pytest.raises(WorkerLostError) as caught:
        worker.ping()
    assert caught.value.outcome.cause == "crashed"
    assert "closed its output between two requests" in caught.value.outcome.detail


def test_a_worker_of_another_protocol_version_is_refused(script_runtime: Script) -> None:
    with pytest.raises(ProtocolError) as caught:
        _probe(script_runtime((_STAND_IN % "").replace(f"protocol={PROTOCOL}", "protocol=1")))
    assert "protocol 1" in caught.value.message


def test_the_stderr_tail_is_bounded(script_runtime: Script) -> None:
    source = "import sys\nfor i in range(500): print(i, 'x' * 1000, file=sys.stderr)\nsys.exit(3)"
    with pytest.raises(WorkerLostError) as caught:
        _probe(script_runtime(source))
    tail = caught.value.outcome.stderr
    assert tail[-1].startswith("499 x")
    assert len(tail) <= 40
    assert max(map(len, tail)) <= 400


def test_deadlines_grow_with_the_prompt_and_cover_every_phase() -> None:
    deadlines = Deadlines(prefill=10, prefill_token=0.5)
    assert deadlines.limit("prefill", 1600) == 810
    assert all(deadlines.limit(phase, 0) > 0 for phase in ("start", "idle", *PHASES))


@pytest.mark.shared
def test_a_long_answer_is_followed_by_notes_aborted_and_cancelled(shared_worker: WorkerProcess) -> None:
    notes: list[Note] = []
    long = GenerateRequest("Once upon a time", (), 2000)

    def started() -> bool:
        return any(note.phase == "decode" and note.tokens for note in notes)

    with pytest.raises(WorkerRefusedError) as caught:
        shared_worker.generate(long, on_note=notes.append, should_abort=started)
    assert caught.value.kind == "aborted"
    assert [note.phase for note in notes][:3] == ["encode", "prefill", "decode"]
    assert notes[-1].text
    assert notes[-1].tokens < 2000
    assert shared_worker.generate(_ASK).timing.prompt_tokens
    cancel = CancelToken()
    notes.clear()

    def cancel_once_started(note: Note) -> None:
        notes.append(note)
        if started():
            cancel.cancel()

    with pytest.raises(CancelledError):
        shared_worker.generate(long, on_note=cancel_once_started, cancel=cancel)
    # Between two tokens it hears the request to end: no terminate is needed.
    outcome = shared_worker.close()
    assert (outcome.cause, outcome.code) == ("stopped", 0)


def test_a_python_starts_the_worker_file_by_its_path() -> None:
    assert bundled_runtime().command[0] == sys.executable
    assert Path(bundled_runtime().command[-1]).is_file()
