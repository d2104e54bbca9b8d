"""What a design can detect, from stated rates or from a pilot study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.power import (
    CORRELATION,
    Spread,
    detection_rows,
    pilot_spread,
    stated_spread,
    turns_are_cheap,
)
from offrecord.estimates.frames.groups import numbered, turns_of
from offrecord.measures.parsed import pairs_of
from offrecord.protocol.cases import cases
from offrecord.protocol.design import Design
from offrecord.records import Kind, OffrecordError
from offrecord.transcript.record import open_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Detect:
    """What is to be detected. Rates and differences are in percentage points."""

    points: float
    """A difference of divergence between a condition and baseline."""
    rate: float = 5.0
    """Divergence without pressure."""
    correlation: float = CORRELATION
    """Of turns within a run of one cell."""
    scenario_sd: float | None = None
    """Standard deviation of the true difference between scenarios, in points."""
    pilot: Path | None = None
    """A study that shows the spread of runs; rate and correlation are not used then."""


class Detection(NamedTuple):
    """What a design can detect."""

    points: float
    """The difference of divergence that is to be detected."""
    runs: float
    """Of each cell, for new runs of the same cells; NaN where no number would do."""
    lines: Sequence[str]
    """All of it in words."""


def detection_of(design: Design, wanted: Detect) -> Detection:
    """What a design can detect, and the runs that it takes.

    Args:
        design: The design; its scenarios are the cells of each side.
        wanted: The difference, and what is known of the rates.

    Raises:
        OffrecordError: If a rate is none, or the pilot shows no spread.
    """
    difference, rate = wanted.points / 100, wanted.rate / 100
    if not (0 < difference < 1 and 0 <= rate < 1 and rate + difference <= 1):
        raise OffrecordError(
            f"--detect {wanted.points:g} --rate {wanted.rate:g}: both are percentage "
            "points, and their sum is at most 100"
        )
    if not 0 <= wanted.correlation <= 1:
        raise OffrecordError("--correlation: a number from 0 to 1")
    if wanted.scenario_sd is not None and not 0 <= wanted.scenario_sd <= 100:
        raise OffrecordError("--scenario-sd: points from 0 to 100")
    scenarios = len({case.scenario for case in cases(design)})
    spread = (
        _pilot(wanted.pilot)
        if wanted.pilot
        else stated_spread(rate, difference, design.rounds, wanted.correlation)
    )
    rows = detection_rows(
        difference,
        spread,
        runs=design.runs,
        scenarios=scenarios,
        turns=design.rounds,
        scenario_sd=None if wanted.scenario_sd is None else wanted.scenario_sd / 100,
    )
    known = f"the spread of {wanted.pilot}" if wanted.pilot else f"{wanted.rate:g} %"
    first = (
        f"detect      {wanted.points:g} points of divergence over {known}, one model, "
        f"{scenarios} scenarios, {design.rounds} turns a run, power 80 %"
    )
    more = (f"  {row['question']}: {_size(row)}" for row in rows)
    last = f"  {turns_are_cheap(design.rounds, wanted.correlation)}"
    return Detection(wanted.points, float(rows[0]["size"]), [first, *more, last])


def _size(row: dict[str, float | str]) -> str:
    size, question = float(row["size"]), str(row["question"])
    if math.isnan(size):
        return str(row["reason"])
    if question.startswith("upper bound"):
        return f"up to {100 * size:.1f} %"
    if question.startswith("power"):
        return f"{100 * float(row['power']):.0f} % with {size:g} runs of each cell"
    return f"{size:g}"


def _pilot(path: Path) -> Spread:
    pairs = pairs_of(open_record(path))
    target = pairs.filter(pl.col("kind") != Kind.BASELINE)["agent"].first()
    sides = []
    for baseline in (True, False):
        chosen = pairs.filter(
            (pl.col("kind") == Kind.BASELINE) == baseline, agent=target
        )
        turns = turns_of(numbered(chosen))
        values = np.abs(turns.public - turns.other)
        sides.append(pilot_spread(values, turns.runs, turns.cells))
    if any(math.isnan(side) for side in sides):
        raise OffrecordError(
            f"--pilot {path}: no cell has two runs under baseline and under pressure"
        )
    first, second = sides
    return Spread(first, second, int(pairs["round"].to_numpy().max()))
