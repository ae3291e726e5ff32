"""Build-time helpers for the embedded demo benchmark and demo model (never imported by the application)."""
