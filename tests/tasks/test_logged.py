"""Tasks from their logs: definitions, gold, filters and metrics, proven on logs that lm-eval itself wrote."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError, MinceError
from mince_gui.logs import detect
from mince_gui.logs.lm_eval.requests import LoggedItem, LoggedRequests, Verdict, read_requests
from mince_gui.tasks.logged import LoggedTask, Made, definition_of, metrics, task_of
from mince_gui.tasks.types import Answer, Message

LOGS = Path(__file__).parent / "data" / "logged"
METRICS = {
    "commonsense_qa": ("acc",),
    "piqa": ("acc", "acc_norm"),
    "arc_challenge": ("acc", "acc_norm"),
    "hellaswag": ("acc", "acc_norm"),
    "winogrande": ("acc",),
    "mmlu_pro": ("exact_match,custom-extract",),
    "gsm8k": ("exact_match,strict-match", "exact_match,flexible-extract"),
}


@cache
def _logs() -> Mapping[str, LoggedRequests]:
    with detect([LOGS]) as seen:
        return {found.task: read_requests(found) for found in seen.found}


def _made(log: LoggedRequests) -> Made:
    return definition_of(log, log.tasks[0], log.tasks[0])


def _text_log(
    responses: list[str], filtered: list[str], verdicts: list[float], targets: list[Any], *, doc: dict[str, Any] | None
    = None, until: Any = ("Q:",), options: dict[str, Any] | None = None, **config: Any,
) -> LoggedRequests:  # fmt: skip
    """A made log of a generate_until task; what lm-eval's own logs lack can be tried on it."""
    items = {
        str(i): LoggedItem(
            str(i), "made", f"log, line {i + 1}", doc or {}, (f"Q{i}",), ({"until": list(until), **(options or {})},),
            targets[i], (responses[i],), {"none": Verdict((filtered[i],), {"exact_match": verdicts[i]})},
        )
        for i in range(len(responses))
    }  # fmt: skip
    return LoggedRequests("m", "log", items, {"made": {"output_type": "generate_until", **config}})


def _choice_log(
    weights: list[list[float]],
    acc: list[float],
    targets: list[Any],
    choices: list[str],
    doc: dict[str, Any],
    **config: Any,
) -> LoggedRequests:
    items = {
        str(i): LoggedItem(
            str(i), "made", f"log, line {i + 1}", doc, ("Q",), tuple(f" {choice}" for choice in choices), targets[i],
            tuple((str(w), "False") for w in weights[i]), {"none": Verdict((), {"acc": acc[i]})},
        )
        for i in range(len(weights))
    }  # fmt: skip
    return LoggedRequests(
        "m", "log", items, {"made": {"output_type": "multiple_choice", "metric_list": [{"metric": "acc"}], **config}}
    )


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_of_lm_evals_own_logs_is_proven(name: str) -> None:
    log = _logs()[name]
    made = definition_of(log, name, name)
    task = task_of(made.definition)
    assert task.metrics == METRICS[name]
    assert made.left_out == ()
    # winogrande's right choice is read from the verdict itself, which then proves nothing.
    assert made.proven == (0 if name == "winogrande" else len(log.items) * len(METRICS[name]))
    assert list(made.asked) == list(log.items)


@pytest.mark.parametrize("name", METRICS)
def test_the_logs_own_responses_score_as_the_log_says(name: str) -> None:
    log = _logs()[name]
    made = definition_of(log, name, name)
    task = task_of(json.loads(json.dumps(made.definition)))
    for key, item in log.items.items():
        scored = task.score(json.loads(json.dumps(made.asked[key])), _answer(item))
        logged = {
            metric if filter_name == "none" else f"{metric},{filter_name}": float(value)
            for filter_name, verdict in item.verdicts.items()
            for metric, value in verdict.metrics.items()
        }
        assert {metric: passed for metric, (passed, _) in scored.scores.items()} == logged
        if task.kind == "generate":
            assert scored.extracted == {f: verdict.filtered[0] for f, verdict in item.verdicts.items()}


