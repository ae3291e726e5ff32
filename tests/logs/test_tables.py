from __future__ import annotations

import contextlib
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.app.import_logs import look
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.base.events import Event, Progress
from mince_gui.benchmarks import BENCHMARKS, keys_of
from mince_gui.logs import PerItemLog, build_matrix, detect, read, tables
from mince_gui.logs.tables import cells
from mince_gui.logs.tables.sheets import Sheet, opened

WIDE = "item_key,model a,lab/b\n0,1,0.5\n1,true,\n2,FALSE,NaN\n10,2/3,1.0\n"


def logs_of(path: Path) -> dict[str, PerItemLog]:
    return {found.model: read(found) for found in detect([path]).found}


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def test_a_wide_table_has_a_model_in_every_column(tmp_path: Path) -> None:
    path = write(tmp_path / "my_task__acc.csv", WIDE)
    assert {found.why.split(",")[0] for found in detect([path]).found} == {"a table with a column for each of 2 models"}
    logs = logs_of(path)
    assert list(logs) == ["model a", "lab/b"]
    a, b = logs.values()
    assert (a.benchmark.name, a.metrics, a.keys) == ("my_task", ("acc",), ("0", "1", "2", "10"))
    assert a.passed["acc"].tolist() == [1, 1, 0, 2]
    assert a.trials["acc"].tolist() == [1, 1, 1, 3]
    assert np.isnan(b.passed["acc"]).tolist() == [False, True, True, False]
    assert {check.kind: check.count for check in b.checks}["missing_values"] == 2


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("my_task__acc.csv", WIDE.replace(",", ";").replace("0.5", "0,5").encode("utf-8-sig")),
        ("my_task__acc.csv", ("sep=;\r\n" + WIDE.replace(",", ";").replace("\n", "\r\n")).encode()),
        ("my_task__acc.tsv", WIDE.replace(",", "\t").encode("utf-16")),
        ("my_task__acc.csv.gz", gzip.compress(WIDE.replace("\n", "\r\n").encode())),
        ("my_task__acc.csv", WIDE.replace("0,1,0.5\n", "0.0,1,0.5\n\n,,\n").encode()),
    ],
    ids=["semicolons and BOM", "Excel's first line", "UTF-16 tabs", "gzip and CRLF", "17.0 and blank lines"],
)
def test_what_sheets_write_is_read_alike(tmp_path: Path, name: str, raw: bytes) -> None:
    (tmp_path / name).write_bytes(raw)
    plain = logs_of(write(tmp_path / "plain" / "my_task__acc.csv", WIDE))
    logs = logs_of(tmp_path / name)
    assert list(logs) == list(plain)
    for model, log in logs.items():
        assert log.keys == plain[model].keys
        assert np.array_equal(log.passed["acc"], plain[model].passed["acc"], equal_nan=True)


def test_a_long_table_names_model_metric_benchmark_and_trials(tmp_path: Path) -> None:
    text = "benchmark,model,item_key,metric,passed,trials,category\n"
    for model, key, metric, passed, trials in (
        ("a", 1000, "prompt_level_strict_acc", 1, 1), ("a", 1000, "inst_level_strict_acc", 2, 3),
        ("a", 1001, "prompt_level_strict_acc", 0, 1), ("a", 1001, "inst_level_strict_acc", "", ""),
        ("b", 1000, "prompt_level_strict_acc", 1, 1),
    ):  # fmt: skip
        text += f"IFEVAL,{model},{key},{metric},{passed},{trials},keywords:existence\n"
    text += "own,a,7,acc,0.25,1,\n"
    path = write(tmp_path / "all.csv", text)
    found = {(f.model, f.benchmark.name): read(f) for f in detect([path]).found}
    assert list(found) == [("a", "ifeval"), ("b", "ifeval"), ("a", "own")]
    log = found["a", "ifeval"]
    assert log.metrics == ("prompt_level_strict_acc", "inst_level_strict_acc")
    assert log.trials["inst_level_strict_acc"].tolist()[0] == 3
    assert np.isnan(log.passed["inst_level_strict_acc"][1])
    assert log.categories == ("keywords:existence",) * 2
    assert found["a", "own"].passed["acc"].tolist() == [0.25]


