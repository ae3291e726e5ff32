"""What is declared of a benchmark: its facts, its data, and how its tasks ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mince_gui.benchmarks.docs import Doc, as_it_is

_WHOLE = re.compile("0|[1-9][0-9]{0,17}")
_KEY_LIMIT = 200


@dataclass(frozen=True)
class Metric:
    """A ratio sum(passed) / sum(trials). `ratio` marks trials that may exceed 1 per item."""

    name: str
    title: str
    ratio: bool = False


@dataclass(frozen=True)
class Data:
    """What a benchmark's docs hold, and in which files people have them (`subset.dataset_files` says how they lie).

    `fields` are what every doc must have; without any, all docs are taken as they are. `tidied` gives the doc in the
    form that the tasks take, and raises ValueError with what is wrong in it. `content` gives what makes the item what
    it is, raising KeyError where that is absent; `quick_hash` its hash by a quicker way, None where that way is closed.
    `folders` are those of the configurations ("" is the named folder itself, others end in "/"), `own_names` are files
    that publishers call otherwise than by the split, `test_splits` what the test set is called.

    Few-shot examples: where `shown_by` names a field, the dev split has them for each of its values; where `drawn` is
    not 0, lm-eval draws so many for each item from the train split.
    """

    fields: Mapping[str, type | tuple[type, ...]] = field(default_factory=dict)
    tidied: Callable[[Doc], Doc] = as_it_is
    content: Callable[[Doc], Doc] = as_it_is
    quick_hash: Callable[[Doc], str | None] | None = None
    folders: tuple[str, ...] = ("", "default/", "data/")
    own_names: tuple[str, ...] = ()
    test_splits: tuple[str, ...] = ("test",)
    shown_by: str = ""
    drawn: int = 0


@dataclass(frozen=True)
class ChoicePrompt:
    """A task that weighs given answers, as lm-eval's task file words it; `tasks.choice` asks and scores.

    `question` is the text that ends where an answer begins, `choices` are the answers, `gold` is the place of the right
    one; each is read from a doc and raises InputError where the doc does not have it. `shots` examples are shown first,
    after `about`, in which "{topic}" stands for the topic: `topic`, or the doc's own by `Data.shown_by`.
    """

    task: str
    question: Callable[[Doc], str]
    choices: Callable[[Doc], Sequence[str]]
    gold: Callable[[Doc], int]
    shots: int = 0
    about: str = ""
    topic: str | None = None


@dataclass(frozen=True)
class Reading:
    """A filter: the first match of `pattern` in a response, or with `last` the last one, is what is read."""

    pattern: re.Pattern[str]
    last: bool = False


@dataclass(frozen=True)
class TextPrompt:
    """A task whose answer is written and read by filters, as lm-eval's task file words it; `tasks.exact_match` asks.

    `question` and `target` are an item's question and, for an example, its worked answer, with `answer_gap` between.
    `examples` are the task's own; a task without them shows `shots` that it is given. An answer ends at a string of
    `until` or after `max_new_tokens`. By each of `filters` (the metrics are "exact_match,<filter>"), what is read must
    equal `gold` when both are `cleaned`. `uses_chat` False keeps the prompt plain unless a template is asked for.
    """

    task: str
    question: Callable[[Doc], str]
    target: Callable[[Doc], str]
    gold: Callable[[Doc], str]
    filters: Mapping[str, Reading]
    cleaned: Callable[[str], str]
    until: tuple[str, ...]
    max_new_tokens: int = 256
    answer_gap: str = " "
    examples: tuple[Doc, ...] = ()
    shots: int = 0
    uses_chat: bool = True


@dataclass(frozen=True)
class Benchmark:
    """A fixed ordered list of `total_items` items with one or more metrics.

    `total_items` is None where it is not known until logs say so (any lm-eval task).
    `tasks` are the lm-eval task names whose logs belong here; `default_task` is what `mince run` uses.
    `dataset` and `licence` name where the items come from; `in_lm_eval` is whether lm-eval itself has the tasks.
    `data` and `prompts` are what `subset` reads and `tasks` asks by; `category_of` takes a doc and an item key.
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
    in_lm_eval: bool = True
    data: Data = field(default_factory=Data, compare=False, repr=False)
    prompts: tuple[ChoicePrompt | TextPrompt, ...] = field(default=(), compare=False, repr=False)
    category_of: Callable[[Doc, str], str | None] | None = field(default=None, compare=False, repr=False)

    def item_key(self, doc: Doc, doc_id: int, subject: str | None = None) -> str:
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

    def category(self, doc: Doc, item_key: str) -> str | None:
        """The item's category, by `category_of`; without that, the field that examples are shown by, or "category"."""
        if self.category_of is not None:
            return self.category_of(doc, item_key)
        value: Any = doc.get(self.data.shown_by or "category")
        return value if isinstance(value, str) else None