def _answer(item: LoggedItem) -> Answer:
    if isinstance(item.responses[0], str):
        return Answer(text=item.responses[0])
    return Answer(
        logprobs=tuple(float(number) for number, _ in item.responses),
        greedy=tuple(sign == "True" for _, sign in item.responses),
    )


def test_requests_are_those_that_lm_eval_logged() -> None:
    for name, log in _logs().items():
        made = definition_of(log, name, name)
        task = task_of(made.definition)
        for key, item in log.items.items():
            request = task.request(made.asked[key], (), render=None, max_new_tokens=None)
            assert request.prompt == item.prompts[0]
            if task.kind == "choice":
                assert request.choices == item.arguments
                assert request.contexts == (item.prompts if name == "winogrande" else ())
            else:
                options = item.arguments[0]
                assert isinstance(options, Mapping)
                assert (list(request.until), request.max_new_tokens) == (options["until"], 24)


def test_gold_is_what_the_docs_say() -> None:
    places: dict[str, Callable[[Mapping[str, Any]], int]] = {
        "commonsense_qa": lambda doc: "ABCDE".index(doc["answerKey"]),
        "piqa": lambda doc: doc["label"],
        "arc_challenge": lambda doc: doc["choices"]["label"].index(doc["answerKey"]),
        "hellaswag": lambda doc: int(doc["label"]),
        "winogrande": lambda doc: int(doc["answer"]) - 1,
    }
    for name, place in places.items():
        log = _logs()[name]
        asked = definition_of(log, name, name).asked
        assert [asked[key]["gold"] for key in asked] == [[place(log.items[key].doc)] for key in asked], name


def test_right_answers_of_word_problems_are_seen() -> None:
    log = _logs()["gsm8k"]
    made = definition_of(log, "gsm8k", "gsm8k")
    task = task_of(made.definition)
    key = next(key for key, item in log.items.items() if item.target.endswith("#### 1,200"))
    for text, strict, flexible in (
        ("900+300=1200\n#### 1,200", 1.0, 1.0),
        ("It is $1200.", 0.0, 1.0),
        ("#### 1200 or 5", 1.0, 0.0),
        ("", 0.0, 0.0),
    ):
        scores = task.score(made.asked[key], Answer(text=text)).scores
        assert [scores[metric][0] for metric in METRICS["gsm8k"]] == [strict, flexible], text


def test_a_digit_may_be_a_choices_place_or_its_text() -> None:
    choices = ["2", "0", "1"]
    weights = [[-1.0, -2.0, -3.0], [-3.0, -1.0, -2.0]]
    by_text = _choice_log(weights, [1.0, 1.0], ["2", "0"], choices, {"answer": "2"}, doc_to_target="answer")
    assert [a["gold"] for a in _made(by_text).asked.values()] == [[0], [1]]
    by_place = _choice_log(weights, [0.0, 0.0], ["2", "0"], choices, {"label": 2}, doc_to_target="label")
    assert [a["gold"] for a in _made(by_place).asked.values()] == [[2], [0]]
    untold = _choice_log(weights, [1.0, 1.0], ["2", "0"], choices, {}, doc_to_target="def f(doc): ...")
    assert [a["gold"] for a in _made(untold).asked.values()] == [[0], [1]], "the log's verdicts decide"


def test_several_right_choices_and_none() -> None:
    log = _choice_log([[-1.0, -2.0]] * 3, [1.0, 0.0, 0.0], ["[0, 1]", "[7]", "absent"], ["a", "b"], {})
    assert [a["gold"] for a in _made(log).asked.values()] == [[0, 1], [], []]


def test_a_row_that_our_scorer_judges_otherwise_takes_its_metric_out() -> None:
    log = _logs()["piqa"]
    item = log.items["3"]
    forged = replace(item, verdicts={"none": Verdict((), {**item.verdicts["none"].metrics, "acc_norm": 0.5})})
    made = _made(replace(log, items={**log.items, "3": forged}))
    assert task_of(made.definition).metrics == ("acc",)
    assert "1 of 10 rows" in made.left_out[0]
    assert "item 3" in made.left_out[0]


