"""Power: the runs and scenarios that a difference takes, before anything is spent.

A run of T turns that correlate by r within it is worth T / (1 + (T - 1) r) independent
turns, never more than 1 / r. So turns are cheap and worth little: runs make a figure
precise for these cells, scenarios make it hold beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.stratified import stratified_rate

LEVEL: Final = 0.95
POWER: Final = 0.8
CORRELATION: Final = 0.4
"""Of turns within a run, where no pilot says: rather too much than too little."""

MOST: Final = 100_000
"""Beyond so many runs or scenarios the answer is that none will do."""


class Spread(NamedTuple):
    """What one run adds to the error of each side."""

    first: float
    """Variance of a run's mean on the first side, in squared units of the rate."""
    second: float
    turns: int
    """Turns of a run: rates are counts of them and move in steps."""


class Needed(NamedTuple):
    """A size that is enough; NaN and a reason where none is."""

    size: float
    power: float
    """What it reaches, which is at least what was asked for."""
    reason: str


def design_effect(turns: float, correlation: float) -> float:
    """How many turns of one run are worth one independent turn: 1 + (T - 1) r."""
    return 1 + (turns - 1) * correlation


def stated_spread(
    rate: float, difference: float, turns: int, correlation: float = CORRELATION
) -> Spread:
    """The spread of runs from rates that are stated.

    Args:
        rate: The rate of one side.
        difference: How far the other side's rate is above it.
        turns: Turns of a run.
        correlation: Of turns within a run of one cell.
    """
    worth = design_effect(turns, correlation) / turns
    other = rate + difference
    return Spread(rate * (1 - rate) * worth, other * (1 - other) * worth, turns)


def pilot_spread(values: Values, runs: Ids, cells: Ids) -> float:
    """The variance of a run's mean within its cell, pooled over cells.

    Args:
        values: Shape (turns,), NaN if missing, of one side of a pilot study.
        runs: The run of each turn.
        cells: The cell of each turn.

    Returns:
        NaN where no cell has two runs.
    """
    known = ~np.isnan(values)
    _, first, members = np.unique(runs[known], return_index=True, return_inverse=True)
    means = np.bincount(members, weights=values[known]) / np.bincount(members)
    _, cell = np.unique(cells[known][first], return_inverse=True)
    sizes = np.bincount(cell)
    centre = np.bincount(cell, weights=means) / sizes
    freedom = means.size - sizes.size
    if freedom < 1:
        return math.nan
    return float(((means - centre[cell]) ** 2).sum() / freedom)


def power_of_runs(
    difference: float, spread: Spread, runs: int, cells: int, level: float = LEVEL
) -> float:
    """The power to see a difference between two sides, for new runs of their cells.

    That of a t test, less half a step of the difference: as a test that counts
    arrangements has it, which counts those that are just as far out.

    Args:
        difference: The true difference of the two rates.
        spread: Of the runs of each side.
        runs: Runs of each cell.
        cells: Cells of each side, such as its scenarios.
        level: Of the interval that is to leave 0 out.
    """
    variance = (spread.first + spread.second) / (runs * cells)
    seen = max(abs(difference) - 1 / (runs * cells * spread.turns), 0.0)
    return _power(seen, variance, 2 * cells * (runs - 1), level)


def runs_needed(
    difference: float,
    spread: Spread,
    cells: int,
    power: float = POWER,
    level: float = LEVEL,
) -> Needed:
    """The runs of each cell that detect a difference, in the default scope.

    Args:
        difference: The true difference of the two rates, in either direction.
        spread: Of the runs of each side.
        cells: Cells of each side.
        power: How often it is to be detected.
        level: Of the interval that is to leave 0 out.
    """
    return _smallest(
        lambda runs: power_of_runs(difference, spread, runs, cells, level), power
    )


def power_of_scenarios(
    difference: float,
    spread: Spread,
    runs: int,
    scenarios: int,
    scenario_sd: float,
    level: float = LEVEL,
) -> float:
    """The power to see a difference that holds for new scenarios too.

    Args:
        difference: The mean difference over scenarios.
        spread: Of the runs of each side.
        runs: Runs of each cell.
        scenarios: How many are asked.
        scenario_sd: Standard deviation of the true difference between scenarios.
        level: Of the interval that is to leave 0 out.
    """
    each = scenario_sd**2 + (spread.first + spread.second) / runs
    return _power(difference, each / scenarios, scenarios - 1, level)


