"""Frames in, arrays out: how pairs and draws are grouped and numbered.

Rows are sorted and runs and cells numbered over the whole frame first, so that no
estimate depends on the order in which rows came, and a run keeps its number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from offrecord.estimates.arrays.turns import Turns
from offrecord.records import (
    ARM,
    CELL,
    FACTOR,
    NO_ARM,
    STANDARD_DOSE,
    Kind,
    OffrecordError,
    Timing,
    factor_names,
)

CONTEXT: Final = ("condition", "kind", "timing", "dose")
"""The columns that say under which pressure: none of them holds two levels at once."""

SAME_CELL: Final = tuple(name for name in CELL if name not in CONTEXT)
"""What a cell shares with the baseline that it is set against."""

KEYS: Final = (
    *("model", "partner", *CONTEXT),
    *("scenario", "protocol", "language", "agent", "round"),
)
"""What every study can be grouped by."""


ARM_KEY: Final = f"{FACTOR}{ARM}"
"""The column of arms."""


def numbered(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs sorted, with `_run` and `_cell` as numbers and the two sides as floats.

    `_same` numbers what a cell shares with its baseline (`SAME_CELL`). Runs whose
    debates are copies of each other are one run. An alignment condition without a dose
    has the standard one.

    Args:
        pairs: Rows as `stance_pairs` gives them; without `cluster` each run is its own.
    """
    run = "cluster" if "cluster" in pairs.columns else "run"
    numbers = {"_run": pl.col(run), "_cell": pl.struct(CELL)}
    numbers["_same"] = pl.struct(SAME_CELL)
    return (
        dosed(pairs)
        .with_columns(
            *(
                one.rank("dense").cast(pl.Int64).alias(name)
                for name, one in numbers.items()
            ),
            pl.col("left", "right").cast(pl.Float64).fill_null(math.nan),
        )
        .sort("_run", "run", "agent", "right_channel", "round")
    )


def dosed(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of which alignment conditions without a dose have the standard one."""
    standard = pl.col("dose").fill_null(STANDARD_DOSE)
    own = pl.when(pl.col("kind") == Kind.ALIGNMENT).then(standard).otherwise("dose")
    return rows.with_columns(own.alias("dose"))


def pooled(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows that groups are made of.

    Where no key tells doses apart, the standard one alone counts; where none tells arms
    apart, those without an arm, if there are any.
    """
    if not {"condition", "dose"} & {*keys}:
        rows = rows.filter(pl.col("dose").fill_null(STANDARD_DOSE) == STANDARD_DOSE)
    return rows.filter(pl.col(ARM_KEY) == NO_ARM) if arms_left_out(rows, keys) else rows


def arms_apart(rows: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """The keys, with the arm if there are several: no one asks what they come to."""
    several = ARM_KEY in rows.columns and rows[ARM_KEY].n_unique() > 1
    return list(dict.fromkeys([*by, *([ARM_KEY] if several else [])]))


def arms_left_out(rows: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Whether groups by these keys are made without the rows that have an arm."""
    if ARM_KEY in keys or ARM_KEY not in rows.columns:
        return False
    levels = rows[ARM_KEY].unique()
    return len(levels) > 1 and NO_ARM in levels


def known_key(key: str, keys: Sequence[str], columns: Sequence[str]) -> str:
    """The column that a key names: one of `keys`, or a factor with or without prefix.

    Raises:
        OffrecordError: If it names none.
    """
    factors = factor_names(columns)
    for name in (key, f"{FACTOR}{key}"):
        if name in keys or name in factors:
            return name
    possible = [*keys, *(name.removeprefix(FACTOR) for name in factors)]
    raise OffrecordError(f"--by {key}: use any of {', '.join(possible)}")


def group_keys(pairs: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """The keys of a table: those asked for, the agent, and the channel if several.

    Raises:
        OffrecordError: If a key is unknown.
    """
    keys = [known_key(key, KEYS, pairs.columns) for key in by]
    several = pairs["right_channel"].n_unique() > 1
    return list(
        dict.fromkeys([*keys, *(["right_channel"] if several else []), "agent"])
    )


def grouped(
    frame: pl.DataFrame, keys: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Each group with its keys, baseline first, else in the order of the keys."""
    groups = [
        (dict(zip(keys, values, strict=True)), group)
        for values, group in frame.group_by(keys, maintain_order=True)
    ]
    yield from sorted(groups, key=lambda g: place_of(g[0], keys))


def place_of(named: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    """What groups are ordered by: baseline first, else in the order of the keys."""
    return [_place(named[key]) for key in keys]


def baseline_of(group: pl.DataFrame, baselines: pl.DataFrame) -> pl.DataFrame | None:
    """The baseline rows of a group's own cells, some of which may have none.

    Args:
        group: Rows of one group, as `numbered` gives them.
        baselines: The baseline rows that share the group's keys.

    Returns:
        Nothing where the group holds baseline itself, or no cell has any.
    """
    if Kind.BASELINE in group["kind"].unique():
        return None
    matched = baselines.filter(pl.col("_same").is_in(group["_same"].unique().implode()))
    return None if matched.is_empty() else matched


def turns_of(group: pl.DataFrame) -> Turns:
    """The arrays of rows that `numbered` gave."""
    return Turns(
        group["left"].to_numpy(),
        group["right"].to_numpy(),
        group["_run"].to_numpy(),
        group["_cell"].to_numpy(),
        group["round"].cast(pl.Int64).to_numpy(),
    )


def matching(frame: pl.DataFrame, keys: Mapping[str, Any]) -> pl.DataFrame:
    """The rows that have these values; null matches null."""
    return frame.filter(
        *(pl.col(name).eq_missing(pl.lit(value)) for name, value in keys.items())
    )


def _place(value: object) -> tuple[bool, bool, Any]:
    return value not in (Kind.BASELINE, Timing.NONE), value is None, value or 0
