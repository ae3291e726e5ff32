from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.app import reference as references
from mince_gui.app.export_run import export_run
from mince_gui.app.import_logs import import_logs, look
from mince_gui.app.reference import import_references, import_stored_logs, listing, remove, show, typed_in
from mince_gui.base.errors import InputError, UsageError
from mince_gui.report.types import Reference
from mince_gui.store import Workspace
from tests.app.conftest import Walked

IFEVAL = {
    "prompt_level_strict_acc,none": 400 / 541, "inst_level_strict_acc,none": 0.8093525179856115,
    "prompt_level_loose_acc,none": 410 / 541, "inst_level_loose_acc,none": 0.8513189448441247,
}  # fmt: skip
LOGS = Path("data") / "logs" / "lm_eval"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "ws"


def results(
    folder: Path, tasks: Mapping[str, Mapping[str, Any]], counts: Mapping[str, int] | None = None, **fields: Any
) -> Path:
    """A results file as lm-eval 0.4.13 writes it, as far as it matters."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "results_2026-03-01T10-00-00.000001.json"
    body = {
        "results": {task: {"alias": task, **values} for task, values in tasks.items()},
        "versions": dict.fromkeys(tasks, 4.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "n-samples": {task: {"original": n, "effective": n} for task, n in (counts or {"ifeval": 541}).items()},
        "config": {
            "model": "hf", "model_args": {"pretrained": "org/Some-3B-Instruct", "dtype": "bfloat16"},
            "device": "cuda:0", "limit": None,
        },
        "date": 1772359200.25,
        "lm_eval_version": "0.4.13",
        "transformers_version": "4.57.1",
        "pretty_env_info": "OS: Linux\nGPU models and configuration: \nGPU 0: NVIDIA A100-SXM4-80GB\nNvidia driver: 1",
        "model_name": "org/Some-3B-Instruct",
        "chat_template_sha": "ab" * 32,
        "total_evaluation_time_seconds": "1234.5",
        **fields,
    }  # fmt: skip
    file.write_text(json.dumps(body), encoding="utf-8")
    return file


def of_results(workspace: Path, file: Path, **options: Any) -> Reference:
    (reference,) = import_references(workspace, file, **options)
    assert reference in listing(workspace)
    return reference


def changed(config: Mapping[str, Any]) -> dict[str, Any]:
    return {"config": {"model": "hf", "model_args": "pretrained=org/x", "limit": None, **config}}


# -- a results file ----------------------------------------------------------------------------------


def test_a_results_file_tells_how_and_on_what_it_was_made(workspace: Path, tmp_path: Path) -> None:
    told = of_results(workspace, results(tmp_path / "a", {"ifeval": IFEVAL}))
    assert (told.kind, told.benchmark, told.model, told.precision) == (
        "imported",
        "ifeval",
        "org/Some-3B-Instruct",
        "bf16",
    )
    assert (told.task, told.task_version, told.lm_eval_version, told.few_shot) == ("ifeval", "4", "0.4.13", 0)
    assert (told.chat_template, told.runtime, told.device) == (
        "applied",
        "hf, transformers 4.57.1",
        "NVIDIA A100-SXM4-80GB",
    )
    assert (told.wall_seconds, told.machine, told.device_key) == (1234.5, "", "")
    assert told.date == "2026-03-01"


def test_a_results_file_may_have_another_name(workspace: Path, tmp_path: Path) -> None:
    file = results(tmp_path / "a", {"ifeval": IFEVAL}).rename(tmp_path / "scores of the lab.json")
    assert of_results(workspace, file).model == "org/Some-3B-Instruct"
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="no lm-eval results file"):
        import_references(workspace, file)


def test_a_precision_is_kept_as_one_word_or_refused(workspace: Path, tmp_path: Path) -> None:
    """It decides what is called a quantisation delta: another way to write BF16 may not become a quantised model."""
    file = results(tmp_path / "a", {"ifeval": IFEVAL})
    for said, word in (
        ("BF16", "bf16"),
        ("bfloat16", "bf16"),
        ("INT4 (AWQ)", "int4"),
        ("Q4_K_M", "int4"),
        (" ", "bf16"),
    ):
        assert of_results(workspace, file, precision=said).precision == word
    facts: dict[str, Any] = {"benchmark": "mmlu", "model": "m", "scores": {"acc": 65.0}, "source": "s"}
    assert typed_in(workspace, **facts, precision="FP16").precision == "fp16"
    with pytest.raises(UsageError, match="'BF-16' is no precision"):
        typed_in(workspace, **facts, precision="BF-16")
    with pytest.raises(UsageError, match="'16' is no precision"):
        import_references(workspace, file, precision="16")


def test_counts_are_known_only_where_the_score_leaves_no_doubt(workspace: Path, tmp_path: Path) -> None:
    """Instruction-level scores are not over 541 items, and a rounded share is no count."""
    metrics = of_results(workspace, results(tmp_path / "a", {"ifeval": IFEVAL})).metrics
    strict, instructions = metrics["prompt_level_strict_acc"], metrics["inst_level_strict_acc"]
    assert (strict.passed, strict.trials) == (400, 541)
    assert instructions.trials == 100
    assert instructions.percent == pytest.approx(80.93525179856115)
    rounded = of_results(workspace, results(tmp_path / "b", {"ifeval": {"prompt_level_strict_acc,none": 0.7394}}))
    assert rounded.metrics["prompt_level_strict_acc"].trials == 100


def test_a_wall_clock_of_several_benchmarks_is_none_of_one(workspace: Path, tmp_path: Path) -> None:
    gsm8k = {"exact_match,strict-match": 0.5, "exact_match,flexible-extract": 0.5}
    file = results(tmp_path / "a", {"ifeval": IFEVAL, "gsm8k": gsm8k}, {"ifeval": 541, "gsm8k": 1319})
    both = import_references(workspace, file)
    assert {one.benchmark for one in both} == {"ifeval", "gsm8k"}
    assert [one.wall_seconds for one in both] == [None, None]


@pytest.mark.parametrize(
    ("config", "facts"),
    [
        ({"device": "cpu"}, {"device": "CPU"}),
        ({"device": "cuda:0", "model": "onnxruntime-genai"}, {"device": "", "runtime": "onnxruntime-genai"}),
        ({"device": "cuda:0", "model": "local-chat-completions"}, {"device": "", "chat_template": ""}),
        ({"model_args": "pretrained=org/x,dtype=float16"}, {"precision": "fp16"}),
        ({"model_args": "pretrained=org/x,dtype=auto"}, {"precision": ""}),
        ({"model_args": "pretrained=org/x,load_in_4bit=True,dtype=float16"}, {"precision": ""}),
    ],
)
def test_what_the_configuration_tells_is_taken_and_no_more(
    workspace: Path, tmp_path: Path, config: dict[str, Any], facts: dict[str, str]
) -> None:
    """The device that lm-eval names for a backend without one is its own default, not the truth."""
    told = of_results(workspace, results(tmp_path / "a", {"ifeval": IFEVAL}, **changed(config), chat_template_sha=None))
    assert {name: getattr(told, name) for name in facts} == facts


def test_the_models_name_tells_its_precision_before_the_type_it_was_loaded_as(workspace: Path, tmp_path: Path) -> None:
    file = results(tmp_path / "a", {"ifeval": IFEVAL}, model_name="org/Some-3B-GPTQ-Int4")
    assert of_results(workspace, file).precision == "int4"
    assert of_results(workspace, file, precision="int8").precision == "int8"


def test_a_bare_results_file_is_taken_with_nothing_invented(workspace: Path, tmp_path: Path) -> None:
    file = tmp_path / "some-model" / "results_1.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"results": {"ifeval": {"prompt_level_strict_acc": 0.25}}}), encoding="utf-8")
    told = of_results(workspace, file)
    assert (told.model, told.precision, told.task_version, told.few_shot) == ("some-model", "", "", None)
    assert (told.chat_template, told.device, told.wall_seconds, told.date) == ("", "", None, "")
    assert told.source == "results_1.json (lm-eval version unknown)"


@pytest.mark.parametrize(
    ("counts", "fields", "words"),
    [
        ({"ifeval": 12}, {}, "ifeval was scored on 12 of 541 items"),
        ({}, changed({"limit": 10.0}), r"a part of its items \(--limit 10.0\)"),
    ],
)
def test_scores_of_a_part_are_refused(
    workspace: Path, tmp_path: Path, counts: dict[str, int], fields: dict[str, Any], words: str
) -> None:
    samples = {task: {"original": 541, "effective": n} for task, n in counts.items()}
    with pytest.raises(InputError, match=words):
        import_references(workspace, results(tmp_path / "a", {"ifeval": IFEVAL}, **{"n-samples": samples, **fields}))
    assert all(one.kind == "published" for one in listing(workspace))


def test_a_group_of_which_each_subject_was_cut_is_refused(workspace: Path, tmp_path: Path) -> None:
    subjects = [f"mmlu_{name}" for name in ("anatomy", "virology")]
    tasks = {"mmlu": {"acc,none": 0.5}, **{name: {"acc,none": 0.5} for name in subjects}}
    file = results(tmp_path / "a", tasks, dict.fromkeys(subjects, 10), group_subtasks={"mmlu": subjects})
    with pytest.raises(InputError, match="mmlu was scored on 20 of 14,042 items"):
        import_references(workspace, file)


def test_percentages_in_a_results_file_are_refused_until_the_unit_is_said(workspace: Path, tmp_path: Path) -> None:
    file = results(tmp_path / "a", {"ifeval": {"prompt_level_strict_acc,none": 73.94}})
    with pytest.raises(InputError, match=r"as a percentage it is 73\.94 %, as a share 7394 %"):
        import_references(workspace, file)
    said = of_results(workspace, file, unit="percent")
    assert said.metrics["prompt_level_strict_acc"].percent == pytest.approx(73.94)


@pytest.mark.parametrize("score", [float("nan"), -0.5, 101.0, 10**400])
def test_what_is_no_score_is_refused(workspace: Path, tmp_path: Path, score: float) -> None:
    with pytest.raises(InputError, match="no score"):
        import_references(workspace, results(tmp_path / "a", {"ifeval": {"prompt_level_strict_acc,none": score}}))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": 3}', "{", '{"results": {"ifeval": {}}}'])
def test_what_is_no_results_file_is_refused(workspace: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "results_x.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"no lm-eval results file|no full-benchmark scores"):
        import_references(workspace, file)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=6) | st.just(10**400),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(["ifeval", "mmlu", "a"]), inside),
    max_leaves=6,
)
PLACES = (
    ("results",), ("results", "ifeval"), ("results", "ifeval", "prompt_level_strict_acc,none"), ("versions",),
    ("versions", "ifeval"), ("n-shot", "ifeval"), ("n-samples",), ("n-samples", "ifeval"),
    ("n-samples", "ifeval", "effective"), ("config",), ("config", "limit"), ("config", "model"),
    ("config", "model_args"), ("config", "device"), ("date",), ("lm_eval_version",), ("transformers_version",),
    ("pretty_env_info",), ("model_name",), ("chat_template_sha",), ("total_evaluation_time_seconds",),
    ("group_subtasks",), ("mince_gui",),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), VALUES), max_size=3))
def test_a_results_file_with_anything_in_it_is_taken_or_refused(
    tmp_path: Path, changes: list[tuple[tuple[str, ...], Any]]
) -> None:
    """What is taken can be stored, and comes back equal."""
    file = results(tmp_path / "a", {"ifeval": IFEVAL})
    body = json.loads(file.read_text(encoding="utf-8"))
    for (*above, last), value in changes:
        inside = body
        for name in above:
            inside = inside[name] if isinstance(inside, dict) and isinstance(inside.get(name), dict) else {}
        inside[last] = value
    file.write_text(json.dumps(body), encoding="utf-8")
    try:
        told = import_references(tmp_path / "ws", file)
    except InputError:
        return
    assert all(one in listing(tmp_path / "ws") for one in told)
    assert all(0.0 <= ratio.percent <= 100.0 for one in told for ratio in one.metrics.values())


def test_a_folder_of_results_files_alone_is_taken(workspace: Path, tmp_path: Path) -> None:
    results(tmp_path / "logs" / "a", {"ifeval": IFEVAL})
    results(tmp_path / "logs" / "b", {"ifeval": IFEVAL}, model_name="org/Other-3B")
    assert {one.model for one in import_references(workspace, tmp_path / "logs")} == {
        "org/Some-3B-Instruct",
        "org/Other-3B",
    }
    with pytest.raises(InputError, match="holds logs of several"):
        import_references(workspace, tmp_path / "logs", model="mine")


# -- real logs ---------------------------------------------------------------------------------------


@pytest.mark.shared
def test_a_real_log_tells_its_task_and_categories(workspace: Path, shared: Path) -> None:
    folder = shared / LOGS / "hugging-quants__Meta-Llama-3.1-8B-Instruct-AWQ-INT4"
    (told,) = import_references(workspace, folder)
    assert (told.benchmark, told.precision, told.task_version, told.few_shot) == ("ifeval", "int4", "4", 0)
    assert told.date == "2026-01-06"
    assert told.rows is not None
    assert len(told.rows) == 541
    assert told.categories.keys() == told.rows.keys()
    assert any(told.categories.values())
    assert (told.wall_seconds, told.device) == (None, "")
    assert told in listing(workspace, "ifeval")


@pytest.mark.shared
def test_a_group_of_subjects_is_one_reference_by_its_results_alone(workspace: Path, shared: Path) -> None:
    folder = shared / LOGS / "mistralai__Mixtral-8x7B-Instruct-v0.1"
    (told,) = import_references(workspace, folder / "results_2024-08-10T12-10-15.000001.json")
    assert (told.benchmark, told.task, told.few_shot, told.task_version) == ("mmlu", "mmlu", 5, "1")
    assert told.metrics["acc"].percent == pytest.approx(68.08146987608603)
    assert told.metrics["acc"].trials == 14_042


@pytest.mark.shared
def test_a_real_results_file_of_a_limited_run_is_no_reference(workspace: Path, shared: Path) -> None:
    """Its task's name is known to no benchmark, so that nothing is taken from it."""
    (file,) = (shared / "reference" / "lm_eval_runs" / "ifeval_chat").rglob("results_*.json")
    with pytest.raises(InputError, match="no full-benchmark scores"):
        import_references(workspace, file)


