"""Estimates as people read them; the report only draws."""
