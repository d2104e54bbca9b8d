"""The table of estimates: group the pairs, count each group, split it by baseline."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.estimates.rates import (
    Ids,
    Quadrants,
    Values,
    clustered_error,
    divergences,
    naive_error,
    quadrants,
)
from offrecord.estimates.split import Split, split
from offrecord.measures.pairs import CELL, factor_names
from offrecord.records import Kind, OffrecordError, Timing

DEFAULT_BY: Final = ("model", "condition")

SCOPE: Final = "new runs of these cells"
"""What the clustered standard error speaks about."""

METHOD: Final = "clustered standard error: runs within cells, G/(G-1)"

_CONTEXT: Final = ("condition", "kind", "timing")
_KEYS: Final = ("model", *_CONTEXT, "scenario", "agent", "round")
_UNSPLIT: Final = Split(math.nan, math.nan, math.nan)


def estimate_table(
    pairs: pl.DataFrame, by: Sequence[str] = DEFAULT_BY
) -> list[dict[str, Any]]:
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
    keys = _keys(pairs, by)
    numbered = pairs.with_columns(
        pl.col("run").rank("dense").cast(pl.Int64).alias("_run"),
        pl.struct(CELL).rank("dense").cast(pl.Int64).alias("_cell"),
        pl.col("public", "other").cast(pl.Float64).fill_null(math.nan),
    )
    others = [key for key in keys if key not in _CONTEXT]
    baselines = {
        key: quadrants(*_values(group))
        for key, group in _groups(numbered.filter(kind=Kind.BASELINE), others)
    }
    rows = []
    for values, group in _groups(numbered, keys):
        named = dict(zip(keys, values, strict=True))
        baseline = baselines.get(tuple(named[key] for key in others))
        rows.append({**named, **_estimates(group, baseline)})
    return sorted(rows, key=lambda row: [_place(row[key]) for key in keys])


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a JSON list; what is undefined is null."""
    plain = [
        {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in row.items()
        }
        for row in rows
    ]
    return json.dumps(plain, indent=1, allow_nan=False)


def _keys(pairs: pl.DataFrame, by: Sequence[str]) -> list[str]:
    possible = [*_KEYS, *factor_names(pairs)]
    for key in by:
        if key not in possible:
            raise OffrecordError(f"--by {key}: use any of {', '.join(possible)}")
    several = pairs["channel"].n_unique() > 1
    return list(dict.fromkeys([*by, *(["channel"] if several else []), "agent"]))


def _groups(
    pairs: pl.DataFrame, keys: Sequence[str]
) -> Iterator[tuple[tuple[object, ...], pl.DataFrame]]:
    yield from pairs.group_by(keys, maintain_order=True)


def _values(group: pl.DataFrame) -> tuple[Values, Values]:
    return group["public"].to_numpy(), group["other"].to_numpy()


def _estimates(group: pl.DataFrame, baseline: Quadrants | None) -> dict[str, Any]:
    public, other = _values(group)
    counts = quadrants(public, other)
    differing = divergences(public, other)
    runs: Ids = group["_run"].to_numpy()
    cells: Ids = group["_cell"].to_numpy()
    moved = _UNSPLIT
    if baseline is not None and Kind.BASELINE not in group["kind"].unique():
        moved = split(counts.public, counts.other, baseline.public, baseline.other)
    return {
        "runs": np.unique(runs).size,
        "strata": np.unique(cells).size,
        "planned": group.height,
        "turns": counts.turns,
        "missing": group.height - counts.turns,
        "attempts": int(group.unique("run")["attempts"].sum()),
        "public": counts.public,
        "off_record": counts.other,
        "gap": counts.public - counts.other,
        **moved._asdict(),
        "divergent": counts.divergent,
        "accommodating": counts.accommodating,
        "reversing": counts.reversing,
        "both": counts.both,
        "neither": counts.neither,
        "divergence": counts.divergence,
        "se": clustered_error(differing, runs, cells),
        "se_naive": naive_error(differing),
        "ci_low": math.nan,
        "ci_high": math.nan,
        "method": METHOD,
        "scope": SCOPE,
    }


def _place(value: object) -> tuple[bool, bool, Any]:
    """Sort baseline first and what has no value last."""
    return value not in (Kind.BASELINE, Timing.NONE), value is None, value or 0