@pytest.mark.shared
def test_an_imported_log_becomes_a_reference_by_its_models_name(workspace: Path, shared: Path) -> None:
    folder = shared / LOGS / "tora-70b-v1.0"
    import_logs(workspace, look([folder]))
    (told,) = import_stored_logs(workspace, "TORA-70B-V1.0", model="mine", precision="fp16")
    (direct,) = import_references(workspace, folder, model="mine", precision="fp16")
    assert (told.metrics, told.rows, told.task_version) == (direct.metrics, direct.rows, direct.task_version)
    with pytest.raises(UsageError, match="no log of 'nobody'"):
        import_stored_logs(workspace, "nobody")
    with pytest.raises(UsageError, match=r"no log of 'tora-70b-v1\.0' for mmlu"):
        import_stored_logs(workspace, "tora-70b-v1.0", benchmark="mmlu")
    with pytest.raises(UsageError, match="no benchmark 'mmul'"):
        import_stored_logs(workspace, "tora-70b-v1.0", benchmark="mmul")
    assert len(import_stored_logs(workspace, "tora-70b-v1.0", benchmark="GSM8K")) == 1


def test_a_full_run_that_was_exported_elsewhere_tells_its_conditions(
    walked: Walked, workspace: Path, tmp_path: Path
) -> None:
    full = walked.parts[0].full
    assert full is not None
    exported = export_run(walked.workspace, full.run_id, "lm-eval", out=tmp_path / "out")
    (told,) = import_references(workspace, exported.path)
    with Workspace(walked.workspace) as ws:
        (conditions,) = (
            json.loads(row["conditions"])
            for row in ws.db.execute("SELECT conditions FROM runs WHERE run_id = ?", (full.run_id,))
        )
    assert told.precision == conditions["precision"] == "int4"
    assert (told.machine, told.runtime, told.device) == (
        conditions["machine"],
        conditions["runtime"],
        conditions["device"],
    )
    assert told.wall_seconds is not None
    assert told.wall_seconds > 0
    # Its clock was another program's, in another workspace: it is shown, and makes no speedup.
    assert told.device_key == ""


