"""The arguments of one instruction, checked before any response is looked at."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from mince_gui.base.errors import MinceError

_REMEDY = "The item does not look like one of google/IFEval; take the dataset that the logs were made with."
_REGEX_SIGNS = frozenset("*+?{}|()[]\\^$")
_RELATIONS: dict[str, Callable[[float, float], bool]] = {"less than": operator.lt, "at least": operator.ge}


_MOST = 1e9


class Arguments:
    """Named arguments of one instruction; whatever is absent, odd or left over raises MinceError.

    lm-eval drops every falsy argument and draws a random value for an absent one. A random demand cannot
    be scored, so an absent argument is refused here.
    """

    def __init__(self, instruction: str, kwargs: Mapping[str, Any]) -> None:
        self._instruction = instruction
        self._left = {name: value for name, value in kwargs.items() if value}

    def _fail(self, what: str) -> MinceError:
        return MinceError(f"Instruction '{self._instruction}': {what}.", _REMEDY)

    def _take(self, name: str) -> Any:
        if name not in self._left:
            raise self._fail(f"argument '{name}' is missing")
        return self._left.pop(name)

    def number(self, name: str) -> float:
        """A number above zero (Parquet copies hold whole numbers as floats)."""
        value = self._take(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST:
            raise self._fail(f"argument '{name}' is {value!r}, not a number above zero")
        return value

    def text(self, name: str) -> str:
        """A text that is not blank, outer blanks stripped."""
        value = self._take(name)
        if not isinstance(value, str) or not value.strip():
            raise self._fail(f"argument '{name}' is {value!r}, not a text")
        return value.strip()

    def texts(self, name: str) -> list[str]:
        """A list of texts, none of them blank, blanks kept."""
        values = self._take(name)
        if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
            raise self._fail(f"argument '{name}' is {values!r}, not a list of texts")
        return values

    def relation(self, name: str) -> Callable[[float, float], bool]:
        """How a count must stand to the number asked for: "less than" or "at least"."""
        value = self._take(name)
        if not isinstance(value, str) or value not in _RELATIONS:
            raise self._fail(f"argument '{name}' is {value!r}, neither 'less than' nor 'at least'")
        return _RELATIONS[value]

    def pattern(self, text: str) -> str:
        """`text` as the regular expression that lm-eval makes of it, if that runs in bounded time.

        The dot alone keeps its meaning. Repeats, groups and the like occur in no IFEval item and could
        run without end on a long response, so they are refused.
        """
        if _REGEX_SIGNS & set(text):
            raise self._fail(f"{text!r} holds signs that make it a regular expression, which is not supported")
        return text

    def refuse(self, what: str) -> MinceError:
        """The error for an argument that only the instruction itself can judge."""
        return self._fail(what)

    def finish(self) -> None:
        """Refuse arguments that the instruction does not know."""
        if self._left:
            raise self._fail(f"unknown argument(s) {', '.join(sorted(self._left))}")
