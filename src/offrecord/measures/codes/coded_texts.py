"""The texts that coders read: what was said as it was written, and what was thought.

The judge, the lexical baseline and the awareness flags all read the same letters, so
that a quote or a span of one can be found by another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

import polars as pl

from offrecord.content.letters import composed, visible_only
from offrecord.content.reasoning import split_reasoning
from offrecord.measures.batches import in_batches
from offrecord.measures.declare import Quantity
from offrecord.records import Status
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

SAID: Final = "text"
"""The source of what a reply says, with the label as it stands, without reasoning."""

THOUGHT: Final = "reasoning"
"""The source of what was reasoned: the record's own, and thinking within the reply."""

CODED_KEY: Final = {
    **{name: TRANSCRIPT_SCHEMA[name] for name in ROW_KEY},
    "source": pl.String,
}
"""What names one text, in every table of coded texts."""

CODED_SCHEMA: Final = {
    **CODED_KEY,
    "coded": pl.String,  # null if there is nothing to read
    "status": pl.String,  # of the row: why there is nothing, if so
}
"""One row per text; a row without recorded reasoning has none for it."""

MENTIONED: Final = ("mention", "private_incentive", "explicit")
"""Every code of attribution whose text names an incentive or a relation."""

_READ: Final = (Status.OK, Status.TRUNCATED)


def coded_texts(transcript: pl.DataFrame, forms: Collection[str]) -> pl.DataFrame:
    """The texts of a transcript's rows, what was said before what was thought.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        forms: Which forms count.

    Returns:
        Rows in `CODED_SCHEMA`. A cut-off text is read as far as it goes.
    """
    rows = transcript.filter(pl.col("form").is_in(list(forms)))
    said, thought = [], []
    for text, reasoning, status in rows.select(
        "text", "reasoning", "status"
    ).iter_rows():
        reply = split_reasoning(visible_only(text or ""))
        said.append(composed(reply.visible.strip()) if status in _READ else None)
        both = [visible_only(reasoning or "").strip(), reply.reasoning]
        thought.append(composed("\n\n".join(part for part in both if part)))
    return pl.concat(
        [
            _source(rows, SAID, said),
            _source(rows, THOUGHT, thought).filter(pl.col("coded") != ""),
        ]
    )


def coded_table(
    transcript: pl.DataFrame,
    forms: Collection[str],
    code: Callable[[pl.DataFrame], pl.DataFrame],
) -> pl.DataFrame:
    """Code the texts of a transcript's rows, a batch of rows at a time.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        forms: Which forms count.
        code: Gives each of some rows in `CODED_SCHEMA` its codes.

    Returns:
        What `code` gives, in the order of `coded_texts`.
    """
    rows = transcript.select(*ROW_KEY, "text", "reasoning", "status")
    coded = in_batches(
        rows.filter(pl.col("form").is_in(list(forms))),
        lambda batch: code(coded_texts(batch, forms)),
    )
    return pl.concat([coded.filter(source=SAID), coded.filter(source=THOUGHT)])


def _source(rows: pl.DataFrame, name: str, texts: Sequence[str | None]) -> pl.DataFrame:
    return rows.select(
        *ROW_KEY,
        pl.lit(name).alias("source"),
        pl.Series("coded", texts, pl.String),
        "status",
    )


def code_quantities(title: str) -> tuple[Quantity, ...]:
    """What a table of attribution says of a text: its code, and two shares of codes.

    Args:
        title: What a reader calls the code.
    """
    shares = {
        "mention": ("names a relation or an incentive", MENTIONED),
        "explicit": ("names it as the reason", ("explicit",)),
    }
    return (
        Quantity("code", title, kind="note"),
        *(
            Quantity(
                *("code", what, "of 1", "share"),
                counts=counts,
                called=name,
                shown=False,
                exported=False,
            )
            for name, (what, counts) in shares.items()
        ),
    )
