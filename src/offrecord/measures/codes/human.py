"""Human coding of stance: a blinded sheet out, and its codes back in.

The sheet has an id, the text without its label, two options in a seeded order, and a
place for a code; nothing says which channel, model or condition a text is from, and the
rows stand in random order. An id is a hash of the seed and the row's key, so the study
itself is the key of the sheet. A spreadsheet takes a text that begins like a formula
for one: such texts get an apostrophe in front, which no code hangs on.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.content.boundary import shown
from offrecord.content.boundary.files import read_file
from offrecord.content.labels import normalise
from offrecord.content.letters import visible_only
from offrecord.measures.codes.second_coder import (
    CODER_VERSION,
    TEXT_SCHEMA,
    UNCLEAR,
    coder_table,
    has_choice,
    options,
    shown_order,
)
from offrecord.records import OffrecordError, digest
from offrecord.transcript.schema import ROW_KEY
from offrecord.transcript.store import write_output

COLUMNS: Final = ("id", "text", "option_1", "option_2", "code", "note")
"""The sheet's columns. A coder fills `code` with 1, 2 or unclear, and may note."""


class Coded(NamedTuple):
    """What came back from a human coder."""

    table: pl.DataFrame
    """Rows in `CODER`, one per row of the sheet; not coded yet is missing."""
    faults: tuple[str, ...]
    """One line for each row that cannot be used: where, what, and what to do."""


def write_sheet(path: Path, texts: pl.DataFrame, seed: int) -> int:
    """Write a sheet for human coders, as CSV that spreadsheets open right.

    Args:
        path: The file.
        texts: Rows in `TEXT_SCHEMA`; those with a text are coded.
        seed: Of the ids, the order, and the order of options.

    Returns:
        How many rows the sheet has.

    Raises:
        OffrecordError: If there is nothing to code, or it cannot be written.
    """
    known = list(_by_id(texts, seed).items())
    if not known:
        raise OffrecordError("human coding: no utterance has a text to code")
    order = np.random.default_rng(seed).permutation(len(known))
    out = io.StringIO(newline="")
    sheet = csv.writer(out, lineterminator="\r\n")
    sheet.writerow(COLUMNS)
    for identity, row in (known[place] for place in order):
        cells = (row["text"], *options(row, seed))
        sheet.writerow([identity, *map(guarded, cells), "", ""])
    write_output(path, "\ufeff" + out.getvalue())
    return len(known)


def sheet_entries(texts: pl.DataFrame, seed: int) -> pl.DataFrame:
    """What a sheet has beside each text that can be coded, for other forms of sheets.

    Args:
        texts: Rows in `TEXT_SCHEMA`.
        seed: The one that `read_sheet` will be given.

    Returns:
        `ROW_KEY`, `id`, `option_1` and `option_2`.
    """
    schema = {name: TEXT_SCHEMA[name] for name in ROW_KEY}
    rows = [
        (*(row[name] for name in ROW_KEY), identity, *options(row, seed))
        for identity, row in _by_id(texts, seed).items()
    ]
    added = dict.fromkeys(("id", "option_1", "option_2"), pl.String)
    return pl.DataFrame(rows, schema={**schema, **added}, orient="row")


def guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula, free of invisible characters."""
    return shown.guarded(visible_only(cell))


def read_sheet(path: Path, texts: pl.DataFrame, seed: int, coder: str) -> Coded:
    """Read a filled sheet, whatever its order, its separator, or rows left out.

    Args:
        path: The file, as a spreadsheet saved it.
        texts: Rows in `TEXT_SCHEMA`, of the same study.
        seed: The same as it was written with.
        coder: Who filled it.

    Raises:
        OffrecordError: If the file cannot be read, is no such sheet, or is of another
            study or seed.
    """
    known = _by_id(texts, seed)
    lines: dict[str, dict[int, Mapping[str, str]]] = {}
    for number, cells in _cells(path):
        lines.setdefault(cells["id"], {})[number] = cells
    if not lines:
        raise OffrecordError(f"{path}: it has no row, so there are no codes to read")
    if not known.keys() & lines.keys():
        raise OffrecordError(
            f"{path}: none of its ids is of this study with seed {seed}: give the "
            "study and the seed that it was written with"
        )
    rows, codes, faults = [], [], []
    for identity, written in lines.items():
        if not (identity or any(cells["code"] for cells in written.values())):
            continue  # a row with nothing to code
        row = known.get(identity)
        if row is None:
            why = dict.fromkeys(written, f"unknown id '{identity[:40]}': keep ids")
        else:
            code, why = _code(written, shown_order(row, seed))
            rows.append(row)
            codes.append(code)
        faults += [(number, f"{path}, row {number}: {why[number]}") for number in why]
    chosen = pl.DataFrame(rows, schema=TEXT_SCHEMA)
    table = coder_table(chosen, codes, f"human:{coder}", None, CODER_VERSION)
    return Coded(table, tuple(line for _, line in sorted(faults)))


def _code(
    written: Mapping[int, Mapping[str, str]], order: Sequence[str]
) -> tuple[dict[str, str], dict[int, str]]:
    """The code that the rows of one id give, and what is wrong with which of them."""
    words = {normalise(label): label for label in order}
    words |= {"1": order[0], "2": order[1], UNCLEAR: UNCLEAR}
    asked = {n: cells["code"] for n, cells in written.items() if cells["code"]}
    found = {n: words.get(normalise(word)) for n, word in asked.items()}
    faults = {
        n: f"code '{asked[n][:40]}': write 1, 2 or {UNCLEAR}"
        for n, code in found.items()
        if code is None
    }
    codes = {code for code in found.values() if code}
    if len(codes) > 1:
        places = " and ".join(map(str, found))
        last = max(found)
        return {"reason": "coded twice, differently"}, faults | {
            last: f"coded differently in rows {places}: keep one of them"
        }
    notes = [cells["note"] for cells in written.values() if cells["note"]]
    if codes:
        note = {"reply": "; ".join(notes)} if notes else {}
        return {"code": codes.pop(), **note}, faults
    return {"reason": "code not understood" if faults else "not coded"}, faults


def _cells(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a sheet by column name, with their number as spreadsheets count."""
    try:
        text = read_file(path).decode("utf-8-sig")
    except OSError as error:
        raise OffrecordError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OffrecordError(f"{path}: not UTF-8: save it as 'CSV UTF-8'") from None
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise OffrecordError(f"{path}: not CSV ({error})") from None
    names = [name.strip().casefold() for name in lines[0]] if lines else []
    for name in ("id", "code"):
        if name not in names:
            raise OffrecordError(
                f"{path}: no column '{name}': keep the first row of the sheet"
            )
    return [
        (number, dict.fromkeys(COLUMNS, "") | dict(zip(names, cells, strict=False)))
        for number, line in enumerate(lines[1:], start=2)
        if any(cells := [cell.strip() for cell in line])
    ]


def _by_id(texts: pl.DataFrame, seed: int) -> dict[str, dict[str, Any]]:
    """The rows that can be coded, by the id that they have in a sheet."""
    return {
        digest([seed, [str(row[name]) for name in ROW_KEY]], 12): row
        for row in texts.iter_rows(named=True)
        if has_choice(row)
    }
