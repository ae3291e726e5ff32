"""The benchmarks that are known by name, and how any other lm-eval task becomes one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.base.errors import UsageError

_MMLU_SUBJECTS = (  # noqa: SIM905 - 57 quoted names are harder to read
    "abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology college_chemistry "
    "college_computer_science college_mathematics college_medicine college_physics computer_security "
    "conceptual_physics econometrics electrical_engineering elementary_mathematics formal_logic global_facts "
    "high_school_biology high_school_chemistry high_school_computer_science high_school_european_history "
    "high_school_geography high_school_government_and_politics high_school_macroeconomics "
    "high_school_mathematics high_school_microeconomics high_school_physics high_school_psychology "
    "high_school_statistics high_school_us_history high_school_world_history human_aging human_sexuality "
    "international_law jurisprudence logical_fallacies machine_learning management marketing medical_genetics "
    "miscellaneous moral_disputes moral_scenarios nutrition philosophy prehistory professional_accounting "
    "professional_law professional_medicine professional_psychology public_relations security_studies "
    "sociology us_foreign_policy virology world_religions"
).split()

_WHOLE = re.compile("0|[1-9][0-9]{0,17}")
_KEY_LIMIT = 200


@dataclass(frozen=True)
class Metric:
    """A ratio sum(passed) / sum(trials). `ratio` marks trials that may exceed 1 per item."""

    name: str
    title: str
    ratio: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A fixed ordered list of `total_items` items with one or more metrics.

    `total_items` is None where it is not known until logs say so (any lm-eval task).
    `tasks` are the lm-eval task names whose logs belong here; `default_task` is what `mince run` uses.
    `dataset` and `licence` name where the items come from.
    """

    name: str
    title: str
    total_items: int | None
    metrics: tuple[Metric, ...]
    key_field: Literal["key", "id", "doc_id", "subject/doc_id"]
    tasks: tuple[str, ...]
    default_task: str
    subjects: tuple[str, ...] = ()
    default_step: int | None = None
    dataset: str = ""
    licence: str = ""

    def item_key(self, doc: Mapping[str, Any], doc_id: int, subject: str | None = None) -> str:
        """The key of one item. Raises KeyError where the doc lacks the field that makes the key."""
        if self.key_field == "doc_id":
            return str(doc_id)
        if self.key_field == "subject/doc_id":
            return f"{subject or doc['subject']}/{doc_id}"
        return str(doc[self.key_field])

    @property
    def keys_are_positions(self) -> bool:
        """Whether the keys are "0" to "N-1" in canonical order, so that a draw of positions is one of keys."""
        return self.total_items is not None and self.key_field in ("doc_id", "id")

    def is_key(self, item_key: str) -> bool:
        """Whether the text can be the key of an item: a whole number below N, for MMLU after a known subject.

        A task that is a benchmark of its own has the keys of its logs' format: any name will do.
        """
        if self.total_items is None:
            return 0 < len(item_key) <= _KEY_LIMIT and item_key.isprintable()
        number = item_key
        if self.key_field == "subject/doc_id":
            subject, _, number = item_key.rpartition("/")
            if subject not in self.subjects:
                return False
        if not _WHOLE.fullmatch(number):
            return False
        return self.key_field == "key" or int(number) < self.total_items

    def sort_key(self, item_key: str) -> tuple[str, int]:
        """Sorts keys into canonical order: IFEVAL as text, the others by subject, then number."""
        if self.key_field == "key":
            return (item_key, 0)
        head, _, tail = item_key.rpartition("/")
        return (head, int(tail)) if tail.isdecimal() else (item_key, 0)

    def category(self, doc: Mapping[str, Any], item_key: str) -> str | None:
        """The item's category; an IFEVAL prompt belongs to its first instruction's type."""
        if self.name == "mmlu":
            return item_key.rpartition("/")[0]
        if self.name == "ifeval":
            ids = doc.get("instruction_id_list")
            return str(ids[0]) if isinstance(ids, list) and ids else None
        value = doc.get("category")
        return value if isinstance(value, str) else None


BENCHMARKS: dict[str, Benchmark] = {
    b.name: b
    for b in (
        Benchmark(
            name="ifeval", title="IFEVAL", total_items=541,
            metrics=(
                Metric("prompt_level_strict_acc", "prompt strict"),
                Metric("inst_level_strict_acc", "instruction strict", ratio=True),
                Metric("prompt_level_loose_acc", "prompt loose"),
                Metric("inst_level_loose_acc", "instruction loose", ratio=True),
            ),
            key_field="key", tasks=("ifeval", "leaderboard_ifeval"), default_task="ifeval", default_step=50,
            dataset="google/IFEval", licence="Apache-2.0",
        ),
        Benchmark(
            name="mmlu", title="MMLU", total_items=14_042, metrics=(Metric("acc", "accuracy"),),
            key_field="subject/doc_id", tasks=tuple(f"mmlu_{s}" for s in _MMLU_SUBJECTS), default_task="mmlu",
            subjects=tuple(_MMLU_SUBJECTS), default_step=500,
            dataset="cais/mmlu", licence="MIT",
        ),
        Benchmark(
            name="gsm8k", title="GSM8K", total_items=1_319,
            metrics=(
                Metric("exact_match,strict-match", "strict match"),
                Metric("exact_match,flexible-extract", "flexible extract"),
            ),
            key_field="doc_id",
            tasks=("gsm8k", "gsm8k_cot", "gsm8k_cot_zeroshot", "gsm8k_cot_llama"),
            default_task="gsm8k_cot_zeroshot", default_step=100, dataset="openai/gsm8k", licence="MIT",
        ),
        Benchmark(
            name="demo-choice", title="Demo choice", total_items=1_000, metrics=(Metric("acc", "accuracy"),),
            key_field="id", tasks=("demo_choice",), default_task="demo_choice",
            dataset="mince-gui demo", licence="MIT",
        ),
        Benchmark(
            name="demo-math", title="Demo math", total_items=500,
            metrics=(
                Metric("exact_match,strict-match", "strict match"),
                Metric("exact_match,flexible-extract", "flexible extract"),
            ),
            key_field="id", tasks=("demo_math",), default_task="demo_math",
            dataset="mince-gui demo", licence="MIT",
        ),
    )
}  # fmt: skip

_BY_TASK = {task: b for b in BENCHMARKS.values() for task in b.tasks}


def get(name: str) -> Benchmark:
    """The benchmark of that name (any case). Raises UsageError that lists the names."""
    found = BENCHMARKS.get(name.lower())
    if found is None:
        raise UsageError(f"There is no benchmark '{name}'.", f"Known: {', '.join(BENCHMARKS)}.")
    return found


def of_task(task: str) -> Benchmark:
    """The benchmark that an lm-eval task's logs belong to; an unknown task is a benchmark of its own.

    `samples_mmlu_*` also matches mmlu_pro and others, so MMLU is known by its 57 subject names and its own alone.
    """
    known = _BY_TASK.get(task) or BENCHMARKS.get(task)
    if known is not None:
        return known
    return Benchmark(
        name=task, title=task, total_items=None, metrics=(), key_field="doc_id", tasks=(task,), default_task=task
    )


def step_for(total_items: int, benchmark: Benchmark | None = None) -> int:
    """The default step of candidate sizes: the benchmark's own, else N/20 rounded to 50, at least 25.

    Up to 50 items would have no two sizes at 25: there it is N/10, at least 1.
    """
    if benchmark is not None and benchmark.default_step is not None:
        return benchmark.default_step
    if total_items <= 50:
        return max(1, total_items // 10)
    return max(25, round(total_items / 20 / 50) * 50)
