"""run: runtimes, the worker and its protocol, the supervisor, outcomes, timing, the run loop.

Comes in: a runtime (a Python that has OGA), a model folder, items with their rendered requests, a scorer,
a sink. Goes out: committed `ItemResult`s, events, `RunConditions`, a `RunEnd`.
May import: base, benchmarks, logs, sizing, subset, tasks (types only, in fact); never store: the sink is
handed in. `worker.py` imports nothing of the project and nothing imports it but `mince_gui.__main__`.

The life of a run
    The runner (`run_items`, in the headless `mince run` process) holds off sleep, reads the model folder, starts a
    worker, hears its hello, has it load the model (with a warm-up), looks at it (`Crew.first_look`: token ids, smoke
    test, the machine's state; fast mode's probe) and hands the conditions to the sink. Then, item by item: look at the
    sink's control, ask the worker, score, commit to the sink, emit ItemDone. At most the item in flight is lost,
    whichever process is killed. A worker that crashes or hangs is replaced and the item tried once more; a second time
    makes the item missing, with the cause; five such items in succession end the run, and so do the first twenty
    answers where all are one token over and over. An item in which the machine slept is done again. A worker that has
    grown too large is replaced between two items. At the end the worker is asked to shut down, then terminated, then
    killed; one that survives that ends the run, and the user is told to restart the computer.
    Control, at every item boundary: "pause" stays (the sink is asked again about once a second), "stop" ends,
    "skip" makes the next item missing; "skip" is also seen about once a second within an item, and aborts
    that one. The cancel token ends the run at once and commits nothing of the item in flight.

The worker protocol, version 3
    JSON objects, one a line, UTF-8 (pure ASCII as written), over the worker's stdin and its first stdout; its
    descriptor 1 then points at stderr, so whatever native code prints cannot break a line. `protocol.schema()`
    and `worker.SCHEMA` list every field; a test compares them. A change of any field or meaning raises the
    version; a parent refuses another version than its own.

    worker, once, first     {"hello": {"protocol": 3, "python", "executable", "pid", "platform", "oga_version",
                            "distribution", "ort_version", "packages", "import_seconds", "error"}}
                            error: why OGA cannot be imported; such a worker answers schema, ping, shutdown.
    parent                  {"id": n, "op": ..., fields}; one request at a time
    worker, any number      {"id": n, "note": {"phase", "tokens", "text"}}; before every OGA call that may block,
                            and while decoding about four times a second (tokens so far, the text's tail)
    worker, once            {"id": n, "ok": true, "result": {...}}
                            or {"id": n, "ok": false, "error": {"type", "message"}}
    parent, at any time     {"abort": n}: leave request n at the next token; it ends with the error "aborted"

    ops: schema; ping; devices (what onnxruntime lists); load (model_dir, threads, search, ceiling, kv_length, eos_ids,
    bos_id, fresh_only), once per process; encode (text); share (prompts, choices, compare: read once what they all
    begin with); choice (prompts: one for all or one per choice, choices, fast); generate (prompt, until,
    max_new_tokens, max_seconds); shutdown.
    errors: bad_request, bad_prompt (NUL, lone surrogates, no tokens), load_failed, not_loaded, does_not_fit
    (never cut to fit), non_finite (logits), aborted, oga (any exception of OGA's).
    End of stdin means that the parent is gone: the worker leaves what it does at the next token and exits. So
    does "shutdown", with a reply. Exit code 0 in both cases.

How choices are scored (`ChoiceResult.method`); prompt and choice are parted into tokens as lm-eval parts them, sums
    and ties are float32 as its are. Parity is promised for the first three, which make one forward pass per prompt.
    last_logits             every choice is one token in context: the last position's logits after the prompt
    row_before              the same, one letter appended and the row before it read: avoids a length at which INT4
                            CPU kernels shift logits (`trap` is also set where it could not be avoided)
    kept_prefix             fast mode: the last position's logits after what follows a beginning that was read once and
                            rewound to; only where a probe saw the very bits of whole prompts (see run.fast)
    all_rows                several tokens: all positions' logits of prompt and choice; a shared prompt is read once and
                            rewound to where that was seen to give the sums of whole passes
    token_by_token          several tokens, graph gives the last row alone: the choice is appended token by token
    fresh                   the same where a generator cannot be appended to exactly (tried once, when first needed)
                            or a worker crashed or hung at a choice: a new generator for every prefix
    A choice that adds no token makes the item missing, where lm-eval takes it as certain.

How prompts begin: before the first item the runtime's token ids of its prompt are compared with those of the folder's
    tokenizer.json (`token_check`); a doubled or missing BOS is told and kept in the conditions.

Phases and deadlines
    A worker cannot answer during an OGA call (the binding holds the GIL), so there is no heartbeat. Each note
    begins a phase, and silence is measured against the phase's deadline (`Deadlines`): start (OGA's import),
    load and warm_up, encode, prefill (a base plus seconds per prompt token), decode (between two notes), idle.
    The smoke test's rates scale them. Beyond its deadline a worker that has burnt CPU gets up to `busy_factor` times as
    long; an idle one is killed and its outcome is "hung".

Timing (`ItemTiming`), by the worker's own clock (time.perf_counter), tokenisation outside
    prefill = append_tokens; first token = prefill + the first generate_next_token (generation only); decode =
    from the first to the last counted token (EOS is not counted); wall = from the making of the generator to
    the end. A fresh generator for every item (but in fast mode), batch size 1, greedy, max_length = prompt + budget
    within the folder's ceiling (a fixed KV length is taken as it is, and the worker's loop stops at the budget).
"""

from mince_gui.run.deadlines import Deadlines
from mince_gui.run.model_folder import ModelFolder, folder_sha256, read_model_folder
from mince_gui.run.protocol import PROTOCOL, Hello, ProtocolError
from mince_gui.run.runner import RunEnd, RunnerSettings, run_items
from mince_gui.run.runtimes import Runtime, bundled_runtime, external_runtime
from mince_gui.run.supervisor import WorkerLostError, WorkerProcess, WorkerRefusedError
from mince_gui.run.tally import Earlier
from mince_gui.run.types import ItemResult, ItemTiming, Outcome, Place, RunConditions, RunItem, Sink

__all__ = [
    "PROTOCOL",
    "Deadlines",
    "Earlier",
    "Hello",
    "ItemResult",
    "ItemTiming",
    "ModelFolder",
    "Outcome",
    "Place",
    "ProtocolError",
    "RunConditions",
    "RunEnd",
    "RunItem",
    "RunnerSettings",
    "Runtime",
    "Sink",
    "WorkerLostError",
    "WorkerProcess",
    "WorkerRefusedError",
    "bundled_runtime",
    "external_runtime",
    "folder_sha256",
    "read_model_folder",
    "run_items",
]
