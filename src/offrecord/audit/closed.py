"""Judged blocks stay as they were judged, whatever becomes of their runs later.

Each audit by blocks writes down the runs of the blocks that it was the first to judge:
a digest of what was said, and the stances as they were read. A run that is replaced
later is another run of its cell, which enters a later block.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.transcript.audits import AuditLine
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

_LETTERS: Final = {None: "-", True: "1", False: "0"}
_VALUES: Final = {"-": math.nan, "1": 1.0, "0": 0.0}


class ClosedRun(NamedTuple):
    """A run in a block that was judged."""

    run: str
    block: int
    digest: str
    """Of what was said."""
    stances: Mapping[str, str]
    """Agent and channel to both sides of each turn: `1010-/0010-`."""


def closed_runs(lines: Sequence[AuditLine]) -> list[ClosedRun]:
    """The closed runs of all audits."""
    return [
        ClosedRun(run, block, digest, stances)
        for line in lines
        for block, runs in line.closed.items()
        for run, (digest, stances) in runs.items()
    ]


def by_block(runs: Sequence[ClosedRun]) -> dict[int, dict[str, tuple[str, Any]]]:
    """What the line of an audit holds of runs that are closed now."""
    blocks: dict[int, dict[str, tuple[str, Any]]] = {}
    for one in sorted(runs, key=lambda one: (one.block, one.run)):
        blocks.setdefault(one.block, {})[one.run] = (one.digest, one.stances)
    return blocks


def run_digests(study: Record) -> dict[str, str]:
    """A hash of what was said in each run that has ended."""
    names = [name for name in ROW_KEY if name not in {"run", "attempt"}]
    said = (
        first_ended(study.transcript)
        .select("run", *names, "ended", "status", "text")
        .sort("run", *names)
    )
    return {
        run: hashlib.sha256(rows.write_csv().encode()).hexdigest()[:16]
        for (run,), rows in said.partition_by("run", as_dict=True).items()
    }


def run_stances(pairs: pl.DataFrame) -> dict[str, dict[str, str]]:
    """The stances of each run: agent and channel to both sides of its turns."""
    found: dict[str, dict[str, str]] = {}
    ordered = pairs.sort("run", "agent", "right_channel", "round")
    for (run, agent, channel), rows in ordered.group_by(
        ["run", "agent", "right_channel"], maintain_order=True
    ):
        sides = ("".join(map(_LETTERS.__getitem__, rows[n])) for n in ("left", "right"))
        found.setdefault(str(run), {})[f"{agent} {channel}"] = "/".join(sides)
    return found


def placed(
    due: pl.DataFrame,
    closed: Sequence[ClosedRun],
    digests: Mapping[str, str],
    stances: Mapping[str, Mapping[str, str]],
) -> list[ClosedRun]:
    """Every run that has ended, in its block; those of closed blocks as they were.

    Args:
        due: `_cell`, `repeat` and `run` of all runs that are due.
        closed: What was judged before.
        digests: Of the runs that have ended.
        stances: Of these.
    """
    judged = {(one.run, one.digest) for one in closed}
    found = list(closed)
    taken = _taken(due, closed)
    for (cell,), rows in due.sort("_cell", "repeat").group_by(
        ["_cell"], maintain_order=True
    ):
        block = taken.get(cell, 0)
        for run in rows["run"]:
            if (run, digests.get(run, "")) in judged:
                continue
            block += 1  # the order of repeats, whether it has ended or not
            if run in digests:
                found.append(ClosedRun(run, block, digests[run], stances.get(run, {})))
    return found


def _taken(due: pl.DataFrame, closed: Sequence[ClosedRun]) -> dict[object, int]:
    """Cell to its closed blocks."""
    cells = dict(due.select("run", "_cell").iter_rows())
    taken: dict[object, int] = {}
    for one in closed:
        if one.run in cells:
            cell = cells[one.run]
            taken[cell] = max(taken.get(cell, 0), one.block)
    return taken


def turn_rows(
    runs: Sequence[ClosedRun], cells: Mapping[str, int], who: str
) -> pl.DataFrame:
    """The turns of one agent and channel, as `group_blocks` takes them."""

    def rows() -> Iterator[tuple[int, int, float, float]]:
        for one in runs:
            if one.run in cells and who in one.stances:
                left, _, right = one.stances[who].partition("/")
                for a, b in zip(left, right, strict=True):
                    yield cells[one.run], one.block, _VALUES[a], _VALUES[b]

    schema = {"_cell": pl.Int64, "_block": pl.Int64, "left": pl.Float64}
    return pl.DataFrame(
        list(rows()), schema={**schema, "right": pl.Float64}, orient="row"
    )
