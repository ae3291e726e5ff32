"""store: the workspace: one SQLite file, plus packs, event files and exports beside it.

Comes in: values of the rooms below (PerItemLog, SizingResult, FrozenSubset, ItemResult, Reference).
Goes out: the same values, read back equal.
May import: every room below. Imported by `app`, and by `ui` and `cli` to read.

A workspace is a folder:

    mince.db                     SQLite: WAL (DELETE on a network folder), synchronous=FULL, foreign keys
    mince.db.schema-<n>-*.bak    the database as it was before it was brought to a newer schema
    mince.db.corrupt-*           a damaged database as it was found; the damaged one stays, too
    queue.lock                   held by the process that runs the queue (run.guards.lease)
    packs/<name>.mincepack       packs made here, or copies of those run from elsewhere
    subsets/<name>.json          frozen subset files written by `mince freeze` without --out
    runs/<run_id>.events.jsonl   the event stream of a run (base.events), appended line by line, for tailing
    runs/<run_id>.log            what the detached runner wrote to stderr; queue.log: the queue's
    reports/                     reports written without --out

Schema (its version is `PRAGMA user_version`): see `schema.py`, which says of every table and column what it
holds. Missing is NULL everywhere, never 0. Scores are stored as (passed, trials), never as percent.

How a window follows a run: it reads the row in `runs` (state, pid, totals) and the committed rows in
`run_items`/`run_scores`, tails the event file for what is live, and writes its wishes (pause, run, skip,
stop) as rows of `controls`, which the runner takes at the next item boundary and stamps `taken_at`.
A run whose state is running or paused but whose process (pid and its start time) is gone was interrupted,
and can be resumed. A Workspace belongs to the thread that opened it; every thread and process opens its own.

What goes wrong with the file (full, read-only, locked, damaged) is a `faults.WorkspaceError` from any statement; a
workspace that cannot be written is opened to read. An older schema is migrated in one transaction after a copy is
made, a newer one refused.
"""

from mince_gui.store.workspace import Workspace

__all__ = ["Workspace"]
