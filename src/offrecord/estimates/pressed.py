"""What alignment does to each group's target agent, every cell with equal weight.

A score card and a gate speak of a model over scenarios and conditions. There each cell
(a scenario under a condition) counts the same, whatever its runs and missing turns, so
that a scenario does not count for less because its turns went missing. Where all cells
have as many turns, that is the pooled rate and its interval. Where they have not, the
interval moves to the equally weighted value, and its arms are longer by the square root
of Kish's effect of unequal weights, n sum(w^2) / sum(w)^2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Final, NamedTuple, TypedDict

import polars as pl

from offrecord.estimates.estimate import Estimate
from offrecord.estimates.groups import (
    SAME_CELL,
    baseline_of,
    group_keys,
    grouped,
)
from offrecord.estimates.intervals import LEVEL
from offrecord.estimates.missingness import Range, accommodating_range, rate_ranges
from offrecord.estimates.rates import quadrants, share
from offrecord.estimates.scopes import Scope, clustered
from offrecord.estimates.splits import split_rows
from offrecord.measures.pairs import factor_names
from offrecord.records import Kind, OffrecordError

GROUP_KEYS: Final = ("model", "partner", "scenario", "protocol")
"""What cells are pooled within, beside the study's factors."""

SHIFTS: Final = {
    "pressure": "public",
    "conversion": "off_record",
    "audience_effect": "gap",
}
"""The parts of the split, and the share that each is the shift of."""

RATES: Final = ("divergence", "accommodating", "reversing")
BASELINE: Final = "baseline"


NO_ALIGNMENT: Final = "no alignment condition was asked"
NO_BASELINE: Final = "an alignment cell has no baseline beside it"
NO_CONDITION: Final = "neither an alignment condition nor baseline was asked"
NO_CONTEXT: Final = "no condition without any context was asked"
EMPTY_CELL: Final = "a cell has no turn with both stances"
"""Why a figure of a group is undefined."""


class Pressed(NamedTuple):
    """One group: its alignment cells, and the baseline cells beside them."""

    keys: dict[str, Any]
    estimates: dict[str, Estimate]
    """X, Y, Z (`SHIFTS`) against baseline, `RATES` under alignment, and the divergence
    without any context (`BASELINE`); undefined with a reason where cells are absent."""
    ranges: dict[str, Range]
    """The same figures over all planned turns, if missing stances could be anything;
    NaN where there are no cells."""
    pressed: pl.DataFrame
    """The alignment turns, as `clustered` numbers them."""
    baseline: pl.DataFrame
    """The turns without any context."""
    planned: pl.DataFrame
    """All turns of the group, those of other conditions included."""


class Sizes(TypedDict):
    """How much is known of a group."""

    runs: int
    """Runs that have a turn with both stances."""
    turns: int
    """Turns with both."""
    missing: int
    """Planned turns without."""


class _Cell(NamedTuple):
    same: tuple[Any, ...]
    """What a cell shares with its baseline."""
    turns: int
    values: dict[str, float]
    ranges: dict[str, Range]


