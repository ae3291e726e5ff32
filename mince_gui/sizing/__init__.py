"""sizing: plan, exact, draws, rules (per-model | joint)."""
