"""Which runtime can run a model, and what to install where none can."""

from __future__ import annotations

from collections.abc import Sequence

from mince_gui.run.checking.messages import explain
from mince_gui.run.checking.providers import install_for, provider_title
from mince_gui.run.checking.types import Machine, RuntimeView, Verdict
from mince_gui.run.checking.words import tokenizer_class
from mince_gui.run.model_folder import ModelFolder
from mince_gui.run.provider_names import provider_key


def needed_providers(folder: ModelFolder) -> tuple[str, ...]:
    """The providers, as `provider_key` writes them, that a runtime must have: ("cpu",) where none is asked for."""
    asked = tuple(dict.fromkeys(key for name in folder.providers if (key := provider_key(name)) != "cpu"))
    return asked or ("cpu",)


def needs_operators(folder: ModelFolder) -> bool:
    """Whether it names no provider, and needs AMD's operators in its place (Ryzen AI up to 1.6)."""
    return folder.mode != "cpu" and needed_providers(folder) == ("cpu",)


def fit(folder: ModelFolder, runtime: RuntimeView, machine: Machine) -> Verdict:
    """Whether `runtime` can run the model, as far as can be told without loading it."""
    no = _why_not(folder, runtime, machine)
    if no:
        return Verdict(runtime.name, False, no)
    named = tokenizer_class(folder.path)
    if named in runtime.refused_tokenizers:
        words = f"OGA {runtime.oga_version} does not know the tokenizer class {named}"
        known = explain(f"Unsupported tokenizer class: {named}")
        return Verdict(runtime.name, False, words, known.remedy if known is not None else "")
    doubts = _doubts(folder, runtime)
    words = f"OGA {runtime.oga_version}" + (f", {runtime.distribution}" if runtime.distribution else "")
    return Verdict(runtime.name, True, "; ".join([words, *doubts]))


def what_to_install(folder: ModelFolder) -> str:
    """What to carry in and install so that some runtime can run the model."""
    releases = folder.made_for.releases
    newest = releases[-1] if releases else None
    if _needs_amd(folder):
        return install_for("RyzenAI", newest)
    return install_for(needed_providers(folder)[0], newest)


def verdict_words(folder: ModelFolder, verdicts: Sequence[Verdict]) -> str:
    """The verdict over all runtimes in one sentence."""
    able = [verdict.runtime for verdict in verdicts if verdict.fits]
    if able:
        return f"{' and '.join(able)} can run it."
    if not verdicts:
        return "No runtime was looked at."
    # One that has the provider and fails for something smaller says more than what the others lack.
    near = next((verdict for verdict in verdicts if verdict.remedy), None)
    if near is not None:
        return f"None of the runtimes can run it; nearest is {near.runtime}: {near.words}."
    if _needs_amd(folder):
        return f"None of the runtimes can run it: it needs {folder.made_for.words or 'AMD Ryzen AI'}."
    need = ", ".join(provider_title(name) for name in needed_providers(folder))
    if need == provider_title("cpu"):
        return "None of the runtimes can run it: " + "; ".join(f"{v.runtime}: {v.words}" for v in verdicts) + "."
    return f"None of the runtimes can run it: it needs {need}."


def _needs_amd(folder: ModelFolder) -> bool:
    """Whether it needs AMD's own stack: the provider RyzenAI, or AMD's operators without a provider."""
    return "ryzenai" in needed_providers(folder) or needs_operators(folder)


def _why_not(folder: ModelFolder, runtime: RuntimeView, machine: Machine) -> str:
    if runtime.error:
        return runtime.error
    if runtime.oga_version is None:
        return "it has no onnxruntime-genai"
    if folder.mode == "hybrid" and machine.system == "Linux":
        return "hybrid models run on Windows only"
    needed = needed_providers(folder)
    lacking = [provider_title(name) for name in needed if name not in runtime.can_run]
    wheel = f" ({runtime.distribution} {runtime.oga_version})" if runtime.distribution else ""
    if lacking:
        return f"it has no {' and no '.join(lacking)}{wheel}"
    release = _release(runtime)
    wanted = folder.made_for.releases
    if needs_operators(folder) and release is None and "ryzenai" not in runtime.can_run:
        # Operators of a library that AMD's environment brings; the CPU provider alone does not know them.
        return f"it lacks AMD's operators ({folder.custom_ops_library}){wheel}"
    if wanted and release and _bound_to_release(folder) and release not in wanted:
        return f"it belongs to Ryzen AI {release}, and the model was made for {' or '.join(wanted)}"
    return ""


def _doubts(folder: ModelFolder, runtime: RuntimeView) -> list[str]:
    doubts = []
    if _bound_to_release(folder):
        release = _release(runtime)
        if release is None:
            doubts.append("which Ryzen AI release it belongs to is not known")
        elif not folder.made_for.releases:
            doubts.append("which release the model was made for is not known")
        elif len(folder.made_for.releases) > 1:
            doubts.append(f"the model may be for {' or '.join(folder.made_for.releases)}, and this is {release}")
    return doubts


def _bound_to_release(folder: ModelFolder) -> bool:
    return _needs_amd(folder) or bool(folder.made_for.releases)


def _release(runtime: RuntimeView) -> str | None:
    """Major and minor of a runtime's Ryzen AI release: models are bound to these."""
    return ".".join(runtime.release.split(".")[:2]) if runtime.release else None
