"""What a probe finds: of real Pythons here, and of hellos as AMD's environments would send them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mince_gui.run import Deadlines, Runtime, bundled_runtime, external_runtime
from mince_gui.run.protocol import PROTOCOL, DevicesResult, Hello
from mince_gui.run.runtime_facts import RuntimeFacts, facts_of, probe_runtime, release_of

_RUNTIME = Runtime("rai", ("python",), "external")


def _hello(packages: dict[str, str], *, error: str | None = None, oga: str | None = "?") -> Hello:
    genai = sorted(name for name in packages if name.startswith("onnxruntime-genai"))
    version = next((packages[name] for name in genai), None) if oga == "?" else oga
    return Hello(
        protocol=PROTOCOL, python="3.12.4", executable="python", pid=1, platform="Windows-11", oga_version=version,
        distribution=", ".join(genai) or None, ort_version=None, packages=packages, import_seconds=1.0, error=error,
    )  # fmt: skip


def _facts(packages: dict[str, str], *providers: str) -> RuntimeFacts:
    return facts_of(_RUNTIME, _hello(packages), DevicesResult(providers, (), None))


@pytest.fixture(scope="module")
def second_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of another environment, real in all but its packages: those are this one's."""
    folder = tmp_path_factory.mktemp("runtimes") / "second"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    ours = [entry for entry in sys.path if entry.endswith("site-packages")]
    site = next(folder.glob("Lib/site-packages" if os.name == "nt" else "lib/python3*/site-packages"))
    (site / "packages.pth").write_text("\n".join(ours), encoding="utf-8")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def test_the_bundled_runtime_is_probed() -> None:
    facts = probe_runtime(bundled_runtime())
    assert (facts.name, facts.kind, facts.error, facts.release) == ("bundled", "bundled", None, None)
    assert facts.can_run == {"cpu"}
    assert facts.wheel == "public wheel, CPU"
    assert "CPUExecutionProvider" in facts.providers
    assert facts.refused_tokenizers == ()
    assert facts.oga_version == facts.packages["onnxruntime-genai"]


def test_another_environment_is_probed_and_its_facts_can_be_kept(second_python: Path) -> None:
    facts = probe_runtime(external_runtime(second_python))
    assert (facts.name, facts.kind, facts.error) == ("second", "external", None)
    assert Path(facts.executable) == second_python
    assert facts.oga_version == probe_runtime(bundled_runtime()).oga_version
    assert RuntimeFacts.from_json(json.loads(json.dumps(facts.to_json()))) == facts
    assert RuntimeFacts.from_json({"name": "of another version"}) is None


def test_a_python_without_oga_has_facts_with_a_remedy(second_python: Path) -> None:
    python = second_python.parent.parent.parent / "bare" / second_python.relative_to(second_python.parent.parent)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(python.parent.parent)], check=True)
    facts = probe_runtime(external_runtime(python))
    assert facts.error is not None
    assert "onnxruntime_genai" in facts.error
    assert facts.can_run == frozenset()
    assert facts.python is not None
    assert facts.cause
    assert facts.remedy


def test_a_runtime_that_crashes_or_says_nothing_has_facts_in_bounded_time(
    script_runtime: Callable[[str], Runtime],
) -> None:
    crashed = probe_runtime(
        script_runtime("import sys; sys.stderr.write('DLL load failed while importing x'); sys.exit(3)")
    )
    assert crashed.error is not None
    assert "did not start" in crashed.error
    assert crashed.remedy
    silent = probe_runtime(
        script_runtime("import threading; threading.Event().wait()"),
        deadlines=Deadlines(start=0.5, busy_factor=1.0, ask=0.1, terminate=0.1),
    )
    assert silent.error is not None
    assert "said nothing" in silent.error


