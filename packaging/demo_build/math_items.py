"""Generators of the short word problems with a worked line and ``#### n``."""

from __future__ import annotations

import random
from collections.abc import Callable

from demo_build.choice_items import PEOPLE
from demo_build.prompts import MathItem

THINGS = ("pens", "cups", "books", "cards", "coins", "eggs", "nuts", "toys", "stamps", "balls", "shells", "keys")
GAINS = ("gets", "buys", "finds", "wins")
LOSSES = ("loses", "sells", "eats", "breaks")
Draft = tuple[str, str, int]


def _add(rng: random.Random, low: int, high: int) -> Draft:
    a, b = rng.randrange(low, high), rng.randrange(low, high)
    who, what = rng.choice(PEOPLE), rng.choice(THINGS)
    question = f"{who} has {a} {what} and {rng.choice(GAINS)} {b} more. How many {what} does {who} have?"
    return question, f"{a}+{b}={a + b}", a + b


def _small_sums(rng: random.Random) -> Draft:
    return _add(rng, 1, 10)


def _large_sums(rng: random.Random) -> Draft:
    return _add(rng, 10, 50)


def _differences(rng: random.Random) -> Draft:
    a = rng.randrange(5, 20)
    b = rng.randrange(1, min(a, 10))
    who, what = rng.choice(PEOPLE), rng.choice(THINGS)
    return (f"{who} has {a} {what} and {rng.choice(LOSSES)} {b}. How many {what} are left?", f"{a}-{b}={a - b}", a - b)


def _products(rng: random.Random) -> Draft:
    a, b = rng.randrange(2, 10), rng.randrange(2, 10)
    who, what = rng.choice(PEOPLE), rng.choice(THINGS)
    return (f"{who} has {a} boxes with {b} {what} in each. How many {what} does {who} have?", f"{a}*{b}={a * b}", a * b)


def _two_steps(rng: random.Random) -> Draft:
    a, b = rng.randrange(2, 10), rng.randrange(2, 10)
    c = rng.randrange(1, min(a + b, 10))
    who, what = rng.choice(PEOPLE), rng.choice(THINGS)
    question = f"{who} has {a} {what}, {rng.choice(GAINS)} {b} and {rng.choice(LOSSES)} {c}. How many {what} are left?"
    return question, f"{a}+{b}={a + b}, {a + b}-{c}={a + b - c}", a + b - c


MATH_CATEGORIES: dict[str, Callable[[random.Random], Draft]] = {
    "small sums": _small_sums,
    "large sums": _large_sums,
    "differences": _differences,
    "products": _products,
    "two steps": _two_steps,
}


def draw_math(category: str, rng: random.Random) -> MathItem:
    """Draw one word problem of a category."""
    question, work, result = MATH_CATEGORIES[category](rng)
    return {"id": -1, "category": category, "question": question, "answer": f"{work}\n#### {result}"}
