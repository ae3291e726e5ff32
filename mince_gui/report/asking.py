"""How the items were asked and how their answers were scored, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mince_gui.report import format as fmt

KEPT_PREFIX = "kept_prefix"
"""The method of fast timing, which a run uses only where its own probe showed bit-identical logits."""
PARITY = frozenset({"last_logits", "row_before", KEPT_PREFIX})
"""The methods of scoring choices for which equality with lm-eval is promised."""
NOT_RECORDED = "not recorded"
"""Stands for the method of choices that a run of an older version scored."""
_METHODS: Mapping[str, str] = {
    "last_logits": "one forward pass, logits of the last position over choices of one token each",
    "row_before": "one forward pass, logits of the position before the last (the model's length trap avoided)",
    KEPT_PREFIX: (
        "fast timing, what neighbouring items begin with is read once and kept, the rest in one forward pass, logits "
        "of the last position"
    ),
    "all_rows": "log-probabilities of several tokens summed, from the logits of all positions",
    "token_by_token": "log-probabilities summed, each choice fed token by token",
    "fresh": "log-probabilities summed, a fresh generator for every prefix",
    NOT_RECORDED: "an older version kept no record",
}
_RANDOM_LETTER = frozenset({"1122", "1129"})
"""IFEVAL items that ask for the frequency of a sign that is no letter (# and !)."""
TOLD = frozenset(
    {
        "task", "examples", "fewer_examples", "chat_template", "chat_template_sha256", "prompt_date", "thinking_off",
        "system_prompt",
        "max_new_tokens", "budget", "bos_check", "token_check", "logged_from", "left_out", "fast_probe", "rescored",
    }
)  # fmt: skip
"""Conditions that the lines below tell: they need no line of their own beside them."""


def asking_lines(
    conditions: Mapping[str, Any],
    *,
    benchmark: str,
    budget: int | None,
    methods: Mapping[str, int],
    keys: Iterable[str],
) -> tuple[tuple[str, str], ...]:
    """(name, words) in reading order: task, prompt, budget, method, checks of the tokens, known differences.

    `budget` is the most new tokens of an answer, `methods` counts how choices were scored, `keys` are the items done.
    """
    lines = [("task", _task(conditions)), ("prompt", _prompt(conditions))]
    if system := conditions.get("system_prompt"):
        lines.append(("system prompt", str(system)))
    if budget is not None:
        whose = "as asked for" if conditions.get("max_new_tokens") is not None else "the task's own"
        lines.append(("token budget", f"{budget:,} new tokens per answer ({whose})"))
    if left_out := conditions.get("left_out"):
        lines.append(("not reproduced", "; ".join(map(str, left_out))))
    if methods:
        lines.append(("choices scored by", _methods(methods)))
    if rescored := conditions.get("rescored"):
        lines.append(("scored again", _rescored(rescored)))
    if probe := conditions.get("fast_probe"):
        lines.append(("fast timing", str(probe)))
    if bos := conditions.get("bos_check"):
        lines.append(("beginning of the prompts", str(bos)))
    if tokens := str(conditions.get("token_check") or ""):
        whole = "equal to those that the folder's tokenizer.json gives for the first prompt"
        lines.append(("token ids", f"{whole}{tokens[5:]}" if tokens.startswith("equal") else tokens))
    if benchmark == "ifeval" and (held := sorted(_RANDOM_LETTER.intersection(keys))):
        lines.append(("known difference", _random_letter(held)))
    return tuple(lines)


def _rescored(facts: Mapping[str, Any]) -> str:
    """Whose answers they are, and what scored them: see app.rescore."""
    words = f"the answers of run {facts.get('of')}, by {facts.get('task')} of mince {facts.get('version')}"
    if own := facts.get("filter"):
        which = "last" if own.get("last") else "first"
        words += f", with the filter {own.get('name')} of its user's own (the {which} match of {own.get('pattern')})"
    return f"{words}, on {str(facts.get('at'))[:10]}"


def _random_letter(held: Sequence[str]) -> str:
    ask, them = ("items", "them") if len(held) > 1 else ("item", "it")
    return (
        f"IFEVAL {ask} {' and '.join(held)}: the frequency of # or ! is asked for. It is counted here, where lm-eval's "
        f"checker draws a random letter, so that its verdict on {them} changes from run to run"
    )


def _task(conditions: Mapping[str, Any]) -> str:
    name = str(conditions.get("task") or "not recorded")
    examples = conditions.get("examples")
    parts = [name]
    if isinstance(examples, int):
        fewer = conditions.get("fewer_examples") or 0
        told = f"{fmt.count(examples)} example{'' if examples == 1 else 's'} before each question"
        parts.append(f"up to {told} ({fmt.count(fewer)} items have fewer)" if fewer else told)
    if conditions.get("logged_from"):
        parts.append(f"requests as they were logged {conditions['logged_from']}")
    return ", ".join(parts)


def _prompt(conditions: Mapping[str, Any]) -> str:
    if not conditions.get("chat_template"):
        return "not recorded (no model was loaded)"
    named = str(conditions["chat_template"])
    digest = str(conditions.get("chat_template_sha256") or "")
    if not digest:
        why = named.removeprefix("none").strip()
        return f"plain, without a chat template {why}".rstrip()
    parts = [f"chat template {named}, SHA-256 {digest}"]
    if conditions.get("thinking_off"):
        parts.append("thinking switched off")
    if date := conditions.get("prompt_date"):
        parts.append(f"tells the date {date}")
    return "; ".join(parts)


def _methods(methods: Mapping[str, int]) -> str:
    ordered = sorted(methods.items(), key=lambda pair: (-pair[1], pair[0]))
    told = "; ".join(f"{name} ({number:,} items): {_METHODS.get(name, 'not described')}" for name, number in ordered)
    others = sum(number for name, number in ordered if name not in PARITY)
    if not others:
        return f"{told}. Parity with lm-eval is promised for this."
    *first, last = sorted(PARITY)
    named = f"{', '.join(first)} and {last}"
    return f"{told}. Parity with lm-eval is promised for {named} only: not for {others:,} items."
