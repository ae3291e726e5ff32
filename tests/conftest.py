"""Fixtures and guards that every test has."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINCE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("MINCE_WORKSPACE", str(tmp_path / "workspace"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data beside the project; its absence is a named skip."""
    if not SHARED.is_dir():
        pytest.skip("shared data is not beside the project")
    return SHARED
