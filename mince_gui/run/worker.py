"""The worker: the one process that holds the model. Speaks JSON lines over stdin and stdout.

Standard library, numpy and onnxruntime_genai (OGA) only, source valid for Python 3.10, so that any
Python with OGA can execute this file as it is: `python -I worker.py`. Nothing imports it but
`mince_gui.__main__` (hidden argument of the frozen bundle). The protocol is written down in
`mince_gui.run`; `SCHEMA` below is this side's copy of it, and the parent's side is compared with it.

One thread serves requests; a second one reads stdin, so that the end of the parent (end of file),
a shutdown and an abort are known between two OGA calls. OGA holds the GIL while it computes: nothing
here answers during a prefill, and the parent must not expect it to.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import platform
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

with contextlib.suppress(ImportError):  # its absence is for the hello to tell
    import numpy as np

PROTOCOL = 3
_NOTE_SECONDS = 0.25
_TAIL_TOKENS, _TAIL_CHARS = 64, 240
# Some kernels give numbers after the prompt and none a few tokens later; once NaN is in the cache it stays. Looking at
# every token's logits would cost 1 to 2 % of a small model's step. Greedy search takes token 0 of such a row: where
# that ends an answer, every row is looked at.
_LOOK_FIRST, _LOOK_EVERY = 32, 4
_APPEND_TOLERANCE, _REWIND_TOLERANCE = 0.5, 1e-4  # in log-probability

Decode = Callable[[Sequence[int]], str]
Ids = tuple[int, ...]
Pair = tuple[Ids, Ids]  # a prompt and what follows it
T = TypeVar("T")

_TIMING = (
    "prompt_tokens:int read_tokens:int output_tokens:int prefill_seconds:float first_token_seconds:float|null "
    "decode_seconds:float|null wall_seconds:float"
)
# Fields as "name:type ..."; each op has those of its request and those of its result.
SCHEMA: dict[str, Any] = {
    "protocol": PROTOCOL,
    "hello": "protocol:int python:str executable:str pid:int platform:str oga_version:str|null "
    "distribution:str|null ort_version:str|null packages:object import_seconds:float error:str|null",
    "note": "phase:str tokens:int text:str|null",
    "error": "type:str message:str",
    "timing": _TIMING,
    "ops": {
        "schema": ["", "schema:object"],
        "ping": ["", ""],
        "devices": ["", "providers:list[str] devices:list[str] error:str|null"],
        "load": [
            "model_dir:str threads:int|null search:object ceiling:int kv_length:int|null eos_ids:list[int] "
            "bos_id:int|null fresh_only:bool",
            "load_seconds:float warmup_seconds:float device_type:str|null model_type:str|null threads:int|null "
            "search:object ceiling:int kv_length:int|null eos_ids:list[int] vocab_size:int all_rows:bool",
        ],
        "encode": ["text:str", "ids:list[int]"],
        "share": [
            "prompts:list[str] choices:list[str] compare:int",
            "kept:int seconds:float compared:int identical:bool|null trap_shift:float|null reason:str|null",
        ],
        "choice": [
            "prompts:list[str] choices:list[str] fast:bool",
            "logprobs:list[float] greedy:list[bool] picked:int method:str trap:bool choice_ids:list[list[int]] "
            "leading_bos:int|null timing:timing",
        ],
        "generate": [
            "prompt:str until:list[str] max_new_tokens:int max_seconds:float|null",
            "text:str ids:list[int] finish:str leading_bos:int|null timing:timing",
        ],
        "shutdown": ["", ""],
    },
    "phases": "load warm_up encode prefill decode",
    "errors": "bad_request bad_prompt load_failed not_loaded does_not_fit non_finite aborted oga",
    "finishes": "eos stop budget context time",
    "methods": "last_logits row_before kept_prefix all_rows token_by_token fresh",
}
_TYPES: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool, "object": dict}  # else lists


class RefusedError(Exception):
    """A request that gets an error reply; the worker goes on."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StoppedError(Exception):
    """The parent asked for the end, or is gone."""


def find_stop(text: str, until: Sequence[str]) -> int | None:
    """Where the earliest stop string begins in `text`; None if there is none. Empty strings never stop."""
    found = [at for at in (text.find(stop) for stop in until if stop) if at >= 0]
    return min(found) if found else None


class StopWatch:
    """Looks for stop strings in a text that grows token by token, decoding only its tail.

    Decoding from the middle may garble the first characters (a cut UTF-8 sequence, a dropped blank),
    so the tail keeps a margin beyond the longest stop string, and a find in it is confirmed on the
    whole text. A token whose own text lacks the last characters of all stop strings completes none of them: the tail is
    not decoded then. (Where such a character is a blank or takes several bytes, a token alone may not show it.)
    """

    def __init__(self, decode: Decode, until: Sequence[str]) -> None:
        self._decode = decode
        self._until = tuple(stop for stop in until if stop)
        self._keep = max((len(stop) for stop in self._until), default=0) + 8
        self._start = 0
        self._last = {stop[-1] for stop in self._until}
        self._ends: dict[int, bool] | None = {} if all(c.isascii() and not c.isspace() for c in self._last) else None

    def _may_end(self, token: int) -> bool:
        """Whether a stop string may end with this token."""
        if self._ends is None:
            return True
        if token not in self._ends:
            self._ends[token] = not self._last.isdisjoint(self._decode([token]))
        return self._ends[token]

    def hit(self, ids: Sequence[int]) -> bool:
        """Whether the decoded text of `ids` holds a stop string. Call it after every token."""
        if not self._until or not (self._may_end(ids[-1]) or len(ids) - self._start > _TAIL_TOKENS):
            return False
        tail = self._decode(ids[self._start :])
        if find_stop(tail, self._until) is not None:
            return find_stop(self._decode(ids), self._until) is not None
        if len(tail) > 4 * self._keep:
            middle = self._start + (len(ids) - self._start) // 2
            if len(self._decode(ids[middle:])) >= self._keep:
                self._start = middle
        return False


