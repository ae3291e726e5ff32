"""The check of a model folder: its facts, the runtimes that can run it, and what to do where none can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui.run.checking.fitting import fit, needed_providers, needs_operators, verdict_words, what_to_install
from mince_gui.run.checking.precision import graph_facts
from mince_gui.run.checking.providers import provider_title
from mince_gui.run.checking.surroundings import surrounding_facts
from mince_gui.run.checking.types import Fact, Machine, RuntimeView, Verdict
from mince_gui.run.checking.words import word_facts
from mince_gui.run.model_folder import ModelFolder, read_model_folder


@dataclass(frozen=True)
class ModelCheck:
    """What is known of a model folder before it is loaded.

    `ok`: some runtime can run it as it is. `verdict` says so, or why not; `remedy` what to do then ("" = nothing).
    """

    folder: ModelFolder
    facts: tuple[Fact, ...]
    verdicts: tuple[Verdict, ...]
    ok: bool
    verdict: str
    remedy: str

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        folder = self.folder
        return {
            "path": str(folder.path), "name": folder.name, "device": folder.device, "mode": folder.mode,
            "providers": [] if needs_operators(folder) else list(needed_providers(folder)),
            "releases": list(folder.made_for.releases),
            "ceiling": folder.ceiling, "limits": dict(folder.limits), "kv_length": folder.kv_length,
            "prompt_limits": dict(folder.prompt_limits), "eos_ids": list(folder.eos_ids), "bos_id": folder.bos_id,
            "custom_ops_library": folder.custom_ops_library,
            "facts": [{"topic": f.topic, "level": f.level, "words": f.words, "remedy": f.remedy} for f in self.facts],
            "runtimes": [{"name": v.runtime, "can_run": v.fits, "words": v.words} for v in self.verdicts],
            "ok": self.ok, "verdict": self.verdict, "remedy": self.remedy,
        }  # fmt: skip


def check_model(
    path: Path, runtimes: Sequence[RuntimeView], machine: Machine, *, trust_native_code: bool = False
) -> ModelCheck:
    """Look at everything that can be told without loading the model; nothing native is loaded.

    Raises InputError for a folder that is none, or whose genai_config.json is broken.
    """
    folder = read_model_folder(path)
    needed = " and ".join(provider_title(name) for name in needed_providers(folder))
    if needs_operators(folder):
        needed = f"none named; AMD's operators come in {folder.custom_ops_library}"
    facts = (
        *graph_facts(folder),
        Fact("provider", "good", needed),
        *surrounding_facts(folder, machine, trusted=trust_native_code),
        *word_facts(folder),
    )
    verdicts = tuple(fit(folder, runtime, machine) for runtime in runtimes)
    verdict, remedy = verdict_words(folder, verdicts), ""
    bad = [fact for fact in facts if fact.level == "bad"]
    able = any(v.fits for v in verdicts)
    if bad:
        # What is wrong with the folder itself comes first: no runtime mends it.
        verdict = f"Not as it is: {bad[0].topic}: {bad[0].words.rstrip('.')}." + ("" if able else f" {verdict}")
        remedy = bad[0].remedy
    elif not able:
        remedy = next((v.remedy for v in verdicts if v.remedy), "") or what_to_install(folder)
    return ModelCheck(folder, facts, verdicts, able and not bad, verdict, remedy)
