"""What a model folder was made for: the Ryzen AI release, and NPU alone or hybrid, as its files tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.run.provider_names import provider_key

Mode = Literal["cpu", "gpu", "npu", "hybrid", "npu or hybrid"]

# `_rai_1.8.0_npu_4K`, `-onnx-ryzenai-1.7-hybrid`: names that AMD's releases gave.
_NAMED = re.compile(r"(?:^|[_-])(?:rai|ryzen-?ai)[_-]v?(\d{1,2}\.\d{1,2})(?:\.\d{1,3})*(?=[_-]|$)", re.IGNORECASE)
_VERSION = re.compile(r"(\d{1,2}\.\d{1,2})(?:\.\d{1,3})*")
_NPUS = frozenset({"vitisai", "qnn", "openvino"})
_AMD_LIBRARY = re.compile(r"onnx_custom_ops|vitis_?ai|ryzen", re.IGNORECASE)


@dataclass(frozen=True)
class MadeFor:
    """The Ryzen AI releases ("1.8"; oldest first, () = not known) that a folder fits, and how that is known.

    `contradiction` says in what two of its files disagree ("" = they agree).
    """

    releases: tuple[str, ...] = ()
    source: str = ""
    contradiction: str = ""

    @property
    def words(self) -> str:
        """ "Ryzen AI 1.7 or 1.8", "" where nothing is known."""
        return f"Ryzen AI {' or '.join(self.releases)}" if self.releases else ""


def is_amd_library(name: str | None) -> bool:
    """Whether a custom-operator library is one of AMD's, by its name."""
    return name is not None and _AMD_LIBRARY.search(name) is not None


def made_for(
    name: str,
    providers: Sequence[str],
    sessions: Sequence[Mapping[str, Any]],
    prompt_limits: Mapping[str, int],
) -> MadeFor:
    """The release of a folder called `name`: by the name, else rai_config.json, else the shape of genai_config.json."""
    shape = _by_shape({provider_key(provider) for provider in providers}, sessions)
    named = _NAMED.search(name)
    if named is not None:
        release = named[1]
        known = {"1.3", "1.4", "1.5", "1.6", "1.7", "1.8"}
        if shape and release not in shape and release in known:
            words = f"the folder's name says {release}, and its genai_config.json has the shape of {' or '.join(shape)}"
            return MadeFor((release,), "the folder's name", words)
        return MadeFor((release,), "the folder's name")
    listed = {match[1] for version in prompt_limits if (match := _VERSION.fullmatch(version))}
    if listed:
        return MadeFor(tuple(sorted(listed, key=_order)), "rai_config.json")
    return MadeFor(shape, "the shape of genai_config.json" if shape else "")


def _order(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def _by_shape(providers: set[str], sessions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    if "ryzenai" in providers:
        return ("1.7", "1.8")
    library = next((str(s["custom_ops_library"]) for s in sessions if s.get("custom_ops_library")), None)
    if any("custom_allocator" in session for session in sessions) or "vitis_ai" in (library or ""):
        return ("1.3", "1.4", "1.5")
    if is_amd_library(library):
        amd = any("config_entries" in session or "amd_options" in session for session in sessions)
        return ("1.6",) if amd else ("1.3", "1.4", "1.5", "1.6")
    vaip = any("vaip_llm" in str(session.get("provider_options")) for session in sessions)
    return ("1.3", "1.4") if vaip else ()


def mode_of(
    name: str,
    providers: Sequence[str],
    sessions: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
) -> Mode:
    """What a run keeps busy, as the folder declares it. `entries` are the options of providers and config_entries."""
    kinds = {provider_key(provider) for provider in providers} - {"cpu"}
    backend = next((str(e["hybrid_opt_token_backend"]).lower() for e in entries if "hybrid_opt_token_backend" in e), "")
    if "ryzenai" in kinds:
        return "npu" if backend == "npu" else "hybrid"
    if kinds:
        return "npu" if kinds & _NPUS else "gpu"
    library = next((str(s["custom_ops_library"]) for s in sessions if s.get("custom_ops_library")), None)
    if not is_amd_library(library):
        return "cpu"
    # Ryzen AI up to 1.6 names no provider: its operators come in a library.
    if backend:
        return "npu" if backend == "npu" else "hybrid"
    if "vitis_ai" in (library or ""):
        return "npu"
    if any("custom_allocator" in session for session in sessions):
        return "hybrid"
    by_name = re.search(r"(?:^|[_-])(hybrid|npu|strix)(?=[_-]|$)", name, re.IGNORECASE)
    if by_name is None:
        return "npu or hybrid"
    return "hybrid" if by_name[1].lower() == "hybrid" else "npu"