def is_trap_length(tokens: int) -> bool:
    """Whether a forward pass of that many tokens gives a slightly different last row on the CPU.

    INT4 kernels take another path for a remainder of one row: lengths 129, 257, 385... shift logits by
    0.1 to 0.6.
    """
    return tokens > 128 and tokens % 128 == 1


def rest_length(tokens: int, kept: int, rows: bool) -> int:
    """How many tokens are read after a kept prefix of `kept` for a prompt of `tokens`; 0: read the prompt whole.

    One more than the prompt has where a choice's token goes behind it and the row before is read, which takes a graph
    that gives all `rows`. No pass may have one token or a trap length, and where the whole prompt has one that cannot
    be avoided, it is to be shifted here too.
    """
    trap = is_trap_length(tokens)
    if kept >= tokens or (trap and not rows):
        return 0
    rests = (tokens - kept + more for more in ((trap, not trap) if rows else (False,)))
    return next((rest for rest in rests if rest > 1 and not is_trap_length(rest)), 0)


def shared_length(prompts: Sequence[Ids], rows: bool) -> int:
    """How many tokens of what all prompts begin with are worth keeping; 0 if there is nothing to keep.

    As many as leave the fewest tokens to read, of one period of the trap lengths (see `rest_length`).
    """
    first, last = min(prompts), max(prompts)
    differ = (i for i, (a, b) in enumerate(zip(first, last)) if a != b)  # noqa: B905
    longest = min(next(differ, len(first)), min(map(len, prompts)) - 1)
    saved = {
        kept: kept * sum(rest_length(len(ids), kept, rows) > 0 for ids in prompts)
        for kept in range(longest, max(1, longest - 128), -1)
        if not is_trap_length(kept)
    }
    best = max(saved, key=lambda kept: saved[kept], default=0)
    return best if saved.get(best) else 0


def _rows(logits: Any) -> Any:
    """Logits as (positions, vocab), float32: graphs give (1, 1, vocab), (1, vocab) or (1, n, vocab)."""
    array = np.asarray(logits)
    return array.reshape(-1, array.shape[-1]).astype(np.float32, copy=False)


def _last_row(logits: Any) -> Any:
    """The last position's logits as (1, vocab)."""
    return _rows(logits)[-1:]


def _log_softmax(rows: Any) -> Any:
    """Log-probabilities over the vocabulary, per row; in float32, as lm-eval's, so that ties fall alike."""
    shifted = rows - rows.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _broken(rows: Any) -> bool:
    """NaN or +inf anywhere, or a row without a finite value; -inf alone is a mask that some graphs set.

    The largest value tells all of it, NaN being larger than any: cheap enough for every token.
    """
    return not np.isfinite(rows.max(axis=-1)).all()


