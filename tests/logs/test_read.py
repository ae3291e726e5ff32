from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError, UsageError
from mince_gui.base.events import Event, Progress
from mince_gui.benchmarks import BENCHMARKS, content_hash
from mince_gui.logs import Check, PerItemLog, detect, read

Row = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


def read_only(folder: Path) -> PerItemLog:
    """The log of a folder that holds one."""
    (found,) = detect([folder]).found
    return read(found)


def check(log: PerItemLog, kind: str) -> Check | None:
    return next((c for c in log.checks if c.kind == kind), None)


def test_rows_become_arrays_in_canonical_order(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(10, 1.0), gsm8k_row(2, False), gsm8k_row(1, True), gsm8k_row(0, 1)])
    log = read_only(tmp_path)
    assert log.keys == ("0", "1", "2", "10")
    assert log.metrics == ("exact_match,flexible-extract",)
    assert log.passed["exact_match,flexible-extract"].tolist() == [1, 1, 0, 1]
    assert log.trials["exact_match,flexible-extract"].tolist() == [1, 1, 1, 1]
    assert log.score("exact_match,flexible-extract") == 75.0
    assert log.model == "lab/small-model"
    assert log.meta["lm_eval_version"] == "0.4.13"
    doc = gsm8k_row(2, 1)["doc"]
    assert log.hashes[2] == content_hash(BENCHMARKS["gsm8k"], doc)


def test_ifeval_keys_sort_as_text_and_lists_count_their_verdicts(
    tmp_path: Path, ifeval_row: Row, write_run: Write
) -> None:
    write_run(tmp_path, "ifeval", [ifeval_row(0, 102, [True, False], [True, True]), ifeval_row(1, 1000, [True], [1])])
    log = read_only(tmp_path)
    assert log.keys == ("1000", "102")
    assert log.categories == ("punctuation:no_comma",) * 2
    assert log.metrics == tuple(metric.name for metric in BENCHMARKS["ifeval"].metrics)
    assert log.passed["inst_level_strict_acc"].tolist() == [1, 1]
    assert log.trials["inst_level_strict_acc"].tolist() == [1, 2]
    assert log.passed["inst_level_loose_acc"].tolist() == [1, 2]


