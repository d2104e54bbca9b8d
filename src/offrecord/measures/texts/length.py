"""Length: how many words an agent says, label included, reasoning not.

An agent that says less where no one listens may hold something back, or save itself
the trouble: read it beside the other measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from offrecord.content.reply import spoken_text
from offrecord.measures.codes.phrases import Plain
from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.options import Options
from offrecord.records import Form, Status
from offrecord.transcript.schema import ROW_KEY

LENGTH: Final = Table(
    "length",
    "text",
    {"words": pl.Int32, "status": pl.String, "version": pl.String},
    quantities=(Quantity("words", "words said", "count", low=0),),
)
"""One row per utterance; without a text it has no words, and `status` says why."""

_VERSION: Final = "length-1"


def _take(rows: Rows, _options: Options) -> Iterator[Made]:
    said = rows.texts.filter(pl.col("form") == Form.UTTERANCE)
    words = [
        Plain.of(spoken_text(text or "")).words
        if status in {Status.OK, Status.TRUNCATED}
        else None
        for text, status in said.select("text", "status").iter_rows()
    ]
    table = said.select(*ROW_KEY, pl.Series("words", words, pl.Int32), "status")
    yield LENGTH, table.with_columns(version=pl.lit(_VERSION))
    yield f"words of {table['words'].count()} texts, {table['words'].null_count()} none"


MEASURE: Final = Measure(
    name="length",
    about="how many words are said",
    title="How much is said",
    version=_VERSION,
    tables=(LENGTH,),
    take=_take,
)