# -- typed in ----------------------------------------------------------------------------------------


def typed(workspace: Path, **fields: Any) -> Reference:
    known: dict[str, Any] = {"benchmark": "mmlu", "model": "m", "scores": {"acc": 65.39}, "source": "a paper"}
    return typed_in(workspace, **{**known, **fields})


def test_all_that_is_known_of_a_typed_in_score_is_kept(workspace: Path) -> None:
    facts: dict[str, Any] = {
        "precision": "bf16", "task": "mmlu", "task_version": "1", "few_shot": 5, "lm_eval_version": "0.4.13",
        "chat_template": "none", "runtime": "vllm", "device": "MI300X", "machine": "lab-7", "note": "by hand",
    }  # fmt: skip
    made = typed(workspace, **facts, on="2026-03", seconds=3600.0)
    (kept, *_) = listing(workspace, "mmlu")
    assert kept == made == show(workspace, made.reference_id)
    assert {name: getattr(kept, name) for name in facts} == facts
    assert (kept.date, kept.wall_seconds, kept.device_key) == ("2026-03", 3600.0, "")


def test_a_score_of_today_is_dated_today_and_nothing_else_is_invented(workspace: Path) -> None:
    made = typed(workspace)
    assert made.date == datetime.date.today().isoformat()  # noqa: DTZ011 - the user's own day
    assert (made.few_shot, made.task, made.chat_template, made.wall_seconds) == (None, "", "", None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scores": {}}, "at least one score"),
        ({"scores": {"f1": 65.0}}, "no metric 'f1'"),
        ({"scores": {"acc": 0.6539}}, r"65\.39 %, or a percentage, 0\.6539 %"),
        ({"scores": {"acc": 165.0}}, "no percentage"),
        ({"source": " "}, "needs a source"),
        ({"model": ""}, "needs a model"),
        ({"on": "last week"}, "no date"),
        ({"on": "2026-13"}, "no date"),
        ({"on": "2026-02-30"}, "no date"),
        ({"on": "9999-01-01"}, "not come yet"),
        ({"task": "gsm8k_cot"}, "a task of GSM8K, not of MMLU"),
        ({"chat_template": "some"}, "no use of a chat template"),
        ({"few_shot": -1}, "no number of examples"),
        ({"seconds": 0.0, "machine": "m"}, "no wall clock"),
        ({"seconds": float("nan"), "machine": "m"}, "no wall clock"),
        ({"seconds": 60.0}, "nothing without its machine"),
        ({"benchmark": "nope"}, "no benchmark 'nope'"),
    ],
)
def test_what_cannot_be_meant_is_refused(workspace: Path, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        typed(workspace, **fields)
    assert all(one.kind == "published" for one in listing(workspace))


def test_shares_are_taken_where_they_are_said_to_be_shares(workspace: Path) -> None:
    assert typed(workspace, scores={"acc": 0.6539}, unit="share").metrics["acc"].percent == pytest.approx(65.39)


def test_the_same_score_typed_again_replaces_what_is_known_of_it(workspace: Path) -> None:
    typed(workspace)
    typed(workspace, few_shot=5)
    (kept,) = (one for one in listing(workspace) if one.kind == "typed in")
    assert kept.few_shot == 5


# -- the list ----------------------------------------------------------------------------------------


def test_published_references_are_in_every_workspace_and_cannot_be_removed(workspace: Path) -> None:
    published = listing(workspace, "IFEVAL")
    assert len(published) == 7
    assert show(workspace, published[0].reference_id) == published[0]
    with pytest.raises(UsageError, match="ships with the program"):
        remove(workspace, published[0].reference_id)


def test_a_removed_reference_is_gone(workspace: Path) -> None:
    made = typed(workspace)
    assert remove(workspace, made.reference_id) == made
    assert made not in listing(workspace)
    with pytest.raises(UsageError, match="no reference"):
        remove(workspace, made.reference_id)


def test_stored_ones_come_before_published_ones(workspace: Path) -> None:
    first, second = typed(workspace, model="a"), typed(workspace, model="b")
    assert listing(workspace, "mmlu")[:2] == [second, first]
    with pytest.raises(UsageError, match="no benchmark"):
        listing(workspace, "nope")
    with Workspace(workspace) as ws:
        assert references.every(ws, "mmlu")[:2] == [second, first]
