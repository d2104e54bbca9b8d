"""Runs in shards, on several machines or a Ray cluster."""