def test_a_table_with_a_model_and_a_column_per_metric(tmp_path: Path) -> None:
    path = write(
        tmp_path / "gsm8k.csv", "model,id,question,strict,flexible\nm,0,Why?,0,1\nm,1,How?,1,1\nn,0,Why?,0,0\n"
    )
    logs = logs_of(path)
    assert logs["m"].metrics == ("strict", "flexible")
    assert logs["m"].passed["strict"].tolist() == [0, 1]
    assert logs["n"].keys == ("0",)


def test_one_column_of_outcomes_is_of_the_model_that_file_or_folder_names(tmp_path: Path) -> None:
    write(tmp_path / "lab-model" / "demo-choice.csv", "id,correct\n0,1\n1,0\n")
    write(tmp_path / "demo-choice__acc__other.csv", "id,correct\n0,1\n1,0\n")
    assert {(f.model, f.benchmark.name) for f in detect([tmp_path]).found} == {
        ("lab-model", "demo-choice"), ("other", "demo-choice"),
    }  # fmt: skip
    assert {log.metrics for log in logs_of(tmp_path).values()} == {("acc",)}


def test_a_file_named_from_inside_its_folder_is_of_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "lab-model" / "demo-choice.csv", "id,correct\n0,1\n1,0\n")
    monkeypatch.chdir(tmp_path / "lab-model")
    assert [found.model for found in detect([Path("demo-choice.csv")]).found] == ["lab-model"]


def test_a_metric_that_nothing_names_is_the_benchmarks_only_one_or_called_score(tmp_path: Path) -> None:
    assert logs_of(write(tmp_path / "MMLU.csv", "subject,doc_id,m\nanatomy,3,1\n"))["m"].metrics == ("acc",)
    assert logs_of(write(tmp_path / "gsm8k.csv", "doc_id,m\n3,1\n"))["m"].metrics == ("score",)


def test_subject_and_number_make_the_key(tmp_path: Path) -> None:
    log = logs_of(write(tmp_path / "mmlu.csv", "subject,doc_id,m\nvirology,3,1\nanatomy,12,0\nanatomy,2,0\n"))["m"]
    assert log.keys == ("anatomy/2", "anatomy/12", "virology/3")
    assert log.categories == ("anatomy", "anatomy", "virology")


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    table = pa.table(
        {
            "key": [1000, 1001, 1005], "a": [True, False, None], "b": pa.array([1.0, float("nan"), 0.0]),
            "prompt": ["x", "y", "z"],
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "ifeval__prompt_level_strict_acc.parquet")
    logs = logs_of(tmp_path)
    assert list(logs) == ["a", "b"]
    assert logs["a"].passed["prompt_level_strict_acc"].tolist()[:2] == [1, 0]
    assert np.isnan(logs["a"].passed["prompt_level_strict_acc"][2])
    assert np.isnan(logs["b"].passed["prompt_level_strict_acc"][1])


@pytest.mark.parametrize("transposed", [False, True])
def test_an_array_with_names_beside_it_or_in_canonical_order(tmp_path: Path, transposed: bool) -> None:
    keys = keys_of(BENCHMARKS["ifeval"])
    assert keys is not None
    values = np.random.default_rng(0).integers(0, 2, (2, 541)).astype(np.float32)
    values[1, 7] = np.nan
    np.save(tmp_path / "ifeval__prompt_level_strict_acc.npy", values.T if transposed else values)
    write(tmp_path / "ifeval__prompt_level_strict_acc.models.txt", "lab/a\r\nb\r\n", "utf-8-sig")
    detection = detect([tmp_path])
    assert detection.skipped == ()
    a, b = (read(found) for found in detection.found)
    assert (a.model, a.keys) == ("lab/a", keys)
    assert a.passed["prompt_level_strict_acc"].tolist() == values[0].tolist()
    assert np.flatnonzero(np.isnan(b.trials["prompt_level_strict_acc"])).tolist() == [7]


def test_a_vector_with_keys_of_its_own(tmp_path: Path) -> None:
    np.save(tmp_path / "own__acc__m.npy", np.array([True, False, True]))
    write(tmp_path / "own__acc__m.keys.txt", "7\n3\n5\n")
    log = logs_of(tmp_path)["m"]
    assert (log.keys, log.passed["acc"].tolist()) == (("3", "5", "7"), [0, 1, 1])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((541, 384)), "its shape is (541, 384), but there are 541 keys and 1 model"),
        (np.array([object()] * 541), "objects are never unpickled"),
        (np.array(["1"] * 541), "it holds '<U1', not numbers"),
        (np.full(541, 2.0), "item 1000 of model 1 is 2, outside 0 to 1"),
        (np.zeros(540), "541 keys"),
    ],
    ids=["embeddings", "objects", "texts", "outside", "too few"],
)
def test_an_array_that_is_none_of_outcomes_is_refused(tmp_path: Path, array: Any, words: str) -> None:
    np.save(tmp_path / "ifeval.npy", array, allow_pickle=True)
    detection = detect([tmp_path])
    assert detection.found == ()
    assert words in detection.skipped[0][1]


