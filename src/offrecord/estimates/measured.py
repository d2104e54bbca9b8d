"""Estimates of whatever else was measured, from what each measure declares of itself.

One estimator serves all: a quantity of texts or of survey items has a level in both
channels, a gap, and a split against baseline; one of pairs has a level for each
pairing, and its change from baseline. A table that is not there gives no rows.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.estimates.arrays.agreement import krippendorff_alpha
from offrecord.estimates.arrays.differences import (
    stratified_difference,
    stratified_mean_difference,
)
from offrecord.estimates.arrays.stratified import stratified_mean, stratified_rate
from offrecord.estimates.frames.attribution import (
    EXPLICIT,
    MENTIONED,
    attribution_table,
)
from offrecord.estimates.frames.groups import (
    CONTEXT,
    baseline_of,
    group_keys,
    grouped,
    matching,
    place_of,
    pooled,
)
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.estimates.frames.splits import SplitRow, split_rows
from offrecord.estimates.frames.weighing import (
    How,
    against_baseline,
    noted,
    own_weights,
)
from offrecord.measures.codes.attribution import ATTRIBUTION, attributed_pairs
from offrecord.measures.codes.lexical import LEXICAL
from offrecord.measures.codes.second_coder import CODER, side_codes
from offrecord.measures.declare import KEYS, Measure, Quantity, Row, Table
from offrecord.measures.english import NOT_ENGLISH, said_unread
from offrecord.measures.parsed import pairs_of
from offrecord.measures.registry import known_measures, our_measures
from offrecord.measures.stored import stored_measures
from offrecord.records import CELL, Kind, first_line
from offrecord.transcript.copies import clusters
from offrecord.transcript.planned import measured_rows as of_measured_attempts
from offrecord.transcript.planned import with_factors
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

Rows = Iterator[dict[str, Any]]

_LOG: Final = logging.getLogger(__name__)

_PARTS: Final = (
    *("public", "off_record", "gap"),
    *("public_shift", "conversion", "audience_effect"),
)
_SIDES: Final = {"public": "left", "other": "right", "channel": "right_channel"}
_TURN: Final = ("run", "agent", "turn")
_STANCES: Final = ("left", "right", "left_status", "right_status")
_RATERS: Final = {"model": "rater"}
"""Columns of tables that are called otherwise in rows: a model there is a cell's."""


class _Wanted(NamedTuple):
    """Of what estimates are asked for, and how."""

    study: Record
    pairs: pl.DataFrame
    turns: pl.DataFrame
    """The pairs without their stances."""
    by: Sequence[str]
    how: How


def measured_rows(
    study: Record,
    pairs: pl.DataFrame,
    by: Sequence[str],
    how: How,
    only: Sequence[Row] = tuple(KEYS),
) -> list[dict[str, Any]]:
    """The estimates of every quantity that was measured.

    Args:
        study: The study.
        pairs: Its pairs, or those of them that count: so do texts of their turns.
        by: Keys to group by; survey items, which are many, are grouped by kind.
        how: Scope and level of the intervals, and what cells weigh.
        only: Which kinds of rows count: texts, items, pairs.

    Returns:
        A row for each estimate: `measure`, `quantity`, the keys, what else tells rows
        of a table apart (`item`, `source`, `form`, `pairing`, `variant`, `rater`), the
        name of the `estimate`, and its figures.
    """
    of = _Wanted(study, pairs, pairs.drop(_STANCES), by, how)
    found = list[dict[str, Any]]()
    for measure in known_measures(study.facts):
        tables = [t for t in measure.tables if t.row in only and t.estimated]
        if not measure.estimate:
            found += [row for table in tables for row in _rows(of, measure, table)]
        elif tables and measure.name not in our_measures():
            found += _own(of, measure)
    return found


