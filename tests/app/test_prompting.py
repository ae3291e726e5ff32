"""From a pack to requests: which task, which template, and where a system prompt stands."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.prompting import Chat, Prompting, choose_chat, choose_task, joined, pack_tasks
from mince_gui.base.errors import InputError, UsageError
from mince_gui.run import ModelFolder, read_model_folder
from mince_gui.store.subsets import StoredPack
from mince_gui.subset import write_pack
from mince_gui.subset.types import FrozenSubset, Pack, PackItem
from mince_gui.tasks import get, load_template

TODAY = date(2026, 11, 30)
TURNS = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"
PROBLEM = {"question": "Two and two?", "answer": "It is four. #### 4"}
QUIZ = {"subject": "anatomy", "question": "Which?", "choices": ["a", "b", "c", "d"], "answer": 1}
SAID = "The following are multiple choice questions (with answers) about anatomy.\n\n"


def _pack(benchmark: str, key: str, doc: Mapping[str, Any], **fields: Any) -> Pack:
    subset = FrozenSubset("small", benchmark, 9, 1, 42, "uniform", (key,), (None,), "made up")
    return Pack(subset, (PackItem(key, None, doc),), **{"fewshot": {}, **fields})


def _problems(**fields: Any) -> Pack:
    return _pack("gsm8k", "0", PROBLEM, **fields)


def _quiz() -> Pack:
    return _pack("mmlu", "anatomy/0", QUIZ, fewshot={"": (QUIZ,)})


@pytest.fixture
def model(tmp_path: Path) -> ModelFolder:
    """A folder without a chat template."""
    return replace(read_model_folder(model_dir()), path=tmp_path)


@pytest.fixture
def chatty(model: ModelFolder) -> ModelFolder:
    """A folder with one."""
    (model.path / "chat_template.jinja").write_text(TURNS, encoding="utf-8")
    return model


def _prompt(pack: Pack, task: str, chat: Chat, system_prompt: str | None) -> str:
    (item,) = Prompting(pack, get(task), chat, system_prompt, None).items(1)
    return item.request.prompt


PLAIN = Chat(None, "none")


def test_a_benchmarks_default_task_is_taken_unless_another_is_named() -> None:
    assert choose_task(_problems(), None).name == "gsm8k_cot_zeroshot"
    assert choose_task(_problems(), "gsm8k_cot").name == "gsm8k_cot"


@pytest.mark.parametrize("named", ["gsm9k", "ifeval", "mmlu"])
def test_a_task_that_is_not_the_benchmarks_is_refused_with_those_that_are(named: str) -> None:
    with pytest.raises(UsageError, match=r"gsm8k_cot_zeroshot, .*gsm8k_cot"):
        choose_task(_problems(), named)


def test_a_task_of_one_subject_does_not_ask_the_whole_benchmark() -> None:
    with pytest.raises(UsageError, match="It has: mmlu"):
        choose_task(_quiz(), "mmlu_virology")


def test_a_pack_of_a_benchmark_without_a_task_says_how_it_can_be_run() -> None:
    with pytest.raises(UsageError, match="mince pack --subset small"):
        choose_task(_pack("commonsense_qa", "0", {"question": "?"}), None)


def test_prompts_are_never_plain_by_accident(model: ModelFolder) -> None:
    with pytest.raises(InputError, match="--chat-template none"):
        choose_chat(get("ifeval"), model.path, "auto", TODAY)
    assert choose_chat(get("ifeval"), model.path, "none", TODAY).template is None
    assert choose_chat(get("mmlu"), model.path, "auto", TODAY).template is None


def test_choices_stay_plain_unless_a_template_is_asked_for(chatty: ModelFolder) -> None:
    assert choose_chat(get("mmlu"), chatty.path, "auto", TODAY).sha256 == ""
    named = choose_chat(get("mmlu"), chatty.path, str(chatty.path / "chat_template.jinja"), TODAY)
    assert named.template is not None
    assert named.sha256 == named.template.sha256


def test_a_system_prompt_is_the_first_message_of_a_chat(chatty: ModelFolder) -> None:
    chat = choose_chat(get("gsm8k_cot_zeroshot"), chatty.path, "auto", TODAY)
    prompt = _prompt(_problems(), "gsm8k_cot_zeroshot", chat, "Be brief.")
    assert prompt == "[system]Be brief.[user]Q: Two and two?\nA: Let's think step by step.[assistant]"


@pytest.mark.parametrize(
    ("template", "system_prompt", "words", "way_out"),
    [
        (
            "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
            "Be brief.",
            "system",
            "Leave the sys",
        ),
        ("hello", None, "user", "Name another template"),
        ("{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}", None, "user", "Name another"),
    ],
)
def test_a_template_that_leaves_a_message_out_is_refused_before_anything_is_asked(
    model: ModelFolder, template: str, system_prompt: str | None, words: str, way_out: str
) -> None:
    (model.path / "chat_template.jinja").write_text(template, encoding="utf-8")
    chat = choose_chat(get("gsm8k_cot_zeroshot"), model.path, "auto", TODAY)
    with pytest.raises(InputError, match=f"leaves out the {words} message") as refused:
        _prompt(_problems(), "gsm8k_cot_zeroshot", chat, system_prompt)
    assert refused.value.remedy.startswith(way_out)


def test_a_template_that_drops_examples_is_refused_where_there_are_some(model: ModelFolder) -> None:
    (model.path / "chat_template.jinja").write_text("{{ messages[-1].content }}", encoding="utf-8")
    chat = choose_chat(get("gsm8k_cot"), model.path, "auto", TODAY)
    assert _prompt(_problems(), "gsm8k_cot_zeroshot", chat, None).startswith("Q: Two and two?")
    with pytest.raises(InputError, match="leaves out the assistant message and the user message"):
        _prompt(_problems(), "gsm8k_cot", chat, None)


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_template_is_none(model: ModelFolder, content: str) -> None:
    (model.path / "chat_template.jinja").write_text(content, encoding="utf-8")
    (model.path / "tokenizer_config.json").write_text('{"chat_template": ""}', encoding="utf-8")
    with pytest.raises(InputError, match="has no chat template"):
        choose_chat(get("ifeval"), model.path, "auto", TODAY)
    with pytest.raises(InputError, match="the chat template is empty"):
        choose_chat(get("ifeval"), model.path, str(model.path / "chat_template.jinja"), TODAY)


def _facts(prompting: Prompting, count: int) -> dict[str, Any]:
    return prompting.facts(count, max(item.request.max_new_tokens for item in prompting.one_by_one(count)))


def test_examples_are_counted_over_all_items_and_not_read_off_the_first() -> None:
    keys = (*(f"anatomy/{n}" for n in range(4)), "virology/0")
    subset = FrozenSubset("small", "mmlu", 9, 5, 42, "uniform", keys, (None,) * 5, "made up")
    items = tuple(PackItem(key, key[:-2], {**QUIZ, "subject": key[:-2]}) for key in keys)
    few = {**QUIZ, "subject": "virology"}
    pack = Pack(subset, items, {"anatomy": (QUIZ,) * 5, "virology": (few,) * 3})
    prompting = Prompting(pack, get("mmlu"), PLAIN, None, None)
    facts = _facts(prompting, 5)
    assert (facts["examples"], facts["fewer_examples"]) == (5, 1)


def test_a_tasks_own_system_message_follows_the_system_prompt(chatty: ModelFolder) -> None:
    chat = choose_chat(get("mmlu"), chatty.path, str(chatty.path / "chat_template.jinja"), TODAY)
    assert _prompt(_quiz(), "mmlu", chat, "Be brief.").startswith(f"[system]Be brief.\n\n{SAID}[user]Which?")


def test_a_plain_prompt_begins_with_the_system_prompt_as_it_is() -> None:
    bare = _prompt(_problems(), "gsm8k_cot_zeroshot", PLAIN, None)
    assert _prompt(_problems(), "gsm8k_cot_zeroshot", PLAIN, "Be brief.") == f"Be brief.{bare}"


def test_a_plain_description_is_set_off_from_the_system_prompt_and_the_shared_prefix_stays_one() -> None:
    (bare,) = Prompting(_quiz(), get("mmlu"), PLAIN, None, None).items(1)
    (told,) = Prompting(_quiz(), get("mmlu"), PLAIN, "Be brief.", None).items(1)
    assert told.request.prompt == f"Be brief.\n\n{bare.request.prompt}"
    assert told.request.prompt.startswith(told.request.prefix)
    assert len(told.request.prefix) > len(bare.request.prefix)
    assert told.request.choices == bare.request.choices


@pytest.mark.parametrize(
    ("system", "description", "whole"),
    [("S", "D", "S\n\nD"), ("S\n", "D", "S\nD"), ("S", " D", "S D"), ("", "D", "D"), ("S", "", "S"), ("", "", "")],
)
def test_a_blank_line_is_put_where_no_blank_stands(system: str, description: str, whole: str) -> None:
    assert joined(system, description) == whole


@pytest.mark.oracle
def test_a_system_prompt_and_a_description_are_joined_as_in_lm_eval() -> None:
    utils: Any = importlib.import_module("lm_eval.api.utils")
    texts = ("", "S", "S ", " S", "\nS", "S\n\n", "two words")
    for system in texts:
        for description in texts:
            assert joined(system, description) == utils.maybe_delimit(system or None, description, "\n\n")


def test_examples_of_an_items_own_come_before_those_of_its_category() -> None:
    own = tuple({"question": f"Own {i}?", "answer": f"So. #### {i}"} for i in range(5))
    others = tuple({"question": f"Other {i}?", "answer": f"So. #### {i}"} for i in range(5))
    pack = _problems(fewshot={"": others}, item_fewshot={"0": own})
    prompt = _prompt(pack, "gsm8k", PLAIN, None)
    assert [prompt.count(f"Own {i}?") for i in range(5)] == [1] * 5
    assert "Other" not in prompt


@pytest.mark.parametrize(("task", "examples"), [("gsm8k_cot_zeroshot", 0), ("gsm8k_cot", 8)])
def test_the_number_of_examples_is_counted_wherever_they_come_from(task: str, examples: int) -> None:
    prompting = Prompting(_problems(), get(task), PLAIN, None, 99)
    facts = _facts(prompting, 1)
    assert (facts["examples"], facts["budget"]) == (examples, 99)


def test_choices_have_no_token_budget() -> None:
    prompting = Prompting(_quiz(), get("mmlu"), PLAIN, None, 99)
    assert _facts(prompting, 1)["budget"] is None


def _logged(chat: str, prompt: Any, template_sha: str = "") -> Pack:
    """A pack of one logged request; `chat` says how its prompt was logged."""
    rules = {
        "output_type": "multiple_choice", "task_version": "1.0", "shots": 2, "chat": chat, "delimiter": " ",
        "filters": [{"name": "none", "steps": []}], "metrics": [{"metric": "acc", "options": {}}],
        "scored": [["acc", "none"]], "left_out": ["f1: not reproduced"],
    }  # fmt: skip
    definition = {
        "kind": "lm-eval task from its log", "version": 1, "name": "riddles", "benchmark": "riddles",
        "chat_template_sha": template_sha, "tasks": {"riddles": rules},
        "source": {"model": "Old-1B", "log": "samples.jsonl", "lm_eval_version": "0.4.13"},
    }  # fmt: skip
    asked = {"task": "riddles", "prompts": [prompt], "choices": [" yes", " no"], "gold": [0]}
    pack = _pack("riddles", "0", {"q": "?"}, logged=definition)
    return replace(pack, items=(PackItem("0", None, {"q": "?"}, asked),))


def test_a_pack_of_logged_prompts_has_its_own_task() -> None:
    pack = _logged("plain", "Is it?")
    assert choose_task(pack, None).name == "riddles"
    with pytest.raises(UsageError, match="logged prompts of riddles, not of gsm8k"):
        choose_task(pack, "gsm8k")


def test_a_logged_prompt_is_asked_as_it_stands_and_says_where_it_is_from(chatty: ModelFolder) -> None:
    pack = _logged("plain", "Is it?")
    task = choose_task(pack, None)
    prompting = Prompting(pack, task, choose_chat(task, chatty.path, "auto", TODAY), None, None)
    (item,) = prompting.items(1)
    assert (item.request.prompt, item.request.choices) == ("Is it?", (" yes", " no"))
    facts = prompting.facts(1, item.request.max_new_tokens)
    assert (facts["examples"], facts["left_out"]) == (2, ["f1: not reproduced"])
    assert "lm-eval 0.4.13, run of Old-1B" in facts["logged_from"]


def test_a_system_prompt_cannot_be_put_into_a_prompt_that_is_logged_as_text() -> None:
    pack = _logged("plain", "Is it?")
    with pytest.raises(UsageError, match="no system prompt can be added"):
        Prompting(pack, choose_task(pack, None), PLAIN, "Be brief.", None).items(1)


def test_logged_messages_go_through_our_template_with_the_system_prompt(chatty: ModelFolder) -> None:
    pack = _logged("messages", [{"role": "user", "content": "Is it?"}])
    task = choose_task(pack, None)
    chat = choose_chat(task, chatty.path, "auto", TODAY)
    (item,) = Prompting(pack, task, chat, "Be brief.", None).items(1)
    assert item.request.prompt == "[system]Be brief.[user]Is it?[assistant]"


def test_a_prompt_that_another_models_template_rendered_is_refused_unless_it_is_the_same(chatty: ModelFolder) -> None:
    template = load_template(chatty.path, "auto", today=TODAY)
    assert template is not None
    same, other = (choose_task(_logged("rendered", "<s>Is it?", sha), None) for sha in (template.sha256, "0" * 64))
    chat = choose_chat(same, chatty.path, "auto", TODAY)
    assert (chat.template, chat.sha256) == (None, template.sha256)
    # An export of the run says so again, or its prompts would be taken for plain ones.
    assert chat.source == template.source
    with pytest.raises(InputError, match="Old-1B, which is not this model's"):
        choose_chat(other, chatty.path, "auto", TODAY)


def test_a_request_that_the_pack_does_not_have_is_named() -> None:
    pack = replace(_logged("plain", "?"), items=(PackItem("0", None, {"q": "?"}),))
    with pytest.raises(InputError, match="no logged request of item 0"):
        Prompting(pack, choose_task(pack, None), PLAIN, None, None).items(1)


def test_the_tasks_of_a_pack_are_told_without_its_items_being_read(tmp_path: Path) -> None:
    def stored(pack: Pack) -> StoredPack:
        path = tmp_path / f"{pack.subset.benchmark}.mincepack"
        write_pack(path, pack)
        return StoredPack("small", pack.subset.benchmark, 1, False, path, path.name, "")

    assert pack_tasks(stored(_logged("plain", "Is it?"))) == ("riddles",)
    assert pack_tasks(stored(_problems()))[0] == "gsm8k_cot_zeroshot"
    gone = stored(_problems())
    gone.path.unlink()
    assert pack_tasks(replace(gone, sha256="another")) == ()
