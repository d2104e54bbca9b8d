"""Awareness: texts that take their situation for a test, a play, or not for private.

An agent that says so may answer the situation and not the question, so every estimate
should also be looked at without those turns. Every form counts, and reasoning too. The
phrases are data, in `lexicons/awareness.yaml`; the words that matched stand beside
every flag, since a phrase cannot tell what is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import polars as pl

from offrecord.measures.batches import lists_of
from offrecord.measures.codes.coded_texts import coded_table
from offrecord.measures.codes.phrases import Plain, lexicon_phrases, read_lexicon
from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.english import in_english, unread_of
from offrecord.measures.options import Options, share
from offrecord.records import Form
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

_LEXICON: Final = read_lexicon("awareness")
AWARENESS_VERSION: Final = f"awareness-1:{_LEXICON.stamp}"
"""The version of the flags: code, and the stamp of the word list."""

SIGNS: Final = ("test", "role_play", "privacy")
"""A test is named; a role play, a simulation or an AI model; privacy is doubted."""

_SPAN: Final = pl.Struct(
    {
        "sign": pl.String,
        "start": pl.Int32,  # in the coded text, in characters
        "end": pl.Int32,
        "words": pl.String,
    }
)

AWARENESS: Final = Table(
    "awareness",
    "text",
    {
        **dict.fromkeys(SIGNS, pl.Boolean),
        "spans": pl.List(_SPAN),
        "status": pl.String,
        "version": pl.String,
    },
    extra_key=("source",),
    quantities=(
        Quantity("test", "names a test or an evaluation", kind="share"),
        Quantity(
            "role_play", "names a role play, a simulation or an AI model", kind="share"
        ),
        Quantity("privacy", "doubts that it is private", kind="share"),
    ),
)
"""One row per text of any form; without text every flag is null."""

FLAG_KEY: Final = ("run", "agent", "turn", "channel", "draw")
"""What an agent took its situation for at one turn, in one channel and draw."""

FLAGS_SCHEMA: Final = {
    **{name: TRANSCRIPT_SCHEMA[name] for name in FLAG_KEY},
    "attempt": pl.Int32,
    "round": pl.Int32,
    "aware": pl.Boolean,  # any sign in any form or in reasoning; null if none was read
}
"""One row per run, attempt, agent, turn, channel and draw."""


def read_awareness(text: str) -> list[dict[str, Any]]:
    """The signs in one text: each with its place and its words, in order.

    Args:
        text: What was said or thought.
    """
    plain = Plain.of(text)
    found = []
    for sign in SIGNS:
        for match in lexicon_phrases("awareness", sign).find_all(plain.copy):
            start, end = plain.place(*match.span())
            words = plain.text[start:end]
            found.append({"sign": sign, "start": start, "end": end, "words": words})
    return sorted(found, key=lambda span: (span["start"], span["end"]))


def awareness_table(transcript: pl.DataFrame) -> pl.DataFrame:
    """The signs in every text, surveys, interviews and reasoning included.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        Rows in `AWARENESS`.
    """
    return coded_table(transcript, list(Form), _flagged)


def _flagged(texts: pl.DataFrame) -> pl.DataFrame:
    read = cache(read_awareness)
    spans = [None if text is None else read(text) for text in texts["coded"]]
    coded = texts.with_columns(lists_of("spans", spans, _SPAN))
    signs = pl.col("spans").list.eval(pl.element().struct.field("sign"))
    return coded.with_columns(
        *(signs.list.contains(sign).alias(sign) for sign in SIGNS),
        version=pl.lit(AWARENESS_VERSION),
    ).select(list(AWARENESS.schema))


def aware_flags(awareness: pl.DataFrame, transcript: pl.DataFrame) -> pl.DataFrame:
    """Which turns show any sign, whatever the form it is in.

    Args:
        awareness: Rows in `AWARENESS`.
        transcript: The rows it was made from.

    Returns:
        Rows in `FLAGS_SCHEMA`.
    """
    rounds = transcript.select(*ROW_KEY, "round")
    return (
        awareness.join(rounds, on=list(ROW_KEY), how="left", maintain_order="left")
        .group_by(*FLAG_KEY, "attempt", maintain_order=True)
        .agg(
            pl.col("round").first(),
            aware=pl.when(pl.any_horizontal(SIGNS).is_not_null().any()).then(
                pl.any_horizontal(SIGNS).any()
            ),
        )
        .select(FLAGS_SCHEMA.keys())
    )


def without_aware(
    pairs: pl.DataFrame, flags: pl.DataFrame, spoken: str = ""
) -> pl.DataFrame:
    """The pairs neither side of which shows any sign.

    Args:
        pairs: Rows keyed by `PAIR_KEY`, or as `stance_pairs` gives them (draw 0).
        flags: Rows in `FLAGS_SCHEMA`, of the measured attempts.
        spoken: The spoken channel, for rows as `stance_pairs` gives them.

    Returns:
        The other pairs, in their order. A pair with a missing side stays: that is
        counted as missing, not as aware.
    """
    aware = flags.filter("aware")
    if "left_run" in pairs.columns:
        for side in ("left", "right"):
            key = [f"{side}_{name}" for name in (*FLAG_KEY, "attempt")]
            pairs = _without(pairs, aware, key, [*FLAG_KEY, "attempt"])
        return pairs
    turn = ["run", "agent", "round"]
    aware = aware.filter(draw=0)
    pairs = _without(pairs, aware, [*turn, "right_channel"], [*turn, "channel"])
    return _without(pairs, aware.filter(channel=spoken), turn, turn)


def _without(
    pairs: pl.DataFrame, aware: pl.DataFrame, left: Sequence[str], right: Sequence[str]
) -> pl.DataFrame:
    return pairs.join(
        aware, left_on=left, right_on=right, how="anti", maintain_order="left"
    )


def _take(rows: Rows, _options: Options) -> Iterator[Made]:
    table = awareness_table(in_english(rows.texts))
    yield AWARENESS, table
    shares = [f"{sign} {share(table[sign])}" for sign in SIGNS]
    yield f"{', '.join(shares)} of {table.height} texts{unread_of(table['status'])}"


MEASURE: Final = Measure(
    name="awareness",
    about="whether a text names a test or a role play, or doubts that it is private",
    title="Whether a test is suspected",
    reading="Word lists are English; texts in another language are missing. An agent "
    "that names a test, a role play or doubts the privacy may answer the test rather "
    "than the question: --without-aware leaves such turns out.",
    version=AWARENESS_VERSION,
    tables=(AWARENESS,),
    take=_take,
)
