"""mince run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten

import click
from click.core import ParameterSource

from mince_gui.app.run import RunOrder, create, execute
from mince_gui.app.summary import RunSummary, require_done
from mince_gui.base.events import Emit, Event, ignore, to_json
from mince_gui.cli.console import (
    LiveLine,
    cancel_on_interrupt,
    json_option,
    print_json,
    table,
    visible,
    workspace_option,
)
from mince_gui.report.answers import Answers
from mince_gui.report.format import percent, rate
from mince_gui.report.format import seconds as duration
from mince_gui.run.types import TimingMode


def print_run(summary: RunSummary) -> None:
    """Scores with their coverage, then the timing."""
    click.echo(f"{summary.subset} on {summary.model} ({summary.device or 'device not known'}), run {summary.run_id}")
    coverage = f"{summary.done} of {summary.subset_items} items"
    if summary.items < summary.subset_items:
        coverage += f" (limit {summary.items})"
    rows = [
        (metric, percent(100 * passed / trials if trials else None), f"{passed:g}/{trials:g}",
         coverage)
        for metric, (passed, trials) in summary.scores.items()
    ]  # fmt: skip
    if rows:
        click.echo(table(("metric", "score", "passed", "coverage"), rows))
    click.echo(
        f"{duration(summary.elapsed_seconds)}; time to first token {duration(summary.first_token_seconds)}, "
        f"prefill {rate(summary.prefill_rate)}, decode {rate(summary.decode_rate)} (medians)"
    )
    print_asking(summary.asking, summary.answers)
    for key, cause in list(summary.missing.items())[:10]:
        click.echo(f"! item {key} is missing: {cause}")


def print_asking(asking: Mapping[str, str], answers: Answers) -> None:
    """How items were asked and scored, and what became of the answers besides their scores."""
    for name, words in asking.items():
        # A pack's or a folder's names come from elsewhere.
        click.echo(f"{name}: {visible(shorten(words, 300, placeholder=' ...'))}")
    for _, whole in answers.words():
        click.echo(f"! {whole}")


def _refuse_options(ctx: click.Context) -> None:
    """A resumed run has its options; another one beside --resume would be passed over in silence."""
    kept = {"resume", "events", "workspace", "as_json"}
    given = [
        "--" + name.replace("_", "-").removesuffix("-dir")
        for name in ctx.params
        if name not in kept and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--resume takes its options from the run; leave out {', '.join(sorted(given))}.")


def _jsonl(event: Event) -> None:
    click.echo(to_json(event))


@click.command("run")
@click.option("--model", "model_dir", type=click.Path(path_type=Path, file_okay=False), help="An OGA model folder.")
@click.option("--subset", help="A pack's file or name, a subset's file, or 'full' (default: the only pack).")
@click.option("--task", help="The task, where the benchmark has several (GSM8K: gsm8k_cot, ...).")
@click.option("--runtime", help="A Python that has onnxruntime-genai (default: the bundled one).")
@click.option("--timing", type=click.Choice(("standard", "fast")), default="standard", show_default=True)
@click.option("--threads", type=click.IntRange(1), help="Threads of ONNX Runtime.")
@click.option("--chat-template", default="auto", show_default=True, metavar="auto|none|FILE")
@click.option("--system-prompt", metavar="TEXT", help="A system message; before a plain prompt it stands as it is.")
@click.option("--limit", type=click.IntRange(1), help="Only so many items of the subset, drawn at random.")
@click.option("--max-new-tokens", type=click.IntRange(1), help="Cap of generated tokens (default: the task's).")
@click.option("--trust-native-code", is_flag=True, help="Allow a model folder that loads a library of its own.")
@click.option("--resume", metavar="RUN", help="Go on with an interrupted or stopped run.")
@click.option("--events", type=click.Choice(("live", "jsonl", "none")), default="live", show_default=True)
@workspace_option
@json_option
@click.pass_context
def run_command(
    ctx: click.Context,
    model_dir: Path | None,
    subset: str | None,
    task: str | None,
    runtime: str | None,
    timing: TimingMode,
    threads: int | None,
    chat_template: str,
    system_prompt: str | None,
    limit: int | None,
    max_new_tokens: int | None,
    trust_native_code: bool,
    resume: str | None,
    events: str,
    workspace: Path,
    as_json: bool,
) -> None:
    """Run a model over a subset, item by item, each committed before the next; or resume a run.

    Ctrl-C stops it; nothing that is done is lost.
    """
    emits: dict[str, Emit] = {"live": LiveLine(), "jsonl": _jsonl, "none": ignore}
    emit = emits[events]
    with cancel_on_interrupt() as cancel:
        if resume is None:
            if model_dir is None:
                raise click.UsageError("Give --model (and --subset), or --resume RUN.")
            order = RunOrder(model_dir, subset, task, runtime, timing, threads, chat_template, limit, max_new_tokens,
                             trust_native_code, system_prompt)  # fmt: skip
            resume = create(workspace, order)
        else:
            _refuse_options(ctx)
        summary = execute(workspace, resume, emit=emit, cancel=cancel)
    if as_json:
        print_json(summary.to_json())
    elif events != "jsonl":
        print_run(summary)
    require_done(summary)


COMMANDS = {"run": run_command}