def test_a_filter_that_reads_otherwise_takes_its_metrics_out_and_leaves_the_other_filter() -> None:
    log = _logs()["gsm8k"]
    item = log.items["0"]
    strict = Verdict(("read by code of its own",), item.verdicts["strict-match"].metrics)
    forged = replace(item, verdicts={**item.verdicts, "strict-match": strict})
    made = _made(replace(log, items={**log.items, "0": forged}))
    assert task_of(made.definition).metrics == ("exact_match,flexible-extract",)
    assert "our filter reads" in made.left_out[0]


def test_a_log_of_which_nothing_can_be_proven_is_refused_with_the_first_item() -> None:
    with pytest.raises(InputError, match=r"another than the log's for 1 of 1 rows.*item 0, log, line 1"):
        _made(_text_log(["a"], ["a"], [1.0], ["b"]))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"process_results": "def process_results(doc, results): ..."}, "process_results"),
        ({"doc_to_image": "image"}, "doc_to_image"),
        ({"output_type": "loglikelihood_rolling"}, "loglikelihood_rolling"),
        ({"metric_list": [{"metric": "bleu"}]}, "bleu of made: it is not among"),
        ({"metric_list": [{"metric": "def own(items):\n    return 1"}]}, "code of the task's own"),
        ({"metric_list": [{"metric": "exact_match", "aggregation": "median"}]}, "otherwise than by the mean"),
        ({"filter_list": [{"name": "none", "filter": [{"function": "custom"}]}]}, "a filter of its own code"),
        ({"filter_list": [{"name": "none", "filter": [{"function": "format_span"}]}]}, "'format_span' is not among"),
        ({"filter_list": [{"name": "other", "filter": [{"function": "take_first"}]}]}, "results file does not define"),
        (
            {"filter_list": [{"name": "none", "filter": [{"function": "regex", "regex_pattern": "(a{99}){999}"}]}]},
            "repeats multiply",
        ),
    ],
)
def test_what_cannot_be_reproduced_is_refused_with_the_reason(config: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why) as error:
        _made(_text_log(["a"], ["a"], [1.0], ["a"], **config))
    assert error.value.remedy


@pytest.mark.parametrize(
    "options", [{"do_sample": True}, {"do_sample": True, "temperature": 0.7}, {"temperature": 0.7}, {"num_beams": 4}]
)
def test_sampled_answers_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"ours are greedy"):
        _made(_text_log(["a"], ["a"], [1.0], ["a"], options=options))


def test_greedy_options_and_a_default_budget_are_taken() -> None:
    made = _made(_text_log(["a"], ["a"], [1.0], ["a"], options={"do_sample": False, "temperature": 0.7}))
    assert made.asked["0"]["max_new_tokens"] == 256
    assert "256" in made.notes[0]
    (asked,) = _made(_text_log(["a"], ["a"], [1.0], ["a"], options={"max_gen_toks": 2048})).asked.values()
    assert asked["max_new_tokens"] == 2048


def test_any_of_several_targets_is_right() -> None:
    log = _text_log(["y", "z"], ["y", "z"], [1.0, 0.0], ["['x', 'y']", "['x', 'y']"])
    task = task_of(_made(log).definition)
    assert task.score(_made(log).asked["0"], Answer(text="x")).scores == {"exact_match": (1.0, 1.0)}


def test_a_text_that_looks_like_a_list_is_one_where_the_first_target_is_none() -> None:
    log = _text_log(["a", "[1, 2]"], ["a", "[1, 2]"], [1.0, 1.0], ["a", "[1, 2]"])
    assert _made(log).asked["1"]["gold"] == ["[1, 2]"]


def test_letters_of_choices_are_read_as_multi_choice_regex_does() -> None:
    steps = [
        {"function": "multi_choice_regex", "group_select": 0, "ignore_case": True, "ignore_punctuation": True,
         "regex_pattern": r"(\([A-Z]\))"},
        {"function": "take_first"},
    ]  # fmt: skip
    texts = ["It is (B).", "guilty of romance!", "answer: A", "no idea"]
    read = ["(B)", "(B)", "(A)", "[invalid]"]
    log = _text_log(
        texts, read, [1.0, 1.0, 0.0, 0.0], ["(B)"] * 4, doc={"choices": ["Guilty", "Guilty of Romance"]},
        filter_list=[{"name": "none", "filter": steps}],
    )  # fmt: skip
    made = _made(log)
    assert made.left_out == ()
    assert task_of(made.definition).score(made.asked["0"], Answer(text=texts[1])).extracted == {"none": "(B)"}