def test_every_filter_is_a_metric_of_its_own(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    strict = [gsm8k_row(i, 0.0, "strict-match") for i in range(3)]
    flexible = [gsm8k_row(i, 1.0, "flexible-extract") for i in range(2)]
    write_run(tmp_path, "gsm8k", [*strict, *flexible])
    log = read_only(tmp_path)
    assert log.metrics == ("exact_match,strict-match", "exact_match,flexible-extract")
    assert log.passed["exact_match,strict-match"].tolist() == [0, 0, 0]
    assert np.isnan(log.passed["exact_match,flexible-extract"]).tolist() == [False, False, True]


def test_rows_of_lm_eval_before_0_4_7_get_their_filters_by_occurrence(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    rows = [gsm8k_row(i, verdict, None) for verdict in (0.0, 1.0) for i in range(3)]
    filters = [{"name": "strict-match", "filter": []}, {"name": "flexible-extract", "filter": []}]
    write_run(tmp_path, "gsm8k", rows, results={"configs": {"gsm8k": {"filter_list": filters}}})
    log = read_only(tmp_path)
    assert log.passed["exact_match,strict-match"].tolist() == [0, 0, 0]
    assert log.passed["exact_match,flexible-extract"].tolist() == [1, 1, 1]


def test_rows_that_name_no_filter_need_the_results_file_and_say_so(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    rows = [gsm8k_row(i, verdict, None) for verdict in (0.0, 1.0) for i in range(3)]
    write_run(tmp_path, "gsm8k", rows, model=None)
    with pytest.raises(InputError, match=r"line 4: item 0 .*the rows name no filter") as caught:
        read_only(tmp_path)
    assert "results_*.json" in caught.value.remedy


def test_rows_that_name_their_filter_and_contradict_are_two_runs(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 0.0), gsm8k_row(0, 1.0)], model=None)
    with pytest.raises(InputError, match="line 2: item 0 comes a second time") as caught:
        read_only(tmp_path)
    assert "Two runs" in caught.value.remedy


def _mmlu_row(subject: str, doc_id: int) -> dict[str, Any]:
    doc = {"subject": subject, "question": f"Which is {doc_id}?", "choices": ["w", "x", "y", "z"], "answer": 1}
    return {"doc_id": doc_id, "doc": doc, "filter": "none", "metrics": ["acc"], "acc": 1.0}


def test_one_file_of_all_mmlu_takes_the_subjects_from_the_docs(tmp_path: Path, write_run: Write) -> None:
    write_run(tmp_path, "mmlu", [_mmlu_row("virology", 0), _mmlu_row("anatomy", 0), _mmlu_row("anatomy", 1)])
    log = read_only(tmp_path)
    assert log.benchmark is BENCHMARKS["mmlu"]
    assert log.keys == ("anatomy/0", "anatomy/1", "virology/0")


def test_an_unknown_subject_in_a_file_of_all_mmlu_is_named(tmp_path: Path, write_run: Write) -> None:
    write_run(tmp_path, "mmlu", [_mmlu_row("anatomy", 0), _mmlu_row("cooking", 0)])
    with pytest.raises(InputError, match=r"line 2: doc\.subject is 'cooking', no subject of MMLU"):
        read_only(tmp_path)


def test_comma_names_in_rows_are_taken_as_they_are(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    row = gsm8k_row(0, 0, None)
    del row["exact_match"]
    write_run(tmp_path, "gsm8k", [row | {"exact_match,strict-match": 0.0, "exact_match,flexible-extract": 1.0}])
    log = read_only(tmp_path)
    assert {m: log.passed[m].tolist() for m in log.metrics} == {
        "exact_match,strict-match": [0],
        "exact_match,flexible-extract": [1],
    }


def test_an_unknown_task_is_a_benchmark_of_its_own_with_its_metrics(tmp_path: Path, write_run: Write) -> None:
    rows = [
        {"doc_id": i, "doc": {"q": i}, "filter": "none", "metrics": ["acc", "f1"], "acc": 1.0, "f1": i / 4}
        for i in range(5)
    ]
    write_run(tmp_path, "my_task", rows, results={"n-samples": {"my_task": {"original": 5, "effective": 5}}})
    log = read_only(tmp_path)
    assert (log.benchmark.name, log.metrics) == ("my_task", ("acc", "f1"))
    assert log.score("f1") == pytest.approx(50.0)
    assert check(log, "partial") is None


def test_old_rows_of_an_unknown_task_show_their_metrics_by_their_look(tmp_path: Path, write_run: Write) -> None:
    row = {"doc_id": 0, "doc": {"q": 1}, "resps": [], "target": "1", "acc": True, "acc_stderr": 0.1, "note": "text"}
    write_run(tmp_path, "my_task", [row])
    assert read_only(tmp_path).metrics == ("acc",)


@pytest.mark.parametrize("value", [None, math.nan, -math.inf])
def test_a_null_or_not_finite_value_is_missing_and_counted(
    tmp_path: Path, gsm8k_row: Row, write_run: Write, value: float | None
) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, value), gsm8k_row(1, 1.0)])
    log = read_only(tmp_path)
    metric = "exact_match,flexible-extract"
    assert np.isnan(log.passed[metric]).tolist() == [True, False]
    assert np.isnan(log.trials[metric]).tolist() == [True, False]
    found = check(log, "missing_values")
    assert found is not None
    assert (found.count, found.examples) == (1, ("0",))


def test_a_metric_that_a_row_lacks_is_missing_not_wrong(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    row = gsm8k_row(1, 1.0)
    del row["exact_match"]
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0), row])
    log = read_only(tmp_path)
    assert np.isnan(log.passed["exact_match,flexible-extract"]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"exact_match": "1.0"}, "exact_match is '1.0'"),
        ({"exact_match": 1.5}, "outside 0 to 1"),
        ({"exact_match": -1}, "outside 0 to 1"),
        ({"exact_match": {"a": 1}}, "exact_match is"),
        ({"exact_match": [True, "x"]}, "a part of exact_match is 'x'"),
        ({"doc_id": None}, "doc_id is None"),
        ({"doc_id": "1"}, "doc_id is '1'"),
        ({"doc_id": True}, "doc_id is True"),
        ({"doc_id": -3}, "doc_id is -3"),
        ({"doc": [1]}, "doc is not an object"),
        ({"filter": 3}, "filter is 3"),
        ({"metrics": "exact_match"}, "metrics is 'exact_match'"),
        ({"metrics": []}, "no metric"),
    ],
)
def test_a_wrong_type_is_refused_with_file_and_line(
    tmp_path: Path, gsm8k_row: Row, write_run: Write, change: dict[str, Any], words: str
) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0), gsm8k_row(1, 1.0) | change])
    with pytest.raises(InputError) as caught:
        read_only(tmp_path)
    assert f"{path}, line 2: " in caught.value.message
    assert words in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("key", [None, "", [1], 1.5, True, "a" * 300, "line\nbreak", "\ud800"])
