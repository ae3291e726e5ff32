"""run: runtimes, worker protocol, supervisor, outcome, timing."""
