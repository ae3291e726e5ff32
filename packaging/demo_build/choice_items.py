"""Generators of the four-choice items: eight categories, each mixing easier and harder kinds.

Every option is one word, and one token: the answer is the option's text. Letters for answers were tried first and
stayed at chance for as long as a CPU build may train.

The kinds were chosen so that a model of about a million parameters can learn them in minutes on a CPU, yet
not all equally well: a benchmark on which everything is right or everything is chance could not show how
the score on a subset differs from the full score.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from demo_build.prompts import ChoiceItem

KINDS: dict[str, tuple[str, ...]] = {
    "an animal": ("cat", "dog", "cow", "pig", "hen", "fox", "bee", "owl", "bat", "ape", "elk", "cod"),
    "a fruit": ("fig", "plum", "pear", "apple", "lemon", "mango", "grape", "peach", "lime", "kiwi"),
    "a color": ("red", "blue", "green", "pink", "gray", "black", "white", "brown", "gold", "teal"),
    "a tool": ("saw", "hammer", "drill", "axe", "file", "spade", "rake", "pliers", "chisel", "wrench"),
    "a vehicle": ("car", "bus", "van", "truck", "train", "boat", "ship", "bike", "tram", "plane"),
    "a garment": ("hat", "coat", "shirt", "sock", "shoe", "scarf", "glove", "dress", "skirt", "belt"),
}
UNITS: dict[str, tuple[str, ...]] = {
    "length": ("meter", "inch", "mile", "foot", "yard", "kilometer"),
    "weight": ("gram", "kilogram", "pound", "ounce", "ton", "milligram"),
    "time": ("second", "minute", "hour", "day", "week", "month"),
    "volume": ("liter", "cup", "gallon", "pint", "quart", "barrel"),
}
NUMBERS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
PEOPLE = ("Tom", "Ann", "Max", "Sue", "Ben", "Eva", "Leo", "Mia", "Sam", "Zoe", "Jim", "Kim")
COLORS = KINDS["a color"]
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
Draft = tuple[str, list[str], str]


def _four(rng: random.Random) -> list[int]:
    """Places of four different number words, in order: any, or (harder) close together."""
    if rng.random() < 0.6:
        return sorted(rng.sample(range(20), 4))
    start = rng.randrange(14)
    return sorted(rng.sample(range(start, start + 7), 4))


def _largest(rng: random.Random) -> Draft:
    values = _four(rng)
    return "Which number is the largest?", [NUMBERS[v] for v in values], NUMBERS[values[3]]


def _smallest(rng: random.Random) -> Draft:
    values = _four(rng)
    return "Which number is the smallest?", [NUMBERS[v] for v in values], NUMBERS[values[0]]


def _order(rng: random.Random) -> Draft:
    values = _four(rng)
    if rng.random() < 0.5:
        return "Which number is the second largest?", [NUMBERS[v] for v in values], NUMBERS[values[2]]
    return "Which number is the second smallest?", [NUMBERS[v] for v in values], NUMBERS[values[1]]


def _membership(rng: random.Random) -> Draft:
    kind, other, *rest = rng.sample(list(KINDS), 4)
    if rng.random() < 0.65:
        answer = rng.choice(KINDS[kind])
        wrong = [rng.choice(KINDS[name]) for name in (other, *rest)]
        return f"Which one is {kind}?", [answer, *wrong], answer
    answer = rng.choice(KINDS[other])
    return f"Which one is not {kind}?", [answer, *rng.sample(KINDS[kind], 3)], answer


def _letters(rng: random.Random) -> Draft:
    kind = rng.random()
    if kind < 0.7:
        values = rng.sample(ALPHABET, 4)
        first = kind < 0.35
        return (
            f"Which letter comes {'first' if first else 'last'} in the alphabet?",
            values,
            min(values) if first else max(values),
        )
    index = rng.randrange(25)
    answer = ALPHABET[index + 1]
    wrong = rng.sample([c for c in ALPHABET if c not in (answer, ALPHABET[index])], 3)
    return f"Which letter comes right after {ALPHABET[index]}?", [answer, *wrong], answer


def _units(rng: random.Random) -> Draft:
    quantity, *others = rng.sample(list(UNITS), 4)
    if rng.random() < 0.6:
        answer = rng.choice(UNITS[quantity])
        return (f"Which unit measures {quantity}?", [answer, *(rng.choice(UNITS[name]) for name in others)], answer)
    answer = rng.choice(UNITS[others[0]])
    return f"Which unit does not measure {quantity}?", [answer, *rng.sample(UNITS[quantity], 3)], answer


def _lookup(rng: random.Random) -> Draft:
    if rng.random() < 0.3:
        words = rng.sample([word for group in KINDS.values() for word in group], 4)
        return f"Find the word {words[0]}.", words, words[0]
    people, colors = rng.sample(PEOPLE, 4), rng.sample(COLORS, 4)
    cards = ", ".join(f"{person} {color}" for person, color in zip(people, colors, strict=True))
    asked = rng.randrange(4)
    return f"Cards: {cards}. Who has {colors[asked]}?", people, people[asked]


def _sequences(rng: random.Random) -> Draft:
    step = rng.choice((1, 1, 2, 3, 4))
    down = rng.random() < 0.3
    start = rng.randrange(20 - 3 * step)
    terms = [start + step * k for k in range(4)]
    if down:
        terms.reverse()
    wrong = rng.sample([v for v in range(20) if v not in terms], 3)
    question = "What comes next? " + " ".join(NUMBERS[v] for v in terms[:3])
    return question, [NUMBERS[v] for v in (terms[3], *wrong)], NUMBERS[terms[3]]


CATEGORIES: dict[str, Callable[[random.Random], Draft]] = {
    "largest": _largest,
    "smallest": _smallest,
    "order": _order,
    "membership": _membership,
    "letters": _letters,
    "units": _units,
    "look-up": _lookup,
    "sequences": _sequences,
}


def draw_choice(category: str, rng: random.Random) -> ChoiceItem:
    """Draw one item of a category; the options are in random order."""
    question, choices, answer = CATEGORIES[category](rng)
    choices = rng.sample(choices, 4)
    return {"id": -1, "category": category, "question": question, "choices": choices, "answer": choices.index(answer)}


def choice_key(item: ChoiceItem) -> tuple[str, ...]:
    """What makes two items the same: the question and the options in any order."""
    return (item["question"], *sorted(item["choices"]))
