"""Exit codes and signals in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from mince_gui.run.outcome import describe_exit, hung, not_started, outcome_of_exit

posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0xC0000005, "0xC0000005 (access violation)"),
        (0xC0000409, "0xC0000409 (fail-fast or stack buffer overrun)"),
        (0xC0000005 - (1 << 32), "0xC0000005 (access violation)"),
        (0xC0001234, "0xC0001234 (native fault)"),
        (3, "exit code 3"),
    ],
)
def test_windows_status_codes_are_named(code: int, words: str) -> None:
    assert describe_exit(code) == (words, None)


@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT])
def test_the_signal_that_ended_a_real_child_is_named(number: signal.Signals) -> None:
    source = f"import os; os.kill(os.getpid(), {int(number)})"
    code = subprocess.run([sys.executable, "-I", "-c", source], check=False).returncode
    outcome = outcome_of_exit(code, doing="while reading a prompt", stderr=["last words"])
    assert outcome.cause == "crashed"
    assert outcome.signal == number.name
    assert number.name in outcome.detail
    assert "while reading a prompt" in outcome.detail
    assert outcome.stderr == ("last words",)


@posix
def test_a_kill_from_outside_is_not_called_the_users_wish() -> None:
    outcome = outcome_of_exit(-signal.SIGKILL, doing="while writing an answer")
    assert outcome.cause == "crashed"
    assert "memory" in outcome.detail


def test_an_unasked_exit_with_code_0_is_a_crash_and_an_asked_one_is_not() -> None:
    assert outcome_of_exit(0, doing="while loading the model").cause == "crashed"
    assert outcome_of_exit(0, doing="", asked=True).cause == "stopped"


def test_a_crash_at_teardown_after_we_asked_is_told_but_is_no_failure() -> None:
    outcome = outcome_of_exit(0xC0000409, doing="", asked=True)
    assert outcome.cause == "stopped"
    assert "0xC0000409" in outcome.detail
    assert outcome.code == 0xC0000409


def test_hangs_and_failed_starts_say_how_long_and_why() -> None:
    assert "61 s while decoding (limit 30 s)" in hung(doing="while decoding", seconds=61, limit=30).detail
    outcome = not_started("no hello", code=127, stderr=["not found"])
    assert (outcome.cause, outcome.detail, outcome.code) == ("not_started", "no hello: exit code 127", 127)
