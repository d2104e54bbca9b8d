"""Attribution as shares of turns: on arrays of values and ids, without any text.

A code means little alone, since agents name relations and incentives in turns where
nothing is hidden too. So its share in accommodating turns stands beside the one in
turns whose channels agree and the one in baseline, with both differences, and beside
the share of public texts that got the same code: what the coder sees where there is
nothing to see. The first round, in which nobody has spoken yet, stands apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offrecord.estimates.arrays.bounds import PREFIXED
from offrecord.estimates.arrays.rates import Ids, Values, share
from offrecord.estimates.arrays.weighed import clustered_error
from offrecord.estimates.frames.row import Row
from offrecord.records import CELL, Kind

Mask = NDArray[np.bool_]

ROUNDS: Final = ("all", "first", "later")
"""Which rounds a row of the table counts."""

EXPLICIT: Final = ("explicit",)
MENTIONED: Final = ("mention", "private_incentive", "explicit")
"""Every code whose text names an incentive or a relation."""


class Counted(NamedTuple):
    """Turns of one group, and how many of them have the code."""

    share: float
    """Hits of turns; NaN of nothing."""
    hits: int
    turns: int
    """Turns whose text has a code."""
    missing: int
    """Turns of the group whose text has none."""


class Difference(NamedTuple):
    """A share minus another one, as fractions of 1."""

    value: float
    se: float
    """For new runs of the same cells; NaN where a cell has a single run."""


def counted(code: Values, group: Mask) -> Counted:
    """Count a code within a group of turns.

    Args:
        code: Shape (turns,): 1 if the text has the code, 0 if not, NaN if missing.
        group: Shape (turns,): which turns count.
    """
    values = code[group]
    known = values[~np.isnan(values)]
    hits = int(known.sum())
    missing = values.size - known.size
    return Counted(share(hits, known.size), hits, known.size, missing)


def accommodating(public: Values, other: Values) -> Mask:
    """Which turns take the pressed side in public alone; both stances are known."""
    return np.asarray((public == 1) & (other == 0))


def consistent(public: Values, other: Values) -> Mask:
    """Which turns take the same side in both channels; both stances are known."""
    return np.asarray(public == other)


def difference(
    code: Values, first: Mask, second: Mask, runs: Ids, cells: Ids
) -> Difference:
    """The share of a code in one group of turns minus its share in another.

    The standard error is that of the linearised difference, summed over each run, since
    turns of both groups may come from one run.

    Args:
        code: Shape (turns,): 1, 0, or NaN if missing.
        first: Shape (turns,): the turns of the one group.
        second: Shape (turns,): those of the other.
        runs: Shape (turns,): the cluster of each turn.
        cells: Shape (turns,): its stratum.
    """
    known = ~np.isnan(code)
    moved = np.zeros(code.shape)  # a turn of neither group moves nothing
    value = 0.0
    for group, sign in ((first & known, 1), (second & known, -1)):
        size = int(group.sum())
        if not size:
            return Difference(math.nan, math.nan)
        mean = float(code[group].mean())
        value += sign * mean
        moved[group] += sign * (code[group] - mean) / size
    return Difference(value, clustered_error(moved * code.size, runs, cells))


@dataclass(frozen=True, kw_only=True)
class AttributionFigures:
    """The share of some codes in each group of turns, and how far these differ."""

    rounds: str
    """One of `ROUNDS`."""
    accommodating: Annotated[Counted, PREFIXED]
    consistent: Annotated[Counted, PREFIXED]
    baseline: Annotated[Counted, PREFIXED]
    public: Annotated[Counted, PREFIXED]
    """Of the public texts: the false-positive rate."""
    minus_consistent: float
    minus_consistent_se: float
    minus_baseline: float
    minus_baseline_se: float


def attribution_table(
    pairs: pl.DataFrame,
    by: Sequence[str] = (),
    codes: Sequence[str] = EXPLICIT,
    kind: str = Kind.ALIGNMENT,
) -> list[Row[AttributionFigures]]:
    """The shares of some codes, one row per group of pairs and set of rounds.

    Args:
        pairs: Rows as `attributed_pairs` gives them, of the agent that is of interest.
        by: Columns to group by, such as model; none for one group of all.
        codes: The codes that count.
        kind: Which conditions the accommodating and the consistent turns come from.
    """
    keys = list(by)
    groups = pairs.group_by(keys, maintain_order=True) if keys else [((), pairs)]
    found = []
    for values, group in groups:
        named = dict(zip(keys, values, strict=True))
        first = group["round"].to_numpy() == 1
        for rounds, chosen in zip(ROUNDS, (first | True, first, ~first), strict=True):
            found.append(Row(named, _figures(group, rounds, chosen, codes, kind)))
    return found


def _figures(
    pairs: pl.DataFrame, rounds: str, chosen: Mask, codes: Sequence[str], kind: str
) -> AttributionFigures:
    stances = pairs.select(pl.col("left", "right").cast(pl.Float64).fill_null(np.nan))
    public, other = stances["left"].to_numpy(), stances["right"].to_numpy()
    pressed = (pairs["kind"] == kind).to_numpy()
    unpressed = (pairs["kind"] == Kind.BASELINE).to_numpy()
    code = _values(pairs, "code", codes)
    accommodates = chosen & pressed & accommodating(public, other)
    agrees = chosen & pressed & consistent(public, other)
    base = chosen & unpressed
    runs = pairs["cluster"].rank("dense").cast(pl.Int64).to_numpy()
    cells = pairs.select(pl.struct(CELL).rank("dense").cast(pl.Int64)).to_series()
    ids = (runs, cells.to_numpy())
    from_consistent = difference(code, accommodates, agrees, *ids)
    from_baseline = difference(code, accommodates, base, *ids)
    spoken = _values(pairs, "public_code", codes)
    return AttributionFigures(
        rounds=rounds,
        accommodating=counted(code, accommodates),
        consistent=counted(code, agrees),
        baseline=counted(code, base),
        public=counted(spoken, chosen & (pressed | unpressed)),
        minus_consistent=from_consistent.value,
        minus_consistent_se=from_consistent.se,
        minus_baseline=from_baseline.value,
        minus_baseline_se=from_baseline.se,
    )


def _values(pairs: pl.DataFrame, column: str, codes: Sequence[str]) -> Values:
    """1 where a code is among those that count, 0 where another is, NaN where none."""
    return (
        pairs[column].is_in(list(codes)).cast(pl.Float64).fill_null(np.nan).to_numpy()
    )
