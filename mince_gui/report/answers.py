"""What became of the answers besides their scores: cut, empty, not fitting; said in the same words everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

DOES_NOT_FIT = "does_not_fit"
"""How the cause of an item begins whose prompt is longer than the model's ceiling allows."""


@dataclass(frozen=True)
class Answers:
    """Counts over a run's items. `budget` is the most new tokens an answer may have, None where none is generated.

    `capped` answers ended at a cap, `by_ceiling` of them at the model's ceiling before the budget was used up; `empty`
    ones hold nothing but blanks (they are scored as such); `not_fitting` items are missing: their prompt does not fit.
    """

    budget: int | None = None
    capped: int = 0
    by_ceiling: int = 0
    empty: int = 0
    not_fitting: int = 0

    def counting(self, *, text: str | None, cause: str | None, capped: bool, finish: str | None) -> Answers:
        """With one more committed item."""
        return replace(
            self,
            capped=self.capped + capped,
            by_ceiling=self.by_ceiling + (capped and finish == "context"),
            empty=self.empty + is_empty(text),
            not_fitting=self.not_fitting + (cause or "").startswith(DOES_NOT_FIT),
        )

    def to_json(self) -> dict[str, int | None]:
        """The counts by the names that every JSON document uses."""
        return {
            "token_budget": self.budget,
            "capped": self.capped,
            "capped_by_ceiling": self.by_ceiling,
            "empty": self.empty,
            "does_not_fit": self.not_fitting,
        }

    def words(self) -> tuple[tuple[str, str], ...]:
        """(short, whole) of every count that is not zero: "3 capped", and a sentence that says what it means."""
        found = []
        if self.capped:
            at, cap = "", "the cap"
            if self.budget is not None:
                at, cap = f" at {self.budget:,} tokens", f"the budget of {self.budget:,} new tokens"
            few = f" ({self.by_ceiling:,} by the model's ceiling)" if self.by_ceiling else ""
            many = f", {self.by_ceiling:,} of them at the model's ceiling before it" if self.by_ceiling else ""
            found.append(
                (f"{self.capped:,} capped{at}{few}", f"{_were(self.capped)} cut at {cap}{many}; scored as cut.")
            )
        if self.empty:
            words = f"{_were(self.empty)} empty (nothing or only blanks), and scored as such."
            found.append((f"{self.empty:,} empty", words))
        if self.not_fitting:
            prompts = "1 prompt does" if self.not_fitting == 1 else f"{self.not_fitting:,} prompts do"
            short = f"{self.not_fitting:,} {'does' if self.not_fitting == 1 else 'do'} not fit"
            found.append((short, f"{prompts} not fit the model's ceiling: missing, never cut."))
        return tuple(found)


def _were(number: int) -> str:
    return "1 answer was" if number == 1 else f"{number:,} answers were"


def is_empty(text: str | None) -> bool:
    """Whether an answer was generated and holds nothing but blanks."""
    return text is not None and not text.strip()
