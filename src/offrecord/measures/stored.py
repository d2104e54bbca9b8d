"""Tables of measures on disk: written with a stamp, read against their declaration.

A study may come from anyone, a table of another version lacks a column, and the texts
may have changed since it was taken: all three are said in one line or count as not
measured, instead of failing wherever a column is first used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from offrecord.content.boundary.tables import read_table
from offrecord.measures.declare import Measure, Table
from offrecord.measures.parsed import stances_of, surveys_of
from offrecord.records import OffrecordError, digest, first_line
from offrecord.transcript.record import Record
from offrecord.transcript.store import write_table

STALE: Final = "the texts have changed since: measure it again"
"""What is said of a measure whose tables are of other texts."""


def texts_stamp(record: Record) -> str:
    """A hash of all that was said in a study, whoever parses it."""
    parses = (stances_of(record), surveys_of(record))
    replies = [str(table["version"].first()).split(" ")[1:2] for table in parses]
    return digest([replies, record.transcript.height])


def store(record: Record, measure: Measure, table: Table, rows: pl.DataFrame) -> None:
    """Write a table of a measure, and of which texts it is.

    Args:
        record: The study; its facts are changed, and not written.
        measure: What the table is of.
        table: One of its tables.
        rows: What was measured.

    Raises:
        OffrecordError: If the rows are not what the measure declares, or the file
            cannot be written.
    """
    if fault := _fault(measure, table, rows):
        raise OffrecordError(f"{measure.name}: table '{table.name}': {fault}")
    write_table(record.path / table.file, rows)
    taken = record.facts.setdefault("taken", {}).setdefault(measure.name, {})
    taken.setdefault("tables", {})[table.name] = {
        "texts": texts_stamp(record),
        "file": _hash(record, table),
    }


def is_fresh(record: Record, measure: Measure, stamp: str) -> bool:
    """Whether a measure need not be taken again: its texts and files are as they were.

    Args:
        record: The study.
        measure: The measure.
        stamp: What else it hangs on now (`Measure.stamp`).
    """
    taken = record.facts.get("taken", {}).get(measure.name, {})
    if taken.get("stamp") != stamp or measure.name not in record.facts.get(
        "measured", {}
    ):
        return False
    texts, known = texts_stamp(record), {table.name: table for table in measure.tables}
    return all(
        name in known
        and stated["texts"] == texts
        and stated["file"] == _hash(record, known[name])
        for name, stated in taken["tables"].items()
    )


def drop_stale(record: Record, measure: Measure) -> None:
    """Remove the tables of a measure that are of other texts: it is taken again."""
    for table in measure.tables:
        if _is_stale(record, table):
            (record.path / table.file).unlink(missing_ok=True)
            del record.facts["taken"][measure.name]["tables"][table.name]


def stored_measures(
    study: Record, table: Table, columns: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """A table of measures, or None where it was not measured, or of other texts.

    Args:
        study: The study.
        table: Which.
        columns: Those to read; all by default.

    Raises:
        OffrecordError: If it is no such table.
    """
    path = study.path / table.file
    if not path.is_file() or _is_stale(study, table):
        return None
    schema = table.schema
    wanted = list(columns or schema)
    both = list(dict.fromkeys([*wanted, *table.key]))
    found = read_table(path, both, again="measure it again")
    try:
        found = found.cast(pl.Schema({name: schema[name] for name in both}))
    except pl.exceptions.PolarsError as error:
        raise OffrecordError(f"{path}: {first_line(error)}; measure it again") from None
    # By hashes: the keys themselves, of all answers of a large study, fill the memory.
    if found.select(table.key).hash_rows().n_unique() < found.height:
        raise OffrecordError(f"{path}: two rows for one value; measure it again")
    return found.select(wanted)


def measured_facts(study: Record) -> dict[str, Any]:
    """What was measured, by measure: as study.json says, where that still holds."""
    stated = dict(study.facts.get("measured", {}))
    for name, taken in study.facts.get("taken", {}).items():
        texts = {one["texts"] for one in taken["tables"].values()}
        if texts - {texts_stamp(study)}:
            stated[name] = {"measured": False, "lines": [STALE]}
    return stated


def _is_stale(study: Record, table: Table) -> bool:
    stated = [
        one["tables"][table.name]["texts"]
        for one in study.facts.get("taken", {}).values()
        if table.name in one["tables"]
    ]
    return bool(stated) and texts_stamp(study) not in stated


def _hash(record: Record, table: Table) -> str:
    try:
        return hashlib.sha256((record.path / table.file).read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def _fault(measure: Measure, table: Table, rows: pl.DataFrame) -> str:
    """Why rows are not what a measure declares; empty where they are."""
    if table not in measure.tables:
        return "it is not declared"
    if rows.schema != pl.Schema(table.schema):
        wrong = set(rows.schema.items()) ^ set(pl.Schema(table.schema).items())
        names = ", ".join(sorted({name for name, _ in wrong})) or "their order"
        return f"its columns are not those declared: {names}"
    for one in table.estimated:
        for column in ("public", "other") if table.row == "item" else (one.column,):
            value = one.value if column == one.column else pl.col(column)
            low, high = (0, 1) if one.kind == "share" else (one.low, one.high)
            if rows.select(((value < low) | (value > high)).any()).item():
                return f"'{column}' leaves {low:g} to {high:g}"
    return ""
