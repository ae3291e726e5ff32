"""The workspace's tables, and how an older workspace gets them."""

VERSION = 4

TABLES = """
-- One imported per-item log: one model on one benchmark in one evaluation.
CREATE TABLE logs (
    log_id      INTEGER PRIMARY KEY,
    benchmark   TEXT NOT NULL,
    task        TEXT NOT NULL,             -- lm-eval task name ("mmlu" for the group)
    model       TEXT NOT NULL,
    timestamp   TEXT NOT NULL,             -- of the evaluation, as in the file name; tells re-runs apart
    format      TEXT NOT NULL,
    source      TEXT NOT NULL,             -- folder or file it was read from
    metrics     TEXT NOT NULL,             -- JSON list, in order
    meta        TEXT NOT NULL,             -- JSON object: versions, few-shot, template hash, limit
    checks      TEXT NOT NULL,             -- JSON list of logs.Check
    sha256      TEXT NOT NULL,             -- of keys and outcomes: a copied folder is the same evaluation
    imported_at TEXT NOT NULL,
    excluded    INTEGER NOT NULL DEFAULT 0 CHECK (excluded IN (0, 1)),
    UNIQUE (benchmark, model, task, timestamp, sha256)
);
CREATE TABLE log_items (
    log_id         INTEGER NOT NULL REFERENCES logs ON DELETE CASCADE,
    idx            INTEGER NOT NULL,       -- place in canonical order, from 0
    item_key       TEXT NOT NULL,
    category       TEXT,
    content_sha256 TEXT,                   -- canonical content hash; NULL where the log carried no doc
    PRIMARY KEY (log_id, idx)
) WITHOUT ROWID;
CREATE TABLE outcomes (
    log_id INTEGER NOT NULL REFERENCES logs ON DELETE CASCADE,
    metric TEXT NOT NULL,
    idx    INTEGER NOT NULL,
    passed REAL,                           -- NULL = missing
    trials REAL,
    PRIMARY KEY (log_id, metric, idx)
) WITHOUT ROWID;

CREATE TABLE sizings (
    sizing_id  INTEGER PRIMARY KEY,
    benchmark  TEXT NOT NULL,
    created_at TEXT NOT NULL,
    result     TEXT NOT NULL               -- JSON: SizingResult.to_json(), "curves_pp" (K, M, T) and a few more
);

-- The frozen file's own text is kept, so that reading it verifies its hash again.
CREATE TABLE subsets (
    name       TEXT PRIMARY KEY,
    benchmark  TEXT NOT NULL,
    n          INTEGER NOT NULL,
    path       TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE packs (
    name       TEXT PRIMARY KEY,           -- the subset's name
    benchmark  TEXT NOT NULL,
    n          INTEGER NOT NULL,
    is_full    INTEGER NOT NULL CHECK (is_full IN (0, 1)),
    path       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    created_at TEXT NOT NULL
);

CREATE TABLE runtimes (
    name      TEXT PRIMARY KEY,
    kind      TEXT NOT NULL,               -- bundled | external
    python    TEXT NOT NULL,
    facts     TEXT NOT NULL,               -- JSON: what the probe reported
    probed_at TEXT NOT NULL
);
CREATE TABLE models (
    path       TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    sha256     TEXT,                       -- of the folder; NULL = not hashed yet
    facts      TEXT NOT NULL,
    checked_at TEXT NOT NULL
);

-- The subset of every pack that was run, so that a report never depends on what lies at a pack's path later.
CREATE TABLE pack_subsets (
    pack_sha256 TEXT PRIMARY KEY,
    body        TEXT NOT NULL              -- JSON, as in a subset file
);
CREATE TABLE runs (
    run_id       TEXT PRIMARY KEY,
    created_at   TEXT NOT NULL,
    benchmark    TEXT NOT NULL,
    task         TEXT NOT NULL,
    subset       TEXT NOT NULL,            -- name of the subset ("<benchmark>-full" for all)
    total_items  INTEGER NOT NULL,         -- N of the benchmark
    subset_items INTEGER NOT NULL,         -- n of the subset
    items        INTEGER NOT NULL,         -- planned in this run (after --limit)
    model        TEXT NOT NULL,
    model_dir    TEXT NOT NULL,
    pack_path    TEXT NOT NULL,
    pack_sha256  TEXT NOT NULL,
    settings     TEXT NOT NULL,            -- JSON: chat_template, max_new_tokens, threads, timing, limit, runtime, ...
    conditions   TEXT,                     -- JSON: run.RunConditions, "machine", and "changed": what differed between
                                           -- sittings; NULL until the model is loaded
    state        TEXT NOT NULL CHECK (state IN ('started', 'running', 'paused', 'ended')),
    cause        TEXT,                     -- base.events.Cause; NULL until ended
    detail       TEXT,
    pid          INTEGER,                  -- of the runner; with pid_started it names one process for ever
    pid_started  REAL,
    ended_at     TEXT,
    rescored_of  TEXT,                     -- the run whose stored answers were scored again; NULL = its own answers
    origin       TEXT                      -- JSON: where a run that was made elsewhere came from; NULL = made here
);
CREATE TABLE run_items (
    run_id               TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    position             INTEGER NOT NULL, -- place in the run, from 0
    item_key             TEXT NOT NULL,
    category             TEXT,
    state                TEXT NOT NULL CHECK (state IN ('done', 'missing')),
    text                 TEXT,             -- generated text; NULL for choices
    picked               INTEGER,          -- index of the choice; NULL for generated text
    logprobs             TEXT,             -- JSON list, per choice
    extracted            TEXT,             -- JSON object: filter -> what it read
    expected             TEXT,
    prompt_sha256        TEXT,
    prompt_tokens        INTEGER,
    output_tokens        INTEGER,
    prefill_seconds      REAL,
    first_token_seconds  REAL,
    decode_seconds       REAL,
    wall_seconds         REAL,             -- the item in the worker
    elapsed_seconds      REAL,             -- the item as the runner's clock saw it; the run's wall clock is their sum
    capped               INTEGER NOT NULL CHECK (capped IN (0, 1)),
    attempts             INTEGER NOT NULL,
    cause                TEXT,             -- why missing
    finished_at          TEXT NOT NULL,
    method               TEXT,             -- how choices were scored, see run; NULL for text, and before schema 2
    finish               TEXT,             -- why text ended: eos, stop, budget, context, time
    greedy               TEXT,             -- JSON list, per choice: what greedy decoding would write
    leading_bos          INTEGER,          -- BOS tokens that the prompt begins with; NULL = not known
    read_tokens          INTEGER,          -- tokens that went through the model: fewer than the prompt's in fast mode
    repeats              INTEGER,          -- period (tokens) of an endless repetition that the text ends in
    memory_bytes         INTEGER,          -- resident memory of the worker after the item
    PRIMARY KEY (run_id, position),
    UNIQUE (run_id, item_key)
) WITHOUT ROWID;
CREATE TABLE run_scores (
    run_id   TEXT NOT NULL,
    position INTEGER NOT NULL,
    metric   TEXT NOT NULL,
    passed   REAL NOT NULL,
    trials   REAL NOT NULL,
    PRIMARY KEY (run_id, position, metric),
    FOREIGN KEY (run_id, position) REFERENCES run_items ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE controls (
    control_id INTEGER PRIMARY KEY,
    run_id     TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    control    TEXT NOT NULL CHECK (control IN ('run', 'pause', 'stop', 'skip')),
    asked_at   TEXT NOT NULL,
    taken_at   TEXT
);

-- Runs to be made, one after the other; each keeps its own end.
CREATE TABLE queue (
    entry_id  INTEGER PRIMARY KEY,         -- also the order
    run_order TEXT NOT NULL,               -- JSON: app.run.RunOrder
    run_id    TEXT REFERENCES runs ON DELETE SET NULL,   -- NULL until its turn has come
    state     TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'ended')),
    cause     TEXT,                        -- base.events.Cause; NULL until ended
    detail    TEXT NOT NULL DEFAULT '',
    added_at  TEXT NOT NULL,
    ended_at  TEXT
);

-- Stored full-benchmark scores that are not runs of this workspace.
CREATE TABLE stored_references (
    reference_id TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,            -- imported | typed in | shipped with the demo
    benchmark    TEXT NOT NULL,
    model        TEXT NOT NULL,
    precision    TEXT NOT NULL,
    task         TEXT NOT NULL,            -- lm-eval task name; "" where it is not known
    model_sha256 TEXT NOT NULL,            -- of the model folder that made it; "" where it is not known
    metrics      TEXT NOT NULL,            -- JSON: metric -> [passed, trials, items]
    source       TEXT NOT NULL,
    date         TEXT NOT NULL,
    rows         TEXT,                     -- JSON: item key -> metric -> [passed, trials]; NULL = aggregates only
    note         TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    task_version TEXT NOT NULL DEFAULT '',
    lm_eval_version TEXT NOT NULL DEFAULT '',
    few_shot     INTEGER,                  -- NULL = not known
    chat_template TEXT NOT NULL DEFAULT '', -- applied | none; "" = not known
    runtime      TEXT NOT NULL DEFAULT '',
    device       TEXT NOT NULL DEFAULT '',
    machine      TEXT NOT NULL DEFAULT '', -- whose clock made wall_seconds
    wall_seconds REAL,
    timing       TEXT NOT NULL DEFAULT '', -- standard | fast; "" = not known
    categories   TEXT                      -- JSON: item key -> category, of rows; NULL = not known
);
"""

