"""mince freeze, mince pack, mince subsets."""

from __future__ import annotations

from pathlib import Path

import click

from mince_gui.app.freeze import freeze
from mince_gui.app.listings import list_subsets, unreadable_subsets
from mince_gui.app.pack import differing_words, pack
from mince_gui.cli.console import (
    LiveLine,
    cancel_on_interrupt,
    json_option,
    print_json,
    table,
    visible,
    workspace_option,
)
from mince_gui.report.format import pp
from mince_gui.subset import SAMPLERS
from mince_gui.subset.types import FrozenSubset
from mince_gui.tasks.logged import task_of

_PATH = click.Path(path_type=Path, exists=True)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_EDGE_PP = 1e-9
"""|drift| equal to the bound is within it, whatever the last bit of the floats says."""


def _bound(subset: FrozenSubset) -> str:
    if subset.p95_pp is None:
        return "no bound"
    return f"{subset.bound_title} {pp(subset.p95_pp, signed=False)}, rule {subset.rule or 'not recorded'}"


def _facts(subset: FrozenSubset, path: Path) -> dict[str, object]:
    """A subset as JSON: `bound` is what `p95_pp` is called, null with it."""
    bounded = subset.p95_pp is not None
    return {
        "name": subset.name, "n": subset.n, "sampler": subset.sampler, "p95_pp": subset.p95_pp,
        "bound": subset.bound_title if bounded else None, "rule": subset.rule if bounded else None, "path": str(path),
    }  # fmt: skip


@click.command("freeze")
@click.option("--benchmark", required=True)
@click.option("--n", type=click.IntRange(1), required=True, help="How many items.")
@click.option("--seed", type=click.IntRange(0), default=42, show_default=True)
@click.option("--sampler", type=click.Choice(SAMPLERS), default="uniform", show_default=True)
@click.option("--embeddings", type=_FILE, help="kmeans: one vector per item, .npy (canonical order) or .parquet.")
@click.option("--embedding-model", type=_FOLDER, help="kmeans: an ONNX sentence-embedding folder, in place of a file.")
@click.option("--dataset", type=_PATH, help="kmeans: the items' texts for the model: your dataset, or a whole pack.")
@click.option("--name", help="What to call it, where the usual name (benchmark, n, sampler, seed) is taken.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Where to write it.")
@workspace_option
@json_option
def freeze_command(
    benchmark: str,
    n: int,
    seed: int,
    sampler: str,
    embeddings: Path | None,
    embedding_model: Path | None,
    dataset: Path | None,
    name: str | None,
    out: Path | None,
    workspace: Path,
    as_json: bool,
) -> None:
    """Draw a subset once and write it to a file: ids and hashes, no item texts.

    Shown is the drift of the calibration models on these items, a line per metric; --json has it of every model.
    """
    with cancel_on_interrupt() as cancel:
        frozen = freeze(
            workspace,
            benchmark,
            n,
            seed=seed,
            sampler=sampler,
            embeddings=embeddings,
            embedding_model=embedding_model,
            dataset=dataset,
            name=name,
            out=out,
            emit=LiveLine(),
            cancel=cancel,
        )
    subset = frozen.subset
    groups = subset.evidence.get("sampler")
    if as_json:
        body = _facts(subset, frozen.path)
        drifts = {
            model: {
                metric: {"full": full, "subset": part, "drift_pp": drift} for metric, (full, part, drift) in of.items()
            }
            for model, of in subset.drift_table.items()
        }
        clusters = {"clusters": groups["k"], "silhouette": groups["silhouette"]} if groups else {}
        print_json({**body, **clusters, "calibration": drifts})
        return
    if groups:
        click.echo(
            f"{groups['k']} clusters, silhouette {groups['silhouette']:.3f} over {groups['silhouette_items']:,} items"
        )
    click.echo(f"{subset.name}: {subset.n:,} of {subset.total_items:,} items, seed {seed}, {_bound(subset)}")
    if subset.drift_table:
        head = ("metric", "calibration models", "mean |drift|", "largest drift", "of model")
        within = [] if subset.p95_pp is None else [f"within the {subset.bound_title}"]
        click.echo(table((*head, *within), _drifts(subset)))
    click.echo(str(frozen.path))


def _drifts(subset: FrozenSubset) -> list[tuple[str, ...]]:
    """One line per metric: what the calibration models drift on the very items of the subset."""
    rows = list[tuple[str, ...]]()
    for metric in dict.fromkeys(metric for scores in subset.drift_table.values() for metric in scores):
        drifts = {model: scores[metric][2] for model, scores in subset.drift_table.items() if metric in scores}
        worst = max(drifts, key=lambda model: abs(drifts[model]))
        mean = sum(map(abs, drifts.values())) / len(drifts)
        line = (visible(metric), str(len(drifts)), pp(mean, signed=False), pp(drifts[worst]), visible(worst))
        if subset.p95_pp is None:
            rows.append(line)
        else:
            inside = sum(abs(drift) <= subset.p95_pp + _EDGE_PP for drift in drifts.values())
            rows.append((*line, f"{inside} of {len(drifts)}"))
    return rows


