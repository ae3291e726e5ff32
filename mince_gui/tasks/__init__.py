"""tasks: prompts, stop rules, answer extraction and scoring."""
