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
from offrecord.records import Form, OffrecordError, Status, digest
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA
from offrecord.transcript.store import read_table, write_table

STANCES_FILE: Final = "measures/stances.parquet"
SURVEYS_FILE: Final = "measures/surveys.parquet"

_KEY: Final = {name: TRANSCRIPT_SCHEMA[name] for name in ROW_KEY}

_PARSED: Final = (Status.OK, Status.TRUNCATED)

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
    version = stance_version(transcript)
    rows = _of_form(transcript, Form.UTTERANCE)
    return in_batches(rows, lambda batch: _stances(batch, version))


def _stances(rows: pl.DataFrame, version: str) -> pl.DataFrame:
    labels, statuses, rules, repairs = [], [], [], []
    for text, pair, raw in rows.select("text", "labels", "status").iter_rows():
        stance = parse_stance(text, pair) if raw in _PARSED else None
        if stance and raw == Status.TRUNCATED and not _past_label(text, pair, stance):
            stance = None
        labels.append(stance.label if stance else None)
        statuses.append(str(stance.status) if stance else raw)
        rules.append(stance.rule if stance else None)
        repairs.append(list(stance.repairs) if stance else [])
    return rows.select(
        *ROW_KEY,
        pl.Series("label", labels, pl.String),
        pl.Series("status", statuses, pl.String),
        pl.Series("rule", rules, pl.String),
        pl.Series("repairs", repairs, pl.List(pl.String)),
        pl.lit(version).alias("version"),
    )


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
    version = survey_version(transcript, instruments)
    rows = _of_form(transcript, Form.SURVEY)
    return in_batches(rows, lambda batch: _answers(batch, instruments, version))


def _answers(
    rows: pl.DataFrame, instruments: Mapping[str, Mapping[str, Any]], version: str
) -> pl.DataFrame:
    asked, answers, statuses, repairs = [], [], [], []
    for text, stamp, raw in rows.select("text", "instrument", "status").iter_rows():
        if stamp not in instruments:
            raise OffrecordError(
                f"study.json: no instrument '{stamp}'; import the study again"
            )
        instrument = instruments[stamp]
        items = instrument["items"]
        survey = (
            parse_survey(text, items, instrument["low"], instrument["high"])
            if raw in _PARSED
            else None
        )
        asked.append(items)
        answers.append([survey.answers.get(item) if survey else None for item in items])
        statuses.append(str(survey.status) if survey else raw)
        repairs.append(list(survey.repairs) if survey else [])
    return rows.select(
        *ROW_KEY,
        pl.Series("items", asked, pl.List(pl.String)),
        pl.Series("answers", answers, pl.List(pl.Int32)),
        pl.Series("status", statuses, pl.String),
        pl.Series("repairs", repairs, pl.List(pl.String)),
        pl.lit(version).alias("version"),
    )


def measure_stances(study: Path, transcript: pl.DataFrame) -> pl.DataFrame:
    """The stances of a study: the stored ones, or parsed now and stored.

    Args:
        study: The study's folder.
        transcript: Its rows.
    """
    rows, version = _of_form(transcript, Form.UTTERANCE), stance_version(transcript)
    path = study / STANCES_FILE
    return _kept(path, STANCE_SCHEMA, version, rows, partial(stance_table, transcript))


def measure_surveys(
    study: Path, transcript: pl.DataFrame, facts: Mapping[str, Any]
) -> pl.DataFrame:
    """The survey answers of a study: the stored ones, or parsed now and stored.

    Args:
        study: The study's folder.
        transcript: Its rows.
        facts: The content of its study.json.

    Raises:
        OffrecordError: If study.json does not hold an instrument.
    """
    asked = facts.get("instruments", {})
    rows, version = _of_form(transcript, Form.SURVEY), survey_version(transcript, asked)
    path = study / SURVEYS_FILE
    made = partial(survey_table, transcript, asked)
    return _kept(path, SURVEY_SCHEMA, version, rows, made)


def stance_version(transcript: pl.DataFrame) -> str:
    """What a table of stances hangs on: the parser, and the replies themselves."""
    return f"{STANCE_VERSION} {_replies(transcript, Form.UTTERANCE)}"


def survey_version(
    transcript: pl.DataFrame, instruments: Mapping[str, Mapping[str, Any]]
) -> str:
    """What a table of answers hangs on: parser, replies, and instruments."""
    asked = digest({stamp: dict(one) for stamp, one in instruments.items()})
    return f"{SURVEY_VERSION} {_replies(transcript, Form.SURVEY)} {asked}"


def _replies(transcript: pl.DataFrame, form: Form) -> str:
    """A hash of the replies of a form, their keys, and what they may state."""
    hashed = hashlib.sha256()
    for batch in _of_form(transcript, form).iter_slices(SIZE):
        for row in batch.rows():
            hashed.update(repr(row).encode())
    return hashed.hexdigest()[:16]


def _of_form(transcript: pl.DataFrame, form: Form) -> pl.DataFrame:
    """What measures of a form's rows hang on."""
    columns = (*ROW_KEY, "labels", "instrument", "status", "text", "reasoning")
    return transcript.select(columns).filter(pl.col("form") == form)


def _kept(
    path: Path,
    schema: Mapping[str, Any],
    version: str,
    rows: pl.DataFrame,
    make: Callable[[], pl.DataFrame],
) -> pl.DataFrame:
    """The stored table, if it has these replies, each once, parsed by this parser.

    A table that cannot be read, or lost or doubled a row, is made again: it is derived.
    """
    with suppress(OffrecordError):
        table = read_table(path) if path.exists() else pl.DataFrame()
        ours = table.schema == pl.Schema(schema)
        if (
            ours
            and (table["version"] == version).all()
            and table.select(ROW_KEY).equals(rows.select(ROW_KEY))
        ):
            return table
    made = make()
    write_table(path, made)
    return made
