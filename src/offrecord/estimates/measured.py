"""Estimates of whatever else was measured: surveys, texts, attribution, agreement.

A table that is not there gives no rows; study.json says whether it was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

import polars as pl

from offrecord.estimates.arrays.agreement import krippendorff_alpha
from offrecord.estimates.arrays.means import mean_estimate
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.described import PAIRED
from offrecord.estimates.frames.attribution import (
    EXPLICIT,
    MENTIONED,
    attribution_table,
)
from offrecord.estimates.frames.groups import group_keys, grouped, place_of
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.estimates.frames.splits import SplitRow, split_rows
from offrecord.measures.codes.attribution import ATTRIBUTION_FILE, attributed_pairs
from offrecord.measures.codes.coding import CODER_FILE
from offrecord.measures.codes.lexical import LEXICAL_FILE
from offrecord.measures.codes.second_coder import side_codes
from offrecord.measures.measure import ENTAILMENT_FILE
from offrecord.measures.parsed import pairs_of
from offrecord.measures.stored import stored_measures
from offrecord.measures.survey_gap import ITEM_GAPS_FILE
from offrecord.measures.texts.similarity import SIMILARITY_FILE
from offrecord.records import CELL
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

Rows = Iterator[dict[str, Any]]

_PLACE: Final = ("run", "agent", "turn")
_SIDES: Final = {"public": "left", "other": "right", "channel": "right_channel"}
_ANSWER: Final = (*_PLACE, "item", *_SIDES)

_TEXT_VALUES: Final = {
    SIMILARITY_FILE: ("cosine",),
    ENTAILMENT_FILE: (
        "mean_entailment",
        "mean_neutral",
        "mean_contradiction",
        "max_contradiction",
        "mutual_entailment",
    ),
}


def survey_estimates(
    study: Record, pairs: pl.DataFrame, by: Sequence[str], scope: Scope
) -> Rows:
    """Each item's level in both channels, the gap, and the shifts against baseline.

    Args:
        study: The study.
        pairs: Its pairs, or those of them that count.
        by: Keys to group by.
        scope: Whom the intervals speak about.
    """
    gaps = stored_measures(study, ITEM_GAPS_FILE, _ANSWER)
    if gaps is None:
        return
    turns = pairs.drop("left", "right", "left_status", "right_status")
    keys = [key for key in by if key != "model"]
    found = list[SplitRow]()
    # Item by item: with the cells beside every answer, all of them fill the memory.
    for item in gaps["item"].unique().sort():
        answers = gaps.filter(item=item).rename(_SIDES)
        rows = turns.join(answers, on=[*_PLACE, "right_channel"], how="inner")
        found += split_rows(rows, keys, scope, numeric=True, also=["item"])
    for row in sorted(found, key=lambda row: place_of(row.keys, [*row.keys])):
        for name, estimate in row.estimates.items():
            yield {**row.keys, "estimate": name, **asdict(estimate)}


def text_estimates(
    study: Record, pairs: pl.DataFrame, by: Sequence[str], scope: Scope
) -> Rows:
    """Mean similarity and entailment by pairing, with the run as cluster.

    Args:
        study: The study.
        pairs: Its pairs, or those of them that count: so do texts of their turns.
        by: Keys to group by.
        scope: Whom the intervals speak about.
    """
    turns = _turns(pairs, study)
    for file, values in _TEXT_VALUES.items():
        table = stored_measures(study, file, [*PAIRED, "left_turn", *values])
        if table is None:
            continue
        if turns is not None:
            table = table.join(turns, on=turns.columns, how="semi")
        # What a run has one value of; agent and channel are the pair's own.
        own = [key for key in by if key not in {"agent", "round", "right_channel"}]
        names = list(dict.fromkeys(["run", *CELL, *own]))
        cells = pairs_of(study).select(names).unique("run")
        rows = clustered(
            table.rename({"left_run": "run", "model": "measured_by"})
            .join(cells, on="run", how="inner")
            .with_columns(
                agent="left_agent",
                round=pl.lit(0),
                left=pl.lit(None, pl.Float64),
                right=pl.lit(None, pl.Float64),
            )
        )
        inner = [key for key in group_keys(pairs_of(study), by) if key != "round"]
        for named, group in grouped(
            rows, [*inner, "pairing", "variant", "measured_by"]
        ):
            across = (group["right_run"] != group["run"]).any()
            for value in values:
                mean = mean_estimate(
                    scoped(group, group[value].fill_null(math.nan).to_numpy(), scope),
                    scope,
                )
                found = {**named, "estimate": value, **asdict(mean)}
                if across:
                    # A pair of two runs is in neither cluster: a mean, no interval.
                    found |= {"low": math.nan, "high": math.nan, "se": math.nan}
                    found["reason"] = "pairs of different runs have no cluster"
                yield found


def _turns(pairs: pl.DataFrame, study: Record) -> pl.DataFrame | None:
    """The turns of pairs, by the names of a left side; None where all turns count."""
    if pairs.height == pairs_of(study).height:
        return None
    return pairs.select(left_run="run", left_agent="agent", left_turn="turn")


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
    for coder, file in (("lexical", LEXICAL_FILE), ("judges", ATTRIBUTION_FILE)):
        codes = stored_measures(study, file, [*ROW_KEY, "source", "code"])
        if codes is None:
            continue
        coded = attributed_pairs(pairs, codes, study.transcript, study.spoken)
        coded = coded.filter(agent=target)
        for what, wanted in (("mention", MENTIONED), ("explicit", EXPLICIT)):
            for group in ((), keys) if keys else ((),):
                for row in attribution_table(coded, group, wanted):
                    yield {"coder": coder, "code": what, **row}


def agreement_estimates(study: Record) -> Rows:
    """Krippendorff's alpha of the stated stance and all second coders."""
    table = stored_measures(study, CODER_FILE)
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
