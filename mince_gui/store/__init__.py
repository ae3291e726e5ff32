"""store: the workspace: one SQLite file."""
