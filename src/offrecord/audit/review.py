"""The turns that a human should read first, as CSV with a place for codes.

First those that carry the finding most plainly: divergence towards the partner that the
text itself puts down to who listens. Then the rest of it, the turns that go the other
way, those whose parse gave no stance, and those on the border. `id`, the options,
`code` and `note` are of the text off the record and are those of the sheet for human
coding: fill `code` with 1, 2 or unclear, and `offrecord measure STUDY --read-sheet`
reads it back. Whoever codes here has seen condition and channel, so this checks a
finding, and is no blinded coding.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Final

import polars as pl

from offrecord.content.boundary.shown import guarded
from offrecord.estimates.card import target_pairs
from offrecord.estimates.frames.attribution import EXPLICIT
from offrecord.measures.codes.attribution import ATTRIBUTION, attributed_pairs
from offrecord.measures.codes.human import sheet_entries
from offrecord.measures.codes.lexical import LEXICAL
from offrecord.measures.codes.second_coder import coder_texts
from offrecord.measures.draws import stance_draws
from offrecord.measures.pairs import channel_view
from offrecord.measures.parsed import stances_of
from offrecord.measures.stored import stored_measures
from offrecord.records import Form, Status
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY
from offrecord.transcript.store import write_output

REASONS: Final = (
    "accommodating, and the text says why",
    "accommodating",
    "reversing",
    "no stance: unclear or refusal",
    "on the border: a repaired label, or samples that disagree",
)
"""Why a turn is to be read, the most important first."""

_FIRST: Final = ("priority", "why", "model", "scenario", "condition", "run", "turn")
_TEXTS: Final = ("public_text", "off_record_text")
_STANCES: Final = ("public_stance", "off_record_stance")
_STATUSES: Final = ("public_status", "other_status", "attribution")
_CODING: Final = ("id", "option_1", "option_2", "code", "note")
COLUMNS: Final = (*_FIRST, *_TEXTS, *_STANCES, *_STATUSES, "link", *_CODING)

_SEED: Final = 0  # the default of `measure --read-sheet`
_TURN: Final = ("run", "agent", "round")


def write_review(study: Record, path: Path) -> int:
    """Write the turns to read first.

    Args:
        study: The study.
        path: The CSV file.

    Returns:
        How many turns it has.

    Raises:
        OffrecordError: If it cannot be written.
    """
    out = io.StringIO(newline="")
    sheet = csv.writer(out, lineterminator="\r\n")
    sheet.writerow(map(guarded, COLUMNS))
    count = 0
    for row in _turns(study).iter_rows(named=True):
        cells = [_cell(row[name]) for name in COLUMNS]
        sheet.writerow(cells)
        count += 1
    write_output(path, "\ufeff" + out.getvalue())
    return count


def _cell(value: object) -> object:
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    # A lone half of a surrogate pair cannot be stored as UTF-8.
    return guarded(value.encode("utf-8", "replace").decode())


def _turns(study: Record) -> pl.DataFrame:
    """One row per turn to read, in `COLUMNS`."""
    pairs = channel_view(_with_codes(study)).join(
        _wavering(study), on=list(_TURN), how="left"
    )
    ranked = pairs.with_columns(priority=_priority()).filter(
        pl.col("priority").is_not_null()
    )
    said = _said(study)
    public = said.filter(channel=study.spoken).select(
        *_TURN, public_text="text", public_stance="label"
    )
    other = said.rename({"text": "off_record_text", "label": "off_record_stance"})
    return (
        ranked.join(public, on=list(_TURN), how="left")
        .join(other, on=[*_TURN, "channel"], how="left")
        .with_columns(
            why=pl.col("priority").replace_strict(
                dict(enumerate(REASONS, start=1)), return_dtype=pl.String
            ),
            turn=pl.format("{}-{}", "agent", "round"),
            link=pl.format("report.html#run={}&turn={}-{}", "run", "agent", "round"),
            attribution="code",
        )
        .with_columns(code=pl.lit(None, pl.String), note=pl.lit(None, pl.String))
        .sort("priority", "model", "scenario", "condition", "run", "round", "channel")
        .select(COLUMNS)
    )


def _priority() -> pl.Expr:
    """The number of a turn's reason, from 1; null if nobody need read it."""
    public, other = pl.col("public"), pl.col("other")
    unread = {str(Status.UNCLEAR), str(Status.REFUSAL)}
    statuses = pl.concat_list("public_status", "other_status")
    border = pl.col("wavers").fill_null(value=False) | statuses.list.contains(
        str(Status.REPAIRED)
    )
    return (
        pl.when(public & ~other & pl.col("code").is_in(list(EXPLICIT)))
        .then(1)
        .when(public & ~other)
        .then(2)
        .when(~public & other)
        .then(3)
        .when(statuses.list.set_intersection(sorted(unread)).list.len() > 0)
        .then(4)
        .when(border)
        .then(5)
    )


def _with_codes(study: Record) -> pl.DataFrame:
    """The target's pairs with what the text off the record was coded as, if it was."""
    pairs = target_pairs(study)
    for file in (ATTRIBUTION, LEXICAL):
        codes = stored_measures(study, file)
        if codes is not None:
            return attributed_pairs(pairs, codes, study.transcript, study.spoken)
    return pairs.with_columns(code=pl.lit(None, pl.String))


def _wavering(study: Record) -> pl.DataFrame:
    """The turns in which two samples of one channel took different sides."""
    draws = stance_draws(study.transcript, stances_of(study))
    return (
        draws.group_by(*_TURN, "channel")
        .agg(wavers=pl.col("on_pressed_side").drop_nulls().n_unique() > 1)
        .group_by(_TURN)
        .agg(pl.col("wavers").any())
    )


def _said(study: Record) -> pl.DataFrame:
    """The committed utterances with stance and what a sheet has beside them."""
    entries = sheet_entries(coder_texts(study.transcript, stances_of(study)), _SEED)
    return (
        first_ended(study.transcript)
        .filter(pl.col("form") == Form.UTTERANCE, pl.col("draw") == 0)
        .select(*ROW_KEY, "round", "text")
        .join(stances_of(study).select(*ROW_KEY, "label"), on=list(ROW_KEY), how="left")
        .join(entries, on=list(ROW_KEY), how="left")
        .select(*_TURN, "channel", "text", "label", "id", "option_1", "option_2")
    )
