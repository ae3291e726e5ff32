"""What a task asks of a model for one item, and what it makes of the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol

from mince_gui.base.canonical import canonical_json, sha256_text

Doc = Mapping[str, Any]
Message = dict[str, str]
Render = Callable[[Sequence[Message]], str]
"""A chat template: messages in, prompt text out (with the generation prompt)."""


@dataclass(frozen=True)
class Request:
    """One prompt, ready for the worker.

    kind "choice": the log-probability of each of `choices` after `prompt` decides; kind "generate":
    greedy text until EOS, a stop string of `until`, or `max_new_tokens`.
    `prefix` is the shared few-shot beginning of the prompt ("" if none). `contexts` has one prompt per choice where
    the choices do not share one (`prompt` is then the first of them); empty otherwise.
    """

    kind: Literal["choice", "generate"]
    prompt: str
    choices: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    max_new_tokens: int = 0
    prefix: str = ""
    contexts: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of the prompt; of the canonical JSON list of them where every choice has its own."""
        if self.contexts:
            return sha256_text(canonical_json(list(self.contexts)))
        # Thousands of items begin alike, with most of their prompt: that is hashed once.
        begun = _begun(self.prefix if self.prompt.startswith(self.prefix) else "").copy()
        begun.update(self.prompt.removeprefix(self.prefix).encode("utf-8", "surrogatepass"))
        return begun.hexdigest()


@lru_cache(maxsize=64)
def _begun(prefix: str) -> hashlib._Hash:
    return hashlib.sha256(prefix.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Answer:
    """What came back: `text` for generate, `picked` (index of the best choice) for choice.

    Per choice: `logprobs` (sums of natural logarithms), `greedy` (whether greedy decoding would write that choice).
    """

    text: str | None = None
    picked: int | None = None
    logprobs: tuple[float, ...] = ()
    greedy: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Scored:
    """`scores` maps a metric to (passed, trials); `extracted` what each filter read; `expected` the gold."""

    scores: Mapping[str, tuple[float, float]]
    extracted: Mapping[str, str] = field(default_factory=dict)
    expected: str = ""


class Task(Protocol):
    """Prompt, stop rules and scoring of one benchmark's items. Stateless."""

    @property
    def name(self) -> str:
        """The lm-eval task's name."""
        ...

    @property
    def benchmark(self) -> str:
        """The benchmark whose items it takes."""
        ...

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that `score` returns."""
        ...

    @property
    def uses_chat(self) -> bool:
        """Whether the model's chat template is used by default (generation: yes, choices: no, as in lm-eval)."""
        ...

    @property
    def kind(self) -> Literal["choice", "generate"]:
        """What its requests ask for; only generated text has a token budget."""
        ...

    @property
    def shots(self) -> int:
        """How many few-shot docs `request` takes from `fewshot`; 0 where it needs none or has its own."""
        ...

    def request(
        self, doc: Doc, fewshot: Sequence[Doc], *, render: Render | None, max_new_tokens: int | None
    ) -> Request:
        """The request for one item. `render` None = no chat template; `max_new_tokens` None = the task's own."""
        ...

    def score(self, doc: Doc, answer: Answer) -> Scored:
        """Verdict of one answer. Raises MinceError where an item cannot be scored (never a silent pass)."""
        ...