def test_amds_environments_are_known_by_their_packages() -> None:
    cases = {
        "1.6": {"onnxruntime-genai-directml-ryzenai": "0.9.2", "onnxruntime-vitisai": "1.22.0"},
        "1.7": {"onnxruntime-genai-directml-ryzenai": "0.11.2", "ryzen-ai-lt": "1.7.0"},
        "1.7.1": {
            "onnxruntime-genai-directml-ryzenai": "0.11.2",
            "ryzenai-dynamic-dispatch": "1.7.1",
            "onnxruntime-providers-ryzenai": "0.11.1",
        },
        "1.8": {"onnxruntime-genai-directml-ryzenai": "0.14.0", "onnxruntime-providers-ryzenai": "1.8.0"},
    }
    for release, packages in cases.items():
        facts = _facts(packages)
        assert facts.release == release
        assert facts.wheel == "AMD's wheel, Ryzen AI"
        assert {"cpu", "ryzenai", "dml"} <= facts.can_run
        assert facts.warnings == ()
    assert "vitisai" in _facts(cases["1.6"]).can_run
    assert release_of("0.9.2.2", {}) == "1.6"
    assert release_of("0.18.0", {}) is None


def test_a_public_wheel_promises_what_it_was_built_for() -> None:
    assert _facts({"onnxruntime-genai-cuda": "0.14.0"}).can_run == {"cpu", "cuda"}
    assert _facts({"onnxruntime-genai-directml": "0.14.0"}).can_run == {"cpu", "dml"}
    assert _facts({"onnxruntime-genai-winml": "0.14.0"}).can_run == {"cpu", "vitisai"}
    # DirectML in onnxruntime alone is not enough: OGA must know it.
    assert _facts({"onnxruntime-genai": "0.14.0"}, "DmlExecutionProvider", "QNNExecutionProvider").can_run == {
        "cpu", "qnn"}  # fmt: skip


def test_the_public_wheel_in_amds_environment_is_told() -> None:
    facts = _facts(
        {"onnxruntime-genai": "0.11.2", "ryzenai-dynamic-dispatch": "1.7.1", "onnxruntime-vitisai": "1.23.3"}
    )
    assert "ryzenai" not in facts.can_run
    assert any("onnxruntime-genai-directml-ryzenai" in warning for warning in facts.warnings)
    # Since 0.12 the public OGA has the provider's other half.
    newer = _facts({"onnxruntime-genai": "0.14.0", "onnxruntime-providers-ryzenai": "1.8.0"})
    assert "ryzenai" in newer.can_run
    assert newer.warnings == ()


def test_mixed_wheels_are_told() -> None:
    facts = _facts({
        "onnxruntime-genai-directml-ryzenai": "0.11.2", "onnxruntime-vitisai": "1.23.3", "onnxruntime": "1.26.0",
        "onnxruntime-extensions": "0.14",
    })  # fmt: skip
    assert len(facts.warnings) == 1
    assert "onnxruntime 1.26.0, onnxruntime-vitisai 1.23.3" in facts.warnings[0]
    both = _facts({"onnxruntime-genai": "0.14.0", "onnxruntime-genai-cuda": "0.14.0"})
    assert both.wheel == "several wheels"
    assert any("keep one" in warning for warning in both.warnings)


def test_tokenizers_that_an_older_oga_refuses_are_named() -> None:
    for version in ("0.7.0", "0.9.2.2", "0.11.2"):
        assert _facts({"onnxruntime-genai": version}).refused_tokenizers == ("TokenizersBackend",)
    assert _facts({"onnxruntime-genai": "0.14.0"}).refused_tokenizers == ()


def test_dll_failures_are_translated() -> None:
    said = "ImportError: DLL load failed while importing onnxruntime_genai: The specified module could not be found."
    facts = facts_of(_RUNTIME, _hello({"onnxruntime-genai": "0.14.0"}, error=said, oga=None), None)
    assert facts.error == said
    assert facts.cause
    assert facts.remedy
    assert facts.can_run == frozenset()


def test_a_path_beyond_ascii_is_told() -> None:
    runtime = dataclasses.replace(_RUNTIME, command=("/home/Håkansson/env/bin/python",))
    facts = facts_of(runtime, _hello({"onnxruntime-genai": "0.14.0"}), None)
    assert any("beyond ASCII" in warning for warning in facts.warnings)
