"""IFEval's own script: eval_results_strict.jsonl and eval_results_loose.jsonl, joined on the prompt's text.

One of the two alone gives its own metrics only. The model is named by the one input_response_data_<model>.jsonl beside
them, else by the folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import BENCHMARKS, item_key_of
from mince_gui.logs.assemble import Reading, Row, assemble, is_name, shown, state_of
from mince_gui.logs.collect import Outcome, RowError
from mince_gui.logs.naming import tidy_name
from mince_gui.logs.types import Claim, Found, PerItemLog

FORMAT = "IFEval original"

_VERDICTS = re.compile(r"(?P<stem>.*)eval_results_(?P<kind>strict|loose)\.jsonl(?:\.gz)?")
_RESPONSES = re.compile(r"input_response_data_(?P<model>.+)\.jsonl(?:\.gz)?")
_OWN_NAME = "ifeval-original"
_REMEDY = "Run the evaluation_main script again, or leave this file out."


def claim(files: Sequence[Path]) -> Claim:
    """Pairs of verdict files, per folder and name in front of eval_results."""
    pairs: dict[tuple[Path, str], dict[str, Path]] = {}
    responses: dict[Path, list[Path]] = {}
    refused: dict[Path, str] = {}
    for path in files:
        if match := _VERDICTS.fullmatch(path.name):
            pair = pairs.setdefault((path.parent, match["stem"]), {})
            if match["kind"] in pair:
                refused[path] = f"a second copy of {pair[match['kind']].name}, which is taken"
            else:
                pair[match["kind"]] = path
        elif _RESPONSES.fullmatch(path.name):
            responses.setdefault(path.parent, []).append(path)
    used = {path for (folder, _), _pair in pairs.items() for path in responses.get(folder, ())}
    refused |= {
        path: "responses without verdicts: run IFEval's evaluation_main, which writes eval_results_strict.jsonl"
        for group in responses.values()
        for path in group
        if path not in used
    }
    found = [_found(folder, stem, pair, responses.get(folder, ())) for (folder, stem), pair in pairs.items()]
    return Claim(tuple(found), refused, frozenset(used))


def _found(folder: Path, stem: str, pair: Mapping[str, Path], responses: Sequence[Path]) -> Found:
    named = _RESPONSES.fullmatch(responses[0].name) if len(responses) == 1 else None
    if stem.strip("_-. "):
        model, whence = stem.strip("_-. "), "the model's name is in front of it"
    elif named:
        model, whence = named["model"], f"the model's name is from {responses[0].name}"
    else:
        model, whence = folder.absolute().name, "the model's name is the folder's"
    what = "eval_results_strict and _loose" if len(pair) == 2 else f"eval_results_{next(iter(pair))} alone"
    return Found(
        format=FORMAT, model=tidy_name(model) or "unnamed", benchmark=BENCHMARKS["ifeval"],
        task=_OWN_NAME, files=tuple(sorted(pair.values())),
        results_file=None, timestamp="", why=f"{what}, as IFEval's own script names them; {whence}",
    )  # fmt: skip


def _verdicts(row: Mapping[str, Any], kind: str) -> tuple[str, list[Outcome], list[bool]]:
    """The row's prompt, outcomes and verdicts per instruction. Raises RowError."""
    prompt, together, each = row.get("prompt"), row.get("follow_all_instructions"), row.get("follow_instruction_list")
    if not isinstance(prompt, str):
        raise RowError(f"prompt is {shown(prompt)}, not a text")
    if not isinstance(each, list) or not each or not all(isinstance(verdict, bool) for verdict in each):
        raise RowError(f"follow_instruction_list is {shown(each)}, not a list of verdicts")
    if not isinstance(together, bool) or together != all(each):
        raise RowError(f"follow_all_instructions is {shown(together)}, which follow_instruction_list contradicts")
    outcomes = [
        (f"prompt_level_{kind}_acc", float(together), 1.0),
        (f"inst_level_{kind}_acc", float(sum(each)), float(len(each))),
    ]
    return prompt, outcomes, each


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Join the files of the run. Raises InputError with file and line, CancelledError."""
    reading = Reading(found, emit, cancel, salvage)
    places: dict[str, int] = {}
    rows: list[Row] = []
    strict: dict[str, list[bool]] = {}
    for path in sorted(found.files, key=lambda path: "_loose." in path.name):
        match = _VERDICTS.fullmatch(path.name)
        kind = match["kind"] if match else "strict"
        for where, row in reading.jsonl(path):
            try:
                prompt, outcomes, each = _verdicts(row, kind)
            except RowError as exc:
                raise InputError(f"{where}: {exc.message}.", _REMEDY) from exc
            own_key = str(places.setdefault(prompt.strip(), len(places)))
            key = item_key_of(BENCHMARKS["ifeval"], prompt)
            if kind == "strict":
                strict[own_key] = each
            elif below := sum(s and not li for s, li in zip(strict.get(own_key, ()), each, strict=False)):
                reading.observed.loose_below_strict(key or own_key, below)
            ids = row.get("instruction_id_list")
            answer = row.get("response", "")
            rows.append(
                Row(
                    where, own_key, key, tuple(outcomes),
                    category=ids[0] if isinstance(ids, list) and ids and is_name(ids[0]) else None,
                    response=state_of(answer) if "response" in row else "not stored",
                    answer=answer if isinstance(answer, str) and kind == "strict" else None,
                    part=kind,
                )
            )  # fmt: skip
    return assemble(reading, rows, own_name=_OWN_NAME)
