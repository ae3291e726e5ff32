"""The parent's side of the worker protocol: typed requests, and replies that are checked before use.

`mince_gui.run` writes the protocol down. The dataclasses here are the schema: `schema()` derives
from them what `worker.SCHEMA` says by hand, and a test compares the two.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, ClassVar

from mince_gui.base.errors import MinceError
from mince_gui.run.types import ItemTiming

PROTOCOL = 3

PHASES = ("load", "warm_up", "encode", "prefill", "decode")
FINISHES = ("eos", "stop", "budget", "context", "time")
METHODS = ("last_logits", "row_before", "kept_prefix", "all_rows", "token_by_token", "fresh")
ERRORS = (
    "bad_request",
    "bad_prompt",
    "load_failed",
    "not_loaded",
    "does_not_fit",
    "non_finite",
    "aborted",
    "oga",
)


class ProtocolError(MinceError):
    """The worker wrote a line that the protocol does not know."""


# -- what the parent sends ---------------------------------------------------------------------------


@dataclass(frozen=True)
class SchemaRequest:
    """Ask for the worker's own schema."""

    op: ClassVar[str] = "schema"


@dataclass(frozen=True)
class PingRequest:
    """Ask for a sign of life; answered between two OGA calls only."""

    op: ClassVar[str] = "ping"


@dataclass(frozen=True)
class DevicesRequest:
    """Ask onnxruntime, beside OGA, for its providers and devices: for a probe, not for a run."""

    op: ClassVar[str] = "devices"


@dataclass(frozen=True)
class LoadRequest:
    """Load a model folder. Lengths in tokens; `kv_length` is a fixed KV length, None where it grows.

    `bos_id` is counted at the beginning of prompts, and begins an empty one. `fresh_only`: no generator may be appended
    to twice or rewound, since a worker died that may have tried.
    """

    op: ClassVar[str] = "load"
    model_dir: str
    threads: int | None
    search: Mapping[str, Any]
    ceiling: int
    kv_length: int | None
    eos_ids: tuple[int, ...]
    bos_id: int | None
    fresh_only: bool = False


@dataclass(frozen=True)
class EncodeRequest:
    """Token ids of a text."""

    op: ClassVar[str] = "encode"
    text: str


@dataclass(frozen=True)
class ShareRequest:
    """Read what all `prompts` begin with once, and keep it for choice requests with `fast` (fast mode).

    `compare` of the prompts are then read in both ways, and their last rows of logits compared bit for bit.
    """

    op: ClassVar[str] = "share"
    prompts: tuple[str, ...]
    choices: tuple[str, ...]
    compare: int


@dataclass(frozen=True)
class ChoiceRequest:
    """Log-probability of each choice after its prompt: `prompts` has one for all, or one per choice.

    `fast`: a prompt that begins with what the last share request kept is read from there on.
    """

    op: ClassVar[str] = "choice"
    prompts: tuple[str, ...]
    choices: tuple[str, ...]
    fast: bool = False


@dataclass(frozen=True)
class GenerateRequest:
    """Greedy text after the prompt, at most `max_new_tokens` tokens and about `max_seconds` (None = no limit)."""

    op: ClassVar[str] = "generate"
    prompt: str
    until: tuple[str, ...]
    max_new_tokens: int
    max_seconds: float | None = None


@dataclass(frozen=True)
class ShutdownRequest:
    """Give the model back and exit with code 0."""

    op: ClassVar[str] = "shutdown"


WorkerRequest = (
    SchemaRequest
    | PingRequest
    | DevicesRequest
    | LoadRequest
    | EncodeRequest
    | ShareRequest
    | ChoiceRequest
    | GenerateRequest
    | ShutdownRequest
)


# -- what the worker sends ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Hello:
    """The worker's first line. `error` says why OGA could not be imported, None if it was."""

    protocol: int
    python: str
    executable: str
    pid: int
    platform: str
    oga_version: str | None
    distribution: str | None
    ort_version: str | None
    packages: Mapping[str, Any]
    import_seconds: float
    error: str | None


@dataclass(frozen=True)
class Note:
    """What the worker begins now; `tokens` of it (decode: new tokens so far), `text` the answer's tail."""

    phase: str
    tokens: int
    text: str | None


@dataclass(frozen=True)
class Empty:
    """The result of ping and shutdown."""


@dataclass(frozen=True)
class SchemaResult:
    """The worker's schema."""

    schema: Mapping[str, Any]


