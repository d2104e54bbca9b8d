"""Benchmarks: what the project promises in figures, measured on this machine."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """One line of the table that `python -m benchmarks` prints."""

    name: str
    """What was measured."""
    value: str
    """The figure, with its unit."""
    aim: str = ""
    """What it should be; empty where it only informs."""
