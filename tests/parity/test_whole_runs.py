"""Whole runs beside lm-eval's on the same model: 40 MMLU, 18 GSM8K and 12 IFEVAL items.

The reference was made on a CPU without AVX-512 and with 1 MiB of second-level cache. ONNX Runtime takes other INT4
kernels where AVX-512 is there, and cuts attention over more than 512 tokens by the size of that cache: logits then
shift by about 0.1, which turns a token where two were that near. So what is promised is: whatever is not as in the
reference is what plain onnxruntime-genai gives on this machine, which shows at the very token (or pick) that both were
nearer to each other than the two machines are. On a machine with the reference's
instruction set and cache nothing is left to explain.
"""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass

import pytest

from tests.parity.conftest import RUNS, THREADS, Compared, WholeRuns

pytestmark = [pytest.mark.shared, pytest.mark.timeout(900)]

_log = logging.getLogger(__name__)
_EXACT = 5e-6
"""Ours is log-softmax in float32, as lm-eval's; plain onnxruntime-genai's is computed in float64."""
_FAR = 0.5
"""Two machines whose log-probabilities differ by more do not run the same model."""


@dataclass(frozen=True)
class Parted:
    """The first token (or pick) that is not the reference's, and by how much it is the likelier one here."""

    at: int
    ours: int
    theirs: int
    margin: float


def _noise(runs: WholeRuns) -> float:
    """By how much two machines may differ on how far one token is ahead of another: twice the widest shift of any
    log-probability, as each of the two may shift. Measured on the items that both pick alike."""
    widest = 0.0
    for one in runs.of("choice"):
        theirs = one.asked.likely
        if theirs.index(max(theirs)) == one.result.picked:
            shifts = (abs(ours - there) for ours, there in zip(one.result.logprobs, theirs, strict=True))
            widest = max(widest, *shifts)
    return 2 * widest


def _until(one: Compared, text: str) -> str:
    found = [at for stop in one.asked.item.request.until if (at := text.find(stop)) >= 0]
    return text[: min(found)] if found else text


def test_a_pick_is_what_plain_onnxruntime_genai_says(whole_runs: WholeRuns) -> None:
    asked_twice = [(one, one.plain) for one in whole_runs.of("choice") if one.plain is not None]
    assert len(asked_twice) >= 3
    for one, plain in asked_twice:
        assert one.result.logprobs == pytest.approx(plain["logprobs"], abs=_EXACT), one.asked.name
        assert one.result.timing is not None
        assert one.result.timing.prompt_tokens == plain["tokens"]
        assert one.result.picked == plain["logprobs"].index(max(plain["logprobs"])), one.asked.name


def test_the_one_prompt_of_trap_length_is_read_a_row_before_its_end(whole_runs: WholeRuns) -> None:
    methods = {one.asked.name: one.result.method for one in whole_runs.of("choice")}
    other = {name: method for name, method in methods.items() if method != "last_logits"}
    assert other == {"mmlu_5shot/mmlu_world_religions/6": "row_before"}


def test_every_text_is_lm_evals_or_what_plain_onnxruntime_genai_writes(whole_runs: WholeRuns) -> None:
    for one in whole_runs.of("generate"):
        if one.plain is None:
            assert one.result.text == one.asked.text, one.asked.name
            continue
        if not one.plain["whole"]:
            # The last sign may be cut in two.
            assert (one.result.text or "").startswith(one.plain["text"].rstrip("\ufffd")), one.asked.name
            continue
        text = _until(one, one.plain["text"])
        assert one.result.text == text, one.asked.name
        assert one.result.timing is not None
        tokens = one.result.timing.output_tokens
        if one.result.finish == "stop":
            assert text != one.plain["text"], one.asked.name
            assert tokens <= len(one.plain["ids"])
        else:
            assert text == one.plain["text"], one.asked.name
            assert tokens == len(one.plain["ids"])
            assert (one.result.finish == "eos") == one.plain["ended"], one.asked.name
        assert one.result.capped == (one.result.finish == "budget")


def test_what_leaves_the_reference_is_explained_to_the_token(whole_runs: WholeRuns) -> None:
    noise = _noise(whole_runs)
    equal = dict.fromkeys(RUNS, 0)
    exceptions, unexplained = [], []
    for one in whole_runs.compared:
        parted = _parted(one)
        if parted is None:
            equal[one.asked.run] += 1
            _same_as_logged(one)
            continue
        where = f"{one.asked.name}: token {parted.at}"
        told = f"{where}: {parted.ours} here, {parted.theirs} there, {parted.margin:.3f} apart"
        exceptions.append(told)
        if not 0 <= parted.margin <= noise:
            unexplained.append(told)
    for told in exceptions:
        _log.info("%s", told)
    _log.info("equal to the reference: %s; noise between the machines %.3f", equal, noise)
    assert noise < _FAR
    assert unexplained == []
    assert sum(equal.values()) + len(exceptions) == sum(count for _, count in RUNS.values())


def _parted(one: Compared) -> Parted | None:
    """Where an item leaves the reference; by a margin that is not a number where nobody else was asked."""
    if one.asked.item.request.kind == "generate":
        return Parted(**one.plain["parted"]) if one.plain and one.plain["parted"] else None
    theirs = one.asked.likely.index(max(one.asked.likely))
    ours = one.result.picked
    assert ours is not None
    if ours == theirs:
        return None
    logprobs = one.plain["logprobs"] if one.plain else [math.nan] * len(one.asked.likely)
    return Parted(0, ours, theirs, logprobs[ours] - logprobs[theirs])


def _same_as_logged(one: Compared) -> None:
    """Text, filtered answers and metrics of an item whose tokens are the reference's."""
    scored = one.result.scored
    assert scored is not None
    for row in one.asked.rows:
        match one.asked.task.name:
            case "ifeval":
                for way in ("strict", "loose"):
                    verdicts = row[f"inst_level_{way}_acc"]
                    assert json.loads(scored.extracted[way]) == verdicts
                    assert scored.scores[f"inst_level_{way}_acc"] == (sum(verdicts), len(verdicts))
                    assert scored.scores[f"prompt_level_{way}_acc"] == (row[f"prompt_level_{way}_acc"], 1)
            case "mmlu":
                assert scored.scores["acc"] == (row["acc"], 1)
            case _:
                assert scored.extracted[row["filter"]] == row["filtered_resps"][0]
                assert scored.scores[f"exact_match,{row['filter']}"] == (row["exact_match"], 1)
    if one.result.text is not None:
        assert one.result.text == one.asked.text, one.asked.name


def test_log_probabilities_are_near_the_references(whole_runs: WholeRuns) -> None:
    shifts = sorted(
        max(abs(ours - theirs) for ours, theirs in zip(one.result.logprobs, one.asked.likely, strict=True))
        for one in whole_runs.of("choice")
    )
    _log.info("log-probabilities: median shift %.6f, largest %.6f", shifts[len(shifts) // 2], shifts[-1])
    assert shifts[-1] < _FAR


def test_the_prompts_tokens_are_those_of_the_folders_tokenizer(whole_runs: WholeRuns) -> None:
    assert whole_runs.conditions.token_check == "equal"
    assert whole_runs.conditions.bos_check == ""
    assert whole_runs.conditions.threads == THREADS