@dataclass(frozen=True)
class DevicesResult:
    """What onnxruntime tells: `providers` of this build, `devices` ("provider, vendor, type" each) where it can list
    them; `error` why it was not asked."""

    providers: tuple[str, ...]
    devices: tuple[str, ...]
    error: str | None


@dataclass(frozen=True)
class LoadResult:
    """What was loaded. `all_rows`: get_output("logits") gives every position, not the last alone."""

    load_seconds: float
    warmup_seconds: float
    device_type: str | None
    model_type: str | None
    threads: int | None
    search: Mapping[str, Any]
    ceiling: int
    kv_length: int | None
    eos_ids: tuple[int, ...]
    vocab_size: int
    all_rows: bool


@dataclass(frozen=True)
class EncodeResult:
    """Token ids."""

    ids: tuple[int, ...]


@dataclass(frozen=True)
class ShareResult:
    """What is kept: `kept` tokens (0 = nothing, and `reason` says why), read in `seconds`.

    `identical` of `compared` prompts: whether every logit was the same bit for bit; None where none was compared.
    `trap_shift` is the largest difference of a logit that a trap length makes (see worker.is_trap_length), None where
    it was not looked at.
    """

    kept: int
    seconds: float
    compared: int
    identical: bool | None
    trap_shift: float | None
    reason: str | None


@dataclass(frozen=True)
class ChoiceResult:
    """Per choice: `logprobs` (sum over its tokens, natural logarithm), `greedy` (whether greedy decoding writes it).

    `picked` is the first of the likeliest; `method` is of METHODS; `trap`: see worker.is_trap_length. The timing's
    prefill is the sum of all forward passes, one per prompt for "last_logits" and "row_before"; its prompt_tokens are
    those of every different prompt.
    `leading_bos` is None where no `bos_id` was given.
    """

    logprobs: tuple[float, ...]
    greedy: tuple[bool, ...]
    picked: int
    method: str
    trap: bool
    choice_ids: tuple[tuple[int, ...], ...]
    leading_bos: int | None
    timing: ItemTiming


@dataclass(frozen=True)
class GenerateResult:
    """`text` is cut at the earliest stop string; `ids` are all new tokens but EOS; `finish` is of FINISHES."""

    text: str
    ids: tuple[int, ...]
    finish: str
    leading_bos: int | None
    timing: ItemTiming


@dataclass(frozen=True)
class ErrorReply:
    """The worker refused a request and goes on. `type` is of ERRORS."""

    type: str
    message: str


WorkerResult = (
    Empty | SchemaResult | DevicesResult | LoadResult | EncodeResult | ShareResult | ChoiceResult | GenerateResult
)

_RESULTS: dict[str, type[Any]] = {
    "schema": SchemaResult,
    "ping": Empty,
    "devices": DevicesResult,
    "load": LoadResult,
    "encode": EncodeResult,
    "share": ShareResult,
    "choice": ChoiceResult,
    "generate": GenerateResult,
    "shutdown": Empty,
}
_REQUESTS: tuple[type[Any], ...] = typing.get_args(WorkerRequest)


@dataclass(frozen=True)
class NoteLine:
    """A note on request `id`."""

    id: int
    note: Note


@dataclass(frozen=True)
class ReplyLine:
    """The one reply to request `id`; a result is still to be read with `parse_result`."""

    id: int
    error: ErrorReply | None
    result: Mapping[str, Any]


Line = Hello | NoteLine | ReplyLine


# -- schema ------------------------------------------------------------------------------------------


_KNOWN: dict[type[Any], Mapping[str, Any]] = {}


def _types(cls: type[Any]) -> Mapping[str, Any]:
    if cls not in _KNOWN:
        hints = typing.get_type_hints(cls)
        _KNOWN[cls] = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    return _KNOWN[cls]


def _kind(hint: Any) -> str:
    """The schema's word for a type: "int", "float|null", "list[int]", "object", "timing"."""
    if hint is ItemTiming:
        return "timing"
    if isinstance(hint, UnionType):
        (inner,) = (arg for arg in typing.get_args(hint) if arg is not NoneType)
        return f"{_kind(inner)}|null"
    origin = typing.get_origin(hint)
    if origin is tuple:
        return f"list[{_kind(typing.get_args(hint)[0])}]"
    if origin is not None and issubclass(origin, Mapping):
        return "object"
    return str(hint.__name__)


def _fields(cls: type[Any]) -> str:
    return " ".join(f"{name}:{_kind(hint)}" for name, hint in _types(cls).items())


