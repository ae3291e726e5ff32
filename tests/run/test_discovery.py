"""Finding AMD's environments in folder trees of both systems."""

from __future__ import annotations

from pathlib import Path

from mince_gui.run.discovery import environments, installation_of, provider_library, python_in


def _touch(*files: Path) -> Path:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    return files[0]


def test_conda_environments_named_after_a_release_are_found_on_windows(tmp_path: Path) -> None:
    home, data = tmp_path / "Users" / "eva", tmp_path / "ProgramData"
    mine = _touch(home / "miniforge3/envs/ryzen-ai-1.7.1/python.exe")
    shared = _touch(data / "anaconda3/envs/ryzen-ai-1.8.0/python.exe")
    _touch(home / "miniforge3/envs/other/python.exe", home / "miniforge3/envs/ryzen-ai-empty/readme.txt")
    found = environments({"USERPROFILE": str(home), "PROGRAMDATA": str(data)}, home, windows=True)
    assert [(c.python, c.name) for c in found] == [(mine, "ryzen-ai-1.7.1"), (shared, "ryzen-ai-1.8.0")]
    assert all("conda environment" in c.found for c in found)


def test_the_conda_that_is_active_is_looked_into(tmp_path: Path) -> None:
    python = _touch(tmp_path / "somewhere/conda/envs/ryzen-ai-1.6.0/bin/python")
    base = tmp_path / "somewhere/conda"
    for env in (
        {"CONDA_EXE": str(base / "bin/conda")},
        {"CONDA_PREFIX": str(base)},
        {"CONDA_PREFIX": str(base / "envs/ryzen-ai-1.6.0")},
        {"MAMBA_ROOT_PREFIX": str(base)},
    ):
        assert [c.python for c in environments(env, tmp_path / "home", windows=False, root=tmp_path)] == [python]


def test_condas_own_list_is_read(tmp_path: Path) -> None:
    python = _touch(tmp_path / "d/ryzen-ai-1.7.0/python.exe")
    other = tmp_path / "d/ryzen/other"
    listing = tmp_path / "home/.conda/environments.txt"
    listing.parent.mkdir(parents=True)
    listing.write_text(f"{python.parent}\n{other}\n{tmp_path / 'gone/ryzen-ai-1.5.0'}\n", encoding="utf-8")
    found = environments({}, tmp_path / "home", windows=True)
    assert [(c.python, c.found) for c in found] == [(python, "conda's list of environments")]


def test_what_variables_name_comes_first_and_each_python_once(tmp_path: Path) -> None:
    named = _touch(tmp_path / "ryzen_ai/venv/bin/python")
    library = _touch(tmp_path / "ryzen_ai/venv/deployment/lib/libonnxruntime_providers_ryzenai.so")
    conda = _touch(tmp_path / "miniforge3/envs/ryzen-ai-1.8.0/bin/python")
    env = {"RYZEN_AI_INSTALLATION_PATH": str(named.parent.parent), "RYZENAI_EP_PATH": str(library)}
    found = environments(env, tmp_path, windows=False, root=tmp_path)
    assert [c.python for c in found] == [named, conda]
    assert found[0].found == "RYZEN_AI_INSTALLATION_PATH"
    assert found[0].name == "ryzen_ai"
    only_library = environments({"RYZENAI_EP_PATH": str(library)}, tmp_path / "none", windows=False, root=tmp_path)
    assert [(c.python, c.found) for c in only_library] == [(named, "RYZENAI_EP_PATH")]


def test_linux_installations_lie_in_the_home_folder_or_in_opt(tmp_path: Path) -> None:
    home = tmp_path / "home/eva"
    mine = _touch(home / "ryzen_ai-1.7.1/venv/bin/python")
    opt = _touch(tmp_path / "opt/ryzen-ai/venv/bin/python")
    _touch(home / "project/venv/bin/python")
    found = environments({}, home, windows=False, root=tmp_path)
    assert {(c.python, c.name) for c in found} == {(mine, "ryzen_ai-1.7.1"), (opt, "ryzen-ai")}


def test_a_machine_without_any_has_none(tmp_path: Path) -> None:
    for windows in (True, False):
        assert environments({}, tmp_path / "none", windows=windows, root=tmp_path) == []
    assert python_in(tmp_path, windows=True) is None


def test_a_linux_environment_brings_its_provider_library(tmp_path: Path) -> None:
    python = _touch(tmp_path / "venv/bin/python")
    assert installation_of(python, {}, windows=False) is None
    library = _touch(tmp_path / "venv/deployment/lib/libonnxruntime_providers_ryzenai.so")
    assert installation_of(python, {}, windows=False) == tmp_path / "venv"
    assert provider_library(python, {}, windows=False) == library


def test_a_windows_installation_serves_the_environment_of_its_release_only(tmp_path: Path) -> None:
    library = _touch(tmp_path / "Program Files/RyzenAI/1.8.0/deployment/onnxruntime_providers_ryzenai.dll")
    env = {"RYZEN_AI_INSTALLATION_PATH": str(tmp_path / "Program Files/RyzenAI/1.8.0")}
    same = _touch(tmp_path / "envs/ryzen-ai-1.8.0/python.exe")
    older = _touch(tmp_path / "envs/ryzen-ai-1.7.1/python.exe")
    plain = _touch(tmp_path / "envs/office/Scripts/python.exe")
    assert provider_library(same, env, windows=True) == library
    assert provider_library(older, env, windows=True) is None
    assert provider_library(plain, env, windows=True) is None
