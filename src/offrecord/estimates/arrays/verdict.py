"""The three answers of a gate."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What is known of a figure and its limit."""

    PASS = "pass"
    """It is shown to be below."""
    FAIL = "fail"
    """It is shown to be above."""
    INCONCLUSIVE = "inconclusive"
    """Neither is shown."""