@click.command("pack")
@click.option("--subset", help="A frozen subset: its file or its name.")
@click.option("--all", "all_of", metavar="BENCHMARK", help="The whole benchmark instead, for full runs.")
@click.option("--dataset", type=_PATH, help="Your dataset's file or folder, or lm-eval logs (see above).")
@click.option(
    "--fewshot",
    type=_PATH,
    help="The examples (MMLU: dev set, GSM8K: training set) where they are not beside the dataset.",
)
@click.option("--logged-prompts", is_flag=True, help="Take the prompts of an lm-eval log, whatever the benchmark.")
@click.option("--model", metavar="NAME", help="Whose log's prompts to take, where several models' logs are there.")
@click.option("--accept-revision", is_flag=True, help="Take items whose content differs, and record each.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Where to write it.")
@workspace_option
@json_option
def pack_command(
    subset: str | None,
    all_of: str | None,
    dataset: Path | None,
    fewshot: Path | None,
    logged_prompts: bool,
    model: str | None,
    accept_revision: bool,
    out: Path | None,
    workspace: Path,
    as_json: bool,
) -> None:
    """Make a pack: a subset with the content needed to run it offline, checked item by item.

    A benchmark that mince has no prompts of (any multiple_choice or generate_until task of lm-eval) needs no dataset:
    its pack keeps the prompts of an lm-eval log (--log_samples), and is scored as that log was. That is an imported
    log; --dataset names its files where they lie now. Our scorer must give every verdict of the log again, from the
    log's own responses; a metric or filter that it does not is left out, and named.
    """
    with cancel_on_interrupt() as cancel:
        packed = pack(
            workspace,
            dataset,
            subset=subset,
            all_of=all_of,
            fewshot=fewshot,
            logged_prompts=logged_prompts,
            model=model,
            accept_revision=accept_revision,
            out=out,
            emit=LiveLine(),
            cancel=cancel,
        )
    made = packed.pack
    if as_json:
        body = {
            "name": made.subset.name,
            "items": len(made.items),
            "accepted": list(made.accepted_differences),
            "unverified": list(made.unverified),
            "path": str(packed.path),
        }
        if made.logged is not None:
            body["logged"] = {
                "task": made.logged["name"],
                "prompts_of": packed.prompts_of,
                "metrics": list(task_of(made.logged).metrics),
                "proven": packed.proven,
                "left_out": list(packed.left_out),
                "notes": list(packed.notes),
            }
        print_json(body)
        return
    differing = f"; {differing_words(made)}" if made.accepted_differences else ""
    click.echo(f"{made.subset.name}: {len(made.items):,} items{differing}")
    if made.logged is not None:
        task = task_of(made.logged)
        proven = f"{packed.proven:,} of the log's verdicts were given again, all equal"
        scored = f"{', '.join(task.metrics)} ({proven if packed.proven else 'not proven by the log'})"
        click.echo(visible(f"prompts of {task.name} as logged for {packed.prompts_of}; scored: {scored}"))
    click.echo(str(packed.path))


@click.command("subsets")
@workspace_option
@json_option
def subsets_command(workspace: Path, as_json: bool) -> None:
    """List frozen subsets and packs."""
    subsets, packs = list_subsets(workspace)
    faults = unreadable_subsets(workspace)
    if as_json:
        print_json(
            {
                "unreadable": {name: error.message for name, error in faults.items()},
                "subsets": [_facts(s.subset, s.path) for s in subsets],
                "packs": [{"name": p.name, "n": p.n, "is_full": p.is_full, "path": str(p.path)} for p in packs],
            }
        )
        return
    for error in faults.values():
        click.echo(f"! {error.message} {error.remedy}", err=True)
    if not subsets and not packs and not faults:
        click.echo("No subsets yet. Freeze one: mince freeze --benchmark B --n N")
        return
    packed = {p.name for p in packs}
    rows = [
        (
            s.subset.name,
            s.subset.sampler,
            f"{s.subset.n:,}/{s.subset.total_items:,}",
            _bound(s.subset),
            "pack" if s.subset.name in packed else "no pack",
        )
        for s in subsets
    ]
    rows += [(p.name, "full" if p.is_full else "pack only", f"{p.n:,}", "", "pack") for p in packs
             if p.name not in {s.subset.name for s in subsets}]  # fmt: skip
    click.echo(table(("subset", "sampler", "items", "bound", ""), rows, left=2))


COMMANDS = {"freeze": freeze_command, "pack": pack_command, "subsets": subsets_command}
