"""Questions: how many a text asks."""

from collections.abc import Iterator

import polars as pl

from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.options import Options

QUESTIONS = Table(
    "questions",
    "text",
    {"questions": pl.Int32, "status": pl.String},
    quantities=(Quantity("questions", "questions asked", "count", low=0),),
)


def take(rows: Rows, _options: Options) -> Iterator[Made]:
    """Count question marks; a text that never came has no count."""
    said = rows.texts.filter(form="utterance")
    come = pl.col("status").is_in(["ok", "truncated"])
    asked = pl.col("text").str.count_matches(r"\?").cast(pl.Int32)
    counted = pl.when(come).then(asked).alias("questions")
    yield QUESTIONS, said.select(*QUESTIONS.key, counted, "status")
    yield f"questions of {said.height} texts"


MEASURE = Measure(
    name="questions",
    about="how many questions a text asks",
    version="questions-1",
    tables=(QUESTIONS,),
    take=take,
)
