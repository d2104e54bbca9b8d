"""What a design has to do yet: runs, and the calls that they take."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from offrecord.protocol.design import Design
from offrecord.runner.logged import read_logged
from offrecord.runner.resolve import calls_per_run
from offrecord.transcript.designed import all_runs
from offrecord.transcript.folder import LOGS_FOLDER
from offrecord.transcript.record import open_record
from offrecord.transcript.store import TRANSCRIPT_FILE

PROGRESS: Final = "OFFRECORD_PROGRESS"
"""Environment variable: a `ToDo` of whose progress the eval set is to tell."""


class ToDo(NamedTuple):
    """What an eval set has to do, for its lines of progress."""

    planned: int
    """Runs of the design, or of a shard of it."""
    ended: int
    """Those that have ended before."""
    calls: int
    """Calls that the others take, at most."""


def to_do(design: Design, out: Path | None, planned: int) -> ToDo:
    """How much a design asks for, and how much of it is done.

    Args:
        design: The design.
        out: The study's folder, if there is one.
        planned: The runs of the design.
    """
    done = 0
    if out is not None and (out / TRANSCRIPT_FILE).is_file():
        done = open_record(out).ended_runs
    if out is not None and (logs := out / LOGS_FOLDER).is_dir():
        # Logs know more after a kill, or after samples were invalidated.
        done = len(read_logged(str(logs)).all.intersection(all_runs(design)))
    left = max(planned - done, 0)
    return ToDo(planned, done, left * calls_per_run(design))


def announcement(todo: ToDo, of: str = "") -> str:
    """The same in words, of a part of the design if that is named."""
    left = max(todo.planned - todo.ended, 0)
    return (
        f"offrecord: {of}{todo.planned} runs, {todo.ended} of them done, {left} to go: "
        f"up to {todo.calls:,} calls"
    )
