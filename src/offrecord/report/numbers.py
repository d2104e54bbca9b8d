"""How figures and ids are written, in the terminal, in tables and in the page."""

from __future__ import annotations

import math
from typing import Final

from offrecord.estimates.arrays.bounds import Range

UNDEFINED: Final = "–"

Figure = float | None
"""A number; None (out of JSON) and NaN (from an estimator) both mean undefined."""


def known(value: Figure) -> bool:
    """Whether there is a number."""
    return value is not None and not math.isnan(value)


def decimal(value: Figure, digits: int = 2) -> str:
    """A number in its own unit; a dash where it is undefined."""
    return UNDEFINED if value is None or math.isnan(value) else f"{value:z,.{digits}f}"


def points(value: Figure, digits: int = 1) -> str:
    """A fraction of 1 in percentage points; a dash where it is undefined."""
    return decimal(None if value is None else 100 * value, digits)


def threshold(value: float) -> str:
    """A limit in percentage points, as it was given."""
    return f"{round(100 * value, 9):g}"


def signed(value: Figure, digits: int = 1) -> str:
    """A difference of fractions in percentage points, with its sign."""
    text = points(value, digits)
    positive = value is not None and value > 0 and float(text.replace(",", "")) != 0
    return f"+{text}" if positive else text


def interval(low: Figure, high: Figure) -> str:
    """Two bounds in percentage points, or nothing where there are none."""
    if not (known(low) and known(high)):
        return ""
    return f" [{points(low)}, {points(high)}]"


def between(limits: Range) -> str:
    """The lowest and the highest value in percentage points; a dash where unknown."""
    if not known(limits.low):
        return UNDEFINED
    return f"{points(limits.low)} to {points(limits.high)}"


def chance(p: Figure) -> str:
    """A p-value; one that rounds to 0 or to 1 says which side of it it is."""
    if p is None or math.isnan(p):
        return UNDEFINED
    if p < 0.0001:
        return "<0.0001"
    if p < 0.001:
        return f"{p:.4f}"
    return ">0.999" if 0.9995 <= p < 1 else f"{p:.3f}"


def count(number: int) -> str:
    """A count with its thousands apart."""
    return f"{number:,}"


def named(name: object) -> str:
    """An id in words, such as that of a channel or a measure."""
    return str(name).replace("_", " ")
