"""What each benchmark asks and when an answer counts, for a reader who has never heard of it."""

from __future__ import annotations

_DEMO = "It comes with mince-gui to show how it works, and says nothing about real models"
_MEASURED = {
    "ifeval": (
        "IFEVAL asks for texts under instructions that a program can check: a format, a number of words, words to use "
        "or to leave out. The prompt metrics pass a text that follows all instructions of its prompt; the instruction "
        "metrics count every instruction. Strict takes a text as it stands; loose also lets it pass without its "
        "asterisks, its first line or its last."
    ),
    "gsm8k": (
        "GSM8K asks word problems of grade-school mathematics; an answer is right where its final number is. Strict "
        "match takes the number only from the form in which the examples give it (#### 42), flexible extract takes the "
        "last number of the answer."
    ),
    "mmlu": (
        "MMLU asks multiple-choice questions of 57 subjects, with four choices each: the one that the model holds for "
        "the likeliest is its answer. Guessing gets 25 %."
    ),
    "arc_challenge": (
        "ARC-Challenge asks multiple-choice questions of grade-school science: the choice that the model holds for the "
        "likeliest is its answer; accuracy by length weighs that by the length of the choice. Guessing gets about 25 %."
    ),
    "demo-choice": f"Demo choice asks made-up multiple-choice questions with four choices each. {_DEMO}.",
    "demo-math": f"Demo math asks small made-up calculations; the final number counts. {_DEMO}.",
}


def measured(benchmark: str) -> str:
    """What the benchmark measures, in sentences; "" for one that is not declared here."""
    return _MEASURED.get(benchmark.lower(), "")
