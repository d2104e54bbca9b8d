"""Rows in batches: what is made of a text lives as a Python object for one batch only.

A study has millions of texts. As objects, with all that was found in them, they take
many times the memory of the table that they become.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl

SIZE: Final = 20_000
"""Rows of a batch."""


def in_batches(
    rows: pl.DataFrame, make: Callable[[pl.DataFrame], pl.DataFrame], size: int = SIZE
) -> pl.DataFrame:
    """What a function makes of each batch of rows, as one table in their order.

    Args:
        rows: Any rows, none included.
        make: Gives a table of the same columns for each batch.
        size: Rows of a batch.
    """
    if rows.height <= size:
        return make(rows)
    return pl.concat([make(batch) for batch in rows.iter_slices(size)])


def lists_of(
    name: str, rows: Sequence[Sequence[Mapping[str, Any]] | None], kind: pl.Struct
) -> pl.Series:
    """A column of lists of structs, made of all structs at once.

    Polars makes a series of each list of a column, which takes longer than finding what
    is in them.

    Args:
        name: Of the column.
        rows: A list for each row, or None for null.
        kind: What the lists hold.
    """
    held = [(row, one) for row, found in enumerate(rows) for one in found or ()]
    flat = pl.DataFrame([one for _, one in held], schema=dict(kind))
    lists = (
        pl.DataFrame({"row": [row for row, _ in held], name: flat.to_struct()})
        .cast({"row": pl.Int64})
        .group_by("row", maintain_order=True)
        .agg(name)
    )
    numbered = pl.DataFrame(
        {
            "row": pl.int_range(len(rows), eager=True),
            "known": pl.Series([found is not None for found in rows], dtype=pl.Boolean),
        }
    )
    empty = pl.lit([], dtype=pl.List(kind))
    return numbered.join(lists, on="row", how="left", maintain_order="left").select(
        pl.when(pl.col("known")).then(pl.col(name).fill_null(empty)).alias(name)
    )[name]