class Channel:
    """The protocol's two ends: lines out on a private descriptor, a thread that reads lines in."""

    def __init__(self, out: int, source: int) -> None:
        self._out = out
        self._source = source
        self._current: int | None = None
        self.noted = 0.0
        self.requests: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.stopping = self.gone = False
        self.aborted: int | None = None
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _read(self) -> None:
        # os.read, not sys.stdin: a thread inside a buffered read would hold its lock when Python exits.
        rest = b""
        while True:
            try:
                piece = os.read(self._source, 1 << 16)
            except OSError:
                piece = b""
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.strip():
                    self._take(line)
        self.gone = self.stopping = True
        self.requests.put(None)

    def _take(self, line: bytes) -> None:
        try:
            body = json.loads(line.decode("utf-8"))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            body = {"id": -1, "bad_line": "a line is not a JSON object"}
        if "abort" in body:
            self.aborted = body["abort"]
            return
        if body.get("op") == "shutdown":
            self.stopping = True
        self.requests.put(body)

    def send(self, body: dict[str, Any]) -> None:
        """Write one line; a parent that is gone ends the worker."""
        data = json.dumps(body, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError as exc:
            raise StoppedError from exc

    def begin(self, request_id: int) -> None:
        """Requests answer to this id from now on."""
        self._current = request_id
        self.noted = 0.0

    def note(self, phase: str, tokens: int = 0, text: str | None = None) -> None:
        """Tell the parent what begins now. To be called before every OGA call that may block."""
        self.noted = time.monotonic()
        self.send({"id": self._current, "note": {"phase": phase, "tokens": tokens, "text": text}})

    def check(self) -> None:
        """Leave the request if the parent asked for that, or is gone."""
        if self.stopping:
            raise StoppedError
        if self.aborted is not None and self.aborted == self._current:
            raise RefusedError("aborted", "aborted on request")


class _Kept:
    """What prompts begin with: its token ids, the generator's `room` in tokens, and the generator that has read it.

    There is never more than one generator: this one is given back before another is made, and read anew when needed.
    """

    def __init__(self, ids: Ids, room: int) -> None:
        self.ids, self.room = ids, room
        self.generator: Any = None


class _Passes:
    """The forward passes of one choice request: how its rows were got, the seconds of them all, and those of trials.

    `read` counts the tokens that went through the model where a prefix is kept.
    """

    def __init__(self) -> None:
        self.method = "last_logits"
        self.read = 0
        self.trap = False
        self.seconds = 0.0
        self.aside = 0.0


def _sound(rows: Any) -> Any:
    """The rows, if they are numbers."""
    if _broken(rows):
        raise RefusedError("non_finite", "the model's logits are not finite numbers")
    return rows


def _sum(logprobs: Any, answer: Sequence[int]) -> tuple[float, bool]:
    """The log-probability of `answer`, whose tokens the rows foretell, and whether greedy decoding would write it."""
    return float(logprobs[np.arange(len(answer)), list(answer)].sum()), logprobs.argmax(axis=-1).tolist() == [*answer]


class Engine:
    """One model and what can be asked of it. Every method may raise RefusedError and StoppedError."""

    def __init__(self, oga: Any, channel: Channel) -> None:
        self._oga = oga
        self._channel = channel
        self._model: Any = None
        self._tokenizer: Any = None
        self._search: dict[str, Any] = {}
        self._ceiling = 0
        self._kv_length: int | None = None
        self._eos: frozenset[int] = frozenset()
        self._bos: int | None = None
        self._start: int | None = None
        self._all_rows = False
        self._appends: bool | None = None
        self._rewinds: bool | None = None
        self._cannot = ""
        self._head: tuple[str, Any] = ("", ())
        self._kept: _Kept | None = None
        self._trap_shift: float | None = None

    def load(self, **asked: Any) -> dict[str, Any]:
        """Load a model folder and warm it up with two tokens. One model per process."""
        if self._model is not None:
            raise RefusedError("bad_request", "a model is loaded already; one worker holds one model")
        oga, threads, applied = self._oga, asked["threads"], None
        if hasattr(oga, "disable_telemetry_events"):
            oga.disable_telemetry_events()
        self._channel.note("load")
        begin = time.perf_counter()
        try:
            config = oga.Config(asked["model_dir"])
            if threads is not None and hasattr(config, "overlay"):
                options = {"intra_op_num_threads": threads}
                config.overlay(json.dumps({"model": {"decoder": {"session_options": options}}}))
                applied = threads
            model = oga.Model(config)
            tokenizer = oga.Tokenizer(model)
        except Exception as exc:  # whatever native code raises while loading is the answer
            raise RefusedError("load_failed", f"{type(exc).__name__}: {exc}") from exc
        load_seconds = time.perf_counter() - begin
        self._model, self._tokenizer = model, tokenizer
        # The folder's own defaults may sample; greedy is forced here, whatever else it sets is reported.
        self._search = {**asked["search"], "do_sample": False, "num_beams": 1}
        self._ceiling, self._kv_length = asked["ceiling"], asked["kv_length"]
        eos_ids = asked["eos_ids"] or [int(i) for i in getattr(tokenizer, "eos_token_ids", ())]
        self._eos, self._bos = frozenset(eos_ids), asked["bos_id"]
        self._start = self._bos if self._bos is not None else next(iter(eos_ids), None)
        if asked["fresh_only"]:
            self._appends = self._rewinds = False
            self._cannot = "a worker died that may have appended to a generator twice"
        return {
            "load_seconds": load_seconds,
            **self._warm_up(),
            "device_type": getattr(model, "device_type", None),
            "model_type": getattr(model, "type", None),
            "threads": applied,
            "ceiling": self._ceiling,
            "kv_length": self._kv_length,
            "eos_ids": sorted(self._eos),
            "all_rows": self._all_rows,
        }

    def _warm_up(self) -> dict[str, Any]:
        ids = self._encode("The quick brown fox jumps over the lazy dog.")
        self._channel.note("warm_up", len(ids) + 2)
        begin = time.perf_counter()
        generator, params = self._generator(len(ids) + 2)
        generator.append_tokens(ids)
        row = _last_row(generator.get_logits())
        rows = generator.get_output("logits").shape
        generator.generate_next_token()
        if not generator.is_done():
            generator.generate_next_token()
        seconds = time.perf_counter() - begin
        if _broken(row):
            raise RefusedError("non_finite", "the model's first logits are not finite numbers")
        self._all_rows = len(ids) > 1 and len(rows) == 3 and rows[1] == len(ids)
        effective = dict(params.get_search_options()) if hasattr(params, "get_search_options") else dict(self._search)
        # max_length changes from item to item and says nothing of the model.
        effective.pop("max_length", None)
        search = {k: v for k, v in effective.items() if not isinstance(v, float) or math.isfinite(v)}
        return {"warmup_seconds": seconds, "vocab_size": row.shape[-1], "search": search}

    def encode(self, text: str) -> dict[str, Any]:
        """Token ids of a text, as the model folder's tokenizer makes them."""
        self._channel.note("encode")
        return {"ids": [int(i) for i in self._encode(text)]}

    def _encode(self, text: str) -> Any:
        if self._tokenizer is None:
            raise RefusedError("not_loaded", "no model is loaded")
        if "\x00" in text:
            # OGA takes C strings: it would silently drop everything after the NUL.
            raise RefusedError("bad_prompt", "the prompt holds a NUL character")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise RefusedError("bad_prompt", f"the prompt is not valid Unicode: {exc.reason}") from exc
        ids = self._tokenizer.encode(text)
        if len(ids) == 0:
            raise RefusedError("bad_prompt", "the prompt has no tokens")
        return ids

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(np.asarray(ids, dtype=np.int32))) if len(ids) else ""

    def _generator(self, length: int) -> tuple[Any, Any]:
        """A fresh generator: rewinding and appending after generation are refused or wrong on some stacks."""
        if self._kept is not None:
            self._kept.generator = None
        params = self._oga.GeneratorParams(self._model)
        # A graph with a fixed KV length works with that length only; our own loop stops earlier.
        params.set_search_options(**{**self._search, "max_length": self._kv_length or length})
        return self._oga.Generator(self._model, params), params

    def choice(self, prompts: list[str], choices: list[str], fast: bool) -> dict[str, Any]:
        """Log-probability of each choice after its prompt: one prompt for all, or one per choice.

        One forward pass and its last row where the choices share their prompt and are one token each in context.
        """
        if not choices or len(prompts) not in (1, len(choices)):
            raise RefusedError("bad_request", "choices need one prompt for all, or one each")
        self._channel.note("encode")
        contexts = prompts * len(choices) if len(prompts) == 1 else prompts
        pairs = [self._pair(*pair) for pair in zip(contexts, choices)]  # noqa: B905 - strict= is younger than 3.10
        read = dict.fromkeys(context for context, _ in pairs)
        single = all(len(continuation) == 1 for _, continuation in pairs)
        longest = max(len(context) + (0 if single else len(continuation)) for context, continuation in pairs)
        self._fitting(longest, answer=0, choice=not single)
        passes = _Passes()
        begin = time.perf_counter()
        if single:
            known: dict[Ids, Any] = {}
            for context, (token,) in pairs:
                if context not in known:
                    row = self._kept_row(context, token, passes) if fast and len(read) == 1 else None
                    row = self._next_row(context, token, passes) if row is None else row
                    known[context] = _log_softmax(row)
            scored = [_sum(known[context], (token,)) for context, (token,) in pairs]
        elif self._all_rows:
            passes.method = "all_rows"
            scored = self._all_row_sums(pairs, passes)
        else:
            scored = self._last_rows_only(pairs, passes)
        wall = time.perf_counter() - begin - passes.aside
        logprobs = [total for total, _ in scored]
        if not all(map(math.isfinite, logprobs)):
            raise RefusedError("non_finite", "the model's logits are not finite numbers")
        tokens = sum(map(len, read))
        through = passes.read if passes.method == "kept_prefix" else tokens
        return {
            "logprobs": logprobs,
            "greedy": [greedy for _, greedy in scored],
            "picked": int(np.argmax(logprobs)),
            "method": passes.method,
            "trap": passes.trap,
            "choice_ids": [list(continuation) for _, continuation in pairs],
            "leading_bos": self._leading_bos(pairs[0][0]),
            "timing": _named(_TIMING, tokens, through, 0, passes.seconds, None, None, wall),
        }

    def share(self, prompts: list[str], choices: list[str], compare: int) -> dict[str, Any]:
        """Read once what all prompts begin with, for choices with `fast`; compare both ways on some prompts.

        Prompts that cannot be read from there on (choices of several tokens, too long) do not count: their own requests
        say so.
        """
        names = SCHEMA["ops"]["share"][1]

        def nothing(reason: str) -> dict[str, Any]:
            return _named(names, 0, 0.0, 0, None, None, reason)

        self._kept = None
        if self._rewinds is False:
            return nothing(self._cannot)
        found = self._single_choices(prompts, choices)
        if len(found) < 2:
            return nothing("there are no two prompts whose choices are one token each")
        kept = shared_length([context for context, _ in found], self._all_rows)
        if not kept:
            return nothing("the prompts do not begin alike")
        pairs = [pair for pair in found if self._rest(pair[0], kept)]
        compare = min(compare, len(pairs))
        pairs = [pairs[i * (len(pairs) - 1) // max(1, compare - 1)] for i in range(compare)]
        whole = [self._next_row(*pair, _Passes()) for pair in pairs]
        if compare and self._trap_shift is None:
            self._trap_shift = self._shift_of_a_trap(max((context for context, _ in found), key=len))
        room = min(max(len(context) for context, _ in found) + 2, self._ceiling)
        self._kept = _Kept(found[0][0][:kept], room)
        begin = time.perf_counter()
        self._possible(lambda: self._keep(_Passes()))
        seconds = time.perf_counter() - begin
        rows = [self._kept_row(*pair, _Passes()) for pair in pairs]
        if self._kept is None:
            return nothing(self._cannot)
        same = [a.tobytes() == b.tobytes() for a, b in zip(whole, rows) if b is not None]  # noqa: B905
        return _named(names, kept, seconds, compare, all(same) if same else None, self._trap_shift, None)

    def _single_choices(self, prompts: list[str], choices: list[str]) -> list[tuple[Ids, int]]:
        """Prompts that fit and whose choices are one token each: their ids, and the first choice's."""
        found = []
        for prompt in prompts:
            self._channel.check()
            self._channel.note("encode")
            try:
                pairs = [self._pair(prompt, choice) for choice in choices]
            except RefusedError as exc:
                if exc.kind != "bad_prompt":
                    raise
                continue
            if pairs and all(pair[0] == pairs[0][0] and len(pair[1]) == 1 for pair in pairs):
                context, (token,) = pairs[0]
                if len(context) <= self._ceiling:
                    found.append((context, token))
        return found

    def _rest(self, context: Sequence[int], kept: int) -> int:
        return rest_length(len(context), kept, self._all_rows and len(context) < self._ceiling)

    def _keep(self, passes: _Passes) -> Any:
        """The kept prefix's generator, once it has read the prefix."""
        assert self._kept is not None
        kept = self._kept
        if kept.generator is None:
            kept.generator = self._forward(self._generator(kept.room)[0], kept.ids, passes)
            passes.read = len(kept.ids)
        else:
            kept.generator.rewind_to(len(kept.ids))
        return kept.generator

    def _kept_row(self, context: Ids, token: int, passes: _Passes) -> Any | None:
        """The logits after `context`, (1, vocab), read from the kept prefix on; None where that is not to be done."""
        kept = self._kept
        if kept is None or context[: len(kept.ids)] != kept.ids:
            return None
        rest = self._rest(context, len(kept.ids))
        if not rest or len(kept.ids) + rest > kept.room:
            return None
        ids = (*context, token)[len(kept.ids) :][:rest]

        def read() -> Any:
            # Logits are never read straight after rewinding: they would be neither the old nor the new ones.
            generator = self._forward(self._keep(passes), ids, passes)
            if len(kept.ids) + rest > len(context):
                return _rows(generator.get_output("logits"))[-2:-1]
            return _last_row(generator.get_logits())

        row = self._possible(read)
        if row is None:
            return None
        passes.method = "kept_prefix"
        passes.read += rest
        passes.trap |= is_trap_length(len(context))
        return _sound(row)

    def _possible(self, ask: Callable[[], T]) -> T | None:
        """What `ask` gives, which rewinds; None, now and later, where this stack cannot do it."""
        try:
            return ask()
        except (RefusedError, StoppedError):
            raise
        except Exception as exc:  # noqa: BLE001  # whatever a stack raises that cannot do it means that it cannot
            self._kept, self._rewinds, self._cannot = None, False, f"{type(exc).__name__}: {exc}"
            return None

    def _shift_of_a_trap(self, ids: Ids) -> float | None:
        """The largest difference of a logit between a pass of a trap length and one that is a token longer."""
        length = 129
        if not self._all_rows or len(ids) <= length:
            return None
        short = self._row_after(ids[:length], _Passes())
        return float(np.abs(short - self._answer_rows(ids[:length], ids[length : length + 1], _Passes())).max())

    def _pair(self, context: str, continuation: str) -> Pair:
        """Token ids of a prompt and of what follows it, parted as lm-eval parts them.

        Blanks at the prompt's end belong to what follows. The whole is encoded once, and what follows the number of
        the prompt's own tokens is the continuation, also where the two melt into one token at the border.
        """
        bare = context.rstrip()
        continuation = context[len(bare) :] + continuation
        if bare:
            if self._head[0] != bare:  # choices mostly share their prompt
                self._head = bare, self._encode(bare)
            head = self._head[1]
            tail = self._encode(bare + continuation)[len(head) :]
        else:
            if self._start is None:
                raise RefusedError("bad_prompt", "the prompt is empty, and the model names no token to begin with")
            head, tail = [self._start], self._encode(continuation)
            tail = tail[1:] if tail[0] == self._start else tail
        if len(tail) == 0:
            raise RefusedError("bad_prompt", f"the choice {continuation!r} adds no token to the prompt")
        return tuple(map(int, head)), tuple(map(int, tail))

    def _leading_bos(self, ids: Sequence[int]) -> int | None:
        if self._bos is None:
            return None
        return next((i for i, token in enumerate(ids) if token != self._bos), len(ids))

    def _forward(self, generator: Any, ids: Sequence[int], passes: _Passes) -> Any:
        """Append tokens: one forward pass, timed."""
        self._channel.check()
        self._channel.note("prefill", len(ids))
        begin = time.perf_counter()
        generator.append_tokens(np.asarray(ids, dtype=np.int32))
        passes.seconds += time.perf_counter() - begin
        return generator

    def _fresh(self, ids: Sequence[int], passes: _Passes, *, room: int = 2) -> Any:
        """A fresh generator that has read `ids`, with `room` for more tokens; give it back before the next is made."""
        return self._forward(self._generator(min(len(ids) + room, self._ceiling))[0], ids, passes)

    def _row_after(self, ids: Sequence[int], passes: _Passes) -> Any:
        """The logits after `ids`, (1, vocab), from one pass over them."""
        passes.trap |= is_trap_length(len(ids))
        return _sound(_last_row(self._fresh(ids, passes).get_logits()))

    def _next_row(self, context: Ids, token: int, passes: _Passes) -> Any:
        """As `_row_after`, but a trap length is read one row before an appended `token` where that can be done."""
        if not (is_trap_length(len(context)) and self._all_rows and len(context) < self._ceiling):
            return self._row_after(context, passes)
        passes.trap, passes.method = True, "row_before"
        return self._answer_rows(context, (token,), passes)

    def _answer_rows(self, context: Ids, answer: Ids, passes: _Passes) -> Any:
        """The logits that foretell each token of `answer`, (tokens, vocab), from one pass over all."""
        rows = _rows(self._fresh((*context, *answer), passes, room=0).get_output("logits"))
        return _sound(rows[len(context) - 1 : -1])

    def _all_row_sums(self, pairs: Sequence[Pair], passes: _Passes) -> list[tuple[float, bool]]:
        """Choices of several tokens where the graph gives every row.

        A shared prompt is read once and rewound to for every choice, if that gave the sums of whole passes the first
        time that it was tried.
        """
        context = pairs[0][0]
        begin = time.perf_counter()
        shared = len(pairs) > 1 and len(context) > 1 and all(other == context for other, _ in pairs)
        rewind = shared and self._rewinds is not False
        rewound = self._possible(lambda: self._rewound_sums(pairs, passes)) if rewind else None
        if rewound is not None and self._rewinds:
            return rewound
        seconds, between = passes.seconds, time.perf_counter()
        whole = [_sum(_log_softmax(self._answer_rows(context, answer, passes)), answer) for context, answer in pairs]
        if rewound is not None:
            self._rewinds = all(abs(a[0] - b[0]) < _REWIND_TOLERANCE for a, b in zip(whole, rewound))  # noqa: B905
            self._cannot = "a generator that was rewound gave other log-probabilities than a fresh one"
        # The item took as long as by the one way that all others will go.
        if rewound is not None and self._rewinds:
            passes.seconds, passes.aside = seconds, time.perf_counter() - between
        else:
            passes.seconds, passes.aside = passes.seconds - seconds, between - begin
        return whole

    def _rewound_sums(self, pairs: Sequence[Pair], passes: _Passes) -> list[tuple[float, bool]]:
        """The sums with the shared prompt read once."""
        context = pairs[0][0]
        # What follows has two tokens at least, and the prompt's part no trap length: rows are then those of one pass.
        kept = len(context) - 1
        kept -= is_trap_length(kept)
        sums = []
        room = len(context) - kept + max(len(answer) for _, answer in pairs)
        generator = self._fresh(context[:kept], passes, room=room)
        for place, (_, answer) in enumerate(pairs):
            if place:
                generator.rewind_to(kept)
            self._forward(generator, (*context[kept:], *answer), passes)
            rows = _rows(generator.get_output("logits"))[len(context) - kept - 1 : -1]
            sums.append(_sum(_log_softmax(_sound(rows)), answer))
        return sums

    def _last_rows_only(self, pairs: Sequence[Pair], passes: _Passes) -> list[tuple[float, bool]]:
        """Choices of several tokens on a graph that gives the last row alone."""
        if self._appends is None:
            # Asked for here and not at load: some stacks do not survive the question, and most runs never need it.
            begin = time.perf_counter()
            self._appends = self._appending_is_exact()
            passes.aside = time.perf_counter() - begin
        passes.method = "token_by_token" if self._appends else "fresh"
        known: dict[Ids, Any] = {}
        scored = []
        for context, answer in pairs:
            if self._appends and len(answer) > 1:
                rows = self._rows_one_by_one(context, answer, passes)
                known.setdefault(context, rows[0])
            else:
                before = [(*context, *answer[:place]) for place in range(len(answer))]
                for ids in before:
                    if ids not in known:
                        known[ids] = self._row_after(ids, passes)
                rows = [known[ids] for ids in before]
            scored.append(_sum(_log_softmax(np.concatenate(rows)), answer))
        return scored

    def _rows_one_by_one(self, context: Ids, answer: Ids, passes: _Passes) -> list[Any]:
        """The logits that foretell each token of `answer`, (1, vocab) each, from one generator that is appended to."""
        generator = self._fresh(context, passes, room=len(answer) + 1)
        passes.trap |= is_trap_length(len(context))
        rows = [_sound(_last_row(generator.get_logits()))]
        for place in range(len(answer) - 1):
            self._forward(generator, answer[place : place + 1], passes)
            rows.append(_sound(_last_row(generator.get_logits())))
        return rows

    def _appending_is_exact(self) -> bool:
        """Whether a generator that tokens are appended to twice says what one pass over all of them says."""
        ids = [int(i) for i in self._encode("The quick brown fox jumps over the lazy dog.")]
        try:
            once = _log_softmax(_last_row(self._fresh(ids, _Passes()).get_logits()))
            parts = self._fresh(ids[:-1], _Passes(), room=3)
            twice = _log_softmax(_last_row(self._forward(parts, ids[-1:], _Passes()).get_logits()))
        except (RefusedError, StoppedError):
            raise
        except Exception:  # noqa: BLE001  # whatever a stack raises that cannot do it means that it cannot
            return False
        best = int(once.argmax())
        # Kernels for one row round otherwise than those for many; a stack that lost its place is far off.
        return int(twice.argmax()) == best and abs(float(once[0, best] - twice[0, best])) < _APPEND_TOLERANCE

    def _fitting(self, tokens: int, *, answer: int, choice: bool = False) -> int:
        """The prompt's length in tokens (with its `choice`), if there is room for `answer` more. It is never cut."""
        self._channel.check()
        if tokens + answer > self._ceiling:
            room = " and leaves no room for an answer" if answer else ""
            what = "the prompt with its longest choice" if choice else "the prompt"
            raise RefusedError("does_not_fit", f"{what} has {tokens} tokens{room}; the model takes {self._ceiling}")
        return tokens

    def generate(self, prompt: str, until: list[str], max_new_tokens: int, max_seconds: float | None) -> dict[str, Any]:
        """Greedy text until EOS, a stop string, the budget, the model's context, or the item's time ends."""
        if max_new_tokens < 1:
            raise RefusedError("bad_request", "max_new_tokens is below 1")
        self._channel.note("encode")
        ids = self._encode(prompt)
        tokens = self._fitting(len(ids), answer=1)
        budget = min(max_new_tokens, self._ceiling - tokens)
        self._channel.note("prefill", tokens)
        begin = time.perf_counter()
        generator, _ = self._generator(tokens + budget)
        before = time.perf_counter()
        generator.append_tokens(ids)
        prefill = time.perf_counter() - before
        self._channel.note("decode")
        stop_at = math.inf if max_seconds is None else begin + max_seconds
        new, finish, first, last = self._decode_loop(generator, tokens, budget, until, stop_at)
        if finish == "budget" and budget < max_new_tokens:
            finish = "context"
        end = time.perf_counter()
        del generator
        text = self._decode(new)
        cut = find_stop(text, until)
        decode = last - first if len(new) > 1 else None
        return {
            "text": text if cut is None else text[:cut],
            "ids": new,
            "finish": finish if cut is None else "stop",
            "leading_bos": self._leading_bos(ids),
            "timing": _named(_TIMING, tokens, tokens, len(new), prefill, first - before, decode, end - begin),
        }

    def _decode_loop(
        self, generator: Any, tokens: int, budget: int, until: list[str], stop_at: float
    ) -> tuple[list[int], str, float, float]:
        """New ids without EOS, why it ended, and the clock after the first and after the last counted token.

        The sequence's growth is the count: since OGA 0.11 EOS is not appended, before that it was, and
        get_next_tokens() may repeat the previous token.
        """
        watch = StopWatch(self._decode, until)
        new: list[int] = []
        first = last = 0.0
        while True:
            place = len(new)
            looks = place < _LOOK_FIRST or place % _LOOK_EVERY == 0 or place + 1 == budget or 0 in self._eos
            if looks and _broken(_last_row(generator.get_logits())):
                message = f"the model's logits are not finite numbers at token {place + 1} of the answer"
                raise RefusedError("non_finite", message)
            generator.generate_next_token()
            now = time.perf_counter()
            first = first or now
            sequence = generator.get_sequence(0)
            if len(sequence) <= tokens + len(new):
                if not generator.is_done():
                    raise RefusedError("oga", "generate_next_token() added no token, and generation is not done")
                return new, "eos", first, last or now
            token = int(sequence[-1])
            if token in self._eos:
                return new, "eos", first, last or now
            new.append(token)
            last = now
            if watch.hit(new):
                return new, "stop", first, last
            if len(new) >= budget:
                return new, "budget", first, last
            if generator.is_done():
                return new, "eos", first, last
            if now >= stop_at:
                return new, "time", first, last
            self._channel.check()
            if time.monotonic() - self._channel.noted >= _NOTE_SECONDS:
                self._channel.note("decode", len(new), self._decode(new[-_TAIL_TOKENS:])[-_TAIL_CHARS:])

    def close(self) -> None:
        """Give the model back in order; some stacks crash when it is left to the end of the process."""
        self._kept = None
        self._tokenizer = None
        self._model = None
        gc.collect()


def _named(fields: str, *values: Any) -> dict[str, Any]:
    """Values under the names that the schema gives them, in its order."""
    return {field.partition(":")[0]: value for field, value in zip(fields.split(), values, strict=True)}


def devices() -> dict[str, Any]:
    """What onnxruntime, beside OGA, has and sees. A run never imports it: it may bring another native library."""
    try:
        ort = importlib.import_module("onnxruntime")
        providers = [str(name) for name in ort.get_available_providers()]
        seen = ort.get_ep_devices() if hasattr(ort, "get_ep_devices") else ()
        words = [f"{one.ep_name}, {one.device.vendor or one.ep_vendor}, {one.device.type.name}" for one in seen]
    except Exception as exc:  # noqa: BLE001  # a broken native package may raise anything
        return {"providers": [], "devices": [], "error": f"{type(exc).__name__}: {exc}"}
    return {"providers": providers, "devices": words, "error": None}


def _packages() -> dict[str, str]:
    """Versions of what matters here, by folder name: environments hold leavings whose metadata cannot be read."""
    found = (path.stem.partition("-") for entry in sys.path for path in Path(entry).glob("*.dist-info"))
    names = ((name.lower().replace("_", "-"), version) for name, _, version in found)
    return {name: version for name, version in names if name.startswith(("onnxruntime", "ryzen", "numpy"))}


def _hello() -> tuple[Any, dict[str, Any]]:
    """OGA (None if it cannot be imported) and what this process says of itself."""
    begin = time.perf_counter()
    oga, error = None, None
    try:
        oga = importlib.import_module("onnxruntime_genai")
        importlib.import_module("numpy")
    except Exception as exc:  # noqa: BLE001  # a broken native package may raise anything; the parent must hear it
        oga, error = None, f"{type(exc).__name__}: {exc}"
    seconds = time.perf_counter() - begin
    packages = _packages()
    genai = sorted(name for name in packages if name.startswith("onnxruntime-genai"))
    runtime = sorted(name for name in packages if name.startswith("onnxruntime") and name not in genai)
    return oga, {
        "protocol": PROTOCOL,
        "python": platform.python_version(),
        "executable": sys.executable,
        "pid": os.getpid(),
        "platform": platform.platform(),
        "oga_version": None if oga is None else str(getattr(oga, "__version__", "")) or None,
        "distribution": ", ".join(genai) or None,
        "ort_version": ", ".join(f"{name} {packages[name]}" for name in runtime) or None,
        "packages": packages,
        "import_seconds": seconds,
        "error": error,
    }


def _fields(body: dict[str, Any], *, oga: bool) -> dict[str, Any]:
    """The request's fields, checked against SCHEMA."""
    op = body.get("op")
    if op not in SCHEMA["ops"]:
        raise RefusedError("bad_request", body.get("bad_line") or f"there is no op {op!r}")
    wanted = dict(field.split(":") for field in SCHEMA["ops"][op][0].split())
    if wanted and not oga:
        raise RefusedError("not_loaded", "onnxruntime_genai could not be imported")
    given = {name: value for name, value in body.items() if name not in ("id", "op")}
    if set(given) != set(wanted):
        raise RefusedError("bad_request", f"{op} takes {sorted(wanted)}, not {sorted(given)}")
    for name, kind in wanted.items():
        inner = kind.partition("|")[0]
        if not isinstance(given[name], _TYPES.get(inner, list)) and not (inner != kind and given[name] is None):
            raise RefusedError("bad_request", f"{op}: {name} is not {kind}")
    return given


def serve(channel: Channel, oga: Any) -> None:
    """Answer requests one after the other until shutdown or the end of stdin."""
    engine = Engine(oga, channel)
    handlers: dict[str, Callable[..., dict[str, Any]]] = {"schema": lambda: {"schema": SCHEMA}, "devices": devices}
    handlers |= {op: getattr(engine, op) for op in ("load", "encode", "share", "choice", "generate")}
    try:
        while True:
            body = channel.requests.get()
            if body is None or channel.gone:
                return
            request_id = body.get("id", -1)
            channel.begin(request_id)
            try:
                fields = _fields(body, oga=oga is not None)
                answer: dict[str, Any] = {"ok": True, "result": handlers.get(body["op"], dict)(**fields)}
            except RefusedError as exc:
                answer = _refusal(exc.kind, str(exc))
            except StoppedError:
                answer = _refusal("aborted", "the worker was asked to end")
            except Exception as exc:  # noqa: BLE001  # process boundary: OGA raises RuntimeError and others at will
                answer = _refusal("oga", f"{type(exc).__name__}: {exc}")
            channel.send({"id": request_id, **answer})
            if body.get("op") == "shutdown":
                return
    except StoppedError:
        return
    finally:
        engine.close()


def _refusal(kind: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"type": kind, "message": message}}


def _private_stdout() -> int:
    """A descriptor for the protocol alone; descriptor 1 becomes stderr, whatever native code prints there."""
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for handle in (out, 0):  # no line end may be translated
            msvcrt.setmode(handle, os.O_BINARY)
    return out


def main() -> NoReturn:
    """Run the worker until shutdown or the end of stdin; does not return."""
    channel = Channel(_private_stdout(), 0)
    # Ctrl-C goes to the whole group of the terminal; the runner decides what becomes of the worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    oga, hello = _hello()
    try:
        channel.send({"hello": hello})
        serve(channel, oga)
    except StoppedError:
        pass
    sys.stderr.flush()
    # Everything is given back by now; static destructors of some native stacks crash at a normal exit.
    os._exit(0)


if __name__ == "__main__":
    main()
