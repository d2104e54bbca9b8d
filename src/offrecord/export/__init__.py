"""A study for other tools: as Inspect logs, and as tidy tables in common formats.

This stands beside the flow, as `study.py` does: it takes what every stage has left in
a study and writes it elsewhere. Nothing in the study changes.
"""