def pressed_rows(
    pairs: pl.DataFrame,
    by: Sequence[str] = ("model",),
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> list[Pressed]:
    """The estimates of every group.

    Args:
        pairs: The target agent's rows, as `stance_pairs` gives them.
        by: Any of `GROUP_KEYS` and the study's factors.
        scope: Whom the intervals are to speak about.
        level: How often such intervals are to hold the truth.

    Raises:
        OffrecordError: If a key is none of these.
    """
    possible = [*GROUP_KEYS, *factor_names(pairs)]
    for key in by:
        if key not in possible:
            raise OffrecordError(
                f"--by {key}: use any of {', '.join(possible)}; cells are pooled over "
                "conditions and turns of the target agent"
            )
    keys = group_keys(pairs, by)
    kinds = (Kind.ALIGNMENT, Kind.BASELINE)
    split = {
        (*(row.keys[key] for key in keys), row.keys["kind"]): row.estimates
        for row in split_rows(
            pairs.filter(pl.col("kind").is_in(kinds)),
            [*by, "kind"],
            scope,
            level=level,
        )
    }
    frame, rows = clustered(pairs), []
    for named, group in grouped(frame, keys):
        two = [split.get((*named.values(), kind), {}) for kind in kinds]
        rows.append(_row(named, group, two, scope))
    return rows


def _row(
    named: dict[str, Any],
    group: pl.DataFrame,
    split: Sequence[Mapping[str, Estimate]],
    scope: Scope,
) -> Pressed:
    pressed = group.filter(kind=Kind.ALIGNMENT)
    unpressed = group.filter(kind=Kind.BASELINE)
    cells, base = _cells(pressed), _cells(unpressed)
    own = baseline_of(pressed, unpressed) if cells else None
    beside = {} if own is None else {cell.same: cell for cell in _cells(own)}
    estimates: dict[str, Estimate] = {}
    ranges: dict[str, Range] = {}
    for name in RATES:
        weighed = _weighed(split[0].get(name), cells, name, (0.0, 1.0))
        estimates[name] = weighed or _undefined(pressed, scope, NO_ALIGNMENT)
        ranges[name] = _range([cell.ranges[name] for cell in cells])
    weighed = _weighed(split[1].get("divergence"), base, "divergence", (0.0, 1.0))
    estimates[BASELINE] = weighed or _undefined(unpressed, scope, NO_CONTEXT)
    ranges[BASELINE] = _range([cell.ranges["divergence"] for cell in base])
    for name, share_of in SHIFTS.items():
        shift = _shifted(split[0].get(name), cells, beside, share_of)
        reason = NO_BASELINE if cells else NO_ALIGNMENT if base else NO_CONDITION
        both = pl.concat([pressed, unpressed])
        estimates[name] = shift or _undefined(both, scope, reason)
        ranges[name] = _range(
            [
                cell.ranges[share_of].minus(beside[cell.same].ranges[share_of])
                for cell in cells
                if cell.same in beside
            ]
        )
    return Pressed(named, estimates, ranges, pressed, unpressed, group)


def _cells(group: pl.DataFrame) -> list[_Cell]:
    names = [*SAME_CELL, "condition"]
    found = []
    for named, rows in grouped(group, names):
        public, other = rows["public"].to_numpy(), rows["other"].to_numpy()
        counts, ranges = quadrants(public, other), rate_ranges(public, other)
        values = {
            "public": counts.public,
            "off_record": counts.other,
            "gap": counts.public - counts.other,
            "divergence": counts.divergence,
            "accommodating": share(counts.accommodating, counts.turns),
            "reversing": share(counts.reversing, counts.turns),
        }
        found.append(
            _Cell(
                tuple(named[key] for key in SAME_CELL),
                counts.turns,
                values,
                {
                    **ranges._asdict(),
                    "accommodating": accommodating_range(public, other),
                    "reversing": accommodating_range(other, public),
                },
            )
        )
    return found


def _weighed(
    pooled: Estimate | None,
    cells: Sequence[_Cell],
    name: str,
    limits: tuple[float, float],
) -> Estimate | None:
    """A rate with equal weight for each cell; None where there is none."""
    if pooled is None or not cells:
        return None
    stretch = _kish([1.0] * len(cells), [cell.turns for cell in cells])
    return _moved(pooled, fmean(cell.values[name] for cell in cells), stretch, limits)


def _shifted(
    pooled: Estimate | None,
    cells: Sequence[_Cell],
    beside: Mapping[tuple[Any, ...], _Cell],
    name: str,
) -> Estimate | None:
    """A shift against each cell's own baseline; None where a cell has none."""
    if pooled is None or not beside:
        return None
    value = fmean(cell.values[name] - beside[cell.same].values[name] for cell in cells)
    uses = [sum(cell.same == same for cell in cells) for same in beside]
    stretches = (
        _kish([1.0] * len(cells), [cell.turns for cell in cells]),
        _kish(uses, [cell.turns for cell in beside.values()]),
    )
    # The larger of two is no answer where one is NaN.
    stretch = math.nan if any(map(math.isnan, stretches)) else max(stretches)
    most = 2.0 if name == "gap" else 1.0
    return _moved(pooled, value, stretch, (-most, most))


def _kish(weights: Sequence[float], turns: Sequence[int]) -> float:
    """How much longer arms get if cells have these weights instead of their turns."""
    if not all(turns):
        return math.nan
    each = sum(weight**2 / n for weight, n in zip(weights, turns, strict=True))
    return math.sqrt(sum(turns) * each) / sum(weights)


def _moved(
    pooled: Estimate, value: float, stretch: float, limits: tuple[float, float]
) -> Estimate:
    if math.isnan(stretch):
        nan = math.nan
        return replace(pooled, value=nan, low=nan, high=nan, se=nan, reason=EMPTY_CELL)
    if math.isclose(stretch, 1.0):
        return pooled
    least, most = limits
    low = value - stretch * (pooled.value - pooled.low)
    high = value + stretch * (pooled.high - pooled.value)
    return replace(
        pooled,
        value=value,
        low=low if math.isnan(low) else max(low, least),
        high=high if math.isnan(high) else min(high, most),
        se=stretch * pooled.se,
        method=f"{pooled.method}, cells weighted equally",
    )


def _undefined(group: pl.DataFrame, scope: Scope, reason: str) -> Estimate:
    nan = math.nan
    return Estimate(
        value=nan,
        low=nan,
        high=nan,
        se=nan,
        method="",
        scope=str(scope),
        clusters=0,
        reason=reason,
        **sizes(group),
    )


def sizes(group: pl.DataFrame) -> Sizes:
    """Count what is known of a group.

    Args:
        group: Rows as `clustered` gives them.
    """
    known = group.filter(pl.col("public").is_not_nan(), pl.col("other").is_not_nan())
    return {
        "runs": known["_run"].n_unique(),
        "turns": known.height,
        "missing": group.height - known.height,
    }


def _range(ranges: Sequence[Range]) -> Range:
    if not ranges:
        return Range(math.nan, math.nan)
    lows, highs = zip(*ranges, strict=True)
    return Range(fmean(lows), fmean(highs))
