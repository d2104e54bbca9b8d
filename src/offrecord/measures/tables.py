"""The measures as tables, keyed to the transcript's rows by `ROW_KEY`.

A parse is a measure with a version, not evidence: it is made again from the raw text
whenever the parser or the transcript has changed. Interviews are in none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from offrecord.content.labels import normalise
from offrecord.content.reply import is_guessed, spoken_text
from offrecord.measures.batches import SIZE, in_batches
from offrecord.measures.replies.stance import STANCE_VERSION, Stance, parse_stance
from offrecord.measures.replies.survey import SURVEY_VERSION, parse_survey
from offrecord.records import ENGLISH, Form, OffrecordError, Status, digest
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA
from offrecord.transcript.store import read_table, write_table

STANCES_FILE: Final = "measures/stances.parquet"
SURVEYS_FILE: Final = "measures/surveys.parquet"

_KEY: Final = {name: TRANSCRIPT_SCHEMA[name] for name in ROW_KEY}

_PARSED: Final = (Status.OK, Status.TRUNCATED)
_ASKED: Final = ("items", "low", "high")

STANCE_SCHEMA: Final = {
    **_KEY,
    "label": pl.String,  # one of the row's labels, or null
    "status": pl.String,
    "rule": pl.String,  # which rule decided
    "repairs": pl.List(pl.String),
    "version": pl.String,  # of the parser, and a hash of the replies
}
"""One row per utterance, of every attempt and draw."""

SURVEY_SCHEMA: Final = {
    **_KEY,
    "items": pl.List(pl.String),
    "answers": pl.List(pl.Int32),  # beside the items; null where there is none
    "status": pl.String,
    "repairs": pl.List(pl.String),
    "version": pl.String,
}
"""One row per survey, of every attempt."""


def stance_table(transcript: pl.DataFrame) -> pl.DataFrame:
    """The stance of every utterance.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        Rows in `STANCE_SCHEMA`. A reply that was cut off after its label is parsed
        like any other, since length differs by model and channel and losing the long
        replies would favour the short ones; cut off before that, and wherever nothing
        was said, it keeps its raw status and has no label.
    """
    rows = _of_form(transcript, Form.UTTERANCE)
    return in_batches(rows, _stances).with_columns(version=pl.lit(_version(rows)))


def _stances(rows: pl.DataFrame) -> pl.DataFrame:
    parsed: list[tuple[Any, ...]] = []
    asked = rows.select("text", "labels", "language", "status")
    for text, labels, language, raw in asked.iter_rows():
        one = stated(text, labels, raw, language)
        if one:
            parsed.append((one.label, str(one.status), one.rule, [*one.repairs]))
        else:
            parsed.append((None, raw, None, []))
    return _beside(rows, parsed, STANCE_SCHEMA)


def stated(
    text: str, labels: Sequence[str], raw: str, language: str = ENGLISH
) -> Stance | None:
    """The stance of a reply with a raw status; None where nothing is parsed."""
    one = parse_stance(text, labels, language) if raw in _PARSED else None
    if one and raw == Status.TRUNCATED and not _past_label(text, labels, one):
        return None
    return one


def _past_label(text: str, labels: Sequence[str], stance: Stance) -> bool:
    """Whether a cut-off reply has a label and goes on after it.

    Cut right behind the label it may have been about to become a longer one; cut in
    thinking that no mark parts, the label may be one that is only thought of.
    """
    if stance.label is None or is_guessed(text, labels):
        return False
    said = " ".join(re.findall(r"\w+", normalise(spoken_text(text, labels))))
    return not said.endswith(" ".join(re.findall(r"\w+", normalise(stance.label))))


def survey_table(
    transcript: pl.DataFrame, instruments: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    """The answers of every survey.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        instruments: The stamp of each instrument to its `items`, `low` and `high`,
            as study.json holds them.

    Returns:
        Rows in `SURVEY_SCHEMA`.

    Raises:
        OffrecordError: If a row names an instrument that is not among these.
    """
    rows = _of_form(transcript, Form.SURVEY)
    table = in_batches(rows, lambda batch: _answers(batch, instruments))
    return table.with_columns(version=pl.lit(_version(rows, instruments)))


def _answers(
    rows: pl.DataFrame, instruments: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    parsed: list[tuple[Any, ...]] = []
    for text, stamp, raw in rows.select("text", "instrument", "status").iter_rows():
        if stamp not in instruments:
            raise OffrecordError(
                f"study.json: no instrument '{stamp}'; import the study again"
            )
        items, low, high = (instruments[stamp][name] for name in _ASKED)
        if raw in _PARSED:
            words = instruments[stamp].get("answers", {})
            one = parse_survey(text, items, low, high, words)
            answers = [one.answers.get(item) for item in items]
            parsed.append((items, answers, str(one.status), [*one.repairs]))
        else:
            parsed.append((items, [None] * len(items), raw, []))
    return _beside(rows, parsed, SURVEY_SCHEMA)


def _beside(
    rows: pl.DataFrame, parsed: Sequence[tuple[Any, ...]], schema: Mapping[str, Any]
) -> pl.DataFrame:
    """The keys of rows, and what was parsed of each; the version follows."""
    own = {name: schema[name] for name in schema if name not in (*_KEY, "version")}
    return rows.select(ROW_KEY).hstack(pl.DataFrame(parsed, own, orient="row"))


def measure_stances(study: Path, transcript: pl.DataFrame) -> pl.DataFrame:
    """The stances of a study: the stored ones, or parsed now and stored."""
    rows, path = _of_form(transcript, Form.UTTERANCE), study / STANCES_FILE
    return _kept(path, STANCE_SCHEMA, rows, None, lambda: stance_table(transcript))


def measure_surveys(
    study: Path, transcript: pl.DataFrame, facts: Mapping[str, Any]
) -> pl.DataFrame:
    """The survey answers of a study: the stored ones, or parsed now and stored.

    Raises:
        OffrecordError: If study.json does not hold an instrument.
    """
    rows, asked = _of_form(transcript, Form.SURVEY), facts.get("instruments", {})
    path = study / SURVEYS_FILE
    make = partial(survey_table, transcript, asked)
    return _kept(path, SURVEY_SCHEMA, rows, asked, make)


def _version(
    rows: pl.DataFrame, instruments: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """What a table hangs on: the parser, the replies and keys, and the instruments."""
    hashed = hashlib.sha256()
    for batch in rows.drop("language").iter_slices(SIZE):  # part of the run's name
        for row in batch.rows():
            hashed.update(repr(row).encode())
    replies = hashed.hexdigest()[:16]
    if instruments is None:
        return f"{STANCE_VERSION} {replies}"
    asked = digest({stamp: dict(one) for stamp, one in instruments.items()})
    return f"{SURVEY_VERSION} {replies} {asked}"


def _of_form(transcript: pl.DataFrame, form: Form) -> pl.DataFrame:
    """What measures of a form's rows hang on."""
    replies = ("labels", "language", "instrument", "status", "text", "reasoning")
    columns = (*ROW_KEY, *replies)
    return transcript.select(columns).filter(pl.col("form") == form)


def _kept(
    path: Path,
    schema: Mapping[str, Any],
    rows: pl.DataFrame,
    instruments: Mapping[str, Mapping[str, Any]] | None,
    make: Callable[[], pl.DataFrame],
) -> pl.DataFrame:
    """The stored table, if it has these replies, each once, parsed by this parser.

    A table that cannot be read, or lost or doubled a row, is made again: it is derived.
    """
    with suppress(OffrecordError):
        table = read_table(path) if path.exists() else pl.DataFrame()
        if (
            table.schema == pl.Schema(schema)
            and (table["version"] == _version(rows, instruments)).all()
            and table.select(ROW_KEY).equals(rows.select(ROW_KEY))
        ):
            return table
    made = make()
    write_table(path, made)
    return made
