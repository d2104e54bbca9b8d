"""What arms change: each against no arm and against its placebo.

A change is one more paired contrast of cells: an arm's cell against the same cell of
the other arm, each less its own baseline where the quantity is a shift. In a replay
both sides answered the same stored histories, and the history is the cluster of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.differences import stratified_mean_difference
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.multiplicity import holm
from offrecord.estimates.arrays.onesided import At, p_above, p_below
from offrecord.estimates.arrays.pairing import paired
from offrecord.estimates.arrays.signed import stratified_gaps
from offrecord.estimates.arrays.stratified import stratified_mean
from offrecord.estimates.frames.compared import Compared
from offrecord.estimates.frames.groups import (
    ARM_KEY,
    CONTEXT,
    group_keys,
    grouped,
    pooled,
)
from offrecord.estimates.frames.replayed import HISTORY
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered
from offrecord.estimates.frames.screened import screened
from offrecord.estimates.frames.sides import Contrast, shared_sides
from offrecord.estimates.frames.weighing import How
from offrecord.records import CELL, NO_ARM, OBSERVE, Kind, factor_names

_NOTHING: Final = "_nothing"


class Quantity(NamedTuple):
    """What may change: the mean of one column less another."""

    name: str
    kind: Kind
    """Of the cells that it is of."""
    left: str
    right: str = _NOTHING
    shift: bool = True
    """Whether it is set against baseline."""


QUANTITIES: Final = (
    Quantity("audience_effect", Kind.ALIGNMENT, "left", "right"),
    Quantity("conversion", Kind.ALIGNMENT, "right"),
    Quantity("public_shift", Kind.ALIGNMENT, "left"),
    Quantity("evidence_response", Kind.EVIDENCE, "right"),
    Quantity("evidence_public_shift", Kind.EVIDENCE, "left"),
    Quantity("missing", Kind.ALIGNMENT, "missing", shift=False),
    Quantity("refused", Kind.ALIGNMENT, "refused", shift=False),
    Quantity("holdout_audience_effect", Kind.ALIGNMENT, "left", "holdout"),
    Quantity("holdout_difference", Kind.ALIGNMENT, "right", "holdout"),
    Quantity("persona_audience_effect", Kind.PERSONA, "left", "right"),
    Quantity("baseline_public", Kind.BASELINE, "left", shift=False),
    Quantity("baseline_gap", Kind.BASELINE, "left", "right", shift=False),
)
"""The shares that are compared; the difference of the hold-out is Z by it less Z."""

SIZES: Final = ("words", "tokens_in", "tokens_out")
"""What else is compared, as means a turn: words of the spoken utterance, tokens of all
requests of the turn."""


@dataclass(frozen=True, kw_only=True)
class ArmFigures:
    """How one arm changes one quantity; shares as fractions of 1."""

    arm: str
    against: str
    """`none`, or the arm's placebo."""
    quantity: str
    value_arm: float
    value_against: float
    bounds: Bounds
    p: float
    """Two-sided, for no change."""
    p_adjusted: float = np.nan
    """By Holm over the arms."""
    screening: bool
    """Whether on stored histories, blind to feedback over turns."""
    runs: int
    missing: int
    method: str
    scope: str
    reason: str
    refused: bool = False


