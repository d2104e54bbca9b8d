"""Markers: transparent features of how a text is written, as counts and rates.

They say how a public text hedges, insists, concedes and credits the partner, without a
model and without a claim to sense: phrases are counted, nothing is weighed. Reasoning
and the label are taken off first. The phrases are data, in `lexicons/markers.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import polars as pl

from offrecord.measures.batches import in_batches
from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.english import in_english, unread_of
from offrecord.measures.options import Options
from offrecord.measures.texts.marker_counts import (
    COUNTED,
    MARKERS_VERSION,
    PERSONS,
    count_markers,
)
from offrecord.measures.texts.preparation import Variant, prepare
from offrecord.records import Form, Status
from offrecord.transcript.schema import ROW_KEY

_WORDED: Final = {
    "hedges": "hedges",
    "boosters": "boosters",
    "partner_credit": "credit to partner",
    "first_singular": "I, me, my",
    "first_plural": "we, us, our",
    "second_person": "you, your",
}
MARKERS: Final = Table(
    "markers",
    "text",
    {
        "words": pl.Int32,
        "sentences": pl.Int32,
        "concession_opening": pl.Boolean,  # whether the text begins with a concession
        **dict.fromkeys((*COUNTED, *PERSONS), pl.Int32),
        **{f"{name}_per_100": pl.Float64 for name in (*COUNTED, *PERSONS)},  # words
        **{f"{name}_ratio": pl.Float64 for name in PERSONS},  # of the three together
        "status": pl.String,
        "version": pl.String,
    },
    quantities=(
        Quantity("words", "words, without the label", "count", low=0),
        Quantity("sentences", "sentences", "count", "note", shown=False),
        Quantity(
            "concession_opening", "opens with a concession", low=0, high=1, shown=False
        ),
        *(Quantity(name, title, "count", "note") for name, title in _WORDED.items()),
        *(
            Quantity(f"{name}_per_100", f"{title} per 100 words", low=0, shown=False)
            for name, title in _WORDED.items()
        ),
    ),
)
"""One row per utterance. Without text every feature is null, and `status` says why;
without any such pronoun the ratios are null."""


def markers_table(transcript: pl.DataFrame) -> pl.DataFrame:
    """The features of every utterance.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        Rows in `MARKERS`.
    """
    rows = transcript.select(*ROW_KEY, "text", "labels", "status")
    return in_batches(rows.filter(pl.col("form") == Form.UTTERANCE), _features)


def _features(rows: pl.DataFrame) -> pl.DataFrame:
    read = cache(count_markers)
    features = []
    for text, labels, status in rows.select("text", "labels", "status").iter_rows():
        if status not in {Status.OK, Status.TRUNCATED}:
            features.append({"status": status})
            continue
        said = prepare(text, tuple(labels), Variant.CLEAN)
        found = read(said.text) if said.text else {"status": said.reason}
        features.append({"status": status, **found})
    return MARKERS.filled(rows.select(ROW_KEY), features, version=MARKERS_VERSION)


def _take(rows: Rows, _options: Options) -> Iterator[Made]:
    table = markers_table(in_english(rows.texts))
    yield MARKERS, table
    yield f"markers of {table.height} texts{unread_of(table['status'])}"


MEASURE: Final = Measure(
    name="markers",
    about="how a text is worded: hedges, boosters, credit, concessions, pronouns",
    title="How it is worded",
    reading="Word lists are English; texts in another language are missing.",
    version=MARKERS_VERSION,
    tables=(MARKERS,),
    take=_take,
)
