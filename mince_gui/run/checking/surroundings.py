"""The facts of a folder among its surroundings: device, release, lengths, native code, size, path, machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mince_gui.run.checking.phrases import ASCII_PATH, TRUST
from mince_gui.run.checking.types import Fact, Machine
from mince_gui.run.model_folder import ModelFolder
from mince_gui.run.provider_names import provider_key

_MANY_FILES = 1_000
_LONG_PATH, _LONGEST_PATH = 200, 259
_GB = 1 << 30
_OTHER_NPUS = frozenset({"qnn", "openvino"})


def surrounding_facts(folder: ModelFolder, machine: Machine, *, trusted: bool) -> Iterator[Fact]:
    """Everything that does not need the graph or the tokenizer."""
    yield _device(folder, machine)
    yield _release(folder)
    yield from _lengths(folder)
    yield from _native_code(folder, trusted)
    yield from _sampling(folder)
    yield from _size(folder, machine)
    yield from _path(folder.path, machine)


def _device(folder: ModelFolder, machine: Machine) -> Fact:
    words = folder.device
    if _wants_amd_npu(folder):
        if folder.mode == "hybrid" and machine.system == "Linux":
            return Fact(
                "device",
                "bad",
                f"{words}; hybrid models are for Windows: on Linux they fall back to NPU and CPU, at about a tenth of "
                "the speed",
                "Take the NPU-only model of the same release.",
            )
        if machine.npu_runs_llms is False:
            return Fact(
                "device",
                "bad",
                f"{words}; this machine has {machine.npu}, which cannot run language models",
                "Run it on Ryzen AI 300 or newer (XDNA2), or take a model for the CPU or GPU.",
            )
        if machine.npu == "":
            return Fact(
                "device",
                "bad",
                f"{words}; this machine has no AMD NPU",
                "Run it on a machine that has one, or take a model for the CPU or GPU.",
            )
        if machine.npu is None:
            return Fact("device", "warn", f"{words}; which NPU this machine has could not be read")
        return Fact("device", "good", f"{words}; this machine has {machine.npu}")
    return Fact("device", "good", words)


def _wants_amd_npu(folder: ModelFolder) -> bool:
    others = {provider_key(name) for name in folder.providers} & _OTHER_NPUS
    return folder.mode in ("npu", "hybrid", "npu or hybrid") and not others


def _release(folder: ModelFolder) -> Fact:
    made = folder.made_for
    if made.contradiction:
        return Fact("release", "warn", f"{made.words}, but {made.contradiction}", "Ask where the folder comes from.")
    if made.releases:
        return Fact("release", "good", f"{made.words} (by {made.source}); models of other releases do not run")
    if not _wants_amd_npu(folder):
        return Fact("release", "good", "bound to no Ryzen AI release")
    return Fact("release", "warn", "the Ryzen AI release it was made for cannot be told; models of other releases fail")


def _lengths(folder: ModelFolder) -> Iterator[Fact]:
    by = ", ".join(key for key, limit in folder.limits if limit == folder.ceiling)
    others = ", ".join(f"{key} {limit:,}" for key, limit in folder.limits if limit != folder.ceiling)
    words = f"{folder.ceiling:,} tokens, prompt and answer together (by {by}{f'; {others}' if others else ''})"
    yield Fact("context", "good", words)
    if folder.kv_length is not None:
        yield Fact("KV cache", "good", f"of a fixed length, {folder.kv_length:,} tokens: every item is run with that")
    if folder.prompt_limits:
        listed = ", ".join(f"{limit:,} (Ryzen AI {version})" for version, limit in folder.prompt_limits.items())
        words = f"rai_config.json limits the prompt alone: {listed} tokens; longer prompts fail"
        yield Fact("prompt", "warn", words, "Prefer subsets with short prompts, or fewer few-shot examples.")


def _native_code(folder: ModelFolder, trusted: bool) -> Iterator[Fact]:
    library = folder.custom_ops_library
    if library is None:
        return
    if os.path.isabs(library) or "\\" in library or "/" in library:  # noqa: PTH117 - also Windows paths on Linux
        where = "by its path"
    elif (folder.path / library).is_file():
        where = "and lies in the folder; a bare name is looked for in the current directory and on PATH"
    else:
        where = "which the runtime must bring; a bare name is looked for in the current directory and on PATH"
    words = f"loading it runs native code: {library}, {where}"
    if trusted:
        yield Fact("native code", "warn", f"{words}; trusted by --trust-native-code")
    else:
        yield Fact("native code", "bad", words, TRUST)


def _sampling(folder: ModelFolder) -> Iterator[Fact]:
    if folder.search.get("do_sample") is True:
        how = ", ".join(
            f"{key} {folder.search[key]}" for key in ("temperature", "top_k", "top_p") if key in folder.search
        )
        words = f"the folder asks for sampling{f' ({how})' if how else ''}; runs here are greedy"
        yield Fact("sampling", "warn", f"{words}, so other tools' answers from this folder differ")


def _size(folder: ModelFolder, machine: Machine) -> Iterator[Fact]:
    count, total, unread = 0, 0, ""

    def failed(error: OSError) -> None:
        nonlocal unread
        unread = unread or f"; {error.filename} cannot be read"

    for root, _, names in os.walk(folder.path, onerror=failed):
        for name in names:
            count += 1
            try:
                total += os.stat(os.path.join(root, name)).st_size  # noqa: PTH116, PTH118 - thousands of files
            except OSError as exc:
                failed(exc)
    files = f"{count:,} file{'s' if count != 1 else ''}, {size_words(total)}"
    if count > _MANY_FILES:
        yield Fact("files", "warn", f"{files}: copying and checking takes long{unread}")
    else:
        yield Fact("files", "warn" if unread else "good", f"{files}{unread}")
    yield from _memory(folder, total, machine)


def _memory(folder: ModelFolder, size: int, machine: Machine) -> Iterator[Fact]:
    free, total = machine.free_memory, machine.total_memory
    if free is None or total is None:
        yield Fact("memory", "warn", f"{size_words(size)} of files; how much memory is free could not be read")
        return
    shared = folder.mode not in ("cpu", "gpu") and machine.system == "Windows"
    limit = total // 2 if shared else total
    whose = "the half of the memory that Windows gives NPU and GPU" if shared else "this machine's memory"
    words = f"{size_words(size)} of files, {size_words(free)} of {size_words(total)} free"
    if size > limit:
        remedy = "Take a smaller model, or a machine with more memory."
        yield Fact("memory", "bad", f"{words}: it does not fit into {whose} ({size_words(limit)})", remedy)
    elif size > 0.8 * min(free, limit):
        yield Fact("memory", "warn", f"{words}: it is close", "Close other programs before the run.")
    else:
        yield Fact("memory", "good", words)


def _path(path: Path, machine: Machine) -> Iterator[Fact]:
    if machine.system != "Windows":
        return
    whole = str(path.resolve())
    if not whole.isascii():
        yield Fact(
            "path",
            "warn",
            "has letters outside ASCII, which some versions of OGA and of AMD's stack cannot read",
            ASCII_PATH,
        )
    longest = max((len(os.path.join(root, name)) for root, _, names in os.walk(whole) for name in names), default=0)  # noqa: PTH118
    if longest > _LONG_PATH:
        words = f"its longest file path has {longest} characters; native libraries take up to {_LONGEST_PATH}"
        too_long = longest > _LONGEST_PATH
        yield Fact("path", "bad" if too_long else "warn", words, "Move it to a short path such as C:\\models.")


def size_words(size: int) -> str:
    """A size in bytes for people: "86 MB", "4.2 GB"."""
    if size >= _GB:
        return f"{size / _GB:.1f} GB"
    return f"{size / (1 << 20):.0f} MB" if size >= 1 << 20 else f"{size / 1024:.0f} kB"
