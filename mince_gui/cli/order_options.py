"""The options of a run besides its model and subset, for `mince run` and `mince queue add`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from mince_gui.app.run import RunOrder
from mince_gui.cli.console import AMOUNT

F = TypeVar("F", bound=Callable[..., Any])

_GIGABYTE = 1e9


_OPTIONS = (
    click.option("--task", help="The task, where the benchmark has several (GSM8K: gsm8k_cot, ...)."),
    click.option(
        "--runtime", metavar="NAME|PYTHON", help="A registered runtime, or a Python that has onnxruntime-genai."
    ),
    click.option(
        "--timing",
        type=click.Choice(("standard", "fast")),
        default="standard",
        show_default=True,
        help="fast: for choices, shared examples are read once, where that was seen to change no logit.",
    ),
    click.option("--threads", type=click.IntRange(1), help="Threads of ONNX Runtime."),
    click.option("--chat-template", default="auto", show_default=True, metavar="auto|none|FILE"),
    click.option("--system-prompt", metavar="TEXT", help="A system message; before a plain prompt it stands as it is."),
    click.option("--limit", type=click.IntRange(1), help="Only so many items of the subset, drawn at random."),
    click.option("--max-new-tokens", type=click.IntRange(1), help="Cap of generated tokens (default: the task's)."),
    click.option(
        "--max-item-seconds",
        type=AMOUNT,
        metavar="S",
        help="Cut an answer that takes longer (default: no limit).",
    ),
    click.option(
        "--worker-memory",
        type=AMOUNT,
        metavar="GB",
        help="Replace the worker between two items once it has more memory.",
    ),
    click.option(
        "--precision",
        metavar="WORD",
        help="Of the weights, such as int4, for a folder whose files do not tell it (NPU builds).",
    ),
    click.option("--trust-native-code", is_flag=True, help="Allow a model folder that loads a library of its own."),
)


def order_options(command: F) -> F:
    """Every option of an order but --model and --subset; `order_of` takes them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def order_of(model_dir: Path, subset: str | None, given: Mapping[str, Any]) -> RunOrder:
    """The order; `given` are the values of `order_options` by their parameters' names."""
    memory = given["worker_memory"]
    rest = {name: value for name, value in given.items() if name != "worker_memory"}
    return RunOrder(model_dir, subset, **rest, worker_bytes=None if memory is None else round(memory * _GIGABYTE))
