"""What a reply states: values, or missing with a reason, with a version."""
