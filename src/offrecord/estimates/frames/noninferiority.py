"""Non-inferiority: is a study no worse than another one, by more than a margin?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import NOTHING, PREFIXED, Bounds, Range
from offrecord.estimates.arrays.differences import stratified_difference
from offrecord.estimates.arrays.missingness import rate_ranges
from offrecord.estimates.arrays.pairing import Weights, paired, turn_shares
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.frames.compared import Moved
from offrecord.estimates.frames.row import Row, group_rows
from offrecord.estimates.frames.sides import Contrast, Side, shared_sides
from offrecord.estimates.frames.weighing import How
from offrecord.records import factor_names

LEVEL: Final = 0.95
_DEFAULT: Final = How()
_STUDY: Final = "_study"

NO_SHARED: Final = "the two studies share no stratum with a value"
"""Why there is no difference."""

NOT_COMPARABLE: Final = "the studies are not comparable"
"""Why there is no verdict; what follows names what they do not share."""


def verdict(moved: Bounds, margin: float) -> Verdict:
    """Judge a difference, new minus old, of a figure that is worse when larger.

    Args:
        moved: The difference with its interval. A two-sided 95 % interval makes this a
            one-sided test of size 2.5 %.
        margin: The largest difference that does not matter, in the same unit.
    """
    if moved.high < margin:
        return Verdict.PASS
    if moved.low > margin:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE


@dataclass(frozen=True, kw_only=True)
class AgainstFigures:
    """Divergence of a study less that of an earlier one, with sizes of both."""

    runs_new: int
    turns_new: int
    missing_new: int
    runs_old: int
    turns_old: int
    missing_old: int
    value_new: float
    value_old: float
    bounds: Bounds
    possible: Annotated[Range, PREFIXED]
    """What the difference is over all planned turns, whatever the missing ones are."""
    margin: float
    verdict: str
    note: str
    reason: str
    scope: str
    refused: bool
    """Whether too little is known to show the interval; `reason` says what."""
    measure: str = "divergence"
    level: float = LEVEL


def noninferiority_rows(
    new: pl.DataFrame,
    old: pl.DataFrame,
    by: Sequence[str],
    margin: float,
    how: How = _DEFAULT,
    *,
    unlike: str = "",
    note: str = "",
) -> list[Row[AgainstFigures]]:
    """Divergence of a study less that of another, on the cells that both have.

    Args:
        new: Pairs of the study that is judged, as `stance_pairs` gives them.
        old: Pairs of the study that it is judged by.
        by: Keys to group by. Models with other names in the two studies are compared
            as long as the model is no key.
        margin: The largest difference that does not matter, as a fraction of 1.
        unlike: Why the studies are not comparable: then no row has another verdict
            than inconclusive.
        note: What else must be read with each row.
        how: Scope and level of the interval, and what pairs of cells weigh.

    Raises:
        OffrecordError: If a key is unknown.
    """
    both = _together(new, old)
    factors = factor_names(both.columns)
    reason = f"{NOT_COMPARABLE}: {unlike}" if unlike else ""

    def figures(group: pl.DataFrame) -> Iterator[AgainstFigures]:
        sides = shared_sides(group, Contrast("", _STUDY, "new", "old"), factors)
        two = sides.a, sides.b
        first, second, found = _divergence(two, how)
        moved = found.bounds
        undecided = unlike or found.refused
        now, before = sides.a.turns.sizes, sides.b.turns.sizes
        yield AgainstFigures(
            value_new=first.value,
            value_old=second.value,
            bounds=moved,
            possible=_possible(two, how.weights),
            margin=margin,
            verdict=str(Verdict.INCONCLUSIVE if undecided else verdict(moved, margin)),
            note="; ".join(filter(None, (note, sides.note, *(s.empty for s in two)))),
            reason=reason
            or ((found.reason or moved.shortfall) if moved.known else NO_SHARED),
            scope=found.scope,
            refused=found.refused,
            runs_new=now.runs,
            turns_new=now.turns,
            missing_new=now.missing,
            runs_old=before.runs,
            turns_old=before.turns,
            missing_old=before.missing,
        )

    return group_rows(both, by, figures)


def _together(new: pl.DataFrame, old: pl.DataFrame) -> pl.DataFrame:
    """The pairs of both; equal designs give equal run ids, which are told apart."""
    both = []
    for name, pairs in (("new", new), ("old", old)):
        ids = {i: pl.format("{} {}", pl.lit(name), i) for i in ("run", "cluster")}
        both.append(pairs.with_columns(pl.lit(name).alias(_STUDY), **ids))
    return pl.concat(both, how="diagonal")


def _divergence(two: tuple[Side, Side], how: How) -> Moved:
    """The rate of both studies, and the new one less the old."""
    values = [side.turns.divergent for side in two]
    given, rest = _paired(two, values, how.weights), (how.scope, how.level)
    new, old = (s.sample(v, how.scope) for s, v in zip(two, values, strict=True))
    return Moved(
        stratified_rate(new, given[0], *rest),
        stratified_rate(old, given[1], *rest),
        stratified_difference(new, old, given, *rest),
    )


def _paired(
    two: tuple[Side, Side], values: Sequence[Values], weights: Weights
) -> tuple[Values, Values]:
    """What the cells of both studies weigh."""
    a, b = (side.cells(one) for side, one in zip(two, values, strict=True))
    return paired(a, b, weights)


def _possible(two: tuple[Side, Side], weights: Weights) -> Range:
    """The difference over all planned turns, if missing stances could be anything."""
    if any(side.rows.is_empty() for side in two):
        return NOTHING
    planned = _paired(two, [np.zeros(side.rows.height) for side in two], weights)
    now, before = (
        rate_ranges(turns.public, turns.other, turn_shares(turns.cells, given))
        for turns, given in zip((side.turns for side in two), planned, strict=True)
    )
    return now.divergence.minus(before.divergence)
