"""Our prompts and verdicts beside those of lm-eval 0.4.13 itself, on texts made here.

lm-eval's IFEval needs nltk's punkt_tab, which NLTK_DATA must name (the tests download nothing).
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.tasks import get, gsm8k
from mince_gui.tasks.ifeval import check

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("default")]

_PIECES = st.sampled_from(
    [
        *"*-[]<>\n\t .,!?;:'\"#()0aZ",
        "\n\n",
        "***",
        "******",
        "**",
        "<<",
        ">>",
        "```",
        "P.S.",
        "p. p. s",
        "Section 1",
        "SECTION 2",
        "Dr. ",
        "U.S. ",
        "e.g. ",
        "3.5",
        "...",
        "can't ",
        "CANNOT ",
        "NASA ",
        "tree ",
        "Trees ",
        "Finally ",
        "My answer is no.",
        "That is all.",
        "Say it twice.",
        '{"a": 1}',
        "The house is old. ",
        "das Haus ist alt ",
        "THE HOUSE IS OLD AND BIG ",
        "\u00e9",
        "\u3002",
        "\u201d",
        "\x1c",
        "\u00a0",
    ]
)
_TEXTS = st.lists(_PIECES, max_size=25).map("".join)
_KWARGS: list[tuple[str, dict[str, Any]]] = [
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}),
    ("change_case:english_capital", {}),
    ("change_case:english_lowercase", {}),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it twice. "}),
    ("combination:two_responses", {}),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}),
    ("detectable_content:postscript", {"postscript_marker": "Finally"}),
    ("detectable_format:constrained_response", {}),
    ("detectable_format:json_format", {}),
    ("detectable_format:multiple_sections", {"section_spliter": "SECTION", "num_sections": 1}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}),
    ("detectable_format:title", {}),
    ("keywords:existence", {"keywords": ["tree", "house"]}),
    ("keywords:forbidden_words", {"forbidden_words": ["tree", "house"]}),
    ("keywords:frequency", {"keyword": "tree ", "frequency": 2, "relation": "less than"}),
    ("keywords:letter_frequency", {"letter": "s", "let_frequency": 4, "let_relation": "less than"}),
    ("language:response_language", {"language": "de"}),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Finally"}),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "at least"}),
    ("length_constraints:number_sentences", {"num_sentences": 5, "relation": "less than"}),
    ("length_constraints:number_words", {"num_words": 6, "relation": "less than"}),
    ("punctuation:no_comma", {}),
    ("startend:end_checker", {"end_phrase": "That is all."}),
    ("startend:quotation", {}),
]
_DOC: dict[str, Any] = {
    "key": 1,
    "prompt": "",
    "instruction_id_list": [name for name, _ in _KWARGS],
    "kwargs": [kwargs for _, kwargs in _KWARGS],
}


@pytest.fixture(scope="module", autouse=True)
def _no_progress_thread() -> None:
    """Keeps lm-eval's progress bars from starting a thread that would outlive the test."""
    pytest.importorskip("tqdm", reason="lm-eval is not installed").tqdm.monitor_interval = 0


@pytest.fixture(scope="module")
def scorer() -> Any:
    """lm-eval's IFEval module, with the seed that makes language detection repeatable."""
    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        pytest.skip("NLTK_DATA names no folder with punkt_tab, which lm-eval would download")
    utils = pytest.importorskip("lm_eval.tasks.ifeval.utils", reason="lm-eval is not installed")
    from langdetect import DetectorFactory

    DetectorFactory.seed = 0
    # It logs an error for every text without letters.
    logging.getLogger("lm_eval.tasks.ifeval.instructions").setLevel(logging.CRITICAL)
    return utils


