"""The raw record: one row per attempt at an elicitation, never rewritten."""
