"""app: one module per user action, called alike by the command line and the window.

Comes in: plain values and the workspace's folder, `emit` and a cancel token. Goes out: a result dataclass.
May import: every room below; neither click nor Qt. Each function opens its own Workspace, so that it may be
called from any thread. Each emits exactly one Started and one Ended around its other events (`stream`),
and raises MinceError for what the user can mend.

    import_logs  per-item logs into the workspace          run        one run, new or resumed; detached for the window
    size         P95 curve and n*                           reference  stored full-benchmark scores
    freeze       the subset, drawn once                     report     drift, deltas and speedup as a document
    pack         subset + docs, to run offline              demo       all of it, on the demo that ships with us
    runtimes     Pythons that can run the worker            check_model  what a model folder is, and what can run it
    queue        runs to be made one after the other        estimate   how long a run will take
"""
