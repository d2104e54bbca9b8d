"""The block before which a gate can have no verdict, whatever comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from offrecord.estimates.arrays.anytime import ALPHA, Check, gate
from offrecord.estimates.arrays.blocks import RunMeans
from offrecord.estimates.arrays.rates import Values


def earliest_verdict(
    checks: Sequence[Check], most: int, alpha: float = ALPHA, of: int = 0
) -> int:
    """The first block that can bring a verdict, those so far included.

    It is that of a gate whose every run from now on has the lowest values, or the
    highest. Nobody need look before it.

    Args:
        checks: Of one study, its means of shape (blocks, runs).
        most: Blocks at most, at least those there are.
        alpha: As for `gate`.
        of: As for `gate`.

    Returns:
        The block, counted from 1; 0 where none can bring one by then.
    """
    found = []
    for end in ("least", "most"):
        longer = [_prolonged(one, getattr(one, end), most) for one in checks]
        judged = gate(longer, alpha, of)
        found += [block for block in (int(judged.passed), int(judged.failed)) if block]
    return min(found, default=0)


def _prolonged(check: Check, ends: Values, blocks: int) -> Check:
    more = np.broadcast_to(ends, (blocks - check.means.low.shape[0], ends.size))
    low, high = (np.concatenate([means, more]) for means in check.means)
    return replace(check, means=RunMeans(low, high))
