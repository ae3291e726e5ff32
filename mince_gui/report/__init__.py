"""report: drift, deltas, intervals, speedup; documents."""
