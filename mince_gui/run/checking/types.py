"""What a check of a model folder is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Level = Literal["good", "warn", "bad"]


@dataclass(frozen=True)
class Remedy:
    """What a message means (`cause`), and what to do about it (`remedy`), in plain words."""

    cause: str
    remedy: str


@dataclass(frozen=True)
class Fact:
    """One thing that was looked at. `level` "bad": as it is, no runtime will run it; `remedy` what to do then."""

    topic: str
    level: Level
    words: str
    remedy: str = ""


class RuntimeView(Protocol):
    """What a check must know of a runtime. `can_run` holds provider names as `provider_key` writes them."""

    @property
    def name(self) -> str:
        """What the user calls it."""
        ...

    @property
    def oga_version(self) -> str | None:
        """None where it has no OGA."""
        ...

    @property
    def distribution(self) -> str | None:
        """The wheel's name, such as onnxruntime-genai-directml-ryzenai."""
        ...

    @property
    def can_run(self) -> frozenset[str]:
        """The providers it has, "cpu" among them."""
        ...

    @property
    def release(self) -> str | None:
        """The Ryzen AI release it belongs to."""
        ...

    @property
    def refused_tokenizers(self) -> tuple[str, ...]:
        """Tokenizer classes that its OGA does not know."""
        ...

    @property
    def error(self) -> str | None:
        """Why it cannot be used at all."""
        ...


@dataclass(frozen=True)
class Machine:
    """The machine that is to run the model; None = not known. Memory in bytes.

    `system` is "Windows", "Linux" or whatever platform.system() says; `npu` names the NPU ("" = there is none),
    `npu_runs_llms` whether its generation runs language models.
    """

    system: str
    free_memory: int | None = None
    total_memory: int | None = None
    npu: str | None = None
    npu_runs_llms: bool | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether one runtime can run the model, and why not (or what is not known).

    `remedy` is what would mend the model for this runtime, "" where only another runtime helps.
    """

    runtime: str
    fits: bool
    words: str
    remedy: str = ""
