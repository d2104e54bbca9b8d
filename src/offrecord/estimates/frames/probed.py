"""What a probe shows of all turns that it was drawn from.

A stratum of the sample weighs as the turns that it stands for, so the figures are of
all of them. A conversation is the cluster, whichever strata its turns are of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import PREFIXED, Bounds
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.floor import Counts, Flags
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.signed import stratified_gap
from offrecord.estimates.arrays.stratified import stratified_mean, stratified_rate
from offrecord.estimates.frames.groups import KEYS, grouped, known_key, numbered
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.splits import DEFAULT_BY

LEVEL: Final = 0.95
SCOPE: Final = "new conversations of the same kinds"
NO_DECISION: Final = "no decision is declared: compare the texts by a measure"
ONE_DRAW: Final = "a side has one draw, and so no noise floor"


@dataclass(frozen=True, kw_only=True)
class ProbeFigures:
    """One question about one group; fractions of 1, of all turns that it stands for."""

    left_channel: str
    runs: int
    """Conversations."""
    turns: int
    """Turns asked, with a stance on both sides."""
    missing: int
    """Turns asked without."""
    stands_for: float
    """Turns of the study that those asked were drawn from."""
    left: float
    """Share on the pressed side in the left channel."""
    right: float
    gap: Annotated[Bounds, PREFIXED]
    """Left less right."""
    divergence: Annotated[Bounds, PREFIXED]
    """Share of turns whose two stances differ."""
    within_left: float
    """How often two draws of the left channel differ."""
    within_right: float
    d_star: Annotated[Bounds, PREFIXED]
    """D*: how often draws of both differ beyond what two draws of one do."""
    changed_low: float
    """The share of turns that the right channel changes is no lower than this."""
    changed_high: float
    reason: str
    scope: str = SCOPE


_USUAL: Final = ("agent", "scenario")
QUESTION: Final = ("prompt", "question", "right_channel")


def probe_keys(by: Sequence[str]) -> Sequence[str]:
    """What a probe is grouped by: agent and kind of conversation by default."""
    return _USUAL if (*by,) == DEFAULT_BY else by


def groupings(frame: pl.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    """All rows together, by each key, and by all keys; what tells nothing apart not."""
    some = tuple(dict.fromkeys(key for key in keys if frame[key].n_unique() > 1))
    return list(dict.fromkeys([(), *((key,) for key in some), some]))


def probe_rows(
    pairs: pl.DataFrame, by: Sequence[str], level: float = LEVEL
) -> Iterator[Row[ProbeFigures]]:
    """The figures of each group and question, first of all groups together.

    Args:
        pairs: Rows as `probe_pairs` gives them.
        by: Keys to group by, one after the other and together: a key that a row is not
            grouped by is None there.
        level: How often intervals are to hold the truth.

    Raises:
        OffrecordError: If a key is unknown.
    """
    if pairs.is_empty():
        return
    known = [known_key(key, KEYS, pairs.columns) for key in by]
    frame = probed(pairs)
    for keys in groupings(frame, known):
        for named, group in grouped(frame, [*keys, *QUESTION]):
            shown = {**dict.fromkeys(known), **named}
            yield Row(shown, figures_of(group, level))


def probed(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a probe numbered for estimates, over all groups at once."""
    return numbered(pairs).with_columns(
        _cell=pl.col("stratum").rank("dense").cast(pl.Int64)
    )


def sample_of(rows: pl.DataFrame, values: Values) -> tuple[Sample, Values]:
    """Values of turns as a sample, and what each of its strata weighs.

    Args:
        rows: As `probed` gives them.
        values: Shape (rows,), NaN where missing.
    """
    runs, cells = rows["_run"].to_numpy(), rows["_cell"].to_numpy()
    names, place = np.unique(cells, return_inverse=True)
    weights = np.bincount(place, rows["weight"].to_numpy(), names.size)
    known = np.bincount(place, ~np.isnan(values), names.size) > 0
    one = np.zeros(runs.size, dtype=np.int64)
    return Sample(values, runs, runs, one, cells), np.asarray(weights * known, float)


def weighted_mean(rows: pl.DataFrame, values: Values) -> float:
    """The mean of the turns that some stand for; NaN where none has a value."""
    sample, weights = sample_of(rows, values)
    if not weights.sum():
        return math.nan
    cells, place = np.unique(sample.weighted, return_inverse=True)
    known = ~np.isnan(values)
    counts = np.bincount(place[known], minlength=cells.size)
    sums = np.bincount(place[known], values[known], cells.size)
    means = sums / np.maximum(counts, 1)
    return float(np.average(means, weights=weights))


def figures_of(rows: pl.DataFrame, level: float = LEVEL) -> ProbeFigures:
    """The figures of one group and question.

    Args:
        rows: As `probed` gives them.
        level: How often intervals are to hold the truth.
    """
    left, right = rows["left"].to_numpy(), rows["right"].to_numpy()
    gaps = left - right
    sample, weights = sample_of(rows, gaps)
    gap = stratified_gap(sample, weights, level=level)
    differ = stratified_rate(sample.of(np.abs(gaps)), weights, level=level)
    known = np.where(np.isnan(gaps), math.nan, 1.0)
    counts = Counts(
        *(
            rows[name].to_numpy().astype(np.float64)
            for name in ("left_draws", "left_on", "right_draws", "right_on")
        )
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        within = [
            np.where(n < 2, math.nan, one)
            for n, one in zip((counts.n, counts.m), counts.within, strict=True)
        ]
        cross, excess = counts.cross, counts.d_star
    full = counts.full
    sample, weights = sample_of(rows, np.where(full, excess, math.nan))
    star = stratified_mean(sample, weights, level=level)
    low, high = _bracket(rows, counts, full, cross, star.value)
    none = rows["pressed_side"].is_null().all()
    return ProbeFigures(
        left_channel=rows["left_channel"][0],
        runs=gap.runs,
        turns=gap.turns,
        missing=gap.missing,
        stands_for=round(float(rows["weight"].sum()), 6),
        left=weighted_mean(rows, left * known),
        right=weighted_mean(rows, right * known),
        gap=gap.bounds,
        divergence=differ.bounds,
        within_left=weighted_mean(rows, within[0]),
        within_right=weighted_mean(rows, within[1]),
        d_star=star.bounds,
        changed_low=low,
        changed_high=high,
        reason=NO_DECISION if none else gap.reason or _unbounded(star, full),
    )


def _unbounded(star: Estimate, full: Flags) -> str:
    why = star.reason if full.any() else ONE_DRAW
    return f"D*: {why}" if why else ""


def _bracket(
    rows: pl.DataFrame, counts: Counts, full: Flags, cross: Values, star: float
) -> tuple[float, float]:
    """Between which shares the turns lie that the right channel changes (`floor`)."""
    if math.isnan(star):
        return math.nan, math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = counts.s / counts.n - counts.t / counts.m
    gap = weighted_mean(rows, np.where(full, gaps, math.nan))
    all_ = weighted_mean(rows, np.where(full, cross, math.nan))
    sound = star > 0 and star >= gap**2 - 1e-12
    return max(abs(gap), star), min(all_, math.sqrt(star)) if sound else all_