def test_the_unconditional_requests_of_mutual_information_are_left_out() -> None:
    item = LoggedItem(
        "0", "made", "log, line 1", {}, ("Q", "Q", "", ""), (" a", " b", " a", " b"), 1,
        tuple((weight, False) for weight in (-2.0, -1.0, -5.0, -0.1)),
        {"none": Verdict((), {"acc": 1.0, "acc_mutual_info": 0.0})},
    )  # fmt: skip
    made = _made(LoggedRequests("m", "log", {"0": item}))
    assert made.asked["0"]["choices"] == [" a", " b"]
    assert task_of(made.definition).metrics == ("acc",)
    assert "acc_mutual_info" in made.left_out[0]


def test_prompts_of_another_models_template_are_for_that_template_alone() -> None:
    log = replace(_logs()["piqa"], chat_template_sha="ab" * 32)
    task = task_of(_made(log).definition)
    task.check_template("ab" * 32)
    for other in ("", "cd" * 32):
        with pytest.raises(InputError, match="rendered with the chat template of demo-device-int4"):
            task.check_template(other)
    assert not task.uses_chat


def test_logged_messages_go_through_our_template_and_nothing_else_does() -> None:
    log = _text_log(["a"], ["a"], [1.0], ["a"])
    item = replace(log.items["0"], prompts=(({"role": "user", "content": "2+2?"},),))
    made = _made(replace(log, items={"0": item}))
    task = task_of(made.definition)
    seen: list[list[Message]] = []

    def render(messages: Any) -> str:
        seen.append(list(messages))
        return "rendered"

    assert task.uses_chat
    assert task.request(made.asked["0"], (), render=render, max_new_tokens=7).prompt == "rendered"
    assert seen == [[{"role": "user", "content": "2+2?"}]]
    with pytest.raises(InputError, match="no chat template to render them"):
        task.request(made.asked["0"], (), render=None, max_new_tokens=None)
    plain = _made(log)
    with pytest.raises(InputError, match="without a chat template"):
        task_of(plain.definition).request(plain.asked["0"], (), render=render, max_new_tokens=None)


def test_tasks_of_a_group_keep_rules_of_their_own() -> None:
    log = _logs()["mmlu_pro"]
    config = json.loads(json.dumps(log.configs["mmlu_pro_law"]))
    config["filter_list"][0]["filter"].insert(1, {"function": "remove_whitespace"})
    made = _made(replace(log, configs={**log.configs, "mmlu_pro_law": config}))
    task = task_of(made.definition)
    steps = {name: len(rules.filters[0].steps) for name, rules in task.definition.tasks.items()}
    assert steps == {"mmlu_pro_law": 3, "mmlu_pro_math": 2}
    assert task.metrics == ("exact_match,custom-extract",)


def _task() -> tuple[LoggedTask, dict[str, Any]]:
    made = _made(_logs()["piqa"])
    return task_of(made.definition), json.loads(json.dumps(made.asked["0"]))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kind",), "another"), (("version",), 2), (("tasks",), {}), (("tasks", "piqa"), []), (("name",), 3),
        (("source", "model"), 3), (("chat_template_sha",), "ab"), (("tasks", "piqa", "output_type"), "shell"),
        (("tasks", "piqa", "scored"), [["acc", "other"]]), (("tasks", "piqa", "scored"), []),
        (("tasks", "piqa", "chat"), "x"), (("tasks", "piqa", "shots"), -1),
        (("tasks", "piqa", "metrics", 0, "metric"), "os.system"),
        (("tasks", "piqa", "filters", 0, "steps"), [{"function": "custom", "options": {}}]),
        (("tasks", "piqa", "filters", 0, "steps"), [{"function": "regex", "options": {"regex_pattern": "("}}]),
        (("tasks", "piqa", "left_out"), ["x" * (5 << 20)]),
    ],
)  # fmt: skip
def test_a_hostile_definition_is_refused(path: tuple[Any, ...], value: Any) -> None:
    body = json.loads(json.dumps(_made(_logs()["piqa"]).definition))
    place = body
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(InputError):
        task_of(body)


