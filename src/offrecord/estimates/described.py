"""What a report describes beside the rates: spreads, counts, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import rate_estimate
from offrecord.estimates.arrays.means import mean_estimate
from offrecord.estimates.arrays.missingness import missingness, rate_ranges
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.variance import Sample
from offrecord.estimates.frames.groups import group_keys, grouped, place_of
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.measures.codes.awareness import AWARENESS_FILE, SIGNS
from offrecord.measures.parsed import pairs_of, stances_of, surveys_of
from offrecord.measures.stored import stored_measures
from offrecord.measures.texts.markers import MARKERS_FILE
from offrecord.measures.texts.similarity import SIMILARITY_FILE
from offrecord.records import CELL
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

Rows = list[dict[str, Any]]

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of a distribution, as `q05` to `q95`."""

PAIRED: Final = (
    *("pairing", "left_run", "left_agent", "right_run", "right_channel"),
    *("variant", "model"),
)
"""The columns that say which two texts a measure of pairs is of."""

MARKERS: Final = (
    "words",
    "hedges_per_100",
    "boosters_per_100",
    "partner_credit_per_100",
    "first_singular_per_100",
    "first_plural_per_100",
    "second_person_per_100",
    "concession_opening",
)
"""The markers that are described; the last one is a share."""


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
    table = stored_measures(study, SIMILARITY_FILE, [*PAIRED, "cosine"])
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


def marker_rows(study: Record) -> Rows:
    """The mean of each marker by kind, agent and channel, with the run as cluster."""
    table = stored_measures(study, MARKERS_FILE, [*ROW_KEY, *MARKERS])
    if table is None:
        return []
    rows = _with_cells(study, table.filter(draw=0), MARKERS)
    return [
        {**named, "marker": name, **_mean(group, name)}
        for named, group in grouped(rows, ["kind", "agent", "channel"])
        for name in MARKERS
    ]


def awareness_rows(study: Record) -> Rows:
    """The share of texts that show each sign, by kind, agent, channel and form."""
    table = stored_measures(study, AWARENESS_FILE, [*ROW_KEY, *SIGNS])
    if table is None:
        return []
    keys = ["kind", "agent", "channel", "form"]
    found = [
        (named, {**named, "sign": sign, **_mean(group, sign, rate_estimate)})
        for form in table["form"].unique().sort()
        for named, group in grouped(
            _with_cells(study, table.filter(form=form), SIGNS), keys
        )
        for sign in SIGNS
    ]
    return [row for _, row in sorted(found, key=lambda one: place_of(one[0], keys))]


def _with_cells(
    study: Record, table: pl.DataFrame, values: Sequence[str]
) -> pl.DataFrame:
    """Rows of measured attempts with their cells, clusters and values as floats."""
    kept = first_ended(study.transcript.select(*ROW_KEY, "round", "ended"))
    cells = pairs_of(study).select("run", *CELL).unique("run")
    return clustered(
        table.join(kept, on=list(ROW_KEY), how="inner")
        .join(cells, on="run", how="inner")
        .with_columns(
            pl.col(*values).cast(pl.Float64).fill_null(math.nan),
            right_channel="channel",
            left=pl.lit(None, pl.Float64),
            right=pl.lit(None, pl.Float64),
        )
    )


def _mean(
    group: pl.DataFrame,
    name: str,
    estimator: Callable[[Sample, Scope], Estimate] = mean_estimate,
) -> dict[str, Any]:
    values: np.ndarray[Any, np.dtype[np.float64]] = group[name].to_numpy()
    mean = estimator(scoped(group, values, Scope.RUNS), Scope.RUNS)
    return {
        "value": mean.value,
        "low": mean.low,
        "high": mean.high,
        "texts": mean.turns,
        "missing": mean.missing,
        "reason": mean.reason,
    }
