"""How stances last: from turn to turn, within a run, and until they first part."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.intervals import wilson
from offrecord.estimates.arrays.mover import rate_bounds
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.turns import Turns

STATES: Final = ("accommodating", "reversing", "both", "neither")
"""Where a turn's two stances stand, as in `Quadrants`."""


class Persistence(NamedTuple):
    """How often the next turn of an agent has the state of this one."""

    state: str
    """One of `STATES`, or `any`."""
    turns: int
    """Turns in the state with a next turn, both known."""
    same: Bounds
    reason: str
    """Why there is no value or no interval; empty where there are."""


class Correlation(NamedTuple):
    """How alike turns of one run are: 0 as those of different runs, 1 all the same."""

    pooled: float
    """About the overall mean: what differs between cells counts as likeness."""
    within_cells: float
    """About the mean of the run's cell: what new runs of the same cells have."""


class Survival(NamedTuple):
    """One round of the product limit: runs that have not yet diverged."""

    round: int
    at_risk: int
    """Runs seen up to this round without a divergent turn before it."""
    events: int
    """Of these, runs whose first divergent turn is this one."""
    censored: int
    """Runs of which this round is the last one known."""
    undiverged: Bounds
    """Share of runs without a divergent turn up to and including this round."""


def persistence(turns: Turns, level: float = 0.95) -> list[Persistence]:
    """The chance of the same state at the agent's next turn, per state and overall.

    Args:
        turns: One agent's turns in one pair of channels.
        level: Of the intervals, for new runs of the same cells.

    Returns:
        One entry per state, then `any`. A turn whose next one is missing is in none.
    """
    state = _states(turns)
    order = np.lexsort([turns.rounds, turns.runs])
    here, after = order[:-1], order[1:]
    follows = turns.runs[here] == turns.runs[after]
    follows &= turns.rounds[here] + 1 == turns.rounds[after]
    follows &= (state[here] >= 0) & (state[after] >= 0)
    here, after = here[follows], after[follows]
    same = (state[here] == state[after]).astype(np.float64)
    found = []
    for number, name in enumerate((*STATES, "any")):
        chosen = state[here] == number if name != "any" else np.ones(here.size, bool)
        places = here[chosen]
        bounds = rate_bounds(
            same[chosen], turns.runs[places], turns.cells[places], level
        )
        reason = "too few runs for an interval" if math.isnan(bounds.low) else ""
        if not places.size:
            reason = "no turn in this state has a known next one"
        found.append(Persistence(name, places.size, bounds, reason))
    return found


def run_correlation(values: Values, runs: Ids, cells: Ids) -> Correlation:
    """The correlation of turns within a run, by one-way analysis of variance.

    (MSB - MSW) / (MSB + (n - 1) MSW) with n the usual weighted number of turns a run
    (Donner 1986), over all runs, and with squares between runs taken within cells.

    Args:
        values: Shape (turns,), NaN if missing.
        runs: The run of each turn.
        cells: The cell of each turn.

    Returns:
        NaN where runs do not outnumber what they are compared with, no run has two
        turns, or no value differs from another.
    """
    known = ~np.isnan(values)
    runs, cells = runs[known], cells[known]
    whole = np.zeros(runs.size, dtype=np.int64)
    return Correlation(
        _anova(values[known], runs, whole), _anova(values[known], runs, cells)
    )


def first_divergence(turns: Turns, level: float = 0.95) -> list[Survival]:
    """The share of runs that have not diverged yet, round by round (product limit).

    A run is followed until its first divergent turn, its first missing turn, behind
    which nobody knows which one would be the first, or its end. Intervals are Wilson's
    with the number of runs that Greenwood's variance is worth (Rothman 1978): they
    have a width also while no run, or every run, has diverged.

    Args:
        turns: One agent's turns in one pair of channels.
        level: Of the intervals.

    Returns:
        One entry per round with runs at risk.
    """
    last, diverged = _followed(turns)
    quantile = float(stats.norm.ppf((1 + level) / 2))
    share, hazard, found = 1.0, 0.0, []
    for place in range(1, int(last.max(initial=0)) + 1):
        at_risk = int((last >= place).sum())
        events = int(((last == place) & diverged).sum())
        share *= 1 - events / at_risk
        if at_risk > events:
            hazard += events / (at_risk * (at_risk - events))
        worth = (1 - share) / (share * hazard) if share and hazard else at_risk
        limits = wilson(np.array(share), float(worth), quantile)
        found.append(
            Survival(
                round=place,
                at_risk=at_risk,
                events=events,
                censored=int(((last == place) & ~diverged).sum()),
                undiverged=Bounds(share, float(limits.low), float(limits.high)),
            )
        )
    return found


def _states(turns: Turns) -> Ids:
    """The place of each turn's state in `STATES`; -1 where a side is missing."""
    public, other = turns.public == 1, turns.other == 1
    names = [public & ~other, ~public & other, public & other]
    return np.where(turns.known, np.select(names, [0, 1, 2], default=3), -1)


def _anova(values: Values, runs: Ids, strata: Ids) -> float:
    ids, first, members = np.unique(runs, return_index=True, return_inverse=True)
    if not ids.size:
        return math.nan
    _, stratum = np.unique(strata[first], return_inverse=True)
    sizes = np.bincount(members).astype(np.float64)
    means = np.bincount(members, weights=values) / sizes
    weights = np.bincount(stratum, weights=sizes)
    centre = np.bincount(stratum, weights=sizes * means) / weights
    between, inside = ids.size - weights.size, int(values.size - ids.size)
    if between < 1 or inside < 1:
        return math.nan
    msb = float((sizes * (means - centre[stratum]) ** 2).sum()) / between
    msw = float(((values - means[members]) ** 2).sum()) / inside
    squares = np.bincount(stratum, weights=sizes**2) / weights
    n = (values.size - squares.sum()) / between
    total = msb + (n - 1) * msw
    return (msb - msw) / float(total) if total > 0 else math.nan


def _followed(turns: Turns) -> tuple[Ids, NDArray[np.bool_]]:
    """Of each run the last round known, and whether it diverges there."""
    ids, members = np.unique(turns.runs, return_inverse=True)
    rounds = int(turns.rounds.max()) if turns.rounds.size else 0
    table = np.full((ids.size, rounds + 1), math.nan)
    table[members, turns.rounds] = np.abs(turns.public - turns.other)
    stops = ~(table[:, 1:] == 0)
    stops = np.concatenate([stops, np.ones((ids.size, 1), dtype=bool)], axis=1)
    stop = stops.argmax(axis=1)  # rounds before the first that is no agreement
    diverged = np.zeros(ids.size, dtype=bool)
    inside = stop < rounds
    diverged[inside] = table[inside, stop[inside] + 1] == 1
    return stop + diverged, diverged
