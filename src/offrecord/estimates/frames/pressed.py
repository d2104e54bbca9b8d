"""What alignment does to each group's target agent, all of its cells or none.

A score card and a gate speak of a model over scenarios and conditions. Elsewhere a
cell without a value, or without its baseline, is left out and named; here a figure is
then undefined, since lines are ranked and gates pass by what all cells show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.estimates.arrays.bounds import NOTHING, Range
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.frames.evidence import EVIDENCE
from offrecord.estimates.frames.groups import (
    baseline_of,
    group_keys,
    grouped,
    known_key,
    pooled,
    turns_of,
)
from offrecord.estimates.frames.scopes import clustered
from offrecord.estimates.frames.splits import split_estimates
from offrecord.estimates.frames.weighing import (
    How,
    accommodating_ranges,
    named_cells,
    ranges_of,
    split_ranges_of,
)
from offrecord.records import Kind

GROUP_KEYS: Final = ("model", "partner", "scenario", "protocol")
"""What cells are pooled within, beside the study's factors."""

SHIFTS: Final = ("public_shift", "conversion", "audience_effect")

RATES: Final = ("divergence", "accommodating", "reversing")
LEVELS: Final = ("public", "off_record")
BASELINE: Final = "baseline"
_DEFAULT: Final = How()

NO_ALIGNMENT: Final = "no alignment condition was asked"
NO_BASELINE: Final = "an alignment cell has no baseline beside it"
NO_CONDITION: Final = "neither an alignment condition nor baseline was asked"
NO_CONTEXT: Final = "no condition without any context was asked"
NO_EVIDENCE: Final = "no evidence condition was asked"
NO_EVIDENCE_BASELINE: Final = "an evidence cell has no baseline beside it"
EMPTY_CELL: Final = "a cell has no turn with both stances"
"""Why a figure of a group is undefined."""


class Pressed(NamedTuple):
    """One group: its alignment cells, and the baseline cells beside them."""

    keys: dict[str, Any]
    estimates: dict[str, Estimate]
    """X, Y, Z (`SHIFTS`) against baseline, `LEVELS` and `RATES` under alignment, the
    divergence without any context (`BASELINE`), and `EVIDENCE`; undefined with a reason
    where cells are absent."""
    ranges: dict[str, Range]
    """The same figures over all planned turns, if missing stances could be anything;
    NaN where there are no cells."""
    pressed: pl.DataFrame
    """The alignment turns, as `clustered` numbers them."""
    baseline: pl.DataFrame
    """The turns without any context."""
    evidence: pl.DataFrame
    """The turns under evidence."""
    planned: pl.DataFrame
    """All turns of the group, those of other conditions included."""


def pressed_rows(
    pairs: pl.DataFrame, by: Sequence[str] = ("model",), how: How = _DEFAULT
) -> list[Pressed]:
    """The estimates of every group.

    Args:
        pairs: The target agent's rows, as `stance_pairs` gives them.
        by: Any of `GROUP_KEYS` and the study's factors.
        how: Scope and level of the intervals.

    Raises:
        OffrecordError: If a key is none of these.
    """
    by = [known_key(key, GROUP_KEYS, pairs.columns) for key in by]
    groups = grouped(pooled(clustered(pairs), by), group_keys(pairs, by))
    return [_row(named, group, how) for named, group in groups]


