"""Make a pack: a frozen subset with the content needed to run it offline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.pack_logged import LoggedContent, has_native_task, logged_content
from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, Warned, ignore
from mince_gui.benchmarks import Benchmark
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import subsets as stored_subsets
from mince_gui.subset import (
    Dataset,
    build_logged_pack,
    build_pack,
    bundled,
    full_subset,
    read_dataset,
    read_subset,
    some_of,
    write_pack,
)
from mince_gui.subset.types import FrozenSubset, Pack


@dataclass(frozen=True)
class Packed:
    """The pack and where its file lies; of a logged one whose prompts it has, and what of its task was left out.

    `proven` counts the verdicts of that log that our scorer gave again from the log's own responses; `notes` say what
    else is to be known of it.
    """

    pack: Pack
    path: Path
    prompts_of: str = ""
    proven: int = 0
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_subset(ws: Workspace, name_or_file: str) -> FrozenSubset:
    """A frozen subset by its file or its name: in the workspace first, then among those that ship with mince.

    Raises UsageError that lists the names, InputError for one that cannot be used any more.
    """
    known = {stored.subset.name: stored.subset for stored in stored_subsets.subsets(ws)}
    if name_or_file in known:
        return known[name_or_file]
    if (fault := stored_subsets.unreadable(ws).get(name_or_file)) is not None:
        raise fault
    path = Path(name_or_file)
    if path.is_file():
        return read_subset(path)
    shipped = {file.stem: file for file in bundled()}
    if name_or_file in shipped:
        return read_subset(shipped[name_or_file])
    raise UsageError(
        f"'{name_or_file}' is neither a file nor a subset of this workspace.",
        f"Known: {', '.join([*known, *(name for name in shipped if name not in known)])}.",
    )


def known_hashes(ws: Workspace, benchmark: str) -> dict[str, str]:
    """Item key -> content hash, from what the workspace and the program know of the benchmark.

    A frozen subset of the workspace counts more than imported logs, these more than a subset that ships with us:
    the full run must be of the same items as the subset's.
    """
    shipped = [subset for subset in map(read_subset, bundled()) if subset.benchmark == benchmark]
    known: dict[str, str] = {}
    for subset in shipped:
        pairs = zip(subset.item_keys, subset.hashes, strict=True)
        known |= {key: value for key, value in pairs if value is not None}
    return known | stored_logs.content_hashes(ws, benchmark) | stored_subsets.content_hashes(ws, benchmark)


def pack(
    workspace: Path,
    dataset: Path | None = None,
    *,
    subset: str | None = None,
    all_of: str | None = None,
    fewshot: Path | None = None,
    logged_prompts: bool = False,
    model: str | None = None,
    accept_revision: bool = False,
    out: Path | None = None,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Packed:
    """Pack a subset (by name or file), or with `all_of` the whole benchmark, from the user's dataset files.

    A benchmark that has no native task is packed with the requests of an lm-eval log: that in `dataset`, else the
    imported one; of `model`, where several models' logs are there. `logged_prompts` does so for any benchmark.

    `fewshot` is the file or folder of the few-shot examples where they are not beside the items. Every item is checked
    against its hash; a warning counts those that differ and were accepted, another those that have none, another names
    categories with fewer examples than the others. Raises InputError that names the item where the dataset is not the
    one that was frozen; UsageError unless exactly one of `subset` and `all_of` is given, and where the workspace has
    other items under the subset's name.
    """
    if (subset is None) == (all_of is None):
        raise UsageError("Name either a subset or a whole benchmark.", "Use --subset FILE or --all BENCHMARK.")
    with stream(emit, "pack", unit="items"), Workspace(workspace) as ws:
        ws.require_writable()
        given = find_subset(ws, subset) if subset is not None else None
        if given is not None:
            stored_subsets.check_name(ws, given)
            benchmark = stored_logs.benchmark_of(given.benchmark)
        else:
            benchmark = stored_logs.known_benchmark(ws, all_of or "")
        logged = None
        if logged_prompts or not has_native_task(benchmark):
            logged = logged_content(ws, benchmark, dataset, model=model, emit=emit, cancel=cancel)
        content = logged.dataset if logged is not None else _from_files(benchmark, dataset, fewshot, logged_prompts)
        frozen = given if given is not None else _whole(ws, content, logged)
        if logged is None:
            made = build_pack(frozen, content, accept_revision=accept_revision)
        else:
            made = build_logged_pack(
                frozen, content, logged.made.asked, logged.made.definition, accept_revision=accept_revision
            )
            for note in logged.made.notes:
                emit(Warned(note))
            for why in logged.made.left_out:
                emit(Warned(f"Left out: {why}."))
        if made.accepted_differences:
            emit(Warned(f"{differing_words(made)}, and were accepted: {some_of(made.accepted_differences)}."))
        if made.unverified:
            emit(
                Warned(
                    f"Nothing proves the content of {len(made.unverified)} of the {frozen.n} items: "
                    "no log and no frozen subset of this workspace has their hashes.",
                    "Import logs that carry the items' docs (lm-eval --log_samples), then pack again.",
                )
            )
        _warn_of_few_examples(made, emit)
        path = (out or ws.packs_dir / f"{frozen.name}.mincepack").absolute()
        write_pack(path, made)
        stored_subsets.add_pack(ws, frozen, path)
        if logged is None:
            return Packed(made, path)
        return Packed(made, path, logged.model, logged.made.proven, logged.made.left_out, logged.made.notes)


def _from_files(benchmark: Benchmark, dataset: Path | None, fewshot: Path | None, logged_prompts: bool) -> Dataset:
    """The dataset's items. Raises UsageError where none is named, or where logged prompts are asked for in vain."""
    if dataset is None:
        raise UsageError(
            f"Which files hold the items of {benchmark.title} is not said.",
            "Name them with --dataset PATH, or take the prompts of an imported log: --logged-prompts.",
        )
    if logged_prompts:
        raise UsageError(
            f"{dataset} holds no lm-eval log of {benchmark.title}, so there are no prompts to take.",
            "Name the folder of the logs, or leave --dataset out to take those of an imported log.",
        )
    return read_dataset(benchmark, dataset, fewshot=fewshot)


def _whole(ws: Workspace, content: Dataset, logged: LoggedContent | None) -> FrozenSubset:
    """All items of the benchmark as a subset. Raises InputError where a log holds only some of them."""
    meant = logged.items_meant if logged is not None else None
    if meant is not None and meant != len(content.items):
        raise InputError(
            f"{content.source} holds {len(content.items):,} of the {meant:,} items of {content.benchmark.title}.",
            "Take a log of the whole benchmark (evaluated without --limit), or pack a frozen subset of these items.",
        )
    known = known_hashes(ws, content.benchmark.name)
    return full_subset(content.benchmark, content.items, known=known, revision=content.revision)


def differing_words(made: Pack) -> str:
    """ "3 of 1,319 items differ in content from what was frozen", of the items that have a hash to tell by."""
    told = len(made.items) - len(made.unverified)
    return f"{len(made.accepted_differences):,} of {told:,} items differ in content from what was frozen"


def _warn_of_few_examples(made: Pack, emit: Emit) -> None:
    most = max((len(docs) for docs in made.fewshot.values()), default=0)
    short = [f"{category} ({len(docs)})" for category, docs in made.fewshot.items() if len(docs) < most]
    if short:
        emit(
            Warned(
                f"{len(short)} categories have fewer than {most} few-shot examples: {', '.join(short[:5])}"
                f"{' and more' if len(short) > 5 else ''}.",
                "Their prompts are not those of the full dev set, so their scores may differ from published ones.",
            )
        )
