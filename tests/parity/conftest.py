"""One run of the real runner over the items of lm-eval's reference runs, and plain onnxruntime-genai beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import IO, Any

import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import ignore
from mince_gui.run import ItemResult, Place, RunConditions, RunItem, RunnerSettings, bundled_runtime, run_items
from mince_gui.run.types import Control
from mince_gui.tasks import Answer, Scored, Task, get, load_template

RUNS = {
    "mmlu_5shot": ("mmlu", 40),
    "gsm8k_cot_zeroshot": ("gsm8k_cot_zeroshot", 12),
    "gsm8k_cot_zeroshot_chat": ("gsm8k_cot_zeroshot", 6),
    "ifeval_chat": ("ifeval", 12),
}
"""Each run of the reference, the task that makes it here, and its items."""
BUDGET = 256
THREADS = 1
"""Results do not hang on their number; on a machine that others use too, one takes the least time of all."""
_ALWAYS = frozenset(
    {
        "mmlu_5shot/mmlu_world_religions/6",  # 257 tokens: a length at which logits shift
        "mmlu_5shot/mmlu_computer_security/2",  # the longest prompt
        "mmlu_5shot/mmlu_anatomy/0",
        "gsm8k_cot_zeroshot/gsm8k_cot_zeroshot/3",
        "gsm8k_cot_zeroshot_chat/gsm8k_cot_zeroshot/3",
        "ifeval_chat/ifeval/2",
        "ifeval_chat/ifeval/5",
    }
)
"""Asked of plain onnxruntime-genai whatever came out; otherwise only what is not as the reference has it."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One item of the reference: what lm-eval logged of it (a row per filter), and the task that asks it here."""

    run: str
    name: str
    rows: tuple[Row, ...]
    task: Task
    item: RunItem
    ids: tuple[int, ...] = ()

    @property
    def doc(self) -> Row:
        """As lm-eval logged it."""
        doc: Row = self.rows[0]["doc"]
        return doc

    @property
    def likely(self) -> list[float]:
        """Log-probabilities that lm-eval logged, per choice."""
        return [float(resp[0][0]) for resp in self.rows[0]["resps"]]

    @property
    def text(self) -> str:
        """The text that lm-eval logged, cut at the stop strings."""
        text: str = self.rows[0]["resps"][0][0]
        return text

    def is_answered_by(self, result: ItemResult) -> bool:
        """Whether the result is lm-eval's: the same pick, or the same text."""
        if self.item.request.kind == "choice":
            return result.picked == self.likely.index(max(self.likely))
        return result.text == self.text

    def question(self) -> Row:
        """The item as `plain_oga` takes it."""
        request = self.item.request
        if request.kind == "choice":
            return {"kind": "choose", "prompt": request.prompt, "choices": list(request.choices)}
        return {"kind": "write", "prompt": request.prompt, "budget": BUDGET, "theirs": list(self.ids)}


@dataclass(frozen=True)
class Compared:
    """What the runner made of an item, and what plain onnxruntime-genai says to the same prompt (None: not asked)."""

    asked: Asked
    result: ItemResult
    plain: Mapping[str, Any] | None


@dataclass
class _Sink:
    """Keeps results, and puts to plain onnxruntime-genai at once what must be looked into."""

    asked: Mapping[str, Asked]
    plain: IO[str]
    results: list[ItemResult] = field(default_factory=list)
    stored: list[RunConditions] = field(default_factory=list)
    questioned: list[str] = field(default_factory=list)

    def item(self, result: ItemResult, elapsed_seconds: float) -> None:
        self.results.append(result)
        one = self.asked[result.key]
        if result.key in _ALWAYS or not one.is_answered_by(result):
            self.questioned.append(result.key)
            self.plain.write(json.dumps(one.question()) + "\n")
            self.plain.flush()

    def conditions(self, conditions: RunConditions) -> None:
        self.stored.append(conditions)

    def place(self, place: Place) -> None:
        raise AssertionError(place)

    def control(self) -> Control:
        return "run"

    def took_control(self, control: Control) -> None:
        raise AssertionError(control)


