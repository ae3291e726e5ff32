"""The 25 instruction types of IFEval: what each asks of a response.

`INSTRUCTIONS` maps an instruction id to a builder: it reads the item's arguments (MinceError where one is
missing or odd) and returns the check, response -> followed or not. Checks never see a blank response.
Verdicts equal those of lm-eval 0.4.13 with one exception, see `_letter_frequency`. Every check takes time
linear in the response (langdetect and nltk included): where lm-eval's regular expression would backtrack,
an equal scan stands here.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable

from mince_gui.tasks.ifeval.arguments import Arguments
from mince_gui.tasks.ifeval.language import detect, languages
from mince_gui.tasks.ifeval.words import capital_words, count_words, sentences

Check = Callable[[str], bool]
Builder = Callable[[Arguments], Check]

_FENCES = ("```json", "```Json", "```JSON", "```")
_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_WORD_ENDS = frozenset(".,?!'\"")
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
# Blanks before the sign may span lines in lm-eval's expression; the last of those lines matches as well, so
# staying inside one line counts the same and does not go back and forth over blank lines.
_STAR_BULLET = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
_DASH_BULLET = re.compile(r"^[^\S\n]*-.*$", re.MULTILINE)
_SINGLE_STARS = re.compile(r"\*[^\n*]*\*")
_DOUBLE_STARS = re.compile(r"\*\*[^\n*]*\*\*")
_DIVIDER = re.compile(r"\s?\*\*\*\s?")


def _count(found: Iterable[str], number: float) -> int:
    """How many there are; beyond `number` nobody asks, and a long response is not read on."""
    return sum(1 for _ in itertools.islice(found, math.ceil(number)))


def _keywords_exist(args: Arguments) -> Check:
    wanted = [re.compile(args.pattern(word), re.IGNORECASE) for word in args.texts("keywords")]
    return lambda response: all(word.search(response) for word in wanted)


def _keyword_frequency(args: Arguments) -> Check:
    keyword = re.compile(args.pattern(args.text("keyword")), re.IGNORECASE)
    number, holds = args.number("frequency"), args.relation("relation")
    return lambda response: holds(sum(1 for _ in keyword.finditer(response)), number)


def _forbidden_words(args: Arguments) -> Check:
    words = [re.compile(rf"\b{args.pattern(word)}\b", re.IGNORECASE) for word in args.texts("forbidden_words")]
    return lambda response: not any(word.search(response) for word in words)


def _letter_frequency(args: Arguments) -> Check:
    """Counts the very character that the item names, in either case.

    lm-eval draws a random letter in place of any character outside a-z (items 1122, "#", and 1129, "!"), so its
    verdict there is chance. Ours is fixed, and this is the one deliberate difference.
    """
    letter = args.text("letter").lower()
    if len(letter) != 1:
        raise args.refuse(f"{letter!r} is not one letter")
    number, holds = args.number("let_frequency"), args.relation("let_relation")
    return lambda response: holds(response.lower().count(letter), number)


def _response_language(args: Arguments) -> Check:
    language = args.text("language")
    if language not in languages():
        raise args.refuse(f"language '{language}' cannot be detected")
    # A text without letters counts as followed, as in lm-eval.
    return lambda response: detect(response) in (language, None)


def _number_sentences(args: Arguments) -> Check:
    number, holds = args.number("num_sentences"), args.relation("relation")
    return lambda response: holds(_count(sentences(response), number), number)


def _number_words(args: Arguments) -> Check:
    number, holds = args.number("num_words"), args.relation("relation")
    return lambda response: holds(count_words(response), number)


def _number_paragraphs(args: Arguments) -> Check:
    number = args.number("num_paragraphs")

    def check(response: str) -> bool:
        parts = [part.strip() for part in _DIVIDER.split(response)]
        if not all(parts[1:-1]):
            return False
        return sum(1 for part in parts if part) == number

    return check


def _nth_paragraph_first_word(args: Arguments) -> Check:
    number, nth = args.number("num_paragraphs"), args.number("nth_paragraph")
    first = args.text("first_word").lower()
    if nth > number:
        raise args.refuse(f"paragraph {nth} of {number} does not exist")
    index = int(nth) - 1

    def check(response: str) -> bool:
        paragraphs = response.split("\n\n")
        # The n-th piece is looked up with blank pieces still in the list, the number compared is without them.
        if sum(1 for part in paragraphs if part.strip()) != number or not paragraphs[index].strip():
            return False
        word = paragraphs[index].split()[0].lstrip("'").lstrip('"')
        end = next((at for at, sign in enumerate(word) if sign in _WORD_ENDS), len(word))
        return "".join(sign.lower() for sign in word[:end]) == first

    return check


def _number_placeholders(args: Arguments) -> Check:
    number = args.number("num_placeholders")

    def check(response: str) -> bool:
        count = 0
        for line in response.split("\n"):
            start = line.find("[")
            while start >= 0 and (end := line.find("]", start)) >= 0:
                count += 1
                start = line.find("[", end)
        return count >= number

    return check


def _postscript(args: Arguments) -> Check:
    marker = args.text("postscript_marker")
    pattern = re.compile(_POSTSCRIPTS.get(marker) or args.pattern(marker.lower()))
    return lambda response: pattern.search(response.lower()) is not None


def _number_bullet_lists(args: Arguments) -> Check:
    number = args.number("num_bullets")
    return lambda response: len(_STAR_BULLET.findall(response)) + len(_DASH_BULLET.findall(response)) == number


def _constrained_response(args: Arguments) -> Check:
    return lambda response: any(answer in response for answer in _ANSWERS)


def _number_highlighted_sections(args: Arguments) -> Check:
    number = args.number("num_highlights")

    def check(response: str) -> bool:
        single = sum(1 for found in _SINGLE_STARS.findall(response) if found.strip("*").strip())
        double = sum(1 for found in _DOUBLE_STARS.findall(response) if found[2:-2].strip())
        return single + double >= number

    return check


def _multiple_sections(args: Arguments) -> Check:
    marker = re.compile(rf"\s?{args.pattern(args.text('section_spliter'))}\s?\d+\s?")
    number = args.number("num_sections")
    return lambda response: sum(1 for _ in marker.finditer(response)) >= number


def _json_format(args: Arguments) -> Check:
    def check(response: str) -> bool:
        body = response.strip()
        for fence in _FENCES:
            body = body.removeprefix(fence)
        try:
            json.loads(body.removesuffix("```").strip())
        except (ValueError, RecursionError):  # RecursionError: brackets nested beyond what Python reads
            return False
        return True

    return check


def _title(args: Arguments) -> Check:
    def check(response: str) -> bool:
        for line in response.split("\n"):
            start, end = line.find("<<"), line.rfind(">>")
            if start >= 0 and end - start > 2 and line[start:end].lstrip("<").rstrip(">").strip():
                return True
        return False

    return check


def _two_responses(args: Arguments) -> Check:
    def check(response: str) -> bool:
        parts = [part.strip() for part in response.split("******")]
        if not all(parts[1:-1]):
            return False
        answers = [part for part in parts if part]
        return len(answers) == 2 and answers[0] != answers[1]

    return check


def _repeat_prompt(args: Arguments) -> Check:
    prompt = args.text("prompt_to_repeat").lower()
    return lambda response: response.strip().lower().startswith(prompt)


def _end_checker(args: Arguments) -> Check:
    phrase = args.text("end_phrase").lower()
    return lambda response: response.strip().strip('"').lower().endswith(phrase)


def _capital_word_frequency(args: Arguments) -> Check:
    number, holds = args.number("capital_frequency"), args.relation("capital_relation")
    return lambda response: holds(_count(capital_words(response), number), number)


def _english_capital(args: Arguments) -> Check:
    return lambda response: response.isupper() and detect(response) in ("en", None)


def _english_lowercase(args: Arguments) -> Check:
    return lambda response: response.islower() and detect(response) in ("en", None)


def _no_comma(args: Arguments) -> Check:
    return lambda response: "," not in response


def _quotation(args: Arguments) -> Check:
    def check(response: str) -> bool:
        body = response.strip()
        return len(body) > 1 and body[0] == body[-1] == '"'

    return check


INSTRUCTIONS: dict[str, Builder] = {
    "change_case:capital_word_frequency": _capital_word_frequency,
    "change_case:english_capital": _english_capital,
    "change_case:english_lowercase": _english_lowercase,
    "combination:repeat_prompt": _repeat_prompt,
    "combination:two_responses": _two_responses,
    "detectable_content:number_placeholders": _number_placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:constrained_response": _constrained_response,
    "detectable_format:json_format": _json_format,
    "detectable_format:multiple_sections": _multiple_sections,
    "detectable_format:number_bullet_lists": _number_bullet_lists,
    "detectable_format:number_highlighted_sections": _number_highlighted_sections,
    "detectable_format:title": _title,
    "keywords:existence": _keywords_exist,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:frequency": _keyword_frequency,
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": _response_language,
    "length_constraints:nth_paragraph_first_word": _nth_paragraph_first_word,
    "length_constraints:number_paragraphs": _number_paragraphs,
    "length_constraints:number_sentences": _number_sentences,
    "length_constraints:number_words": _number_words,
    "punctuation:no_comma": _no_comma,
    "startend:end_checker": _end_checker,
    "startend:quotation": _quotation,
}
"""Instruction id -> builder of its check: every type that google/IFEval uses."""
