"""The turns that a human should read first, as CSV with a place for codes.

`id`, the options, `code` and `note` are of the text off the record (of recorded
conversations that nobody was asked in, of what was said) and are those of the sheet for
human coding: fill `code` with 1, 2 or unclear, and `offrecord measure STUDY
--read-sheet` reads it back. Whoever codes here has seen condition and channel, so this
checks a finding, and is no blinded coding.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Final

import polars as pl

from offrecord.content.boundary.shown import guarded
from offrecord.measures.reading import turns_to_read
from offrecord.transcript.record import Record
from offrecord.transcript.store import write_output

_FIRST: Final = ("priority", "why", "model", "scenario", "condition", "run", "turn")
_TEXTS: Final = ("public_text", "off_record_text")
_SAID: Final = ("stored_text", "prompt")
_STANCES: Final = ("public_stance", "off_record_stance")
_STATUSES: Final = ("public_status", "other_status", "attribution")
_CODING: Final = ("id", "option_1", "option_2", "code", "note")
COLUMNS: Final = (*_FIRST, *_TEXTS, *_STANCES, *_STATUSES, "link", *_CODING, *_SAID)


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
    turns = turns_to_read(study).with_columns(
        turn=pl.format("{}-{}", "agent", "round"),
        code=pl.lit(None, pl.String),
        note=pl.lit(None, pl.String),
    )
    for row in turns.iter_rows(named=True):
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