MIGRATIONS = {
    1: """
ALTER TABLE run_items ADD COLUMN method TEXT;
ALTER TABLE run_items ADD COLUMN finish TEXT;
ALTER TABLE run_items ADD COLUMN greedy TEXT;
ALTER TABLE run_items ADD COLUMN leading_bos INTEGER;
""",
    2: """
ALTER TABLE run_items ADD COLUMN read_tokens INTEGER;
ALTER TABLE run_items ADD COLUMN repeats INTEGER;
ALTER TABLE run_items ADD COLUMN memory_bytes INTEGER;
CREATE TABLE queue (
    entry_id  INTEGER PRIMARY KEY,
    run_order TEXT NOT NULL,
    run_id    TEXT REFERENCES runs ON DELETE SET NULL,
    state     TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'ended')),
    cause     TEXT,
    detail    TEXT NOT NULL DEFAULT '',
    added_at  TEXT NOT NULL,
    ended_at  TEXT
);
""",
    3: """
ALTER TABLE runs ADD COLUMN rescored_of TEXT;
ALTER TABLE runs ADD COLUMN origin TEXT;
ALTER TABLE stored_references ADD COLUMN task_version TEXT NOT NULL DEFAULT '';
ALTER TABLE stored_references ADD COLUMN lm_eval_version TEXT NOT NULL DEFAULT '';
ALTER TABLE stored_references ADD COLUMN few_shot INTEGER;
ALTER TABLE stored_references ADD COLUMN chat_template TEXT NOT NULL DEFAULT '';
ALTER TABLE stored_references ADD COLUMN runtime TEXT NOT NULL DEFAULT '';
ALTER TABLE stored_references ADD COLUMN device TEXT NOT NULL DEFAULT '';
ALTER TABLE stored_references ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE stored_references ADD COLUMN wall_seconds REAL;
ALTER TABLE stored_references ADD COLUMN timing TEXT NOT NULL DEFAULT '';
ALTER TABLE stored_references ADD COLUMN categories TEXT;
""",
}
"""What makes a workspace of that version one of the next."""
