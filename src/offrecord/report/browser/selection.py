"""Which runs a page holds: all, or as many as it can carry, evenly across cells."""

from __future__ import annotations

from typing import Final

import polars as pl

from offrecord.records import CELL, digest
from offrecord.transcript.ended import first_ended

MAX_RUNS: Final = 2_000
"""How many runs' texts a page holds unless it is told otherwise."""

_SHOWN: Final = ["run", "attempt"]


def carried_runs(transcript: pl.DataFrame, max_runs: int = MAX_RUNS) -> list[str]:
    """The runs that a page holds, in the order of the transcript.

    Every cell gives its first run before any gives its second, in the order of a hash
    of their ids: the choice hangs on no result and is the same each time.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        max_runs: How many at most.
    """
    runs = transcript.select("run", *CELL).unique("run", maintain_order=True)
    if runs.height <= max_runs:
        return runs["run"].to_list()
    chosen = (
        runs.with_columns(
            hash=pl.Series([digest(run) for run in runs["run"]]),
            place=pl.int_range(pl.len()),
        )
        .with_columns(rank=pl.col("hash").rank("ordinal").over(*CELL))
        .sort("rank", "hash")
        .head(max_runs)
    )
    return chosen.sort("place")["run"].to_list()


def shown_rows(transcript: pl.DataFrame, runs: list[str]) -> pl.DataFrame:
    """The rows of the attempt that is shown of each run.

    That is the measured attempt; where every one was interrupted, the last.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        runs: Which runs.
    """
    rows = transcript.filter(pl.col("run").is_in(runs))
    counted = first_ended(rows).select(_SHOWN).unique()
    last = (
        rows.join(counted, on="run", how="anti")
        .group_by("run")
        .agg(pl.col("attempt").max())
    )
    shown = pl.concat([counted, last.select(_SHOWN)])
    return rows.join(shown, on=_SHOWN, how="semi", maintain_order="left")
