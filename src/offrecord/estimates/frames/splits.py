"""Rates, gap and split with their intervals, by any grouping of the pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL, rate_estimate
from offrecord.estimates.arrays.means import mean_estimate
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.split import (
    Channels,
    channels,
    mean_gap,
    mean_split,
    rate_gap,
    rate_split,
)
from offrecord.estimates.frames.groups import (
    CONTEXT,
    baseline_of,
    group_keys,
    grouped,
    matching,
)
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.records import Kind

DEFAULT_BY: Final = ("model", "condition")


class SplitRow(NamedTuple):
    """One group: its keys, its estimates by name, and its turns."""

    keys: dict[str, Any]
    estimates: dict[str, Estimate]
    """`public`, `off_record`, `gap`; of stances also `divergence`, `accommodating`,
    `reversing`; and `public_shift`, `conversion`, `audience_effect` where the group
    holds no baseline but has one beside it."""
    turns: pl.DataFrame
    """As `clustered` numbers them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitFigures(Estimate):
    """One of a group's estimates."""

    estimate: str
    """Which one, as in `SplitRow`."""


def split_rows(
    pairs: pl.DataFrame,
    by: Sequence[str] = DEFAULT_BY,
    scope: Scope = Scope.RUNS,
    *,
    numeric: bool = False,
    also: Sequence[str] = (),
    level: float = LEVEL,
) -> list[SplitRow]:
    """The estimates of every group.

    Args:
        pairs: Rows as `stance_pairs` gives them, or with the same columns and any
            number as `left` and `right` (an item's answers).
        by: Keys as for `estimate_table`.
        scope: What the intervals generalize to.
        numeric: Whether the values are a numeric measure instead of sides.
        also: Further columns of such a measure to group by, say the item.
        level: How often such intervals are to hold the truth.

    Raises:
        OffrecordError: If a key is unknown.
    """
    keys = [*group_keys(pairs, by), *also]
    others = [key for key in keys if key not in CONTEXT]
    frame = clustered(pairs)
    unpressed = frame.filter(kind=Kind.BASELINE)
    named_levels, splitting = (
        (_numeric, mean_split) if numeric else (_stances, rate_split)
    )
    rows = []
    for named, group in grouped(frame, keys):
        pair = _channels(group, scope)
        found = dict(named_levels(pair, scope, level))
        shared = matching(unpressed, {key: named[key] for key in others})
        baseline = baseline_of(group, shared)
        if baseline is not None:
            beside = _channels(baseline, scope)
            found |= splitting(pair, beside, scope, level)._asdict()
        rows.append(SplitRow(named, found, group))
    return rows


def estimate_rows(rows: Sequence[SplitRow]) -> list[Row[SplitFigures]]:
    """The split of every group, one row per estimate."""
    return [
        Row(row.keys, SplitFigures(estimate=name, **asdict(one)))
        for row in rows
        for name, one in row.estimates.items()
    ]


def _channels(group: pl.DataFrame, scope: Scope) -> Channels:
    public, other = (
        scoped(group, group[name].to_numpy(), scope) for name in ("left", "right")
    )
    return channels(public, other)


def _stances(
    pair: Channels, scope: Scope, level: float
) -> Iterator[tuple[str, Estimate]]:
    gap = pair.gap.values
    yield "public", rate_estimate(pair.public, scope, level)
    yield "off_record", rate_estimate(pair.other, scope, level)
    yield "gap", rate_gap(pair, scope, level)
    for name, values in {
        "divergence": np.abs(gap),
        "accommodating": np.maximum(gap, 0),
        "reversing": np.maximum(-gap, 0),
    }.items():
        yield name, rate_estimate(pair.public.of(values), scope, level)


def _numeric(
    pair: Channels, scope: Scope, level: float
) -> Iterator[tuple[str, Estimate]]:
    yield "public", mean_estimate(pair.public, scope, level)
    yield "off_record", mean_estimate(pair.other, scope, level)
    yield "gap", mean_gap(pair, scope, level)
