"""Rates, gap and split with their intervals, by any grouping of the pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.signed import stratified_gap
from offrecord.estimates.arrays.split import (
    Channels,
    channels,
    mean_split,
    rate_split,
)
from offrecord.estimates.arrays.stratified import stratified_mean, stratified_rate
from offrecord.estimates.frames.groups import (
    CONTEXT,
    baseline_of,
    group_keys,
    grouped,
    matching,
    pooled,
)
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.estimates.frames.weighing import (
    How,
    against_baseline,
    noted,
    own_weights,
)
from offrecord.records import Kind

DEFAULT_BY: Final = ("model", "condition")
_DEFAULT: Final = How()


class SplitRow(NamedTuple):
    """One group: its keys, its estimates by name, and its turns."""

    keys: dict[str, Any]
    estimates: dict[str, Estimate]
    """`public`, `off_record`, `gap`; of stances also `divergence`, `accommodating`,
    `reversing`; and `public_shift`, `conversion`, `audience_effect` where the group
    holds no baseline but has one beside it."""
    turns: pl.DataFrame
    """As `clustered` numbers them."""
    baseline: pl.DataFrame | None
    """The turns that these are set against."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitFigures(Estimate):
    """One of a group's estimates."""

    estimate: str
    """Which one, as in `SplitRow`."""


def split_rows(
    pairs: pl.DataFrame,
    by: Sequence[str] = DEFAULT_BY,
    how: How = _DEFAULT,
    *,
    numeric: bool = False,
    also: Sequence[str] = (),
) -> list[SplitRow]:
    """The estimates of every group.

    Args:
        pairs: Rows as `stance_pairs` gives them, or with the same columns and any
            number as `left` and `right` (an item's answers).
        by: Keys as for `estimate_table`.
        how: Scope and level of the intervals, and what cells weigh.
        numeric: Whether the values are a numeric measure instead of sides.
        also: Further columns of such a measure to group by, say the item.

    Raises:
        OffrecordError: If a key is unknown.
    """
    keys = [*group_keys(pairs, by), *also]
    others = [key for key in keys if key not in CONTEXT]
    frame = clustered(pairs)
    unpressed = frame.filter(kind=Kind.BASELINE)
    rows = []
    for named, group in grouped(pooled(frame, keys), keys):
        shared = matching(unpressed, {key: named[key] for key in others})
        baseline = baseline_of(group, shared)
        found = split_estimates(group, baseline, how, numeric=numeric)
        rows.append(SplitRow(named, found, group, baseline))
    return rows


def split_estimates(
    group: pl.DataFrame,
    baseline: pl.DataFrame | None,
    how: How,
    *,
    numeric: bool = False,
) -> dict[str, Estimate]:
    """The estimates of one group, as `SplitRow` has them.

    Args:
        group: Rows of `clustered`.
        baseline: Those that it is set against, if any.
        how: Scope and level of the intervals, and what cells weigh.
        numeric: Whether the values are a numeric measure instead of sides.
    """
    pair = _channels(group, how)
    weights, left_out = own_weights(group, pair.public, how.weights)
    levels = _numeric if numeric else _stances
    found = {name: noted(one, left_out) for name, one in levels(pair, weights, how)}
    if baseline is None:
        return found
    beside = _channels(baseline, how)
    sides, left_out = against_baseline(
        group, pair.public, baseline, beside.public, how.weights
    )
    splitting = mean_split if numeric else rate_split
    moved = splitting(pair, beside, sides, how.scope, how.level)
    return found | {n: noted(one, left_out) for n, one in moved._asdict().items()}


def estimate_rows(rows: Sequence[SplitRow]) -> list[Row[SplitFigures]]:
    """The split of every group, one row per estimate."""
    return [
        Row(row.keys, SplitFigures(estimate=name, **asdict(one)))
        for row in rows
        for name, one in row.estimates.items()
    ]


def _channels(group: pl.DataFrame, how: How) -> Channels:
    public, other = (
        scoped(group, group[name].to_numpy(), how.scope) for name in ("left", "right")
    )
    return channels(public, other)


def _stances(
    pair: Channels, weights: Values, how: How
) -> Iterator[tuple[str, Estimate]]:
    gap, rest = pair.gap, (weights, how.scope, how.level)
    yield "public", stratified_rate(pair.public, *rest)
    yield "off_record", stratified_rate(pair.other, *rest)
    yield "gap", stratified_gap(gap, *rest)
    for name, values in {
        "divergence": np.abs(gap.values),
        "accommodating": np.maximum(gap.values, 0),
        "reversing": np.maximum(-gap.values, 0),
    }.items():
        yield name, stratified_rate(gap.of(values), *rest)


def _numeric(
    pair: Channels, weights: Values, how: How
) -> Iterator[tuple[str, Estimate]]:
    for name, one in (
        *(("public", pair.public), ("off_record", pair.other)),
        ("gap", pair.gap),
    ):
        yield name, stratified_mean(one, weights, how.scope, how.level)
