"""ui: the window."""