@pytest.mark.parametrize(
    "changed",
    [
        {"task": "other"}, {"task": 3}, {"prompts": []}, {"prompts": [3]}, {"prompts": [[{"role": "x"}]]},
        {"choices": ["a"]}, {"choices": "ab"}, {"gold": [2]}, {"gold": [-1]}, {"gold": "0"}, {"prompts": ["a"] * 3},
    ],
)  # fmt: skip
def test_a_hostile_request_is_refused(changed: dict[str, Any]) -> None:
    task, asked = _task()
    with pytest.raises(InputError):
        task.request({**asked, **changed}, (), render=None, max_new_tokens=None)


def test_an_answer_that_lacks_what_a_metric_needs_is_no_verdict() -> None:
    task, asked = _task()
    with pytest.raises(MinceError, match="log-probabilities"):
        task.score(asked, Answer(logprobs=(-1.0,)))


@given(st.text(max_size=12), st.lists(st.text(max_size=12), min_size=1, max_size=3), st.booleans(), st.booleans())
@settings(max_examples=50, deadline=None)
def test_exact_match_takes_away_what_its_options_say(read: str, gold: list[str], marks: bool, digits: bool) -> None:
    def left(text: str) -> str:
        text = text.rstrip("\0")
        for sign in (string.punctuation if marks else "") + (string.digits if digits else ""):
            text = text.replace(sign, "")
        return text.rstrip("\0")

    ours = metrics.exact_match(read, gold, {"ignore_punctuation": marks, "ignore_numbers": digits})
    assert ours == float(left(read) in [left(text) for text in gold])


@given(
    st.lists(st.tuples(st.floats(-50, -0.1), st.text(min_size=1, max_size=9)), min_size=2, max_size=5),
    st.integers(0, 4),
)
@settings(max_examples=50, deadline=None)
def test_normed_accuracy_divides_by_characters_or_bytes(pairs: list[tuple[float, str]], place: int) -> None:
    weights, choices = [w for w, _ in pairs], [c for _, c in pairs]
    for metric, lengths in (
        ("acc", [1] * len(choices)),
        ("acc_norm", [len(c) for c in choices]),
        ("acc_bytes", [len(c.encode()) for c in choices]),
    ):
        normed = [w / n for w, n in zip(weights, lengths, strict=True)]
        best = normed.index(max(normed))
        assert metrics.of_choices(metric, weights, [False] * len(choices), choices, [place]) == float(best == place)


@pytest.mark.shared
def test_real_runs_of_lm_eval_are_proven_row_by_row(shared: Path) -> None:
    proven, rendered = 0, 0
    with detect([shared / "reference" / "lm_eval_runs"]) as seen:
        for found in seen.found:
            log = read_requests(found)
            if found.task.startswith("ifeval"):
                with pytest.raises(InputError, match="process_results"):
                    definition_of(log, found.task, found.task)
                continue
            made = definition_of(log, found.task, found.task)
            assert made.left_out == ()
            proven += made.proven
            rendered += bool(task_of(made.definition).chat_template_sha)
    assert proven == 40 + 2 * (12 + 6)
    assert rendered == 1, "one of the two GSM8K runs has a chat template in its prompts"


@pytest.mark.parametrize("name", ["../../escaped", "a/b", "a\\b", "", ".hidden", "a\x1b[31m", "x" * 300])
def test_a_task_whose_name_could_lead_elsewhere_is_refused(name: str) -> None:
    log = _logs()["piqa"]
    body = json.loads(json.dumps(definition_of(log, "piqa", "piqa").definition))
    body["tasks"][name] = body["tasks"].pop("piqa")
    with pytest.raises(InputError, match="a name that no lm-eval task has"):
        task_of(body)