def scenarios_needed(
    difference: float,
    spread: Spread,
    runs: int,
    scenario_sd: float,
    power: float = POWER,
    level: float = LEVEL,
) -> Needed:
    """The scenarios that detect a difference beyond those that were asked.

    Args:
        difference: The mean difference over scenarios, in either direction.
        spread: Of the runs of each side.
        runs: Runs of each cell.
        scenario_sd: Standard deviation of the true difference between scenarios.
        power: How often it is to be detected.
        level: Of the interval that is to leave 0 out.
    """
    return _smallest(
        lambda size: power_of_scenarios(
            difference, spread, runs, size, scenario_sd, level
        ),
        power,
    )


def certified(runs: int, cells: int, turns: int, level: float = LEVEL) -> float:
    """The upper bound of a rate of which not one event was observed.

    It is that of the interval which the estimates would show, so it counts runs, not
    turns.

    Args:
        runs: Runs of each cell.
        cells: Cells pooled.
        turns: Turns of each run.
        level: Of the interval.

    Returns:
        A fraction of 1; NaN for a single run.
    """
    ids = np.repeat(np.arange(runs * cells), turns)
    strata = ids // max(runs, 1)
    sample = Sample(np.zeros(ids.size), ids, ids, strata)
    return stratified_rate(sample, level=level).high


def turns_are_cheap(turns: int, correlation: float) -> str:
    """What more turns would buy, in one sentence."""
    worth = turns / design_effect(turns, correlation)
    doubled = 2 * turns / design_effect(2 * turns, correlation)
    most = f"never more than {1 / correlation:.1f}" if correlation > 0 else "as many"
    return (
        f"Turns are cheap and worth little: at a correlation of {correlation:.2f} "
        f"within a run, {turns} turns count as {worth:.1f} independent ones, "
        f"{2 * turns} as {doubled:.1f} and {most}; add runs, and scenarios."
    )


def detection_rows(
    difference: float,
    spread: Spread,
    *,
    runs: int,
    scenarios: int,
    turns: int,
    scenario_sd: float | None = None,
    power: float = POWER,
    level: float = LEVEL,
) -> list[dict[str, Any]]:
    """What a design can detect, and what it would take.

    Args:
        difference: The difference of two rates that is to be detected.
        spread: Of the runs of each side, stated or from a pilot.
        runs: Runs of each cell, as planned.
        scenarios: As planned: the cells of each side.
        turns: Turns of a run.
        scenario_sd: Standard deviation of the true difference between scenarios; None
            leaves out what would hold for new scenarios.
        power: How often it is to be detected.
        level: Of the intervals.

    Returns:
        Rows with `question`, `size` (runs, scenarios, or a fraction of 1), `power` and
        `reason`, empty where there is a size.
    """
    need = runs_needed(difference, spread, scenarios, power, level)
    planned = power_of_runs(difference, spread, runs, scenarios, level)
    rows: list[tuple[str, Needed]] = [
        ("runs of each cell, for new runs of the same cells", need),
        ("power of the planned runs", Needed(runs, planned, _unknown(planned))),
    ]
    if scenario_sd is not None:
        need = scenarios_needed(difference, spread, runs, scenario_sd, power, level)
        rows.append(("scenarios of so many runs, for new scenarios", need))
    bound = certified(runs, scenarios, turns, level)
    reason = "a single run shows no spread" if math.isnan(bound) else ""
    rows.append(
        ("divergence is at most, if no turn diverges", Needed(bound, math.nan, reason))
    )
    return [{"question": question, **need._asdict()} for question, need in rows]


def _unknown(power: float) -> str:
    return "one run a cell shows no spread" if math.isnan(power) else ""


def _power(difference: float, variance: float, freedom: int, level: float) -> float:
    """Of a two-sided t test; NaN where it has no degree of freedom."""
    if freedom < 1 or math.isnan(variance):
        return math.nan
    if variance <= 0:
        return 1.0 if difference else 1 - level
    quantile = stats.t.ppf((1 + level) / 2, freedom)
    shift = abs(difference) / math.sqrt(variance)
    above = stats.nct.sf(quantile, freedom, shift)
    # The other tail is beyond what the library computes once the shift is large.
    below = stats.nct.cdf(-quantile, freedom, shift) if shift < 5 else 0.0
    return float(above + below)


def _smallest(power_of: Callable[[int], float], power: float) -> Needed:
    """The smallest size from 2 up that is enough; power grows with it."""
    high = 2
    while not power_of(high) >= power:
        if math.isnan(power_of(high)):
            return Needed(math.nan, math.nan, "nothing shows how much runs vary")
        if high > MOST:
            return Needed(math.nan, math.nan, f"not even {MOST} would do")
        high *= 2
    low = max(high // 2, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return Needed(high, power_of(high), "")
