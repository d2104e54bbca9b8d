"""Markers: transparent features of how a text is written, as counts and rates.

They say how a public text hedges, insists, concedes and credits the partner, without a
model and without a claim to sense: phrases are counted, nothing is weighed. Reasoning
and the label are taken off first. The phrases are data, in `lexicons/markers.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import polars as pl

from offrecord.measures.batches import in_batches
from offrecord.measures.codes.phrases import (
    Phrases,
    Plain,
    lexicon_phrases,
    read_lexicon,
)
from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.english import in_english, unread_of
from offrecord.measures.options import Options
from offrecord.measures.texts.preparation import PREPARATION_VERSION, Variant, prepare
from offrecord.records import Form, Status
from offrecord.transcript.schema import ROW_KEY

_LEXICON: Final = read_lexicon("markers")
MARKERS_VERSION: Final = f"markers-1:{PREPARATION_VERSION}:{_LEXICON.stamp}"
"""The version of the counts: code, text preparation, and the stamp of the word list."""

_COUNTED: Final = ("hedges", "boosters", "partner_credit")
_PERSONS: Final = ("first_singular", "first_plural", "second_person")

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
        **dict.fromkeys((*_COUNTED, *_PERSONS), pl.Int32),
        **{f"{name}_per_100": pl.Float64 for name in (*_COUNTED, *_PERSONS)},  # words
        **{f"{name}_ratio": pl.Float64 for name in _PERSONS},  # of the three together
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


def count_markers(text: str) -> dict[str, Any]:
    """The features of one text, by the names in `MARKERS`.

    Args:
        text: What was said, without reasoning and label, not empty.
    """
    plain = Plain.of(text)
    words = plain.words
    counts = {
        name: len([*_phrases(name).find_all(plain.copy)])
        for name in (*_COUNTED, *_PERSONS)
    }
    persons = sum(counts[name] for name in _PERSONS)
    first = re.search(r"\w", plain.copy)
    opening = first and _phrases("concession_openings").match(
        plain.copy, first.start(), len(plain.copy)
    )
    return {
        "words": words,
        "sentences": len([*plain.sentences()]),
        "concession_opening": bool(opening),
        **counts,
        **{f"{name}_per_100": 100 * count / words for name, count in counts.items()},
        **{
            f"{name}_ratio": counts[name] / persons if persons else None
            for name in _PERSONS
        },
    }


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


def _phrases(name: str) -> Phrases:
    return lexicon_phrases("markers", name)


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
