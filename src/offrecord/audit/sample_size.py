"""The sample size that decides an inconclusive check: as a rule more runs a cell.

The runs are those with which an interval would leave the threshold out in four studies
of five (`estimates.power`), if the figure is where it now seems to be and runs vary as
they did. The interval that judges may be wider than that test's, so its own arm must
shrink to the distance as well, with the root of the runs; and where no run shows any
spread, the bound that no event leaves possible must come down to it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import numpy as np

from offrecord.audit.against import NEITHER
from offrecord.audit.checks import Check, Judged, Side
from offrecord.audit.judging import EMPTY_SCENARIO
from offrecord.audit.probed import NONE_RECORDED
from offrecord.estimates.arrays.power import (
    CORRELATION,
    MOST,
    POWER,
    Spread,
    certified,
    design_effect,
    pilot_spread,
    runs_needed,
)
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.frames.noninferiority import NO_SHARED
from offrecord.estimates.frames.pressed import (
    EMPTY_CELL,
    NO_ALIGNMENT,
    NO_BASELINE,
    NO_CONDITION,
    NO_CONTEXT,
    NO_EVIDENCE,
    NO_EVIDENCE_BASELINE,
)
from offrecord.estimates.frames.probed import NO_DECISION, SCOPE

_CLOSE: Final = 0.001
"""A tenth of a point: no study decides a figure so near its threshold."""

_PRESSURE: Final = "runs of an alignment condition, such as alignment-future"
_STANCES: Final = "more runs of the {} in which no turn has both stances"
_CURES: Final = {
    NO_ALIGNMENT: _PRESSURE,
    NO_CONDITION: f"{_PRESSURE}, and of baseline beside them",
    NEITHER: f"{_PRESSURE}, in both studies",
    NO_BASELINE: "runs of the condition baseline beside every alignment cell: the same "
    "model, partner, scenario, protocol and factors",
    NO_CONTEXT: "runs of the condition baseline",
    NO_EVIDENCE: "runs of an evidence condition: --condition evidence",
    NO_EVIDENCE_BASELINE: "runs of the condition baseline beside every evidence cell",
    EMPTY_CELL: _STANCES.format("cell"),
    EMPTY_SCENARIO: _STANCES.format("scenario"),
    NO_SHARED: "runs of the same scenarios, conditions and protocol in both studies",
}
"""What to do where a figure is undefined, by the reason why it is."""


def sample_size(judged: Judged) -> str:
    """What would decide an inconclusive check, in one clause; nothing for others.

    Args:
        judged: The check and its turns.
    """
    check = judged.check
    if check.verdict is not Verdict.INCONCLUSIVE:
        return ""
    if judged.unlike:
        return f"two studies that are alike in: {judged.unlike}"
    if check.by_missing:
        return (
            f"{check.missing} turns have no stance and alone decide it: runs without "
            "missing turns"
        )
    if check.reason == NONE_RECORDED:
        return "turns whose prompts were recorded: a record of calls has them"
    if check.reason == NO_DECISION:
        return "a decision declared in the map, then a new import and a new probe"
    if check.scope == SCOPE:
        return "more turns: a new probe with a larger --sample"
    if math.isnan(check.value):
        named = check.reason.partition(": ")[0]
        return _CURES.get(named, "runs that have ended")
    if judged.missing_straddle:
        return (
            f"{check.missing} turns have no stance, and no number of runs with such a "
            "share of them tells: runs without missing turns"
        )
    distance = judged.distance
    if distance < _CLOSE:
        return "the figure is at its threshold: no number of runs is sure to tell"
    if not judged.sides:
        return "more runs of each cell"
    now = min(_runs_per_cell(side) for side in judged.sides)
    size = more_runs(judged.sides, distance, judged.level)
    if math.isnan(size):
        return f"not even {MOST} runs of each cell would do"
    size = max(math.ceil(size), _shrunk(check, distance, now), now + 1)
    return f"about {size} runs of each cell, now {now}"


def more_runs(sides: Sequence[Side], distance: float, level: float) -> float:
    """The runs of each cell that tell a figure from a threshold so far away.

    Args:
        sides: The turns of a rate, or of both sides of a shift.
        distance: Between figure and threshold, as a fraction of 1.
        level: Of the interval.

    Returns:
        NaN where too many would be needed.
    """
    cells = [np.unique(side.cells).size for side in sides]
    spreads = [_spread(side) for side in sides]
    if not any(spreads):
        return _until_certified(sides, cells, distance, level)
    # Power counts the cells of the first side: the second has its own number.
    second = spreads[1] * cells[0] / cells[1] if len(sides) > 1 else 0.0
    spread = Spread(spreads[0], second, _turns_per_run(sides[0]))
    return runs_needed(distance, spread, cells[0], POWER, level).size


def _shrunk(check: Check, distance: float, now: int) -> int:
    """The runs at which the arm toward the threshold is as short as the distance."""
    below = check.value <= check.threshold
    arm = check.sampled_high - check.value if below else check.value - check.sampled_low
    none = math.isnan(arm) or check.value == 0  # at 0 it shrinks with the runs' number
    return 0 if none else math.ceil(now * (arm / distance) ** 2)


def _until_certified(
    sides: Sequence[Side], cells: Sequence[int], distance: float, level: float
) -> float:
    """The runs at which no event at all would leave less than the distance possible."""

    def left(runs: int) -> float:
        arms = (
            side.exclusive * certified(runs, count, _turns_per_run(side), level) ** 2
            for side, count in zip(sides, cells, strict=True)
        )
        return math.sqrt(sum(arms))

    most = 2
    while left(most) > distance:
        if most > _MOST_CERTIFIED:
            return math.nan
        most *= 2
    # The bound falls with the runs: the first count that is enough.
    return bisect_left(range(most), -distance, lo=2, key=lambda runs: -left(runs))


_MOST_CERTIFIED: Final = 5_000


def _spread(side: Side) -> float:
    """The variance of a run's mean, from runs of one cell where there are several."""
    shown = pilot_spread(side.values, side.runs, side.cells)
    if not math.isnan(shown):
        return shown
    turns = _turns_per_run(side)
    worth = design_effect(turns, CORRELATION) / turns
    return float(np.nanvar(side.values)) * worth


def _turns_per_run(side: Side) -> int:
    return max(1, round(side.runs.size / np.unique(side.runs).size))


def _runs_per_cell(side: Side) -> int:
    _, first = np.unique(side.runs, return_index=True)
    return int(np.unique(side.cells[first], return_counts=True)[1].min())
