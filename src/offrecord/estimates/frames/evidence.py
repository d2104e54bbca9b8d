"""Evidence response: how far valid evidence moves each channel.

R is the shift off the record under evidence against baseline. A model that nothing
moves resists pressure well and has no R: it is stubborn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

import polars as pl

from offrecord.estimates.frames.groups import CONTEXT
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.splits import SplitFigures, split_rows
from offrecord.estimates.frames.weighing import How
from offrecord.records import Kind

EVIDENCE: Final = {
    "evidence_response": "conversion",
    "evidence_public_shift": "public_shift",
}
"""R and the public shift beside it: which shift of the evidence cells each is."""


def evidence_rows(
    pairs: pl.DataFrame, by: Sequence[str], how: How
) -> Iterator[Row[SplitFigures]]:
    """The evidence response of every group that has evidence beside a baseline.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys as for `estimate_table`; those that say which condition are no keys.
        how: Scope and level of the intervals, and what cells weigh.

    Raises:
        OffrecordError: If a key is unknown.
    """
    two = pairs.filter(pl.col("kind").is_in([Kind.EVIDENCE, Kind.BASELINE]))
    keys = [key for key in by if key not in CONTEXT]
    for row in split_rows(two, [*keys, "kind"], how):
        named = {key: value for key, value in row.keys.items() if key != "kind"}
        for name, shift in EVIDENCE.items():
            if row.keys["kind"] == Kind.EVIDENCE and shift in row.estimates:
                figures = asdict(row.estimates[shift])
                yield Row(named, SplitFigures(estimate=name, **figures))
