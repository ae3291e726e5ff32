"""The worker's tests and outputs on several versions of onnxruntime-genai, each in an environment of its own.

    python tests/oga_matrix.py [VERSION ...] [--model FOLDER] [--cache FOLDER]

Environments are made with pip below the cache folder (build/oga) and kept. Per version, the tests of the worker run
with that Python, then a fixed set of requests, whose answers are compared with those of the Python that runs this. One
line per version; exit code 1 if a test fails or an answer differs. `--model` asks another model than the demo's.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mince_gui.run import Runtime, WorkerProcess, bundled_runtime, external_runtime, read_model_folder
from mince_gui.run.protocol import (
    ChoiceRequest,
    ChoiceResult,
    GenerateRequest,
    GenerateResult,
    LoadRequest,
    ShareRequest,
    ShareResult,
)

_CHECKOUT = Path(__file__).resolve().parent.parent
VERSIONS = ("0.9.2", "0.11.2", "0.14.0", "0.18.0")
"""The first with this interface, the one that changed EOS, the one of Ryzen AI 1.8, and the bundled one."""
_TESTS = ("test_worker.py", "test_worker_choices.py", "test_fast_mode.py")
_SHOTS = "Which number is the smallest?\nOptions: one, five\nAnswer: one\n\n" * 3
_CHOICES = (" two", " nine")
_ASKED: tuple[GenerateRequest | ChoiceRequest | ShareRequest, ...] = (
    GenerateRequest("1 2 3", (), 40),
    GenerateRequest("One, two, three,", ("four",), 40),
    GenerateRequest("Question: Sue has 5 shells and finds 7 more. How many shells does Sue have?\nAnswer:", (), 40),
    GenerateRequest("Question: Jim has 8 books and gets 2 more. How many books does Jim have?\nAnswer:", ("####",), 40),
    ChoiceRequest((_SHOTS + "Which number is the largest?\nOptions: two, nine\nAnswer:",), _CHOICES),
    ChoiceRequest(("Which is the largest?\nAnswer:",), (" two", " nine and two", " two and two and nine")),
    ChoiceRequest(("Which is the largest?\nAnswer:", "Which is the smallest?\nAnswer:"), _CHOICES),
    ShareRequest(
        tuple(f"{_SHOTS}Which is the {word}?\nOptions: two, nine\nAnswer:" for word in ("largest", "smallest", "best")),
        _CHOICES,
        3,
    ),
    *(
        ChoiceRequest((f"{_SHOTS}Which is the {word}?\nOptions: two, nine\nAnswer:",), _CHOICES, fast=True)
        for word in ("largest", "smallest")
    ),
)
Facts = tuple[object, ...]


@dataclass(frozen=True)
class Outputs:
    """Answers to the fixed requests: `facts` must be equal everywhere, `logprobs` nearly."""

    version: str
    facts: tuple[Facts, ...]
    logprobs: tuple[float, ...]


def outputs(runtime: Runtime, model: Path) -> Outputs:
    """What a runtime answers."""
    folder = read_model_folder(model)
    facts: list[Facts] = []
    logprobs: list[float] = []
    with WorkerProcess(runtime) as worker:
        assert worker.hello is not None
        version = worker.hello.oga_version or worker.hello.error or ""
        worker.load(LoadRequest(str(model), 1, {}, folder.ceiling, folder.kv_length, folder.eos_ids, folder.bos_id))
        for request in _ASKED:
            match worker.request(request):
                case GenerateResult() as text:
                    facts.append((text.text, text.ids, text.finish))
                case ChoiceResult() as choice:
                    facts.append((choice.picked, choice.greedy, choice.method, choice.choice_ids))
                    logprobs += choice.logprobs
                case ShareResult() as share:
                    facts.append((share.kept, share.identical, share.reason))
    return Outputs(version, tuple(facts), tuple(logprobs))


def environment(version: str, cache: Path) -> Path:
    """The Python of an environment with that version; made if it is not there."""
    folder = cache / version
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "made"
    if not done.is_file():
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", f"onnxruntime-genai=={version}", "numpy"]
        subprocess.run(install, check=True)
        done.touch()
    return python


def tests(python: Path) -> tuple[bool, str]:
    """The worker's tests with that Python: whether all passed, and pytest's closing line."""
    files = [str(_CHECKOUT / "tests" / "run" / name) for name in _TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not shared", *files]
    env = {**os.environ, "MINCE_TEST_PYTHON": str(python)}
    done = subprocess.run(command, cwd=_CHECKOUT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stdout.write(done.stdout + done.stderr)
    lines = done.stdout.strip().splitlines() or [f"pytest ended with code {done.returncode}"]
    return done.returncode == 0, lines[-1]


def compared(ours: Outputs, theirs: Outputs) -> tuple[bool, str]:
    """Whether the answers are equal, and how near the log-probabilities are."""
    for request, a, b in zip(_ASKED, ours.facts, theirs.facts, strict=True):
        if a != b:
            return False, f"{dataclasses.asdict(request)}: {b}, not {a}"
    far = max(abs(a - b) for a, b in zip(ours.logprobs, theirs.logprobs, strict=True))
    return far < 1e-3, f"outputs as {ours.version}: ids, texts and picks equal, log-probabilities within {far:.2g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION")
    demo = _CHECKOUT / "resources" / "demo" / "demo-device-int4"
    parser.add_argument("--model", type=Path, default=demo, help="folder of the model that is asked (the demo's)")
    parser.add_argument("--cache", type=Path, default=_CHECKOUT / "build" / "oga", help="where environments are kept")
    asked = parser.parse_args(arguments)
    ours = outputs(bundled_runtime(), asked.model)
    failed = 0
    for version in asked.versions:
        python = environment(version, asked.cache)
        theirs = outputs(external_runtime(python), asked.model)
        right, words = compared(ours, theirs)
        passed, line = tests(python)
        right = right and passed and theirs.version == version
        failed += not right
        sys.stdout.write(f"onnxruntime-genai {theirs.version}: {'' if right else 'FAILED: '}{line}; {words}\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
