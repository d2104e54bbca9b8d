"""Which turns a probe asks: drawn by seed from strata, with the weight of each.

Strata get alike many turns, so that an agent that speaks seldom is known as well as one
that speaks often; each turn weighs 1 / its chance to be drawn (Horvitz and Thompson
1952), so that estimates speak of all turns that it could have been.
"""

from __future__ import annotations

import json
from typing import Final

import numpy as np
import polars as pl

STRATA: Final = ("agent", "scenario", "condition", "prompt")
"""What tells strata apart: the speaker, the kind of conversation, the prompt."""


def allotted(sizes: list[int], wanted: int) -> list[int]:
    """How many to draw of each stratum: as alike as their sizes let them be.

    Args:
        sizes: How many each has.
        wanted: How many in all, at most.
    """
    given = [0] * len(sizes)
    left = min(wanted, sum(sizes))
    while left:
        open_ = [n for n, size in enumerate(sizes) if given[n] < size]
        each, more = divmod(left, len(open_))
        for place, n in enumerate(open_):
            given[n] += min(each + (place < more), sizes[n] - given[n])
        left = min(wanted, sum(sizes)) - sum(given)
    return given


def drawn(turns: pl.DataFrame, wanted: int, seed: int) -> pl.DataFrame:
    """Draw turns without replacement.

    Args:
        turns: One row each, in an order that does not depend on chance, with the
            columns of `STRATA`.
        wanted: How many, at most.
        seed: The same draws the same turns.

    Returns:
        Those drawn, in their order, with `stratum` and `weight`.
    """
    names = pl.struct(STRATA).map_elements(_name, return_dtype=pl.String)
    named = turns.with_columns(stratum=names) if turns.height else turns
    if turns.is_empty() or named["stratum"].n_unique() * 2 > wanted:
        named = turns.with_columns(stratum=pl.lit("all"))
    rng = np.random.default_rng(seed)
    named = named.with_row_index("_place")
    strata = named.partition_by("stratum", maintain_order=True)
    numbers = allotted([one.height for one in strata], wanted)
    parts = [
        one[np.sort(rng.permutation(one.height)[:number])].with_columns(
            weight=pl.lit(one.height / number)
        )
        for one, number in zip(strata, numbers, strict=True)
        if number
    ]
    found = pl.concat(parts) if parts else named.with_columns(weight=pl.lit(1.0))
    return found.sort("_place").drop("_place")


def _name(row: dict[str, str]) -> str:
    return json.dumps([row[name] for name in STRATA], ensure_ascii=False)
