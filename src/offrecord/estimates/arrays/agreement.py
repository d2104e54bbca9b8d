"""Agreement of coders: Krippendorff's alpha for nominal codes.

Alpha is one minus the observed over the expected disagreement of all codes that can be
paired, so it takes any number of coders and missing codes, and corrects for chance.
Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Agreement(NamedTuple):
    """How far coders agree, and on how much that rests."""

    alpha: float
    """1 is perfect, 0 is chance; NaN where undefined: no unit with two codes, or the
    same code everywhere, so that nothing could be told apart."""
    agreeing: float
    """The share of pairs of codes of one unit that are the same, each unit weighted by
    its number of codes; NaN without pairs. Not corrected for chance."""
    units: int
    """Units with at least two codes."""
    alone: int
    """Units with exactly one code, which say nothing here."""
    codes: int
    """Codes in the first kind of units."""


def krippendorff_alpha(codes: npt.ArrayLike) -> Agreement:
    """Agreement on nominal codes.

    Args:
        codes: Shape (units, coders): a number for each code, NaN where there is none.

    Raises:
        ValueError: If the shape is another.
    """
    table = np.asarray(codes, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("codes: expected an array of units by coders")
    categories = np.unique(table[~np.isnan(table)])
    counts = (table[:, :, None] == categories).sum(axis=1).astype(np.float64)
    each = counts.sum(axis=1)
    alone = int((each == 1).sum())
    counts, each = counts[each > 1], each[each > 1]
    total = each.sum()
    if not total:
        return Agreement(math.nan, math.nan, 0, alone, 0)
    same = (counts * (counts - 1)).sum(axis=1) / (each - 1)
    observed = 1 - same.sum() / total
    margins = counts.sum(axis=0)
    expected = 1 - (margins * (margins - 1)).sum() / (total * (total - 1))
    alpha = 1 - observed / expected if expected > 0 else math.nan
    return Agreement(float(alpha), float(1 - observed), len(each), alone, int(total))
