from __future__ import annotations

import dataclasses
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.errors import InputError, UsageError
from mince_gui.benchmarks import get, keys_of
from mince_gui.subset import FrozenSubset, bundled, positions_of, read_subset, samples_map


def _bundled(benchmark: str) -> FrozenSubset:
    return next(subset for subset in map(read_subset, bundled()) if subset.benchmark == benchmark)


def test_ifevals_positions_are_places_in_the_datasets_order_and_not_its_keys() -> None:
    subset = _bundled("ifeval")
    keys = keys_of(get("ifeval")) or ()
    (task, places), *others = samples_map(subset).items()
    assert (task, others) == ("ifeval", [])
    assert [keys[place] for place in places] == list(subset.item_keys)
    assert samples_map(subset, "leaderboard_ifeval") == {"leaderboard_ifeval": places}


def test_gsm8k_runs_as_its_usual_task_or_as_the_one_named() -> None:
    subset = _bundled("gsm8k")
    assert samples_map(subset) == {"gsm8k_cot_zeroshot": [int(key) for key in subset.item_keys]}
    assert list(samples_map(subset, "gsm8k")) == ["gsm8k"]
    with pytest.raises(UsageError, match="'ifeval' is no task of GSM8K"):
        samples_map(subset, "ifeval")


def test_mmlu_names_only_the_subjects_that_have_items_each_sorted_and_without_repeats() -> None:
    subset = _bundled("mmlu")
    few = dataclasses.replace(subset, item_keys=("virology/10", "anatomy/9", "virology/2", "anatomy/10"))
    assert samples_map(few) == {"mmlu_anatomy": [9, 10], "mmlu_virology": [2, 10]}
    whole = samples_map(subset)
    assert sum(map(len, whole.values())) == 1500
    assert all(places == sorted(set(places)) and places for places in whole.values())
    with pytest.raises(UsageError, match="one task per subject"):
        samples_map(subset, "mmlu_anatomy")


def test_what_lm_eval_cannot_run_is_refused() -> None:
    subset = _bundled("gsm8k")
    with pytest.raises(UsageError, match="no task for Demo math"):
        samples_map(dataclasses.replace(subset, benchmark="demo-math"))
    own = dataclasses.replace(subset, benchmark="my_task", item_keys=("7", "12"))
    assert samples_map(own) == {"my_task": [7, 12]}
    with pytest.raises(InputError, match="Item row-7 of my_task has a name"):
        samples_map(dataclasses.replace(own, item_keys=("row-7",)))


def test_an_item_that_the_benchmark_does_not_have_is_named() -> None:
    with pytest.raises(InputError, match="IFEVAL has no item 14"):
        positions_of(get("ifeval"), ("1000", "14"))


@pytest.mark.oracle
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["ifeval", "gsm8k", "mmlu"])
def test_lm_eval_runs_exactly_the_docs_of_the_map(tmp_path: Path, name: str) -> None:
    """Its own reading of the file, and its own iterator over a task's docs."""
    iterate: Any = importlib.import_module("lm_eval.api.task").Task.doc_iterator
    configure: Any = importlib.import_module("lm_eval.config.evaluate_config").EvaluatorConfig
    subset = _bundled(name)
    (tmp_path / "samples.json").write_text(json.dumps(samples_map(subset)), encoding="utf-8")
    config = configure(model="dummy", tasks=list(samples_map(subset)), samples=str(tmp_path / "samples.json"))
    config._process_arguments()
    assert isinstance(config.samples, dict)
    run: list[str] = []
    benchmark = get(name)
    keys = keys_of(benchmark) or ()
    for task_name, places in config.samples.items():
        subject = task_name.removeprefix("mmlu_")
        docs = [key for key in keys if name != "mmlu" or key.rpartition("/")[0] == subject]
        task: Any = type("Stub", (), {"eval_docs": docs, "config": type("C", (), {"task": task_name})})()
        pairs = list(iterate(task, samples=places))
        assert [doc for _, doc in pairs] == [docs[place] for place in places]
        run += [doc for _, doc in pairs]
    assert sorted(run) == sorted(subset.item_keys)