def _own(of: _Wanted, measure: Measure) -> Rows:
    """The rows of an estimator of another package, whose faults take nothing down."""
    try:
        module, _, name = measure.estimate.partition(":")
        found = list(getattr(import_module(module), name)(of.study, of.pairs, of.by))
    except Exception as fault:  # anything, in another package's code
        said = f"{type(fault).__name__}: {first_line(fault)}"
        _LOG.warning("measure '%s' is not estimated: %s", measure.name, said)
        return
    for row in found:
        yield {"measure": measure.name, **row}


def _rows(of: _Wanted, measure: Measure, table: Table) -> Rows:
    values = [one.column for one in table.estimated]
    values = ["public", "other"] if table.row == "item" else values
    stored = stored_measures(of.study, table, [*dict.fromkeys([*table.key, *values])])
    if stored is None:
        return
    extra = [_RATERS.get(name, name) for name in table.extra_key]
    unread = not stored[values[0]].count() and said_unread(of.study.facts, measure.name)
    rows = stored.rename(_RATERS, strict=False)
    for one in table.estimated:
        if table.row == "pair":
            found = _of_pairs(of, rows, extra, one)
        elif table.row == "item":
            found = _of_items(of, rows, extra, one)
        elif one.contrast is None or of.pairs.is_empty():
            found = _of_texts(of, rows, extra, one)
        else:
            found = _of_channels(of, rows, extra, one)
        for row in found:
            if unread and not row["turns"]:
                row["reason"] = NOT_ENGLISH
            yield {"measure": measure.name, "quantity": one.name, **row}


def _of_items(
    of: _Wanted, stored: pl.DataFrame, extra: list[str], one: Quantity
) -> Rows:
    """Item by item: with the cells beside every answer, all of them fill the memory."""
    rows = list[SplitRow]()
    for item in stored.select(extra).drop_nulls().unique().sort(extra).to_dicts():
        answers = matching(stored, item).drop("attempt").rename(_SIDES)
        sides = of.turns.join(answers, on=[*_TURN, "right_channel"], how="inner")
        mean = one.kind == "mean"
        rows += split_rows(sides, ["kind"], of.how, numeric=mean, also=extra)
    yield from _split(sorted(rows, key=lambda row: place_of(row.keys, [*row.keys])))


def _of_channels(
    of: _Wanted, stored: pl.DataFrame, extra: list[str], one: Quantity
) -> Rows:
    """The texts of both channels at every planned turn, by source and form."""
    kept = of_measured_attempts(of.study.transcript, stored.filter(draw=0))
    also = ["form", *extra]
    for named, group in grouped(kept, also):
        if group.join(of.turns, on=_TURN, how="semi").is_empty():
            continue  # a form that no turn has, such as an interview
        sides = of.turns.with_columns(pl.lit(v).alias(n) for n, v in named.items())
        for side in ("left", "right"):
            sides = sides.join(
                group.select(*_TURN, one.value.alias(side), channel="channel"),
                left_on=[*_TURN, f"{side}_channel"],
                right_on=[*_TURN, "channel"],
                how="left",
                maintain_order="left",
            )
        mean = one.kind == "mean"
        yield from _split(split_rows(sides, of.by, of.how, numeric=mean, also=also))


def _split(rows: Sequence[SplitRow]) -> Rows:
    for row in rows:
        for part in _PARTS:
            if part in row.estimates:
                yield {**row.keys, "estimate": part, **asdict(row.estimates[part])}


def _of_pairs(
    of: _Wanted, stored: pl.DataFrame, extra: list[str], one: Quantity
) -> Rows:
    if of.pairs.height < pairs_of(of.study).height:
        kept = of.pairs.select(left_run="run", left_agent="agent", left_turn="turn")
        stored = stored.join(kept, on=kept.columns, how="semi")
    rows = stored.rename({"left_run": "run"}).with_columns(agent="left_agent")
    for row, group in _levels(of, rows, ["pairing", *extra], one):
        if (group["right_run"] != group["run"]).any():
            # A pair of two runs is in neither cluster: a mean, no interval.
            row |= {"low": math.nan, "high": math.nan, "se": math.nan}
            row["reason"] = "pairs of different runs have no cluster"
        yield row


