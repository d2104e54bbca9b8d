"""The parses of a record: stances, surveys and the pairs that estimates stand on."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from offrecord.measures.pairs import spoken_stances, stance_pairs
from offrecord.measures.tables import measure_stances, measure_surveys
from offrecord.transcript.record import Record, write_import
from offrecord.transcript.store import Imported


def stances_of(record: Record) -> pl.DataFrame:
    """One row per utterance (`STANCE_SCHEMA`): stored, or parsed now and stored."""
    return record.derived(
        "stances", lambda: measure_stances(record.path, record.transcript)
    )


def surveys_of(record: Record) -> pl.DataFrame:
    """One row per survey (`SURVEY_SCHEMA`): stored, or parsed now and stored."""
    return record.derived(
        "surveys",
        lambda: measure_surveys(record.path, record.transcript, record.facts),
    )


def pairs_of(record: Record) -> pl.DataFrame:
    """One row per planned pair of channels (see `stance_pairs`)."""
    return record.derived(
        "pairs",
        lambda: stance_pairs(record.transcript, stances_of(record), record.facts),
    )


def target_pairs(study: Record) -> pl.DataFrame:
    """The pairs of the agent that feels the pressure; none where no run has any."""
    targets = study.transcript.filter(role="target")["agent"].unique()
    return pairs_of(study).filter(pl.col("agent").is_in(targets.implode()))


def holdout_pairs_of(record: Record) -> pl.DataFrame:
    """The same of the spoken channel and the hold-out; no rows where none was asked."""
    return record.derived(
        "holdout_pairs",
        lambda: stance_pairs(
            record.transcript, stances_of(record), record.facts, holdout=True
        ),
    )


def spoken_of(record: Record) -> pl.DataFrame:
    """One row per planned utterance of the spoken channel (see `spoken_stances`)."""
    return record.derived(
        "spoken",
        lambda: spoken_stances(record.transcript, stances_of(record), record.facts),
    )


def parse(record: Record) -> None:
    """Parse stances and surveys, where that is not done for these rows yet."""
    stances_of(record)
    surveys_of(record)


def write_parsed(out: Path, imported: Imported) -> Record:
    """Write an import as a study, and parse its replies.

    Raises:
        OffrecordError: If the folder cannot be written.
    """
    record = write_import(out, imported)
    parse(record)
    return record