def placebos(arms: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The arms to judge, each with its placebo; empty where a study has none of it.

    That of an arm with a guard is, unless another one says so, the guard that observes.

    Args:
        arms: By level what study.json says of each: its stamp, `placebo_of`, `guard`.
    """
    names = {level: str(one["stamp"]).partition("@")[0] for level, one in arms.items()}
    of = {str(one["placebo_of"]): level for level, one in arms.items()}
    guards = {level: str(one.get("guard", "")) for level, one in arms.items()}
    observing = next((level for level in sorted(arms) if guards[level] == OBSERVE), "")
    return {
        level: of.get(names[level], observing if guards[level] else "")
        for level, one in sorted(arms.items())
        if not one["placebo_of"] and guards[level] != OBSERVE
    }


class Group(NamedTuple):
    """The rows of one group, all arms, and how their changes are taken."""

    rows: pl.DataFrame
    factors: list[str]
    how: How

    def compared(self, arm: str, other: str, quantity: Quantity) -> Compared | None:
        """One quantity of two arms; None where either has no such cells."""
        kinds = {quantity.kind, *([Kind.BASELINE] if quantity.shift else [])}
        contrast = Contrast(f"{arm}:{other}", ARM_KEY, arm, other)
        own = self.rows.filter(
            pl.col("kind").is_in(kinds), pl.col(ARM_KEY).is_in([arm, other])
        ).with_columns(left=quantity.left, right=quantity.right)
        sides = shared_sides(own, contrast, self.factors)
        for side in (sides.a, sides.b):
            known = side.rows.filter((pl.col("left") - pl.col("right")).is_not_nan())
            if set(known["kind"]) != kinds:
                return None
        measure = "audience_effect" if quantity.shift else "gap"
        return Compared(contrast, measure, sides, self.how)

    def at(self, arm: str, other: str, name: str) -> At | None:
        """The interval of a change at any level."""
        [quantity] = (one for one in QUANTITIES if one.name == name)
        found = self.compared(arm, other, quantity)
        return None if found is None else _at(found)


def arm_rows(
    turns: pl.DataFrame,
    arms: Mapping[str, Mapping[str, Any]],
    by: Sequence[str],
    how: How,
) -> list[Row[ArmFigures]]:
    """Every change by every arm, against none and against its placebo.

    Args:
        turns: Pairs of the target as `stance_pairs` gives them, with the columns that
            `QUANTITIES` and `SIZES` name.
        arms: As for `placebos`.
        by: Keys to group by; what says which condition or arm is none.
        how: Scope and level of the intervals, and what pairs of cells weigh.

    Raises:
        OffrecordError: If a key is unknown.
    """
    found = list[Row[ArmFigures]]()
    for named, group in groups(turns, by, how):
        levels = set(group.rows[ARM_KEY])
        for arm, placebo in placebos(arms).items():
            for other in dict.fromkeys((NO_ARM, placebo)):
                if {arm, other} <= levels:
                    found += [Row(named, one) for one in _changes(group, arm, other)]
    return _adjusted(found)


def _changes(group: Group, arm: str, other: str) -> Iterator[ArmFigures]:
    figures = partial(_figures, group, arm, other)
    for quantity in QUANTITIES:
        compared = group.compared(arm, other, quantity)
        if compared is None:
            continue
        found = compared.moved
        moved, at = found.difference, _at(compared)
        if HISTORY in group.factors:
            moved = screened(compared, group.how.level)
            at = cache(partial(_screened_bounds, compared))
        p = min(1.0, 2 * min(p_below(at, 0), p_above(at, 0)))
        values = found.a.value, found.b.value
        yield figures(quantity.name, values, moved, p)
    own = group.rows.filter(pl.col(ARM_KEY).is_in([arm, other]))
    two = shared_sides(own, Contrast("", ARM_KEY, arm, other), group.factors)[:2]
    scope, weighing, level = group.how
    for name in SIZES:
        sized = [side.rows[name].to_numpy() for side in two]
        if any(np.isnan(one).all() for one in sized):
            continue
        sides = list(zip(two, sized, strict=True))
        a, b = samples = [side.sample(one, scope) for side, one in sides]
        first, second = (side.cells(one) for side, one in sides)
        given = paired(first, second, weighing)
        moved = stratified_mean_difference(a, b, given, scope, level)
        means = (
            stratified_mean(one, weights, scope, level).value
            for one, weights in zip(samples, given, strict=True)
        )
        yield figures(name, tuple(means), moved, math.nan)


def _figures(
    group: Group,
    arm: str,
    other: str,
    quantity: str,
    values: tuple[float, ...],
    moved: Estimate,
    p: float,
) -> ArmFigures:
    return ArmFigures(
        arm=arm,
        against=other,
        quantity=quantity,
        value_arm=values[0],
        value_against=values[1],
        bounds=moved.bounds,
        p=p,
        screening=HISTORY in group.factors,
        runs=moved.runs,
        missing=moved.missing,
        method=moved.method,
        scope=moved.scope,
        reason=moved.reason or "",
        refused=moved.refused,
    )


def groups(
    turns: pl.DataFrame, by: Sequence[str], how: How
) -> Iterator[tuple[dict[str, Any], Group]]:
    """Groups with all their arms; none where there is no factor `arm`.

    Args:
        turns: As for `arm_rows`.
        by: As for `arm_rows`.
        how: Scope and level of the intervals, and what pairs of cells weigh.

    Raises:
        OffrecordError: If a key is unknown.
    """
    if ARM_KEY not in turns.columns:
        return
    apart = {*CONTEXT, ARM_KEY, "round"}
    keys = [key for key in group_keys(turns, by) if key not in apart]
    rows = clustered(turns.with_columns(pl.lit(0.0).alias(_NOTHING)))
    known = pl.col("left", "right") + 0 * (pl.col("left") - pl.col("right"))
    # X = Y + Z exactly: a turn counts for none of them where one stance is missing.
    rows = rows.with_columns(known)
    factors = factor_names(turns.columns)
    if HISTORY in factors:
        rest = [name for name in (*CELL, *factors) if name not in {"factors", ARM_KEY}]
        same = pl.struct(*rest, "repeat").rank("dense").cast(pl.Int64)
        rows = rows.with_columns(same.alias("_run"))
    for named, group in grouped(pooled(rows, [*keys, ARM_KEY]), keys):
        yield named, Group(group, factors, how)


def _screened_bounds(compared: Compared, level: float) -> Bounds:
    return screened(compared, level).bounds


def _at(compared: Compared) -> At:
    sides, scope = compared.summands, compared.how.scope
    return cache(lambda level: stratified_gaps(sides, scope, level).bounds)


def _adjusted(found: Sequence[Row[ArmFigures]]) -> list[Row[ArmFigures]]:
    """The rows with `p_adjusted`: Holm over the arms of each group and quantity."""
    families: dict[tuple[object, ...], list[int]] = {}
    for place, row in enumerate(found):
        against = row.of.against == NO_ARM
        key = (*row.group.values(), row.of.quantity, against)
        families.setdefault(key, []).append(place)
    adjusted = list(found)
    for places in families.values():
        made = holm(np.array([found[place].of.p for place in places]))
        for place, value in zip(places, made.tolist(), strict=True):
            one = replace(found[place].of, p_adjusted=value)
            adjusted[place] = Row(found[place].group, one)
    return adjusted
