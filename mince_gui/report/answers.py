"""What became of the answers besides their scores: cut, repeating, empty, not fitting; the same words everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

DOES_NOT_FIT = "does_not_fit"
"""How the cause of an item begins whose prompt is longer than the model's ceiling allows."""


@dataclass(frozen=True)
class Answers:
    """Counts over a run's items. `budget` is the most new tokens an answer may have, None where none is generated.

    `capped` answers ended at a cap of tokens, `by_ceiling` of them at the model's ceiling before the budget was used
    up; `by_time` ones at the longest time an item may take; `repeating` ones end in an endless repetition, cut or not;
    `empty` ones hold nothing but blanks. All of them are scored as they stand. `not_fitting` items are missing: their
    prompt does not fit.
    """

    budget: int | None = None
    capped: int = 0
    by_ceiling: int = 0
    by_time: int = 0
    repeating: int = 0
    empty: int = 0
    not_fitting: int = 0

    def counting(
        self, *, text: str | None, cause: str | None, capped: bool, finish: str | None, repeats: int | None
    ) -> Answers:
        """With one more committed item; `repeats` is the period of the repetition in which its text ends."""
        if not (capped or cause or finish == "time" or repeats is not None or is_empty(text)):
            return self  # as nearly all are: a comparison counts tens of thousands
        return replace(
            self,
            capped=self.capped + (capped and finish != "time"),
            by_ceiling=self.by_ceiling + (capped and finish == "context"),
            by_time=self.by_time + (finish == "time"),
            repeating=self.repeating + (repeats is not None),
            empty=self.empty + is_empty(text),
            not_fitting=self.not_fitting + (cause or "").startswith(DOES_NOT_FIT),
        )

    def to_json(self) -> dict[str, int | None]:
        """The counts by the names that every JSON document uses."""
        return {
            "token_budget": self.budget,
            "capped": self.capped,
            "capped_by_ceiling": self.by_ceiling,
            "cut_by_time": self.by_time,
            "repeating": self.repeating,
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
        if self.by_time:
            words = f"{_were(self.by_time)} cut at the longest time an item may take; scored as cut."
            found.append((f"{self.by_time:,} cut by time", words))
        if self.repeating:
            end = "1 answer ends" if self.repeating == 1 else f"{self.repeating:,} answers end"
            words = f"{end} in the same words over and over, without an end; scored as they stand."
            found.append((f"{self.repeating:,} repeating", words))
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
