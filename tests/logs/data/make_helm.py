"""How helm/ was made: the runner of crfm-helm 0.5.16 with its dummy model. python make_helm.py

The items are made up here. HELM names a run's folder with ":", "=" and ",": ":" is written as "+" here, as Windows does
not allow it, and the tests put it back.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from helm.benchmark.adaptation.adapter_spec import AdapterSpec
from helm.benchmark.adaptation.common_adapter_specs import (
    get_generation_adapter_spec,
    get_multiple_choice_joint_adapter_spec,
)
from helm.benchmark.augmentations.data_augmenter import DataAugmenterSpec
from helm.benchmark.augmentations.perturbation import PerturbationSpec
from helm.benchmark.config_registry import register_builtin_configs_from_helm_package
from helm.benchmark.metrics.common_metric_specs import get_basic_metric_specs, get_exact_match_metric_specs
from helm.benchmark.run import run_benchmarking
from helm.benchmark.run_spec import RunSpec
from helm.benchmark.scenarios.scenario import (
    CORRECT_TAG,
    TEST_SPLIT,
    TRAIN_SPLIT,
    VALID_SPLIT,
    Input,
    Instance,
    Output,
    Reference,
    Scenario,
    ScenarioMetadata,
    ScenarioSpec,
)
from helm.common.authentication import Authentication

HERE = Path(__file__).parent / "helm"
KEPT = ("per_instance_stats.json", "run_spec.json", "scenario_state.json", "stats.json")


class SumsScenario(Scenario):
    """Sums to choose the answer of; the dummy model repeats the last word of its prompt, here the guess."""

    name = "sums"
    description = "Small sums"
    tags: list[str] = []  # noqa: RUF012 - as HELM declares it

    def __init__(self, subject: str, count: int = 5) -> None:
        super().__init__()
        self.subject = subject
        self.count = int(count)

    def get_instances(self, output_path: str) -> list[Instance]:
        instances = []
        for i in range(self.count):
            wrong = Reference(Output(text=str(2 * i + 1)), tags=[])
            right = Reference(Output(text=str(2 * i)), tags=[CORRECT_TAG])
            split = (TRAIN_SPLIT, VALID_SPLIT, TEST_SPLIT)[min(i, 2)]
            question = Input(text=f"How much is {i} and {i} in {self.subject}? Perhaps {0 if i == 3 else 2 * i}")
            instances.append(Instance(question, [wrong, right] if i % 2 else [right, wrong], split))
        return instances

    def get_metadata(self) -> ScenarioMetadata:
        return ScenarioMetadata(name="sums", main_metric="exact_match", main_split="test")


def spec(name: str, adapter: AdapterSpec, subject: str, count: int, perturbed: bool = False) -> RunSpec:
    return RunSpec(
        name=f"{name},model=simple_model1",
        scenario_spec=ScenarioSpec("make_helm.SumsScenario", args={"subject": subject, "count": count}),
        adapter_spec=replace(adapter, model="simple/model1", model_deployment="simple/model1", max_eval_instances=1000),
        metric_specs=get_exact_match_metric_specs() + get_basic_metric_specs(["prefix_exact_match"]),
        groups=["sums"],
        data_augmenter_spec=DataAugmenterSpec(
            [PerturbationSpec("helm.benchmark.augmentations.lowercase_perturbation.LowerCasePerturbation")],
            should_augment_train_instances=False, should_include_original_train=True, should_skip_unchanged_train=True,
            should_augment_eval_instances=True, should_include_original_eval=True, should_skip_unchanged_eval=True,
        ) if perturbed else DataAugmenterSpec(),
    )  # fmt: skip


def neutral(body: Any) -> Any:
    if isinstance(body, dict):
        return {key: neutral(value) for key, value in body.items() if key not in ("definition_path", "definition_line")}
    return [neutral(value) for value in body] if isinstance(body, list) else body


def main() -> None:
    choice = get_multiple_choice_joint_adapter_spec(
        "Answer with a letter.", "Question", "Answer", max_train_instances=1
    )
    text = get_generation_adapter_spec("Answer.", "Q", "A", max_train_instances=1)
    text = replace(text, output_prefix="", input_suffix="")
    specs = [
        spec("mmlu:subject=anatomy,method=multiple_choice_joint", choice, "anatomy", 4),
        spec("mmlu:subject=virology,method=multiple_choice_joint", choice, "virology", 3),
        spec("sums:subject=trials", replace(text, num_train_trials=2, max_train_instances=0), "trials", 6),
        spec("sums:subject=perturbed", replace(text, max_train_instances=0), "Perturbed", 5, perturbed=True),
    ]
    register_builtin_configs_from_helm_package()
    with tempfile.TemporaryDirectory() as folder:
        run_benchmarking(
            specs, Authentication(""), None, folder, 1, folder, "v1", dry_run=False, skip_instances=False,
            cache_instances=False, cache_instances_only=False, skip_completed_runs=False, exit_on_error=True,
            runner_class_name=None, disable_cache=True,
        )  # fmt: skip
        shutil.rmtree(HERE, ignore_errors=True)
        for path in sorted(Path(folder, "runs").rglob("*.json")):
            if path.name in KEPT and (path.name != "stats.json" or "trials" in path.parent.name):
                copy = HERE / "runs" / str(path.relative_to(Path(folder, "runs"))).replace(":", "+")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(json.dumps(neutral(json.loads(path.read_text()))), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.modules["make_helm"] = sys.modules["__main__"]
    main()
