"""Dose-response: how far a stance moves per dose of an alignment context.

A dose is a hint (1), the fact (2), or the fact with its precedent (3). The slope is
that of the least-squares line through the doses, which for doses one apart is the
highest less the lowest over their distance: of three, the middle one weighs nothing.
Cells of the two ends are paired and their runs permuted, as in any contrast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.permutation import PValue, no_test
from offrecord.estimates.arrays.randomization import NO_PAIR
from offrecord.estimates.frames.compared import Compared
from offrecord.estimates.frames.groups import CONTEXT, group_keys, grouped
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered
from offrecord.estimates.frames.sides import Contrast, shared_sides
from offrecord.estimates.frames.weighing import How
from offrecord.records import Kind, factor_names

SPOKEN: Final = "public"
MEASURES: Final = (SPOKEN, "off_record", "gap")
_DEFAULT: Final = How()


@dataclass(frozen=True, kw_only=True)
class DoseFigures:
    """The trend of one measure over the doses of one timing."""

    measure: str
    lowest: float
    """The lowest dose, and the share or gap there."""
    at_lowest: float
    highest: float
    at_highest: float
    slope: Bounds
    """Per dose, as a fraction of 1."""
    outcome: PValue
    """Of the test that doses do not matter."""
    runs: int
    """Of both ends."""
    note: str
    """Cells that are left out, since one end of them is absent."""
    level: float
    scope: str


def dose_rows(
    pairs: pl.DataFrame,
    by: Sequence[str],
    rng: np.random.Generator,
    how: How = _DEFAULT,
) -> Iterator[Row[DoseFigures]]:
    """The trend of every group and timing with several doses.

    The spoken channel is in pairs with every silent one; its trend is one row, without
    the key `right_channel`.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by; those that say which condition are no keys.
        rng: Draws arrangements where they are too many to count.
        how: Scope and level of the intervals, and what pairs of cells weigh.

    Raises:
        OffrecordError: If a key is unknown.
    """
    rows = clustered(pairs).filter(kind=Kind.ALIGNMENT)
    factors = factor_names(pairs.columns)
    keys = [key for key in group_keys(pairs, by) if key not in CONTEXT]
    told = list[dict[str, Any]]()
    for named, group in grouped(rows, [*keys, "timing"]):
        doses = sorted(group["dose"].unique())
        if len(doses) < 2:
            continue
        low, high = doses[0], doses[-1]
        ends = group.filter(pl.col("dose").is_in([low, high]))
        ends = ends.with_columns(pl.col("dose").cast(pl.String))
        contrast = Contrast(f"{high}:{low}", "dose", str(high), str(low))
        sides = shared_sides(ends, contrast, factors)
        common = {k: value for k, value in named.items() if k != "right_channel"}
        for measure in MEASURES:
            if measure == SPOKEN and common in told:
                continue
            compared = Compared(contrast, measure, sides, how)
            last, first, moved = compared.moved
            yield Row(
                common if measure == SPOKEN else named,
                DoseFigures(
                    measure=measure,
                    lowest=low,
                    at_lowest=first.value,
                    highest=high,
                    at_highest=last.value,
                    slope=Bounds(*(bound / (high - low) for bound in moved.bounds)),
                    outcome=compared.test(rng)
                    if moved.bounds.known
                    else no_test(NO_PAIR),
                    runs=sum(one.turns.sizes.runs for one in (sides.a, sides.b)),
                    note=compared.note,
                    level=how.level,
                    scope=str(how.scope),
                ),
            )
        told.append(common)