def test_an_ifeval_row_without_a_usable_key_is_refused(
    tmp_path: Path, ifeval_row: Row, write_run: Write, key: object
) -> None:
    path = write_run(tmp_path, "ifeval", [])
    path.write_text(json.dumps(ifeval_row(0, key, [True], [True])) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: doc\.key"):
        read_only(tmp_path)


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_cut_last_line_is_named_with_file_and_line(
    tmp_path: Path, gsm8k_row: Row, write_run: Write, cut: int
) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(i, 1.0) for i in range(3)])
    path.write_bytes(path.read_bytes()[: -1 - cut])
    with pytest.raises(InputError) as caught:
        read_only(tmp_path)
    assert f"{path}, line 3: the last row is cut off" in caught.value.message


def test_a_last_line_without_line_end_is_whole(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(i, 1.0) for i in range(3)])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert len(read_only(tmp_path).keys) == 3


def test_a_cut_gzip_file_is_named_with_file_and_line(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(i, 1.0) for i in range(300)])
    zipped = path.with_name(path.name + ".gz")
    zipped.write_bytes(gzip.compress(path.read_bytes())[:-100])
    path.unlink()
    with pytest.raises(InputError, match=r"\.gz, line \d+: the compressed file is cut off"):
        read_only(tmp_path)


def test_bom_crlf_blank_lines_and_gzip_change_nothing(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(i, i % 2) for i in range(5)])
    plain = read_only(tmp_path)
    raw = b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n")
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(raw))
    path.unlink()
    other = read_only(tmp_path)
    assert (other.keys, other.hashes) == (plain.keys, plain.hashes)
    assert other.passed["exact_match,flexible-extract"].tolist() == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("raw", [b"\\ud83d", b"\xed\xa0\xbd"])
def test_lone_surrogates_are_let_through(tmp_path: Path, gsm8k_row: Row, write_run: Write, raw: bytes) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)])
    path.write_bytes(path.read_bytes().replace(b"one more", raw).replace(b"How many", raw))
    assert read_only(tmp_path).hashes[0] is not None


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'[\n  {\n    "doc_id": 0\n  }\n]', "line 2: there is no metric"),
        (b"{}\nnot json\n", "line 2: not JSON"),
        (b"7\n", "line 1: not a row"),
        (b'{"doc_id": 0}\n', "there is no metric"),
        (b'{"a": "\xe9"}\n', "line 1: not UTF-8 text"),
        ('{"doc_id": 0}\n'.encode("utf-16"), "line 1: there is no metric"),
        ('{"doc_id": 0}\n'.encode("utf-16")[:-4], "line 1: the last row is cut off"),
        ('{"doc_id": 0}\n'.encode("utf-16")[:-4] + b"\n", "line 1: not utf-16-le text"),
        (b'{"a": ' + b"[" * 100_000 + b"\n", "line 1: not a row of a log"),
        (b'{"doc_id": ' + b"9" * 5_000 + b"}\n", "line 1: not a row of a log"),
        (b"\n\n", "no rows"),
    ],
)
def test_a_file_that_is_no_log_is_refused_in_words(
    tmp_path: Path, gsm8k_row: Row, write_run: Write, raw: bytes, words: str
) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)])
    (found,) = detect([tmp_path]).found
    path.write_bytes(raw.replace(b"{}\n", json.dumps(gsm8k_row(0, 1.0)).encode() + b"\n"))
    with pytest.raises(InputError) as caught:
        read(found)
    assert words in caught.value.message
    assert str(path) in caught.value.message


