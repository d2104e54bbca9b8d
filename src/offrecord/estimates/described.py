"""What a report describes beside the rates: spreads, counts, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from offrecord.estimates.arrays.missingness import missingness, rate_ranges
from offrecord.estimates.frames.groups import group_keys, grouped
from offrecord.measures.parsed import pairs_of, stances_of, surveys_of
from offrecord.measures.stored import stored_measures
from offrecord.measures.texts.similarity import SIMILARITY
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record

Rows = list[dict[str, Any]]

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of a distribution, as `q05` to `q95`."""

_PAIRED: Final = (
    *("pairing", "left_run", "left_agent", "right_run", "right_channel"),
    *("variant", "model"),
)
"""The columns that say which two texts a measure of pairs is of."""


def missing_rows(pairs: pl.DataFrame, by: Sequence[str]) -> Rows:
    """What is missing of each group, why, and how far it could move the rates."""
    return list(_missing(pairs, by))


def _missing(pairs: pl.DataFrame, by: Sequence[str]) -> Iterator[dict[str, Any]]:
    values = pairs.with_columns(
        pl.col("left", "right").cast(pl.Float64).fill_null(math.nan)
    )
    for named, group in grouped(values, group_keys(pairs, by)):
        public, other = group["left"].to_numpy(), group["right"].to_numpy()
        runs = group.unique("run")
        found = missingness(public, other, int(runs["attempts"].sum()), runs.height)
        ranges = rate_ranges(public, other)._asdict()
        bounds = {
            f"{rate}_{end}": getattr(limits, end)
            for rate, limits in ranges.items()
            for end in ("low", "high")
        }
        reasons = {
            f"{name}_reasons": dict(
                group.filter(pl.col(side).is_nan())[f"{side}_status"]
                .value_counts(sort=True)
                .iter_rows()
            )
            for name, side in (("public", "left"), ("other", "right"))
        }
        yield {**named, **found._asdict(), **bounds, **reasons}


def status_rows(study: Record) -> Rows:
    """How many outputs had each status, by form and channel, of the measured attempts.

    Stances and surveys by the status of their parse, which tables count.
    """
    attempts = study.transcript.select("run", "attempt", "ended")
    kept = first_ended(attempts).select("run", "attempt").unique()
    rows = []
    for parsed in (stances_of(study), surveys_of(study)):
        rows += (
            parsed.join(kept, on=["run", "attempt"], how="semi")
            .group_by("form", "channel", "status")
            .len("outputs")
            .sort("form", "channel", "status")
            .to_dicts()
        )
    return rows


def cosine_spread(study: Record) -> Rows:
    """The distribution of cosines by model, condition, agent, channel and pairing."""
    table = stored_measures(study, SIMILARITY, [*_PAIRED, "cosine"])
    if table is None:
        return []
    cells = pairs_of(study).select("run", "model", "condition", "kind").unique("run")
    keys = ["model", "condition", "kind", "agent", "channel", "pairing", "variant"]
    return (
        table.rename({"left_run": "run", "model": "embedder"})
        .join(cells, on="run", how="inner")
        .with_columns(agent="left_agent", channel="right_channel")
        .group_by(keys)
        .agg(
            *(
                pl.col("cosine").quantile(q, "linear").alias(f"q{100 * q:02.0f}")
                for q in QUANTILES
            ),
            mean=pl.col("cosine").mean(),
            pairs=pl.col("cosine").count(),
            missing=pl.col("cosine").null_count(),
        )
        .sort(keys)
        .to_dicts()
    )
