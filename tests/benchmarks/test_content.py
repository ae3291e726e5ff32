from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.canonical import content_sha256
from mince_gui.benchmarks import BENCHMARKS, answer_index, content_hash, content_of, of_task

IFEVAL: dict[str, Any] = {
    "key": 1, "prompt": "Write.", "instruction_id_list": ["a:b", "c:d"], "kwargs": [{}, {"num_words": 3}],
}  # fmt: skip
GSM8K: dict[str, Any] = {"question": "How many?", "answer": "#### 3"}
MMLU: dict[str, Any] = {"question": "Which?", "choices": ["a", "b", "c", "d"], "answer": 1, "subject": "anatomy"}


@pytest.mark.parametrize(
    ("name", "doc", "copy"),
    [
        ("ifeval", IFEVAL, {"kwargs": [{"num_words": None}, {"num_words": 3.0, "relation": None}], "key": "1"}),
        ("ifeval", IFEVAL, {"kwargs": [None, {"num_words": 3}], "prompt": " Write.\n"}),
        ("gsm8k", GSM8K, {"answer": "#### 3 ", "id": 7}),
        ("mmlu", MMLU, {"answer": "B", "subject": None}),
        ("mmlu", MMLU, {"choices": ["a ", " b", "c", "d"], "doc_id": 4}),
    ],
)
def test_copies_of_one_item_hash_alike(name: str, doc: dict[str, Any], copy: dict[str, Any]) -> None:
    assert content_hash(BENCHMARKS[name], doc | copy) == content_hash(BENCHMARKS[name], doc)


@pytest.mark.parametrize(
    ("name", "doc", "change"),
    [
        ("ifeval", IFEVAL, {"kwargs": [{}, {"num_words": 4}]}),
        ("ifeval", IFEVAL, {"instruction_id_list": ["a:b", "c:e"]}),
        ("gsm8k", GSM8K, {"answer": "#### 4"}),
        ("mmlu", MMLU, {"answer": 2}),
        ("mmlu", MMLU, {"choices": ["b", "a", "c", "d"]}),
    ],
)
def test_another_content_hashes_differently(name: str, doc: dict[str, Any], change: dict[str, Any]) -> None:
    assert content_hash(BENCHMARKS[name], doc | change) != content_hash(BENCHMARKS[name], doc)


def test_arc_challenge_hashes_as_it_did_when_it_was_a_benchmark_of_its_own_task() -> None:
    doc = {"id": "own", "question": "Why?", "choices": {"text": ["a", "b"], "label": ["1", "2"]}, "answerKey": "2"}
    arc = BENCHMARKS["arc_challenge"]
    assert content_hash(arc, doc) == content_sha256(doc) == content_hash(arc, {**doc, "doc_id": 3})


TEXT = st.text(max_size=8) | st.sampled_from([" a ", "\ud83d", "\x1b"])
ODD = st.none() | st.integers(-(2**66), 2**66) | st.sampled_from([1.0, 0.5, True])


@settings(max_examples=50, deadline=None)
@given(question=TEXT | ODD, choices=st.lists(TEXT | ODD, max_size=4), answer=ODD | TEXT)
def test_the_hash_is_that_of_the_content_whatever_the_types_are(
    question: object, choices: list[object], answer: object
) -> None:
    for name, doc in (
        ("mmlu", {"question": question, "choices": choices, "answer": answer, "subject": "anatomy"}),
        ("gsm8k", {"question": question, "answer": answer}),
    ):
        benchmark = BENCHMARKS[name]
        assert content_hash(benchmark, doc) == content_sha256(content_of(benchmark, doc))


def test_an_answers_letter_is_its_place() -> None:
    assert [answer_index(text) for text in ("A", " D ", "E", "", "AB", "a")] == [0, 3, None, None, None, None]


def test_the_whole_doc_counts_for_other_benchmarks() -> None:
    task = of_task("my_task")
    assert content_hash(task, {"q": 1, "extra": 2}) != content_hash(task, {"q": 1})
    assert content_hash(task, {"q": 1, "extra": None}) == content_hash(task, {"q": 1})


@pytest.mark.parametrize("name", ["ifeval", "gsm8k", "mmlu"])
def test_a_doc_without_its_content_has_no_hash(name: str) -> None:
    with pytest.raises(KeyError):
        content_hash(BENCHMARKS[name], {"question_id": "x/1"})
