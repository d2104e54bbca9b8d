"""Rows in batches: what is made of a text lives as a Python object for one batch only.

A study has millions of texts. As objects, with all that was found in them, they take
many times the memory of the table that they become.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

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
