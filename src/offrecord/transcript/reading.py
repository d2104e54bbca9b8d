"""Reading the files of a study, which may come from anyone: bounded, and in one line.

No file is followed out of the study, none that is no plain file is opened, and what a
file says of itself is set against its size before it is believed.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from offrecord.content.files import read_file
from offrecord.records import OffrecordError, first_line
from offrecord.transcript.facts import STUDY_FILE

_LARGEST_JSON: Final = 1_000_000_000
_LARGEST_TABLE: Final = 64_000_000_000  # bytes; the machine's memory ends before
_FEW_ROWS: Final = 1_000_000
_DENSE: Final = 16
"""Rows that a byte may hold, in a table of more than so few: alike rows of published
runs take half a byte each, and those of many runs less."""


_AGAIN: Final = "remove it, and call 'offrecord run' or 'import' as before"


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object.

    Raises:
        OffrecordError: If there is no such file, or it is not a JSON object.
    """
    refuse_leaving(path)
    try:
        value = json.loads(read_file(path, _LARGEST_JSON), parse_constant=_refused)
    except FileNotFoundError:
        raise _absent(path) from None
    except (ValueError, RecursionError):
        raise OffrecordError(f"{path}: not JSON; {_AGAIN}") from None
    if not isinstance(value, dict):
        raise OffrecordError(f"{path}: not a JSON object; {_AGAIN}")
    return value


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    again: str = _AGAIN,
) -> pl.DataFrame:
    """Read one Parquet file.

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
        data = read_file(path, _LARGEST_TABLE)
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
        raise _absent(path) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OffrecordError(
            f"{path}: cannot be read ({first_line(error)}); {again}"
        ) from None


def refuse_leaving(path: Path) -> None:
    """Refuse a file of a study that is a link out of it, or lies behind one.

    Args:
        path: The file, in a study's folder or in a folder of that.

    Raises:
        OffrecordError: If it is elsewhere.
    """
    for study in (path.parent.parent, path.parent):
        if (study / STUDY_FILE).is_file():
            whole = Path(os.path.realpath(path))
            if not whole.is_relative_to(os.path.realpath(study)):
                raise OffrecordError(
                    f"{path}: a link that leaves the study's folder, not followed"
                )
            return


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _absent(path: Path) -> OffrecordError:
    return OffrecordError(
        f"{path}: no such file; make the study with 'offrecord run' or 'import' first"
    )