def _of_texts(
    of: _Wanted, stored: pl.DataFrame, extra: list[str], one: Quantity
) -> Rows:
    """Levels alone: where no channel is set against another."""
    kept = of_measured_attempts(of.study.transcript, stored.filter(draw=0))
    rows = kept.with_columns(right_channel="channel")
    for row, _ in _levels(of, rows, ["right_channel", "form", *extra], one):
        yield row


def _levels(
    of: _Wanted, rows: pl.DataFrame, also: Sequence[str], one: Quantity
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The level of each group, and its change from the baseline of the same cells."""
    known = of.study.transcript
    cells = known.select("run", *CELL).unique("run").join(clusters(known), on="run")
    none = dict.fromkeys(("left", "right"), pl.lit(None, pl.Float64))
    # What a run has one value of; agent and channel are the row's own.
    frame = clustered(
        rows.join(with_factors(cells), on="run", how="inner").with_columns(
            one.value.fill_null(math.nan).alias("_value"), round=pl.lit(0), **none
        )
    )
    own = [key for key in of.by if key not in {"agent", "round", "right_channel"}]
    paired = pairs_of(of.study)
    keyed = group_keys(frame if paired.is_empty() else paired, own)
    keys = list(dict.fromkeys([*keyed, *also]))
    unpressed, scope = frame.filter(kind=Kind.BASELINE), of.how.scope
    level, change = (
        (stratified_rate, stratified_difference)
        if one.kind == "share"
        else (stratified_mean, stratified_mean_difference)
    )
    for named, group in grouped(pooled(frame, keys), keys):
        sample = scoped(group, group["_value"].to_numpy(), scope)
        weights, left_out = own_weights(group, sample, of.how.weights)
        found = {"level": noted(level(sample, weights, scope), left_out)}
        shared = {key: value for key, value in named.items() if key not in CONTEXT}
        beside = baseline_of(group, matching(unpressed, shared))
        if beside is not None:
            base = scoped(beside, beside["_value"].to_numpy(), scope)
            sides, left_out = against_baseline(
                group, sample, beside, base, of.how.weights
            )
            found["change"] = noted(change(sample, base, sides, scope), left_out)
        for name, estimate in found.items():
            yield {**named, "estimate": name, **asdict(estimate)}, group


def attribution_estimates(
    study: Record, pairs: pl.DataFrame, by: Sequence[str]
) -> Rows:
    """Mention and explicit attribution, pooled and by the keys, for the target.

    Args:
        study: The study.
        pairs: Its pairs, or those of them that count.
        by: Keys to group by.
    """
    roles = study.transcript.select("role", "agent")
    target = roles.filter(role="target")["agent"].first()
    keys = [key for key in by if key in {"model", "scenario"}]
    for coder, table in (("lexical", LEXICAL), ("judges", ATTRIBUTION)):
        codes = stored_measures(study, table, [*ROW_KEY, "source", "code"])
        if codes is None:
            continue
        own = pooled(pairs, keys).filter(pl.col("agent").eq_missing(target))
        coded = attributed_pairs(own, codes, study.transcript, study.spoken)
        for what, wanted in (("mention", MENTIONED), ("explicit", EXPLICIT)):
            for group in ((), keys) if keys else ((),):
                for row in attribution_table(coded, group, wanted):
                    yield {"rater": coder, "code": what, **row}


def agreement_estimates(study: Record) -> Rows:
    """Krippendorff's alpha of the stated stance and all second coders."""
    table = stored_measures(study, CODER)
    if table is None:
        return
    named = table.with_columns(
        coder=pl.concat_str("coder", pl.col("model").fill_null(""), separator=" ")
    )
    _, coders, codes = side_codes([named])
    yield {"coders": coders, **krippendorff_alpha(codes)._asdict()}
    for place, coder in enumerate(coders[1:], start=1):
        agreement = krippendorff_alpha(codes[:, [0, place]])
        yield {"coders": ["stated", coder], **agreement._asdict()}
