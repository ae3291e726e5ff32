"""What a log asked, read back: both layouts, chats, filters, and every fault by file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.canonical import sha256_text
from mince_gui.base.errors import InputError
from mince_gui.logs import Found, detect
from mince_gui.logs.lm_eval.requests import LoggedRequests, read_requests

LOGS = Path(__file__).resolve().parents[1] / "tasks" / "data" / "logged"
STAMP = "2026-01-02T03-04-05.678901"


def _row(doc_id: int = 0, **changed: Any) -> dict[str, Any]:
    prompt = changed.pop("prompt", f"Question {doc_id}?\nAnswer:")
    return {
        "doc_id": doc_id, "doc": {"question": f"{doc_id}"}, "target": "4",
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["Q"], "do_sample": False}}},
        "resps": [["It is 4."]], "filtered_resps": ["4"], "filter": "none", "metrics": ["exact_match"],
        "prompt_hash": sha256_text(prompt) if isinstance(prompt, str) else "", "exact_match": 1.0, **changed,
    }  # fmt: skip


def _write(folder: Path, rows: list[dict[str, Any]], *, results: dict[str, Any] | None = None) -> Path:
    path = folder / "m" / f"samples_made_{STAMP}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    if results is not None:
        (path.parent / f"results_{STAMP}.json").write_text(json.dumps(results), encoding="utf-8")
    return path


def _only(place: Path) -> Found:
    with detect([place]) as seen:
        (found,) = seen.found
        return found


def _read(place: Path) -> LoggedRequests:
    return read_requests(_only(place))


def test_choices_that_share_a_prompt_have_it_once() -> None:
    log = _read(next(LOGS.rglob("samples_piqa_*.jsonl")))
    item = log.items["0"]
    assert len(log.items) == 10
    assert len(item.prompts) == 1
    assert len(item.arguments) == len(item.responses) == 2
    assert item.responses[0][1] in ("True", "False")
    assert log.configs["piqa"]["output_type"] == "multiple_choice"
    assert log.lm_eval_version == "0.4.13"


def test_choices_with_a_prompt_each_keep_them_all() -> None:
    item = _read(next(LOGS.rglob("samples_winogrande_*.jsonl"))).items["0"]
    assert len(item.prompts) == 2
    assert item.arguments[0] == item.arguments[1] == " was cold."


def test_the_tasks_of_a_group_are_one_log_with_keys_of_their_own() -> None:
    with detect([LOGS]) as seen:
        (found,) = [run for run in seen.found if run.benchmark.name == "mmlu_pro"]
        log = read_requests(found)
    assert log.tasks == ("mmlu_pro_law", "mmlu_pro_math")
    assert {key.partition("/")[0] for key in log.items} == set(log.tasks)
    assert log.shots == {"mmlu_pro_law": 1, "mmlu_pro_math": 1}


def test_rows_of_two_filters_are_one_item_with_two_verdicts(tmp_path: Path) -> None:
    path = _write(tmp_path, [_row(), _row(filter="loose", filtered_resps=["5"], exact_match=0.0)])
    item = _read(path).items["0"]
    assert item.verdicts["none"].filtered == ("4",)
    assert item.verdicts["loose"].metrics == {"exact_match": 0.0}


def test_before_filters_were_named_the_results_file_gives_their_order(tmp_path: Path) -> None:
    rows = [_row(), _row(exact_match=0.0)]
    for row in rows:
        del row["filter"]
        del row["metrics"]
    filters = [{"name": "strict"}, {"name": "loose"}]
    path = _write(tmp_path, rows, results={"configs": {"made": {"filter_list": filters}}, "model_name": "m"})
    verdicts = _read(path).items["0"].verdicts
    assert {name: verdict.metrics for name, verdict in verdicts.items()} == {
        "strict": {"exact_match": 1.0}, "loose": {"exact_match": 0.0},
    }  # fmt: skip


def test_lists_of_arguments_and_a_gzipped_file_are_read_alike(tmp_path: Path) -> None:
    plain = _write(tmp_path / "new", [_row()])
    old = _write(tmp_path / "old", [_row(arguments=[["Question 0?\nAnswer:", {"until": ["Q"], "do_sample": False}]])])
    zipped = old.with_suffix(".jsonl.gz")
    zipped.write_bytes(gzip.compress(old.read_bytes()))
    old.unlink()
    one, other = _read(plain).items["0"], _read(zipped).items["0"]
    assert (one.prompts, one.arguments) == (other.prompts, other.arguments)


def test_a_logged_chat_becomes_messages(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?", "type": "text"}]
    item = _read(_write(tmp_path, [_row(prompt=[json.dumps(chat)])])).items["0"]
    assert item.prompts == (({"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}),)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"arguments": {}}, "carries no requests"),
        ({"arguments": {"gen_args_0": {"arg_0": "p"}}}, "one text alone"),
        ({"arguments": {"gen_args_0": {"arg_0": "p", "arg_1": {}, "arg_2": {"visual": []}}}}, "more than text"),
        ({"arguments": {"gen_args_0": {"arg_0": "p", "arg_1": 3}}}, "neither a text nor generation options"),
        ({"arguments": 3}, "neither a list nor an object"),
        ({"prompt": ["[]"]}, "no messages"),
        ({"prompt": ["{"]}, "not JSON"),
        ({"prompt": ['[{"role": "tool", "content": "x"}]']}, "no known role"),
        ({"prompt": ['[{"role": "user", "content": [{"type": "image"}]}]']}, "more than text"),
        ({"prompt": ['[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]']}, "gen_prefix"),
        ({"resps": []}, "no responses"),
        ({"resps": [["a"], ["b"]]}, "2 responses to 1 requests"),
        ({"resps": [["a", "b"]]}, "2 times"),
        ({"prompt_hash": "0" * 64}, "the row was changed"),
        ({"doc": "text"}, "doc is not an object"),
        ({"doc_id": -1}, "doc_id is -1"),
    ],
)
def test_a_row_that_cannot_be_asked_again_is_named_with_file_and_line(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    path = _write(tmp_path, [_row(0), {**_row(1), **_row(**{"doc_id": 1, **changed})}])
    with pytest.raises(InputError, match=why) as error:
        _read(path)
    assert f"{path}, line 2: " in error.value.message
    assert error.value.remedy


def test_an_item_that_was_asked_in_two_ways_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"was asked otherwise at .*line 1"):
        _read(_write(tmp_path, [_row(), _row(filter="loose", prompt="Another prompt")]))


def test_copies_of_a_response_that_fill_the_last_batch_count_once(tmp_path: Path) -> None:
    assert _read(_write(tmp_path, [_row(resps=[["It is 4.", "It is 4."]])])).items["0"].responses == ("It is 4.",)


def test_a_template_counts_only_where_one_was_applied(tmp_path: Path) -> None:
    told = {"model_name": "m", "chat_template": "", "chat_template_sha": "aa"}
    assert _read(_write(tmp_path / "a", [_row()], results=told)).chat_template_sha == ""
    told["chat_template"] = "{{ x }}"
    assert _read(_write(tmp_path / "b", [_row()], results=told)).chat_template_sha == "aa"


@pytest.mark.shared
def test_real_logs_of_other_tools_give_their_prompts(shared: Path) -> None:
    log = _read(next((shared / "data" / "logs" / "lm_eval" / "tora-70b-v1.0").glob("samples_gsm8k_*")))
    assert len(log.items) == 1319
    assert all(isinstance(item.prompts[0], str) and item.prompts[0] for item in log.items.values())
