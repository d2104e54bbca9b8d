"""Running until a verdict: blocks of one run of each cell, and a judge between them.

The judge is an argument: it says how many blocks there are, how many more it takes
before a verdict is possible, and which cells are decided. Nothing here knows a gate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import click

from offrecord.runner.run import Finished
from offrecord.runner.shards.run import Cells
from offrecord.transcript.record import Record


class Step(NamedTuple):
    """What a judge says."""

    settled: bool
    """Whether a verdict stands."""
    blocks: int
    """Whole blocks of what is not decided, at least."""
    more: int
    """Blocks to add before another look; 0 where no verdict can come in time."""
    decided: Cells
    """Cells that get no more runs."""
    said: str
    """One line for whoever watches."""
    doubt: str = ""
    """Why no verdict will come, however many runs there are."""


Judge = Callable[[Record | None], Step]
"""Judges a study; without one, its design."""

Hold = Callable[[int, Cells], Finished]
"""Runs so many repeats of every cell, but for some cells."""


def run_until(
    judge: Judge, hold: Hold, study: Record | None, runs: int, most: int
) -> str:
    """Add blocks until a judge has its verdict.

    Args:
        judge: Judges what is there.
        hold: Runs what is not.
        study: What is there, if anything.
        runs: Repeats of every cell that its design has so far; 0 without one.
        most: Repeats of a cell at most.

    Returns:
        Why there is no verdict; empty where there is.

    Raises:
        OffrecordError: As the two raise it.
    """
    step = judge(study)
    while not step.settled:
        if step.doubt:
            return step.doubt
        if not step.more:
            return f"none can come within {most} runs of each cell"
        runs = max(runs, step.blocks + step.more)
        finished = hold(runs, step.decided)
        if finished.interrupted:
            return "interrupted"
        before, step = step, judge(finished.study)
        click.echo(f"offrecord: {step.said}", err=True)
        if not step.settled and step.blocks <= before.blocks:
            return "a run of the next block has not ended"
    return ""
