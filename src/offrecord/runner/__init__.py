"""Running and planning a study: what the verbs `run` and `plan` call."""
