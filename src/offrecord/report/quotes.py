"""Which words of the agents the report quotes: texts that name the pressure."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from offrecord.measures.codes.attribution import VERDICTS
from offrecord.measures.codes.codebook import EVIDENCE
from offrecord.measures.codes.coded_texts import SAID
from offrecord.measures.codes.lexical import LEXICAL
from offrecord.measures.parsed import pairs_of
from offrecord.measures.stored import stored_measures
from offrecord.records import CELL
from offrecord.report.numbers import named
from offrecord.report.page.blocks import Quote
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

_MOST: Final = 6
_LONGEST: Final = 900  # characters of a quote


def study_quotes(study: Record, target: str, channel: str) -> list[Quote]:
    """Accommodating turns whose other text names the reason, one a model at first.

    Args:
        study: The study.
        target: Whose turns.
        channel: The channel that the text is of.
    """
    coded = stored_measures(study, VERDICTS)
    if coded is None:
        coded = stored_measures(study, LEXICAL)
    if coded is None:
        return []
    codes = coded.filter(code="explicit", source=SAID, channel=channel)
    codes = codes.unique(list(ROW_KEY), keep="first", maintain_order=True)
    columns = (*ROW_KEY, *CELL, "round", "repeat", "text", "ended")
    rows = first_ended(study.transcript.select(columns)).filter(agent=target, draw=0)
    turns = (
        pairs_of(study)
        .filter(
            (pl.col("agent") == target)
            & (pl.col("right_channel") == channel)
            & pl.col("left")
            & ~pl.col("right")
        )
        .select("run", "agent", "round")
        .join(rows, on=["run", "agent", "round"], how="inner")
        .join(codes.drop("status"), on=list(ROW_KEY), how="inner")
        .sort("model", "scenario", "condition", "repeat", "round")
    )
    ordered = turns.with_columns(
        nth=pl.int_range(pl.len()).over("model", order_by=["run", "round"])
    ).sort("nth", "model")
    return [
        Quote(
            text=str(row["text"])[:_LONGEST],
            source=f"{row['model']}, {row['scenario']}, {row['condition']}, round "
            f"{row['round']}, {named(channel)}.",
            link=f"run={row['run']}&turn={row['agent']}-{row['round']}",
            marks=_marks(row),
        )
        for row in ordered.head(_MOST).iter_rows(named=True)
    ]


def _marks(row: dict[str, Any]) -> list[str]:
    """The words that were coded: a judge's quotes, or the phrases of the word list."""
    spans = row.get("spans")
    if isinstance(spans, list):
        return [str(span["words"]) for span in spans]
    return [str(quote) for name in EVIDENCE for quote in row.get(name) or ()]