def _row(named: dict[str, Any], group: pl.DataFrame, how: How) -> Pressed:
    pressed = group.filter(kind=Kind.ALIGNMENT)
    base = group.filter(kind=Kind.BASELINE)
    own = None if pressed.is_empty() else baseline_of(pressed, base)
    found = split_estimates(pressed, own, how) if pressed.height else {}
    context = split_estimates(base, None, how) if base.height else {}
    empty, no_context = _empty(pressed), _empty(base)
    absent = NO_ALIGNMENT if base.height else NO_CONDITION
    lacking = _lacking(pressed, base, own, absent, NO_BASELINE)
    both = pl.concat([pressed, base])
    evidence = group.filter(kind=Kind.EVIDENCE)
    estimates = {
        **{
            name: found[name]
            if pressed.height and not empty
            else _undefined(pressed, how, empty or NO_ALIGNMENT)
            for name in (*LEVELS, *RATES)
        },
        BASELINE: context["divergence"]
        if base.height and not no_context
        else _undefined(base, how, no_context or NO_CONTEXT),
        **{
            name: _undefined(both, how, lacking) if lacking else found[name]
            for name in SHIFTS
        },
        **_evidence(evidence, base, how),
    }
    ranges = _ranges(pressed, base, own, evidence)
    return Pressed(named, estimates, ranges, pressed, base, evidence, group)


def _lacking(
    rows: pl.DataFrame,
    base: pl.DataFrame,
    own: pl.DataFrame | None,
    absent: str,
    unpaired: str,
) -> str:
    """Why the shifts of some cells are undefined; empty where they are not.

    Args:
        rows: The turns of the cells.
        base: The turns without any context.
        own: Those beside the cells.
        absent: What to say where there are no such cells.
        unpaired: What to say where one has no baseline.
    """
    if rows.is_empty():
        return absent
    bare = _named(rows, ~pl.col("_same").is_in(base["_same"].implode()))
    beside = "" if own is None else _empty(own)
    return _because(unpaired, bare) or _empty(rows) or beside


def _evidence(rows: pl.DataFrame, base: pl.DataFrame, how: How) -> dict[str, Estimate]:
    """How far evidence moves both channels."""
    own = None if rows.is_empty() else baseline_of(rows, base)
    lacking = _lacking(rows, base, own, NO_EVIDENCE, NO_EVIDENCE_BASELINE)
    found = {} if lacking else split_estimates(rows, own, how)
    both = pl.concat([rows, base])
    return {
        name: _undefined(both, how, lacking) if lacking else found[shift]
        for name, shift in EVIDENCE.items()
    }


def _ranges(
    pressed: pl.DataFrame,
    base: pl.DataFrame,
    own: pl.DataFrame | None,
    evidence: pl.DataFrame,
) -> dict[str, Range]:
    """The range of every figure; NaN where there are no cells."""
    rates = dict.fromkeys((*RATES, BASELINE), NOTHING)
    if pressed.height:
        rates["divergence"] = ranges_of(pressed, Weights.CELLS).divergence
        rates["accommodating"], rates["reversing"] = accommodating_ranges(pressed)
    if base.height:
        rates[BASELINE] = ranges_of(base, Weights.CELLS).divergence
    beside = None if evidence.is_empty() else baseline_of(evidence, base)
    moved = split_ranges_of(evidence, beside, Weights.CELLS)._asdict()
    return {
        **rates,
        **split_ranges_of(pressed, own, Weights.CELLS)._asdict(),
        **{name: moved[shift] for name, shift in EVIDENCE.items()},
    }


def _empty(rows: pl.DataFrame) -> str:
    """Why cells of some rows have no value; empty where all have one."""
    known = (pl.col("left") - pl.col("right")).is_not_nan().any().over("_cell")
    return _because(EMPTY_CELL, _named(rows, ~known))


def _named(rows: pl.DataFrame, chosen: pl.Expr) -> list[str]:
    cells = rows.filter(chosen)["_cell"].unique().to_numpy()
    return named_cells(rows, cells) if cells.size else []


def _because(reason: str, names: Sequence[str]) -> str:
    """A reason with the cells that it is about; empty where there are none."""
    return f"{reason}: {', '.join(names)}" if names else ""


def _undefined(group: pl.DataFrame, how: How, reason: str) -> Estimate:
    nan = math.nan
    return Estimate(
        value=nan,
        low=nan,
        high=nan,
        se=nan,
        method="",
        scope=str(how.scope),
        clusters=0,
        reason=reason,
        **turns_of(group).sizes._asdict(),
    )
