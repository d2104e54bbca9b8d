"""The tables of estimates: a row of rates per group, or a row per quantity."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
import polars as pl
import polars.selectors as cs

from offrecord.estimates.arrays.bounds import PREFIXED, Bounds
from offrecord.estimates.arrays.missingness import SplitRanges
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.arrays.rates import Quadrants, naive_error, quadrants
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.split import Split
from offrecord.estimates.frames.groups import arms_apart, group_keys
from offrecord.estimates.frames.row import Row, shown
from offrecord.estimates.frames.splits import (
    DEFAULT_BY,
    SplitRow,
    estimate_rows,
    split_rows,
)
from offrecord.estimates.frames.weighing import How, split_ranges_of
from offrecord.records import OffrecordError


@dataclass(frozen=True, kw_only=True)
class RateFigures:
    """Counts and rates of a group, with the interval of its divergence."""

    runs: int
    """Runs with a turn that counts."""
    strata: int
    """Cells that the runs come from."""
    planned: int
    turns: int
    """Turns with both stances, which alone count in rates."""
    missing: int
    attempts: int
    public: float
    off_record: float
    gap: float
    split: Split
    """NaN where the group holds baseline or has none of its own."""
    public_only: float
    """Share of accommodating turns: the public stance alone is on the pressed side."""
    off_record_only: float
    """Share of reversing turns: the other stance alone is."""
    divergent: int
    quadrants: Quadrants
    """Counts of turns, whatever their cells weigh."""
    divergence: float
    se: float
    se_naive: float
    """With every turn as independent."""
    ci_low: float
    ci_high: float
    method: str
    scope: str
    reason: str | None
    """Why the interval is NaN, refused or rests on less; None where nothing is."""
    refused: bool
    """Whether too little is known to show the interval."""
    possible: Annotated[SplitRanges, PREFIXED]
    """X, Y and Z over all planned turns, with missing stances at worst and at best."""

    @property
    def bounds(self) -> Bounds:
        """The divergence with its interval."""
        return Bounds(self.divergence, self.ci_low, self.ci_high)


def rate_rows(
    rows: Sequence[SplitRow], weights: Weights = Weights.CELLS
) -> list[Row[RateFigures]]:
    """The counts and rates of every group, from its split of the same weights."""
    return [Row(row.keys, _rates(row, weights)) for row in rows]


def estimate_table(
    pairs: pl.DataFrame, by: Sequence[str] = DEFAULT_BY
) -> list[Row[RateFigures]]:
    """One row of estimates per group of pairs, baseline first.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Any of model, condition, kind, timing, scenario, agent, round and the
            study's factors. The agent is always a key, and so is the channel in a
            study that pairs several with the spoken one.

    Returns:
        The rows that `estimate --json` prints, as fractions of 1, NaN where
        undefined.

    Raises:
        OffrecordError: If a key is unknown.
    """
    return rate_rows(split_rows(pairs, by))


def estimate(
    pairs: pl.DataFrame,
    by: Sequence[str] = DEFAULT_BY,
    scope: Scope | str = Scope.RUNS,
    weights: Weights | str = Weights.CELLS,
) -> pl.DataFrame:
    """Estimate what pairs show: rates, the gap, and the split against baseline.

    Args:
        pairs: Any frame with the columns of `pairs`.
        by: Keys as for `estimate_table`.
        scope: What the intervals generalize to: runs, pairs, scenarios, models, both or
            turns.
        weights: Whether cells weigh alike, or turns, as in the paper.

    Returns:
        One row per group and quantity: the keys, `quantity`, `value` with `low`, `high`
        and `se`, `runs`, `turns`, `missing`, `reason`, `left_out` and `scope`. Rates
        and differences are fractions of 1; what is undefined is null, and `reason` says
        why; `left_out` names the cells that a figure leaves out.

    Raises:
        OffrecordError: If a key, the scope or the weights are unknown.
    """
    if not isinstance(pairs, pl.DataFrame):
        raise OffrecordError("pairs: give a polars frame, as pl.from_pandas makes one")
    if not isinstance(scope, Scope):
        if scope.upper() not in Scope.__members__:
            known = ", ".join(name.lower() for name in Scope.__members__)
            raise OffrecordError(f"scope {scope}: use any of {known}")
        scope = Scope[scope.upper()]
    if weights not in {*Weights}:
        raise OffrecordError(f"weights {weights}: use cells or turns")
    if by == DEFAULT_BY:
        by = arms_apart(pairs, by)
    rows = estimate_rows(split_rows(pairs, by, How(scope, Weights(weights))))
    found = [
        {**row.group, "quantity": row.of.estimate, **{n: row[n] for n in _LONG}}
        for row in map(shown, rows)
    ]
    keys = {name: pairs.schema[name] for name in group_keys(pairs, by)}
    frame = pl.DataFrame(found, schema={**keys, "quantity": pl.String, **_LONG})
    return frame.with_columns(cs.float().fill_nan(None))


_LONG: Final = {
    **dict.fromkeys(("value", "low", "high", "se"), pl.Float64),
    **dict.fromkeys(("runs", "turns", "missing"), pl.Int64),
    **dict.fromkeys(("reason", "left_out", "scope"), pl.String),
}


def _rates(row: SplitRow, weights: Weights) -> RateFigures:
    public, other = row.turns["left"].to_numpy(), row.turns["right"].to_numpy()
    counts, found = quadrants(public, other), row.estimates
    rate, spoken, kept = (found[n] for n in ("divergence", "public", "off_record"))
    shifts = [found.get(name) for name in ("public_shift", "conversion")]
    moved, held = (math.nan if one is None else one.value for one in shifts)
    return RateFigures(
        runs=rate.runs,
        strata=row.turns["_cell"].n_unique(),
        planned=row.turns.height,
        turns=counts.turns,
        missing=row.turns.height - counts.turns,
        attempts=int(row.turns.unique("run")["attempts"].sum()),
        quadrants=counts,
        public=spoken.value,
        off_record=kept.value,
        gap=spoken.value - kept.value,
        split=Split(moved, held, moved - held),
        public_only=found["accommodating"].value,
        off_record_only=found["reversing"].value,
        divergent=counts.divergent,
        divergence=rate.value,
        se=rate.se,
        se_naive=naive_error(np.abs(public - other)),
        ci_low=rate.low,
        ci_high=rate.high,
        method=rate.method,
        scope=rate.scope,
        reason=rate.reason,
        refused=rate.refused,
        possible=split_ranges_of(row.turns, row.baseline, weights),
    )


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a JSON list; what is undefined is null."""
    return json.dumps(plain(rows), indent=1, allow_nan=False)
