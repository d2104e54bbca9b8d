"""What a report describes beside the rates: spreads, counts, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from offrecord.estimates.arrays.missingness import missingness
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.estimator import MissingFigures
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.splits import SplitRow
from offrecord.estimates.frames.weighing import ranges_of, split_ranges_of
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


def missing_rows(
    rows: Sequence[SplitRow], weights: Weights
) -> Iterator[Row[MissingFigures]]:
    """What is missing of each group, why, and how far it could move the figures.

    Args:
        rows: The groups.
        weights: What the figures are means of.
    """
    for row in rows:
        group = row.turns
        public, other = group["left"].to_numpy(), group["right"].to_numpy()
        runs = group.unique("run")
        reasons = [
            dict(
                group.filter(pl.col(side).is_nan())[f"{side}_status"]
                .value_counts(sort=True)
                .iter_rows()
            )
            for side in ("left", "right")
        ]
        attempts = int(runs["attempts"].sum())
        yield Row(
            row.keys,
            MissingFigures(
                missingness=missingness(public, other, attempts, runs.height),
                ranges=ranges_of(group, weights),
                split=split_ranges_of(group, row.baseline, weights),
                public_reasons=reasons[0],
                other_reasons=reasons[1],
            ),
        )


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
