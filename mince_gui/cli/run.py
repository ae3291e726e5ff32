"""mince run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import click
from click.core import ParameterSource

from mince_gui.app.estimate import Forecast, forecast, forecast_run
from mince_gui.app.run import create, execute
from mince_gui.app.summary import RunSummary, require_done
from mince_gui.app.timing import RunTiming
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
from mince_gui.cli.order_options import order_of, order_options
from mince_gui.report.answers import Answers
from mince_gui.report.format import amount, count, percent, rate
from mince_gui.report.format import seconds as duration


def print_run(summary: RunSummary) -> None:
    """Scores with their coverage, then the timing."""
    click.echo(f"{summary.subset} on {summary.model} ({summary.device_words}), run {summary.run_id}")
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
    print_timing(summary.timing)
    print_asking({**summary.machine, **summary.asking}, summary.answers)
    for key, cause in list(summary.missing.items())[:10]:
        click.echo(f"! item {key} is missing: {cause}")


def print_timing(timing: RunTiming) -> None:
    """Wall clock, tokens and rates of the run, then median and spread per item."""
    parts = [f"{duration(timing.wall_seconds)} in {timing.mode or 'standard'} timing"]
    if timing.load_seconds is not None:
        parts.append(f"beside {duration(timing.load_seconds)} of loading")
        if timing.warmup_seconds is not None:
            parts[-1] += f" and {duration(timing.warmup_seconds)} of warm-up"
    parts.append(f"threads {count(timing.threads, absent='as ONNX Runtime chose')}")
    click.echo("; ".join(parts))
    if timing.input_tokens is not None:
        kept = timing.read_tokens is not None and timing.read_tokens < timing.input_tokens
        read = f", {count(timing.read_tokens)} of them read item by item" if kept else ""
        click.echo(
            f"{count(timing.input_tokens)} tokens in{read}, {count(timing.output_tokens, absent='none')} out; over the "
            f"run prefill {rate(timing.prefill_rate)}, decode {rate(timing.decode_rate)}"
        )
    rows = [
        (line.name, *(amount(v, line.unit) for v in (line.median, line.p25, line.p75, line.p95)), count(line.items))
        for line in timing.spread
    ]
    if rows:
        click.echo(table(("per item", "median", "25 %", "75 %", "95 %", "items"), rows))


def print_asking(asking: Mapping[str, str], answers: Answers) -> None:
    """How items were asked and scored, and what became of the answers besides their scores."""
    for name, words in asking.items():
        # A pack's or a folder's names come from elsewhere.
        click.echo(f"{name}: {visible(shorten(words, 300, placeholder=' ...'))}")
    for _, whole in answers.words():
        click.echo(f"! {whole}")


def _refuse_options(ctx: click.Context) -> None:
    """A resumed run has its options; another one beside --resume would be passed over in silence."""
    kept = {"resume", "events", "wait", "only_estimate", "workspace", "as_json"}
    given = [
        "--" + name.replace("_", "-").removesuffix("-dir")
        for name in ctx.params
        if name not in kept and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--resume takes its options from the run; leave out {', '.join(sorted(given))}.")


def _print_forecast(found: Forecast, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
    else:
        click.echo(found.words)


def _jsonl(event: Event) -> None:
    click.echo(to_json(event))


@click.command("run")
@click.option("--model", "model_dir", type=click.Path(path_type=Path, file_okay=False), help="An OGA model folder.")
@click.option("--subset", help="A pack's file or name, a subset's file, or 'full' (default: the only pack).")
@order_options
@click.option("--wait", is_flag=True, help="Wait while another run has the device (default: refuse).")
@click.option("--estimate", "only_estimate", is_flag=True, help="Say how long it would take, and run nothing.")
@click.option("--resume", metavar="RUN", help="Go on with an interrupted or stopped run.")
@click.option("--events", type=click.Choice(("live", "jsonl", "none")), default="live", show_default=True)
@workspace_option
@json_option
@click.pass_context
def run_command(
    ctx: click.Context,
    /,
    model_dir: Path | None,
    subset: str | None,
    wait: bool,
    only_estimate: bool,
    resume: str | None,
    events: str,
    workspace: Path,
    as_json: bool,
    **given: Any,
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
            order = order_of(model_dir, subset, given)
            if only_estimate:
                _print_forecast(forecast(workspace, order), as_json=as_json)
                return
            resume = create(workspace, order)
        else:
            _refuse_options(ctx)
        expected = forecast_run(workspace, resume)
        if only_estimate:
            _print_forecast(expected, as_json=as_json)
            return
        if events == "live":
            click.echo(f"estimate: {expected.words}", err=True)
        summary = execute(workspace, resume, emit=emit, cancel=cancel, wait=wait)
    if as_json:
        print_json({**summary.to_json(), "estimate": expected.to_json()})
    elif events != "jsonl":
        print_run(summary)
    require_done(summary)


COMMANDS = {"run": run_command}
