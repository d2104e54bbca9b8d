"""What was measured of the texts of a probe: weighted, question by question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.stratified import stratified_mean
from offrecord.estimates.frames.groups import KEYS, grouped, known_key
from offrecord.estimates.frames.probed import (
    QUESTION,
    SCOPE,
    ProbeFigures,
    groupings,
    probe_keys,
    probe_rows,
    probed,
    sample_of,
)
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.splits import SplitFigures
from offrecord.measures.declare import Quantity, Table
from offrecord.measures.probes import PROBE, is_probe, probe_pairs
from offrecord.measures.registry import known_measures
from offrecord.measures.stored import stored_measures
from offrecord.transcript.planned import measured_rows
from offrecord.transcript.record import Record

_TURN: Final = ("run", "turn", "agent")
_FROM: Final = "_extra_"


def probe_estimates(
    study: Record, by: Sequence[str], level: float
) -> Iterator[Row[ProbeFigures]]:
    """The figures of a probe (`probe_rows`); none of any other study."""
    if is_probe(study):
        yield from probe_rows(probe_pairs(study), probe_keys(by), level)


def probe_measure_rows(
    study: Record, by: Sequence[str], level: float
) -> Iterator[Row[SplitFigures]]:
    """The estimates of every quantity of texts or of pairs that was measured.

    Args:
        study: The study; none but a probe has such rows.
        by: Keys to group by, as for `probe_rows`.
        level: How often intervals are to hold the truth.

    Yields:
        Of texts the mean of both sides and of their difference; of pairs of the pairing
        `probe` their mean.
    """
    if not is_probe(study):
        return
    pairs = probe_pairs(study)
    for measure in known_measures(study.facts):
        for table in measure.tables:
            stored = None
            if table.row != "item" and table.estimated:
                stored = stored_measures(study, table)
            if stored is None:
                continue
            for one in table.estimated:
                head = {"measure": measure.name, "quantity": one.name}
                sides = _sides(study, pairs, stored, table, one)
                keys = [known_key(k, KEYS, pairs.columns) for k in probe_keys(by)]
                for row in _of(sides, keys, table.row == "pair", level):
                    yield Row({**head, **row.group}, row.of)


def _sides(
    study: Record,
    pairs: pl.DataFrame,
    stored: pl.DataFrame,
    table: Table,
    one: Quantity,
) -> pl.DataFrame:
    """Pairs with a number on each side, once for each level of a table's own keys."""
    extra = [f"{_FROM}{name}" for name in table.extra_key]
    kept = stored.rename({n: _FROM + n for n in table.extra_key})
    levels = kept.select(extra).unique(maintain_order=True) if extra else None
    frame = pairs.drop("left", "right")
    if levels is not None:
        frame = frame.join(levels, how="cross")
    if table.row == "pair":
        kept = kept.filter(pairing=PROBE).rename({f"left_{n}": n for n in _TURN})
        low = pl.min_horizontal("left_channel", "right_channel")
        high = pl.max_horizontal("left_channel", "right_channel")
        kept = kept.select(
            *_TURN, *extra, low.alias("_low"), high.alias("_high"), left=one.value
        )
        on = [*_TURN, *extra, "_low", "_high"]
        frame = frame.with_columns(low.alias("_low"), high.alias("_high"))
        both = frame.join(kept, on=on, how="left", nulls_equal=True)
        return both.with_columns(right=pl.lit(0.0))
    kept = measured_rows(study.transcript, kept.filter(draw=0))
    for side in ("left", "right"):
        values = kept.select(*_TURN, *extra, "channel", one.value.alias(side))
        values = values.rename({"channel": f"{side}_channel"})
        on = [*_TURN, *extra, f"{side}_channel"]
        frame = frame.join(values, on=on, how="left", nulls_equal=True)
    return frame


def _of(
    sides: pl.DataFrame, keys: Sequence[str], pair: bool, level: float
) -> Iterator[Row[SplitFigures]]:
    frame = probed(sides)
    extra = [name for name in frame.columns if name.startswith(_FROM)]
    for some in groupings(frame, keys):
        for named, group in grouped(frame, [*some, *QUESTION, *extra]):
            left, right = group["left"].to_numpy(), group["right"].to_numpy()
            known = np.where(np.isnan(left - right), math.nan, 1.0)
            parts = {"left": left * known, "right": right * known, "gap": left - right}
            shown = {key.removeprefix(_FROM): named[key] for key in named}
            for name, values in {"level": left}.items() if pair else parts.items():
                figures = asdict(_mean(group, values, level))
                of = SplitFigures(**figures, estimate=name)
                yield Row({**dict.fromkeys(keys), **shown}, of)


def _mean(rows: pl.DataFrame, values: Values, level: float) -> Estimate:
    sample, weights = sample_of(rows, values)
    return replace(stratified_mean(sample, weights, level=level), scope=SCOPE)
