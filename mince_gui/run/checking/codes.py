"""The exit codes of workers that native code ended, with cause and remedy."""

from __future__ import annotations

from mince_gui.run.checking.phrases import CHECK, COPY, MEMORY, VISUAL_CPP
from mince_gui.run.checking.types import Remedy

_MISMATCH = (
    "Most often model and runtime do not belong together: another Ryzen AI release, the wrong provider, or a DLL of "
    "another release on PATH."
)
_CODES = {
    # RyzenAI-SW#346, foundry-local#832
    0xC0000005: Remedy(
        f"Native code reached for memory that is not its own (access violation, 0xC0000005). {_MISMATCH}",
        f"{CHECK} If they belong together: update the NPU driver, and try a smaller context.",
    ),
    # RyzenAI-SW#332
    0xC0000409: Remedy(
        f"Native code gave up without an error message (fail-fast, 0xC0000409). {_MISMATCH}",
        f"{CHECK} If they belong together: update the NPU driver to the one that the release asks for.",
    ),
    0xC0000374: Remedy(f"Native code damaged its own memory (heap corruption, 0xC0000374). {_MISMATCH}", CHECK),
    0xE06D7363: Remedy(f"An error of native code was caught by nobody (0xE06D7363). {_MISMATCH}", CHECK),
    0xC0000135: Remedy("A DLL that the runtime needs is missing (0xC0000135).", VISUAL_CPP),
    0xC0000139: Remedy(
        "A DLL lacks a function that another one needs (0xC0000139): DLLs of two versions are mixed.",
        "Make the runtime's environment again, with one onnxruntime wheel only, and keep folders of other releases out "
        "of PATH.",
    ),
    0xC0000142: Remedy("A DLL could not start (0xC0000142).", VISUAL_CPP),
    # FastFlowLM#708
    0xC00002B6: Remedy(
        "The NPU went offline (0xC00002B6).",
        "Restart the machine, then go on with the run: nothing that was finished is lost. If it comes back, update the "
        "NPU driver.",
    ),
    0xC0000017: Remedy("The memory was not enough (0xC0000017).", MEMORY),
    0xC0000006: Remedy(
        "A part of a file could not be read from its disk (0xC0000006): the drive was removed, or the network is gone.",
        "Keep the model on a disk of this machine.",
    ),
    0xC000001D: Remedy(
        "A native library was built for another processor (illegal instruction, 0xC000001D).",
        "Use a runtime whose wheels are made for this processor.",
    ),
}
_SIGNALS = {
    9: Remedy("The system, most often for want of memory, or somebody killed the worker (SIGKILL).", MEMORY),
    11: Remedy(f"Native code reached for memory that is not its own (SIGSEGV). {_MISMATCH}", CHECK),
    6: Remedy(f"Native code gave up (SIGABRT); its last words may say why. {_MISMATCH}", CHECK),
    4: Remedy(
        "A native library was built for another processor (SIGILL).",
        "Use a runtime whose wheels are made for this processor.",
    ),
    7: Remedy(
        "A part of a file could not be read (SIGBUS): it was cut short while in use, or its drive is gone.", COPY
    ),
}


def explain_code(code: int) -> Remedy | None:
    """Cause and remedy of an exit code as Python gives it: NTSTATUS, signed or not, or a negated signal.

    None where it is not known; 0 is no fault.
    """
    if -64 <= code < 0:
        return _SIGNALS.get(-code)
    return _CODES.get(code & 0xFFFFFFFF)