def test_files_that_went_away_are_refused(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)])
    (found,) = detect([tmp_path]).found
    path.unlink()
    with pytest.raises(InputError, match="cannot be opened"):
        read(found)


def test_the_same_row_twice_is_counted(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0), gsm8k_row(1, None), gsm8k_row(0, 1.0), gsm8k_row(1, None)])
    log = read_only(tmp_path)
    assert log.keys == ("0", "1")
    found = check(log, "duplicates")
    assert found is not None
    assert (found.severity, found.count, found.examples) == ("warning", 2, ("0", "1"))


def test_a_second_row_that_contradicts_the_first_is_refused(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0), gsm8k_row(0, 0.0)])
    with pytest.raises(InputError, match="line 2: item 0 comes a second time"):
        read_only(tmp_path)


def test_one_key_for_two_contents_is_refused(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    other = gsm8k_row(0, 1.0, "strict-match") | {"doc": gsm8k_row(1, 1.0)["doc"]}
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0), other])
    with pytest.raises(InputError, match="line 2: item 0 has another content"):
        read_only(tmp_path)


def test_null_and_empty_responses_are_counted_apart(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    rows = [gsm8k_row(i, 0.0) for i in range(8)]
    rows[0]["resps"] = None
    rows[1]["resps"] = [[None]]
    rows[2] |= {"resps": [[""]], "response_null": True}
    rows[3]["resps"] = [[" \n"]]
    rows[4]["resps"] = []
    rows[5]["resps"] = [[]]
    rows[6]["resps"] = [["", "a second try"]]
    rows[7]["resps"] = [[["-1.5", "False"]], [["-0.5", "True"]]]
    write_run(tmp_path, "gsm8k", rows)
    log = read_only(tmp_path)
    null, empty = check(log, "null_responses"), check(log, "empty_responses")
    assert null is not None
    assert empty is not None
    assert (null.examples, empty.examples) == (("0", "1", "2"), ("3",))


def test_loose_below_strict_is_counted_per_instruction(tmp_path: Path, ifeval_row: Row, write_run: Write) -> None:
    rows = [
        ifeval_row(0, 1, [True, True], [False, False]),
        ifeval_row(1, 2, [True, False], [True, True]),
        ifeval_row(2, 3, [True], [False]),
    ]
    write_run(tmp_path, "ifeval", rows)
    found = check(read_only(tmp_path), "loose_below_strict")
    assert found is not None
    assert (found.count, found.examples) == (2, ("1", "3"))
    assert "3 instructions in 2 items" in found.message


def test_a_constant_column_is_warned_of(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(i, 0.0) for i in range(9)])
    found = check(read_only(tmp_path), "constant_column")
    assert found is not None
    assert found.severity == "warning"
    assert "wrong" in found.message


def test_a_limited_run_is_partial_and_says_why(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(i, i % 2) for i in range(9)], results={"config": {"limit": 9.0}})
    found = check(read_only(tmp_path), "partial")
    assert found is not None
    assert (found.severity, found.count) == ("refusal", 1310)
    assert "limit of 9" in found.message


def test_a_limited_run_of_an_unknown_task_is_partial(tmp_path: Path, write_run: Write) -> None:
    rows = [{"doc_id": i, "metrics": ["acc"], "acc": i % 2} for i in range(3)]
    write_run(tmp_path, "my_task", rows, results={"n-samples": {"my_task": {"original": 8, "effective": 3}}})
    found = check(read_only(tmp_path), "partial")
    assert found is not None
    assert found.count == 5


def test_more_items_than_the_benchmark_has_are_refused_for_sizing(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(i, i % 2) for i in range(1_321)])
    found = check(read_only(tmp_path), "unknown_items")
    assert found is not None
    assert (found.severity, found.count, found.examples) == ("refusal", 2, ("1319", "1320"))


def test_rows_without_docs_have_no_hash_and_are_counted(tmp_path: Path, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [{"doc_id": 0, "doc": {"question_id": "gsm8k/0"}, "metrics": ["acc"], "acc": 1}])
    log = read_only(tmp_path)
    assert log.hashes == (None,)
    found = check(log, "no_docs")
    assert found is not None
    assert found.count == 1


