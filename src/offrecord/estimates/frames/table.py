"""The table of estimates: group the pairs, count each group, split it by baseline."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from offrecord.estimates.arrays.intervals import rate_estimate
from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.arrays.rates import (
    Values,
    divergences,
    naive_error,
    quadrants,
)
from offrecord.estimates.arrays.split import Split, split
from offrecord.estimates.frames.groups import (
    CONTEXT,
    baseline_of,
    group_keys,
    grouped,
    matching,
)
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.records import Kind

DEFAULT_BY: Final = ("model", "condition")

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
    keys = group_keys(pairs, by)
    frame = clustered(pairs)
    others = [key for key in keys if key not in CONTEXT]
    unpressed = frame.filter(kind=Kind.BASELINE)
    rows = []
    for named, group in grouped(frame, keys):
        shared = {key: named[key] for key in others}
        baseline = baseline_of(group, matching(unpressed, shared))
        rows.append({**named, **_estimates(group, baseline)})
    return rows


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a JSON list; what is undefined is null."""
    return json.dumps(plain(rows), indent=1, allow_nan=False)


def _values(group: pl.DataFrame) -> tuple[Values, Values]:
    return group["left"].to_numpy(), group["right"].to_numpy()


def _estimates(group: pl.DataFrame, baseline: pl.DataFrame | None) -> dict[str, Any]:
    public, other = _values(group)
    counts = quadrants(public, other)
    differing = divergences(public, other)
    rate = rate_estimate(scoped(group, differing))
    moved = _UNSPLIT
    if baseline is not None:
        base = quadrants(*_values(baseline))
        moved = split(counts.public, counts.other, base.public, base.other)
    return {
        "runs": rate.runs,
        "strata": group["_cell"].n_unique(),
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
        "se": rate.se,
        "se_naive": naive_error(differing),
        "ci_low": rate.low,
        "ci_high": rate.high,
        "method": rate.method,
        "scope": rate.scope,
    }