@dataclass(frozen=True)
class WholeRuns:
    """All items of the reference, run here once."""

    compared: tuple[Compared, ...]
    conditions: RunConditions

    def of(self, kind: str) -> list[Compared]:
        """Those that ask for a "choice", or those that "generate"."""
        return [one for one in self.compared if one.asked.item.request.kind == kind]


def read_rows(folder: Path) -> dict[tuple[str, int], list[Row]]:
    """The samples in one output folder of lm-eval, by task and item, one row per filter."""
    found: dict[tuple[str, int], list[Row]] = {}
    for path in sorted(folder.glob("*/samples_*.jsonl")):
        task = path.name.removeprefix("samples_").rsplit("_", 1)[0].removesuffix("_local")
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found.setdefault((task, int(row["doc_id"])), []).append(row)
    return dict(sorted(found.items()))


@pytest.fixture(scope="session")
def model(shared: Path) -> Path:
    return shared / "models" / "smollm2-135m-instruct-int4-cpu"


@pytest.fixture(scope="session")
def asked(shared: Path, model: Path) -> list[Asked]:
    """Every item of the reference with the request that its task makes of the logged doc."""
    template = load_template(model, "auto", today=date(2026, 11, 29))
    assert template is not None
    shots = [json.loads(line) for line in (shared / "data/mmlu/dev.jsonl").read_text(encoding="utf-8").splitlines()]
    found: list[Asked] = []
    for run, (name, count) in RUNS.items():
        task = get(name)
        folder = shared / "reference" / "lm_eval_runs" / run
        ids = folder / "token_ids.json"
        written = {row["doc_id"]: row["new_ids"] for row in json.loads(ids.read_text())} if ids.is_file() else {}
        items = read_rows(folder)
        assert len(items) == count
        for (subject, doc_id), rows in items.items():
            doc = rows[0]["doc"]
            chat = template.render if run.endswith("_chat") else None
            budget = BUDGET if task.kind == "generate" else None
            request = task.request(doc, shots if name == "mmlu" else (), render=chat, max_new_tokens=budget)
            key = f"{run}/{subject}/{doc_id}"
            item = RunItem(len(found), key, doc.get("subject"), doc, request)
            # lm-eval keeps no end token, whatever the file holds.
            new = [token for token in written.get(doc_id, []) if token != 2]
            found.append(Asked(run, key, tuple(rows), task, item, tuple(new)))
    return found


@contextmanager
def _plainly(model: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(Path(__file__).with_name("plain_oga.py")), str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="session")
def whole_runs(asked: list[Asked], model: Path) -> WholeRuns:
    """The runner over every item; plain onnxruntime-genai beside it."""
    tasks = {one.name: one.task for one in asked}

    def score(item: RunItem, answer: Answer) -> Scored:
        return tasks[item.key].score(item.doc, answer)

    with _plainly(model) as plain:
        assert plain.stdin is not None
        assert plain.stdout is not None
        sink = _Sink({one.name: one for one in asked}, plain.stdin)
        end = run_items(
            [one.item for one in asked],
            run_id="parity",
            runtime=bundled_runtime(),
            model_dir=model,
            score=score,
            sink=sink,
            emit=ignore,
            cancel=CancelToken(),
            settings=RunnerSettings(model_sha256="", threads=THREADS, max_new_tokens=BUDGET),
            total=len(asked),
        )
        plain.stdin.close()
        answers = dict(zip(sink.questioned, json.load(plain.stdout), strict=True))
        assert plain.wait() == 0
    assert (end.cause, end.done, end.missing) == ("done", len(asked), 0)
    pairs = zip(asked, sink.results, strict=True)
    return WholeRuns(tuple(Compared(one, got, answers.get(one.name)) for one, got in pairs), sink.stored[-1])
