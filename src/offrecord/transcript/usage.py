"""What a study used: tokens and logged costs, per model, as the providers reported.

Whatever nobody reported is missing, never 0: every sum says of how many replies it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from offrecord.records import SCRIPTED


@dataclass(slots=True)
class Bills:
    """What logs say of each call beyond the transcript's columns, summed per model."""

    _sums: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, model: str, written: int | None, cost: float | None) -> None:
        """Note one call.

        Args:
            model: The model that was asked.
            written: Input tokens that it wrote to a cache.
            cost: By the prices that Inspect was given, if any.
        """
        sums = self._sums.setdefault(
            model, {"written_tokens": None, "costed": 0, "cost": None}
        )
        if written is not None:
            sums["written_tokens"] = (sums["written_tokens"] or 0) + written
        if cost is not None:
            sums["costed"] += 1
            sums["cost"] = (sums["cost"] or 0.0) + cost

    def sums(self) -> dict[str, dict[str, Any]]:
        """Per model: `written_tokens`, and `cost` with the number of calls it is of."""
        return self._sums


def usage_of(
    transcript: pl.DataFrame, bills: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """The tokens of every recorded request, attempts that do not count included.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        bills: What logs say beyond them (see `Bills.sums`).

    Returns:
        Per model that was asked, by name: `calls`; `metered`, how many replies reported
        their tokens, and `input_tokens` and `output_tokens` of these; `cache_metered`,
        how many reported a cache, with `cache_input_tokens` and `cached_tokens` of
        these; `written_tokens`, `costed` and `cost`. Sums of nothing are None.
    """
    metered = pl.col("input_tokens").is_not_null()
    cached = metered & pl.col("cached_tokens").is_not_null()
    rows = (
        transcript.filter(~pl.col("agent_model").str.starts_with(f"{SCRIPTED}/"))
        .group_by("agent_model")
        .agg(
            calls=pl.len(),
            metered=metered.sum(),
            input_tokens=pl.col("input_tokens").sum(),
            output_tokens=pl.col("output_tokens").filter(metered).sum(),
            cache_metered=cached.sum(),
            cache_input_tokens=pl.col("input_tokens").filter(cached).sum(),
            cached_tokens=pl.col("cached_tokens").filter(cached).sum(),
        )
        .sort("agent_model")
    )
    found = {}
    for row in rows.iter_rows(named=True):
        model = row.pop("agent_model")
        if not row["metered"]:
            row |= {"input_tokens": None, "output_tokens": None}
        if not row["cache_metered"]:
            row |= {"cache_input_tokens": None, "cached_tokens": None}
        nothing = {"written_tokens": None, "costed": 0, "cost": None}
        found[str(model)] = {**row, **nothing, **(bills or {}).get(model, {})}
    return found