def test_no_object_in_an_array_is_ever_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return (Path.touch, (tmp_path / "went-off",))  # type: ignore[return-value]

    np.save(tmp_path / "gsm8k.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    assert "never unpickled" in detect([tmp_path]).skipped[0][1]
    assert not (tmp_path / "went-off").exists()


def test_tables_that_are_none_of_ours_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "photos.csv", "name,width\na.jpg,1\n")
    write(tmp_path / "people.csv", "id,is_member\n1,1\n")
    np.save(tmp_path / "embeddings.npy", np.zeros((3, 4)))
    detection = detect([tmp_path])
    assert detection.found == ()
    assert all("no per-item log of a known format" in why for _, why in detection.skipped)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("own.csv", "item_key,text\n1,so\n", "without a column of outcomes"),
        ("own.csv", "item_key,a,a\n1,0,1\n", "'a' is there twice"),
        ("own.csv", "benchmark,item_key,a\n,1,0\n", "line 2: '' names no model or benchmark"),
        ("ifeval.xlsx", "PK", "save it as CSV"),
        ("own.parquet", "PAR1", "cannot be read as Parquet"),
    ],
)
def test_a_table_of_no_use_is_refused_with_the_reason(tmp_path: Path, name: str, text: str, words: str) -> None:
    write(tmp_path / name, text, "latin-1")
    ((_, why),) = detect([tmp_path]).skipped
    assert words in why


ROWS = "".join(f"{i},1\n" for i in range(60))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("60,2\n", "line 62: '2' is no outcome"),
        ("60,yes\n", "line 62: 'yes' is no outcome"),
        ("60\n", "line 62: 1 cells, but 2 columns"),
        (",1\n", "line 62: '' is no item key"),
        ("5,0\n", "line 62: item 5 comes a second time with another score"),
        ('60,"' + "x" * 200_000 + '"\n', "line 62: cannot be read on"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path: Path, line: str, words: str) -> None:
    path = write(tmp_path / "own.csv", f"item_key,m\n{ROWS}{line}")
    (found,) = detect([tmp_path]).found
    with pytest.raises(InputError) as caught:
        read(found)
    assert f"{path}, {words}" in caught.value.message
    if "second" not in words:
        log = read(found, salvage=True)
        assert len(log.keys) == 60
        assert "salvaged" in {check.kind for check in log.checks}


def test_a_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes(f"item_key,m\n{ROWS * 200}".encode() + b"\xff\xfe,1\n")
    (found,) = detect([tmp_path]).found
    with pytest.raises(InputError, match=r"own\.csv, line 12002: not utf-8 text"):
        read(found)


