"""app: one file per user action."""