def test_a_results_file_that_disagrees_with_the_rows_is_named(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    results = {"results": {"gsm8k": {"exact_match,flexible-extract": 0.75, "exact_match_stderr,flexible-extract": 0.1}}}
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0), gsm8k_row(1, 0.0)], results=results)
    found = check(read_only(tmp_path), "results_disagree")
    assert found is not None
    assert "50.00 %" in found.message
    assert "75.00 %" in found.message


def test_progress_counts_bytes_and_ends_at_the_total(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(i, 1.0) for i in range(1_200)])
    (found,) = detect([tmp_path]).found
    events: list[Event] = []
    read(found, emit=events.append)
    done = [event.done for event in events if isinstance(event, Progress)]
    assert len(done) == len(events) >= 3
    assert done == sorted(done)
    assert done[-1] == path.stat().st_size
    assert {event.total for event in events if isinstance(event, Progress)} == {path.stat().st_size}


def test_cancel_ends_the_reading_within_500_rows(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [*(gsm8k_row(i, 1.0) for i in range(500)), {"not": "read"}])
    (found,) = detect([tmp_path]).found
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        read(found, cancel=cancel)


def test_an_unknown_format_is_a_usage_error(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)])
    (found,) = detect([tmp_path]).found
    with pytest.raises(UsageError, match="lm-eval samples"):
        read(dataclasses.replace(found, format="tea leaves"))


VERDICT = st.one_of(st.booleans(), st.sampled_from([0, 1, 0.0, 1.0, None, 0.25]))
INSTRUCTIONS = st.lists(st.booleans(), min_size=1, max_size=2)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(verdicts=st.dictionaries(st.integers(0, 1318), VERDICT, min_size=1, max_size=30), gz=st.booleans())
def test_what_was_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, gsm8k_row: Row, write_run: Write, verdicts: dict[int, Any], gz: bool
) -> None:
    folder = tmp_path_factory.mktemp("run")
    path = write_run(folder, "gsm8k", [gsm8k_row(i, verdict) for i, verdict in verdicts.items()])
    if gz:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    log = read_only(folder)
    assert log.keys == tuple(str(i) for i in sorted(verdicts))
    expected = [math.nan if verdicts[i] is None else float(verdicts[i]) for i in sorted(verdicts)]
    assert np.array_equal(log.passed["exact_match,flexible-extract"], expected, equal_nan=True)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.dictionaries(st.integers(1, 4000), INSTRUCTIONS, min_size=1, max_size=20))
def test_instruction_lists_are_read_back_as_sums(
    tmp_path_factory: pytest.TempPathFactory, ifeval_row: Row, write_run: Write, rows: dict[int, list[bool]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    write_run(folder, "ifeval", [ifeval_row(i, key, strict, strict) for i, (key, strict) in enumerate(rows.items())])
    log = read_only(folder)
    keys = sorted(rows, key=str)
    assert log.keys == tuple(str(key) for key in keys)
    assert log.passed["inst_level_strict_acc"].tolist() == [sum(rows[key]) for key in keys]
    assert log.trials["inst_level_strict_acc"].tolist() == [len(rows[key]) for key in keys]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, gsm8k_row: Row, ifeval_row: Row, write_run: Write, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("run")
    if data.draw(st.booleans()):
        path = write_run(folder, "gsm8k", [gsm8k_row(i, 1.0) for i in range(4)])
    else:
        path = write_run(folder, "ifeval", [ifeval_row(i, 1000 + i, [True, False], [True, True]) for i in range(4)])
    raw = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        raw = bytearray(gzip.compress(bytes(raw), mtime=0))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "drop", "double"]))
        if kind == "flip":
            raw[place] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            raw = raw[: place + 1]
        elif kind == "drop":
            del raw[place : place + data.draw(st.integers(1, 20))]
        else:
            raw[place:place] = raw[place : place + data.draw(st.integers(1, 40))]
        if not raw:
            raw = bytearray(b"\n")
    path.write_bytes(raw)
    detection = detect([folder])
    assert len(detection.found) + len(detection.skipped) >= 1
    for found in detection.found:
        # any other exception fails the test by itself
        with contextlib.suppress(InputError):
            log = read(found)
            assert all(len(log.passed[metric]) == len(log.keys) for metric in log.metrics)
