"""Where a run ran. xrt-smi is a stand-in that prints what the facts say, the clock is the test's: no NPU is here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mince_gui.run.devices import PlaceWatch, place_at_load
from mince_gui.run.devices.xrt_smi import XrtSmi
from mince_gui.run.model_folder import ModelFolder, read_model_folder
from mince_gui.run.types import Place
from tests.run.devices.conftest import FakeXrt, hw_context, partitions

_PID = 4711


@pytest.fixture
def cpu_folder(model_dir: Path) -> ModelFolder:
    return read_model_folder(model_dir)


def _made_for(folder: ModelFolder, device: str, *providers: str) -> ModelFolder:
    kinds: tuple[Any, ...] = ("npu",) if "NPU" in device else ("gpu",)
    return dataclasses.replace(folder, device=device, devices=kinds, providers=providers)


def test_a_cpu_folder_on_the_cpu_is_proven(cpu_folder: ModelFolder) -> None:
    for device_type in ("CPU", "cpu", None):
        place = place_at_load(cpu_folder, device_type)
        assert (place.device, place.proven) == ("CPU", True)
    elsewhere = place_at_load(cpu_folder, "CUDA")
    assert (elsewhere.device, elsewhere.proven) == ("CUDA", False)


def test_native_operators_leave_the_cpu_unproven(cpu_folder: ModelFolder) -> None:
    folder = dataclasses.replace(cpu_folder, custom_ops_library="onnx_custom_ops.dll", device="NPU or hybrid (x)")
    place = place_at_load(folder, "CPU")
    assert (place.device, place.proven) == ("NPU or hybrid (x)", False)


def test_a_cpu_fallback_is_never_called_npu(cpu_folder: ModelFolder) -> None:
    place = place_at_load(_made_for(cpu_folder, "NPU (RyzenAI)", "RyzenAI"), "CPU")
    assert (place.device, place.proven) == ("CPU", False)
    assert "a CPU fallback is not the NPU" in place.proof
    spelt = place_at_load(_made_for(cpu_folder, "NPU (RyzenAI)", "RyzenAIExecutionProvider"), "CPU")
    assert spelt == place
    gpu = place_at_load(_made_for(cpu_folder, "GPU (CUDA)", "cuda"), "CPU")
    assert (gpu.device, gpu.proven) == ("CPU", False)


def test_a_declaration_proves_nothing(cpu_folder: ModelFolder) -> None:
    for device, provider, said in (
        ("NPU (RyzenAI)", "RyzenAI", "RyzenAI"),
        ("NPU (RyzenAI)", "RyzenAI", None),
        # OGA has no device type for VitisAI and always says CPU.
        ("NPU (VitisAI)", "VitisAI", "CPU"),
        ("GPU (DirectML)", "dml", "DML"),
    ):
        place = place_at_load(_made_for(cpu_folder, device, provider), said)
        assert (place.device, place.proven) == (device, False)
        assert place.proof.startswith("not proven")


class Looks:
    """A watch with a clock of its own; `look` lets enough time pass for one more question."""

    def __init__(self, command: tuple[str, ...], place: Place, seconds: float = 60.0) -> None:
        self.now = 0.0
        self.watch = PlaceWatch(place, _PID, tool=XrtSmi(command, seconds=seconds), clock=lambda: self.now)

    def look(self, after: float = 0.0) -> bool:
        """One question, answered to the end; whether the place has changed."""
        self.now += after
        changed = self.watch.poll()
        while self.watch.looking:
            changed |= self.watch.poll()
        return changed


_NPU = Place("NPU (RyzenAI)", False, "not proven: declared by genai_config.json; OGA reports RyzenAI")


@pytest.fixture
def watch(fake_xrt: FakeXrt) -> Iterator[Any]:
    made: list[Looks] = []

    def build(*answers: dict[str, Any], place: Place = _NPU, seconds: float = 60.0) -> Looks:
        made.append(Looks(fake_xrt(aie_partitions=answers), place, seconds))
        return made[-1]

    yield build
    for looks in made:
        looks.watch.close()


def test_our_contexts_whose_completions_grow_prove_the_npu(watch: Any) -> None:
    looks = watch(
        {"json": partitions(hw_context(_PID, 100), hw_context(_PID, 5), hw_context(99, 7, process="other"))},
        {"json": partitions(hw_context(_PID, 230), hw_context(_PID, 5))},
    )
    assert looks.look()
    assert not looks.watch.place.proven
    assert looks.watch.others() == ("other (process 99)",)
    # Nothing is asked before its time.
    assert not looks.look(after=1.0)
    assert looks.look(after=5.0)
    assert looks.watch.place.proven
    assert looks.watch.place.device == "NPU (RyzenAI)"
    assert "process 4711" in looks.watch.place.proof
    assert "105 to 235" in looks.watch.place.proof
    assert looks.watch.others() == ()


def test_contexts_that_complete_nothing_prove_nothing(watch: Any) -> None:
    looks = watch({"json": partitions(hw_context(_PID, 100))})
    looks.look()
    looks.look(after=60.0)
    assert not looks.watch.place.proven
    assert "no command was completed" in looks.watch.place.proof


def test_a_process_that_is_not_listed_is_not_proven(watch: Any) -> None:
    looks = watch({"json": partitions(hw_context(99, 100))}, {"json": partitions(hw_context(99, 200))})
    assert looks.look()
    assert not looks.look(after=60.0)
    assert not looks.watch.place.proven
    assert "no context of our process 4711" in looks.watch.place.proof


def test_a_report_without_process_ids_proves_nothing(watch: Any) -> None:
    looks = watch({"json": partitions(hw_context("-1", 100))}, {"json": partitions(hw_context("-1", 200))})
    looks.look()
    looks.look(after=60.0)
    assert not looks.watch.place.proven
    assert "names no process ids" in looks.watch.place.proof


def test_a_report_that_counts_no_errors_proves_nothing(watch: Any) -> None:
    table = " |PID |Sub |Compl |\n |----|----|------|\n |{pid} |{done} |{done} |\n"
    looks = watch(*({"text": table.format(pid=_PID, done=done)} for done in (1, 9)))
    looks.look()
    looks.look(after=60.0)
    assert not looks.watch.place.proven
    assert "does not count" in looks.watch.place.proof


def test_errors_are_no_proof_and_take_a_proof_back(watch: Any) -> None:
    first, second = hw_context(_PID, 100), hw_context(_PID, 230)
    broken = hw_context(_PID, 300, errors=2)
    looks = watch({"json": partitions(first)}, {"json": partitions(second)}, {"json": partitions(broken)})
    looks.look()
    looks.look(after=60.0)
    assert looks.watch.place.proven
    assert looks.look(after=600.0)
    assert not looks.watch.place.proven
    assert "2 errors" in looks.watch.place.proof


def test_a_proof_outlives_an_idle_moment_and_a_tool_that_fails_once(watch: Any) -> None:
    looks = watch(
        {"json": partitions(hw_context(_PID, 1))},
        {"json": partitions(hw_context(_PID, 2))},
        {"json": partitions()},
        {"code": 1},
    )
    for after in (0.0, 60.0, 600.0, 600.0):
        looks.look(after=after)
    assert looks.watch.place.proven


def test_a_hybrid_is_proven_for_its_npu_part(watch: Any) -> None:
    place = dataclasses.replace(_NPU, device="NPU and GPU, hybrid (RyzenAI)")
    looks = watch({"json": partitions(hw_context(_PID, 1))}, {"json": partitions(hw_context(_PID, 2))}, place=place)
    looks.look()
    looks.look(after=60.0)
    assert looks.watch.place.proven
    assert "the GPU's part is not shown" in looks.watch.place.proof


def test_an_npu_that_oga_calls_cpu_is_shown_by_the_device(watch: Any) -> None:
    place = Place("CPU", False, "not proven: the folder asks for the NPU, but OGA reports the CPU")
    looks = watch({"json": partitions(hw_context(_PID, 1))}, {"json": partitions(hw_context(_PID, 2))}, place=place)
    looks.look()
    assert looks.watch.place.device == "CPU"
    looks.look(after=60.0)
    assert (looks.watch.place.device, looks.watch.place.proven) == ("NPU", True)
    assert "OGA itself reports the CPU" in looks.watch.place.proof


def test_the_next_worker_of_a_run_is_proven_anew(watch: Any) -> None:
    ours, theirs = hw_context(_PID, 100), hw_context(_PID + 1, 3)
    grown = hw_context(_PID, 200), hw_context(_PID + 1, 9)
    looks = watch(*({"json": partitions(*contexts)} for contexts in ((ours,), grown[:1], (), (theirs,), grown)))
    looks.look()
    looks.look(after=60.0)
    proven = looks.watch.place
    looks.watch.close()
    looks.watch = looks.watch.for_worker(_PID + 1)
    assert looks.watch.place == proven
    assert looks.look()
    assert not looks.watch.place.proven
    assert looks.watch.place.proof.startswith(_NPU.proof)
    looks.look(after=60.0)
    assert looks.look(after=60.0)
    assert looks.watch.place.proven
    assert "process 4712" in looks.watch.place.proof


def test_a_hanging_tool_is_told(watch: Any) -> None:
    looks = watch({"hang": True}, seconds=0.2)
    assert looks.look()
    assert not looks.watch.place.proven
    assert "did not answer within 0.2 s" in looks.watch.place.proof


def test_a_tool_that_fails_three_times_is_given_up(watch: Any, tmp_path: Path) -> None:
    looks = watch({"code": 1})
    assert looks.look()
    for _ in range(5):
        assert not looks.look(after=6000.0)
    assert (tmp_path / "xrt/aie-partitions.calls").read_text(encoding="ascii") == "xxx"


def test_no_tool_is_told_once(tmp_path: Path) -> None:
    looks = Looks((str(tmp_path / "xrt-smi"),), _NPU)
    assert looks.look()
    assert "xrt-smi is not there" in looks.watch.place.proof


def test_closing_ends_a_tool_that_is_at_work(watch: Any) -> None:
    looks = watch({"hang": True}, seconds=3000.0)
    assert not looks.watch.poll()
    assert looks.watch.looking
    looks.watch.close()
    assert not looks.watch.looking
    assert not looks.look(after=6000.0)


def test_what_a_tool_for_npus_cannot_show_is_not_asked(fake_xrt: FakeXrt) -> None:
    command = fake_xrt(aie_partitions=[{"json": partitions()}])
    for place in (Place("CPU", True, "proven"), Place("GPU (DirectML)", False, "not proven: declared")):
        looks = Looks(command, place)
        assert not looks.look(after=6000.0)
        assert looks.watch.place == place
    assert not (Path(command[-1]).parent / "aie-partitions.calls").exists()