@settings(max_examples=300, deadline=None)
@given(response=_TEXTS)
def test_all_verdicts_on_made_up_responses(scorer: Any, response: str) -> None:
    theirs = scorer.process_results(_DOC, [response])
    ours = check(_DOC, response)
    named = dict(enumerate(_DOC["instruction_id_list"]))
    for mine, metric in ((ours.strict, "inst_level_strict_acc"), (ours.loose, "inst_level_loose_acc")):
        differing = [named[i] for i, pair in enumerate(zip(mine, theirs[metric], strict=True)) if pair[0] != pair[1]]
        assert differing == []


def _their_task(config: dict[str, Any], files: dict[str, list[dict[str, Any]]], folder: Path) -> Any:
    """lm-eval's task of that configuration over docs of our own."""
    for split, rows in files.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config["dataset_path"] = "json"
    config["dataset_kwargs"] = {"data_files": {split: str(folder / f"{split}.jsonl") for split in files}}
    return pytest.importorskip("lm_eval.api.task").ConfigurableTask(config=config)


def _their_config(path: str) -> dict[str, Any]:
    tasks = pytest.importorskip("lm_eval.tasks", reason="lm-eval is not installed")
    yaml = pytest.importorskip("yaml")
    config: dict[str, Any] = yaml.safe_load((Path(tasks.__file__).parent / path).read_text(encoding="utf-8"))
    for name in ("tag", "dataset_name"):
        config.pop(name, None)
    return config


def _render(messages: Any, add_generation_prompt: bool = True) -> str:
    return json.dumps(messages)


def _their_prompts(task: Any, doc: dict[str, Any], shots: int) -> tuple[str, str]:
    """Plain, and as a chat with the examples as turns."""
    chat = {"apply_chat_template": True, "fewshot_as_multiturn": True, "chat_template": _render}
    return task.fewshot_context(doc, shots), task.fewshot_context(doc, shots, **chat)


@pytest.mark.parametrize("name", ["gsm8k", "gsm8k_cot", "gsm8k_cot_llama", "gsm8k_cot_zeroshot"])
def test_gsm8k_prompts_and_stop_rules(name: str, tmp_path: Path) -> None:
    config = _their_config(f"gsm8k/{name.replace('_', '-')}.yaml")
    docs = [
        {"question": f"A baker bakes {i} rolls and sells {i - 1}. How many are left?", "answer": "One.\n#### 1"}
        for i in range(5, 13)
    ]
    if name == "gsm8k":  # the order of its examples is random; ours are given
        config["fewshot_config"] = {"sampler": "first_n"}
    theirs = _their_task(config, {"test": docs[:2], "train": docs[2:]}, tmp_path)
    for doc in docs[:2]:
        requests = [gsm8k.task(name).request(doc, docs[2:], render=way, max_new_tokens=None) for way in (None, _render)]
        assert tuple(request.prompt for request in requests) == _their_prompts(theirs, doc, config["num_fewshot"])
        assert list(requests[0].until) == config["generation_kwargs"]["until"]


def test_mmlu_prompts_and_choices(tmp_path: Path) -> None:
    config = _their_config("mmlu/default/_default_template_yaml")
    config |= {
        "task": "mmlu_high_school_us_history",
        "description": "The following are multiple choice questions (with answers) about high school us history.\n\n",
    }
    docs = [
        {"question": f" Which is {i}? ", "choices": [f"{i} ", "two", " three", "4"], "answer": i % 4} for i in range(8)
    ]
    theirs = _their_task(config, {"test": docs[:2], "dev": docs[2:]}, tmp_path)
    for doc in docs[:2]:
        ours = get("mmlu_high_school_us_history")
        requests = [ours.request(doc, docs[2:], render=way, max_new_tokens=None) for way in (None, _render)]
        assert tuple(request.prompt for request in requests) == _their_prompts(theirs, doc, 5)
        for request, chat in zip(requests, (False, True), strict=True):
            instances = theirs.construct_requests(
                doc, request.prompt, apply_chat_template=chat, metadata=(None, 0, 1), doc_id=0
            )
            assert [instance.arguments for instance in instances] == [
                (request.prompt, choice) for choice in request.choices
            ]
