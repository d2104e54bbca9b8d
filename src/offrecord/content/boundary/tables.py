"""Parquet files that may come from anyone, and records without keys.

What a file says of itself is set against its size before it is believed.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from offrecord.content.boundary.files import AGAIN, absent, read_file, refuse_leaving
from offrecord.content.boundary.secrets import REDACTED, planted, redacted
from offrecord.records import OffrecordError, first_line

_LARGEST: Final = 64_000_000_000  # bytes; the machine's memory ends before
_FEW_ROWS: Final = 1_000_000
_DENSE: Final = 16
"""Rows that a byte may hold, in a table of more than so few: alike rows of published
runs take half a byte each, and those of many runs less."""


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    again: str = AGAIN,
) -> pl.DataFrame:
    """Read one Parquet file of a study.

    Args:
        path: The file.
        columns: Those to read; all by default. What else it holds is not looked at.
        again: What makes a table anew that cannot be read or lacks a column.

    Raises:
        OffrecordError: If there is none, it is not Parquet, it has no such column, or
            it says that it holds more rows than its bytes can.
    """
    refuse_leaving(path)
    try:
        data = read_file(path, _LARGEST)
        known = pl.read_parquet_schema(io.BytesIO(data))
        for name in columns or ():
            if name not in known:
                raise OffrecordError(f"{path}: no column '{name}'; {again}")
        rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
        if rows > max(_FEW_ROWS, _DENSE * len(data)):
            raise OffrecordError(f"{path}: {rows:,} rows in {len(data):,} bytes")
        return pl.read_parquet(
            io.BytesIO(data), columns=list(columns) if columns else None
        )
    except FileNotFoundError:
        raise absent(path) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OffrecordError(
            f"{path}: cannot be read ({first_line(error)}); {again}"
        ) from None


def without_secrets(record: pl.DataFrame, said: Sequence[str]) -> pl.DataFrame:
    """A record without what a provider sent back of ours, before it is written.

    The environment's own secrets are taken out wherever they stand, and from what a
    provider says of itself also what only looks like one. A reply is evidence, and what
    a model makes up in it stays.

    Args:
        record: Rows to be written.
        said: The columns of what providers say of themselves.
    """
    for name in said:
        texts = record[name].unique().drop_nulls()
        changed = {text: safe for text in texts if (safe := redacted(text)) != text}
        if changed:
            record = record.with_columns(pl.col(name).replace(changed))
    secrets = planted()
    if not secrets:
        return record
    return record.with_columns(
        pl.col(pl.String).str.replace_many(
            list(secrets), [REDACTED] * len(secrets), leftmost=True
        )
    )
