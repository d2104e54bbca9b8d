"""The tidy tables as files: CSV for spreadsheets, Parquet and JSON lines without loss.

In CSV a list is JSON text, a missing value is empty, and text that a spreadsheet would
compute is disarmed, heads of columns included; numbers are never touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.content.boundary.shown import guarded
from offrecord.export.folder import claim, finish, placing
from offrecord.export.tables import TABLES, dictionary
from offrecord.transcript.record import Record

DICTIONARY: Final = Path("columns.csv")
"""The file beside the tables that says what every column means."""


class Written(NamedTuple):
    """One file of an export."""

    path: Path
    rows: int
    size: int
    """In bytes."""


def export_tables(
    study: Record, out: Path, kind: str, tables: Sequence[str] = ()
) -> Iterator[Written]:
    """Write tidy tables of a study, one file each, and what their columns mean.

    Args:
        study: The study.
        out: The folder: new, empty, or an earlier export of this kind.
        kind: `csv`, `parquet` or `jsonl`; also the ending of the files.
        tables: Out of `turns`, `pairs` and `surveys`; all by default.

    Yields:
        Each file, once all are there; the last is the dictionary of their columns.

    Raises:
        OffrecordError: If the folder holds anything else, the record cannot be read, or
            a file cannot be written.
    """
    names = {name: f"{name}.{kind}" for name in dict.fromkeys(tables or TABLES)}
    asked = list(names)
    names[DICTIONARY.stem] = DICTIONARY.name
    _ = study.transcript  # a record that cannot be read leaves no folder behind
    claim(out, kind, names.values())
    rows = {}
    with placing() as put:
        for name in asked:
            table = TABLES[name](study)
            put(out / names[name], partial(WRITERS[kind], table))
            rows[out / names[name]] = table.height
        told = dictionary(study, asked)
        put(out / DICTIONARY, partial(write_csv, told))
        rows[out / DICTIONARY] = told.height
    finish(out, kind, names.values())
    for path, height in rows.items():
        yield Written(path, height, path.stat().st_size)


def write_csv(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV that a spreadsheet may open.

    Args:
        table: Columns of text, numbers, truth values, times, and lists of text.
        path: The file.
    """
    columns = [_plain(table[name]).alias(guarded(name)) for name in table.columns]
    pl.DataFrame(columns).write_csv(path)


WRITERS: Final[Mapping[str, Callable[[pl.DataFrame, Path], Any]]] = MappingProxyType(
    {
        "csv": write_csv,
        "parquet": lambda table, path: table.write_parquet(path, compression="zstd"),
        "jsonl": lambda table, path: table.write_ndjson(path),
    }
)
"""Format to what writes it."""


def _plain(column: pl.Series) -> pl.Series:
    """A column as CSV can hold it: lists as JSON, and text disarmed."""
    if isinstance(column.dtype, pl.List):
        texts = [
            None if value is None else json.dumps(value, ensure_ascii=False)
            for value in column.to_list()
        ]
        column = pl.Series(texts, dtype=pl.String)
    if column.dtype != pl.String:
        return column
    distinct = column.unique().drop_nulls()
    armed = {text: safe for text in distinct if (safe := guarded(text)) != text}
    return column.replace(armed) if armed else column
