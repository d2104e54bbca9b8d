"""Measure what LLM agents say in public against what they say off the record."""