def schema() -> dict[str, Any]:
    """This side's schema, in the worker's words: fields as "name:type ...", per op [request, result]."""
    return {
        "protocol": PROTOCOL,
        "hello": _fields(Hello),
        "note": _fields(Note),
        "error": _fields(ErrorReply),
        "timing": _fields(ItemTiming),
        "ops": {cls.op: [_fields(cls), _fields(_RESULTS[cls.op])] for cls in _REQUESTS},
        "phases": " ".join(PHASES),
        "errors": " ".join(ERRORS),
        "finishes": " ".join(FINISHES),
        "methods": " ".join(METHODS),
    }


# -- lines -------------------------------------------------------------------------------------------


def request_line(request_id: int, request: WorkerRequest) -> bytes:
    """One line for the worker's stdin."""
    body = {"id": request_id, "op": request.op, **dataclasses.asdict(request)}
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def abort_line(request_id: int) -> bytes:
    """Ask the worker to leave request `request_id` at its next step; that request gets the error "aborted"."""
    return json.dumps({"abort": request_id}).encode("ascii") + b"\n"


def _value(hint: Any, value: Any, name: str) -> Any:
    """`value` as the type `hint`. Raises ProtocolError that names the field."""
    if isinstance(hint, UnionType):
        if value is None:
            return None
        (hint,) = (arg for arg in typing.get_args(hint) if arg is not NoneType)
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast("type[Any]", hint), value, name)
    origin = typing.get_origin(hint)
    if origin is tuple and isinstance(value, list):
        inner = typing.get_args(hint)[0]
        return tuple(_value(inner, item, f"{name}[{i}]") for i, item in enumerate(value))
    if origin is not None and origin is not tuple and isinstance(value, dict):
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint in (str, bool) and isinstance(value, hint):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ProtocolError(f"The worker's field {name} is not {_kind(hint)}: {value!r:.80}")


def _build(cls: type[Any], body: Any, name: str) -> Any:
    if not isinstance(body, dict):
        raise ProtocolError(f"The worker's {name} is not an object: {body!r:.80}")
    wanted = _types(cls)
    if set(body) != set(wanted):
        raise ProtocolError(f"The worker's {name} has the fields {sorted(body)}, not {sorted(wanted)}.")
    return cls(**{field: _value(hint, body[field], f"{name}.{field}") for field, hint in wanted.items()})


def parse_line(raw: bytes) -> Line:
    """What one line from the worker says. Raises ProtocolError that quotes a line which says nothing."""
    shown = repr(raw[:120].decode("utf-8", "backslashreplace"))
    try:
        body = json.loads(raw.decode("utf-8"))
    except ValueError as exc:
        raise ProtocolError(f"The worker wrote a line that is not JSON: {shown}") from exc
    if not isinstance(body, dict):
        raise ProtocolError(f"The worker wrote a line that is not an object: {shown}")
    if set(body) == {"hello"}:
        return _hello(body["hello"])
    request_id = body.get("id")
    if not isinstance(request_id, int):
        raise ProtocolError(f"The worker wrote a line without an id: {shown}")
    if set(body) == {"id", "note"}:
        note: Note = _build(Note, body["note"], "note")
        if note.phase not in PHASES:
            raise ProtocolError(f"The worker names an unknown phase: {shown}")
        return NoteLine(request_id, note)
    if set(body) == {"id", "ok", "result"} and body["ok"] is True and isinstance(body["result"], dict):
        return ReplyLine(request_id, None, body["result"])
    if set(body) == {"id", "ok", "error"} and body["ok"] is False:
        return ReplyLine(request_id, _build(ErrorReply, body["error"], "error"), {})
    raise ProtocolError(f"The worker wrote a line that is neither note nor reply: {shown}")


def _hello(body: Any) -> Hello:
    """The hello; its version is looked at before its fields, which another version may have changed."""
    version = body.get("protocol") if isinstance(body, dict) else None
    if version != PROTOCOL:
        raise ProtocolError(
            f"The worker speaks protocol {version!r}, this program {PROTOCOL}.",
            "Use the worker file that came with this program.",
        )
    hello: Hello = _build(Hello, body, "hello")
    return hello


def parse_result(op: str, body: Mapping[str, Any]) -> WorkerResult:
    """The typed result of `op`. Raises ProtocolError that names the field in which it is wrong."""
    result: WorkerResult = _build(_RESULTS[op], dict(body), op)
    return result
