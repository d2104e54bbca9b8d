"""A study against an earlier one: one row for each model that both have."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from offrecord.estimates.comparable import Compared, alike_factors
from offrecord.estimates.frames.noninferiority import (
    AgainstFigures,
    noninferiority_rows,
)
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.weighing import How

_DEFAULT = How()


def against_rows(
    new: pl.DataFrame,
    old: pl.DataFrame,
    by: Sequence[str],
    margin: float,
    found: Compared,
    how: How = _DEFAULT,
) -> list[Row[AgainstFigures]]:
    """Divergence of a study less that of an earlier one.

    Args:
        new: Pairs of the study that is judged.
        old: Those of the earlier one.
        by: Keys to group by. One model that is compared with one of another name is
            no key.
        margin: The largest difference that does not matter, as a fraction of 1.
        found: What `compared` says of the two studies.
        how: Scope and level of the interval, and what pairs of cells weigh.

    Returns:
        Rows whose verdict is inconclusive where the studies are not comparable.

    Raises:
        OffrecordError: If a key is unknown.
    """
    keys = list(by)
    new, old = alike_factors([new, old])
    if found.models:
        new, old = (p.filter(pl.col("model").is_in(found.models)) for p in (new, old))
    else:
        keys = [key for key in keys if key != "model"]
    return noninferiority_rows(
        new, old, keys, margin, how, unlike=found.unlike, note=found.note
    )