def test_a_table_in_another_encoding_is_refused_with_the_way_out_and_read_with_it(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", "item_key,modèle\nà,1\nb,0\n", "cp1252")
    ((_, why),) = detect([path]).skipped
    assert "line 1: not utf-8 text" in why
    assert "--encoding" in why
    (found,) = look([path], encoding="cp1252").found
    log = read(found)
    assert (found.model, log.keys, log.passed["score"].tolist()) == ("modèle", ("b", "à"), [0, 1])


def column_checks(log: PerItemLog) -> tuple[str, ...]:
    return tuple(check.message for check in log.checks if check.kind == "columns_left_out")


def test_a_bad_cell_or_gaps_in_front_cost_no_column(tmp_path: Path) -> None:
    rows = [[str(i), "1", "?" if i == 4 else "0", "" if i < 60 else "1"] for i in range(80)]
    path = write(tmp_path / "own__acc.csv", "item_key,A,B,C\n" + "".join(",".join(row) + "\n" for row in rows))
    a, b, c = detect([path]).found
    assert "a column for each of 3 models" in a.why
    assert "models: A, B, C" in a.why
    assert read(a).passed["acc"].tolist() == [1] * 80
    with pytest.raises(InputError, match=r"line 6: '\?' is no outcome .* or empty where missing\)\.\n.*--salvage"):
        read(b)
    assert len(read(b, salvage=True).keys) == 4
    log = read(c)
    assert np.isnan(log.passed["acc"]).tolist() == [True] * 60 + [False] * 20
    assert column_checks(log) == ()


def test_columns_that_are_not_read_are_named_before_and_after_reading(tmp_path: Path) -> None:
    text = "item_key,A,percent,none,prompt\n0,1,100,,Why?\n1,0,0,,How?\n2,1,100,,So?\n"
    (found,) = detect([write(tmp_path / "own__acc.csv", text)]).found
    told = "'percent' ('100' in line 2 is no outcome), 'none' (empty)"
    assert f"models: A; columns left out: {told}, 'prompt' ('Why?' in line 2 is no outcome)" in found.why
    assert column_checks(read(found)) == (f"Columns of the table that are not read: {told}.",)


def test_a_table_of_percentages_is_refused_with_the_cell_that_shows_it(tmp_path: Path) -> None:
    ((_, why),) = detect([write(tmp_path / "own.csv", "item_key,m\n0,100\n1,100\n2,0\n")]).skipped
    assert "without a column of outcomes ('m' ('100' in line 2 is no outcome))" in why


@pytest.mark.parametrize("bad", [1, 51])
def test_a_bad_cell_of_a_metric_is_named_wherever_it_stands(tmp_path: Path, bad: int) -> None:
    rows = "".join(f"m,{i},1,{'n.a.' if i == bad else 0.5}\n" for i in range(60))
    (found,) = detect([write(tmp_path / "own.csv", f"model,item_key,acc,f1\n{rows}")]).found
    with pytest.raises(InputError, match=rf"line {bad + 2}: 'n\.a\.' is no outcome"):
        read(found)


def test_a_long_table_that_breaks_off_gives_the_rows_in_front_when_asked(tmp_path: Path) -> None:
    rows = "".join(f"{model},{i},1\n" for i in range(60) for model in "ab")
    first, second = detect([write(tmp_path / "own.csv", f"model,item_key,passed\n{rows}a,60\nb,60,1\n")]).found
    for found in (first, second):
        with pytest.raises(InputError, match=r"line 122: 2 cells, but 3 columns[^$]*--salvage"):
            read(found)
        log = read(found, salvage=True)
        assert (len(log.keys), "salvaged" in {check.kind for check in log.checks}) == (60, True)


def test_a_fault_of_one_model_is_not_one_of_the_others(tmp_path: Path) -> None:
    a, b = detect([write(tmp_path / "own.csv", "model,item_key,passed\na,0,1\nb,0,7\na,1,0\n")]).found
    assert read(a).keys == ("0", "1")
    with pytest.raises(InputError, match="line 3: '7' is no outcome"):
        read(b)


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_a_file_is_read_once_for_all_its_models_and_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    models, keys = [f"m{i % 5}" for i in range(40_000)], [f"k{i // 5:05}" for i in range(40_000)]
    passed = [i % 3 // 2 for i in range(40_000)]
    path = tmp_path / f"own.{form}"
    if form == "parquet":
        pq.write_table(pa.table({"model": models, "item_key": keys, "passed": passed}), path)
    else:
        lines = [",".join(map(str, row)) + "\n" for row in zip(models, keys, passed, strict=True)]
        raw = "".join(["model,item_key,passed\n", *lines]).encode()
        path.write_bytes(gzip.compress(raw, 1) if form == "csv.gz" else raw)
    detection = detect([path])
    times: list[Path] = []

    def counted(path: Path, encoding: str = "") -> contextlib.AbstractContextManager[Sheet]:
        times.append(path)
        return opened(path, encoding)

    monkeypatch.setattr("mince_gui.logs.tables.table.opened", counted)
    events: list[Event] = []
    for number, found in enumerate(detection.found):
        log = read(found, emit=events.append)
        assert log.passed["score"].tolist() == passed[number::5]
    assert times == [path]
    done = [event.done for event in events if isinstance(event, Progress)]
    size = path.stat().st_size
    assert 0 < done[0] <= size
    assert form == "csv.gz" or len({value for value in done if value < size}) > 1
    # a second reading of the same run is no stale one
    path.write_bytes(b"" if form == "parquet" else b"model,item_key,passed\nm0,k0,1\n")
    with contextlib.suppress(InputError):
        assert read(detection.found[0]).keys == ("k0",)


def test_a_cancelled_table_can_be_read_again(tmp_path: Path) -> None:
    found = detect([write(tmp_path / "own.csv", "item_key,m\n" + "".join(f"{i},1\n" for i in range(2_000)))]).found[0]
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        read(found, cancel=cancel)
    assert len(read(found).keys) == 2_000
    with pytest.raises(CancelledError):
        tables.claim(found.files, cancel=cancel)


def test_a_line_without_end_and_a_table_without_end_are_refused_quickly(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", f"item_key,m\n{ROWS}" + "9" * (5 << 20))
    (found,) = detect([path]).found
    with pytest.raises(InputError, match=r"line 61: cannot be read on .there is no end of the line"):
        read(found)
    bomb = tmp_path / "long.csv.gz"
    bomb.write_bytes(gzip.compress(b"model,item_key,passed\n" + b"\n" * (4 << 20)))
    assert "no end of the text" in detect([bomb]).skipped[0][1]


def test_an_item_twice_with_the_same_outcome_is_counted(tmp_path: Path) -> None:
    log = logs_of(write(tmp_path / "own.csv", f"item_key,m\n{ROWS}5,1\n"))["m"]
    assert {check.kind: check.examples for check in log.checks}["duplicates"] == ("5",)


def test_tables_of_two_models_make_a_matrix_for_sizing(tmp_path: Path) -> None:
    write(
        tmp_path / "own__f1.csv", "item_key,a,b\n" + "".join(f"{i},{i % 4 / 4},{i % 3 / 3:.3f}\n" for i in range(200))
    )
    logs = list(logs_of(tmp_path).values())
    matrix = build_matrix(logs[0].benchmark, logs)
    assert (matrix.models, matrix.metrics, matrix.total_items) == (("a", "b"), ("f1",), 200)
    assert matrix.checks == ()


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=12), comma=st.booleans())
def test_any_cell_is_an_outcome_in_range_or_none(text: str, comma: bool) -> None:
    found = cells.outcome(text, comma=comma)
    assert found is None or found[1] != found[1] or 0 <= found[0] <= found[1]


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.sampled_from([0.0, 1.0, 0.5, float("nan"), 0.125]), min_size=1, max_size=20))
def test_a_column_comes_back_as_it_was_written(
    values: Sequence[float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("column")
    text = "item_key,m\n" + "".join(f"{i},{'' if value != value else value}\n" for i, value in enumerate(values))
    detection = detect([write(folder / "own.csv", text)])
    if all(value != value for value in values):
        assert detection.found == ()
        return
    log = read(detection.found[0])
    assert np.array_equal(log.passed["score"], np.array(values), equal_nan=True)


def _array_file(folder: Path) -> Path:
    np.save(folder / "demo-math.npy", np.ones(500, dtype=np.float32) / 2)
    return folder / "demo-math.npy"


def _parquet_file(folder: Path) -> Path:
    columns = {"item_key": [str(i) for i in range(9)], "m": [0.0, 1.0, None] * 3, "n": [True] * 9}
    pq.write_table(pa.table(columns), folder / "own.parquet")
    return folder / "own.parquet"


@pytest.mark.parametrize(
    "make", [lambda folder: write(folder / "gsm8k__acc.csv", WIDE * 3), _array_file, _parquet_file],
    ids=["csv", "npy", "parquet"],
)  # fmt: skip
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_mutated_tables_end_in_logs_or_reasons(
    make: Callable[[Path], Path], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = make(tmp_path_factory.mktemp("mutated"))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(bytes(raw))
    for found in detect([path]).found:
        with contextlib.suppress(InputError):
            assert len(read(found).keys) > 0
