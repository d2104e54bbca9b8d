"""Which attempt at a run is the one measured."""

from __future__ import annotations

import polars as pl


def first_ended(transcript: pl.DataFrame) -> pl.DataFrame:
    """The rows that count: of each run the first attempt that ended by itself.

    A run whose attempts were all interrupted has none; whoever counts what was
    planned must count it from the whole transcript.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        A part of the rows, in their order.
    """
    first = (
        transcript.filter(pl.col("ended").is_not_null())
        .group_by("run")
        .agg(pl.col("attempt").min())
    )
    return transcript.join(
        first, on=["run", "attempt"], how="semi", maintain_order="left"
    )


def under_way(transcript: pl.DataFrame) -> pl.DataFrame:
    """The rows that resuming asks again: the last attempts at runs that did not end.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
    """
    open_runs = transcript.filter(pl.col("ended").is_null().all().over("run"))
    last = pl.col("attempt") == pl.col("attempt").max().over("run")
    return open_runs.filter(last)
