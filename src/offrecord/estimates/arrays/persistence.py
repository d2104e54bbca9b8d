"""How stances last: from turn to turn, within a run, and until they first part."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from offrecord.estimates.arrays.bounds import UNKNOWN, Bounds
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import NO_SPREAD, wilson
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.stratified import shortfall, stratified_rate
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.arrays.weighed import Layout

STATES: Final = ("accommodating", "reversing", "both", "neither")
"""Where a turn's two stances stand, as in `Quadrants`."""
NOT_FOLLOWED: Final = "a cell has no run left that is followed this far"
"""Why nobody knows how many runs are without a divergent turn."""


class Persistence(NamedTuple):
    """How often the next turn of an agent has the state of this one."""

    state: str
    """One of `STATES`, or `any`."""
    turns: int
    """Turns in the state with a next turn, both known."""
    same: Estimate
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
    reason: str
    """Why there is no value, no interval, or only one that takes cells together."""


def persistence(
    turns: Turns,
    level: float = 0.95,
    sample: Sample | None = None,
    scope: Scope = Scope.RUNS,
) -> list[Persistence]:
    """The chance of the same state at the agent's next turn, per state and overall.

    Args:
        turns: One agent's turns in one pair of channels.
        level: Of the intervals.
        sample: The same turns with the clusters of a scope; by default new runs of the
            same cells.
        scope: What these stand for.

    Returns:
        One entry per state, then `any`. A turn whose next one is missing is in none.
    """
    state = _states(turns)
    order = np.lexsort([turns.rounds, turns.runs])
    first, after = order[:-1], order[1:]
    follows = turns.runs[first] == turns.runs[after]
    follows &= turns.rounds[first] + 1 == turns.rounds[after]
    follows &= (state[first] >= 0) & (state[after] >= 0)
    first, after = first[follows], after[follows]
    same = (state[first] == state[after]).astype(np.float64)
    whole = turns.sample(turns.public) if sample is None else sample
    found = []
    for number, name in enumerate((*STATES, "any")):
        chosen = state[first] == number if name != "any" else np.ones(first.size, bool)
        here = whole.at(first[chosen]).of(same[chosen])
        # Turns in a state are what is asked about, so that each of them weighs alike.
        rate = stratified_rate(here, Weights.TURNS.of_cells(here), scope, level)
        reason = rate.reason or ""
        if not here.values.size:
            reason = "no turn in this state has a known next one"
        found.append(Persistence(name, here.values.size, rate, reason))
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


def first_divergence(
    turns: Turns, level: float = 0.95, weights: Weights = Weights.CELLS
) -> list[Survival]:
    """The share of runs that have not diverged yet, round by round (product limit).

    A run is followed until its first divergent turn, its first missing turn, behind
    which nobody knows which one would be the first, or its end. Cells weigh alike:
    S = sum w_c S_c with variance v = sum w_c^2 g_c m_c / (m_c - 1), where g_c is that
    of Greenwood and m_c the cell's runs; cells of a single run are taken together.
    Intervals are Wilson's with S (1 - S) / v runs (Rothman 1978), at most as many as
    are worth following: they have a width also while no run, or every run, has
    diverged. Degrees of freedom come from the design, as in `stratified`.

    Args:
        turns: One agent's turns in one pair of channels.
        level: Of the intervals, for new runs of the same cells.
        weights: Whether cells weigh alike or, in place of their turns, as their runs:
            of each run only the turns up to its first divergent one are followed.

    Returns:
        One entry per round with runs at risk.
    """
    last, diverged, cells = _followed(turns)
    if not last.any():
        return []
    given = weights.of(np.bincount(cells).astype(np.float64))
    layout = Layout(np.ones(last.size), cells, given)
    stratum = layout.strata[cells]
    curves = _Curves(layout.per_stratum(layout.weights), np.bincount(stratum))
    found = []
    for place in range(1, int(last.max()) + 1):
        here = last >= place
        at_risk = np.bincount(stratum[here], minlength=curves.runs.size)
        ends = (last == place) & diverged
        events = np.bincount(stratum[ends], minlength=curves.runs.size)
        curves.follow(at_risk, events)
        reason = shortfall(layout)
        bounds = curves.bounds(layout.freedom, level)
        if ((at_risk == 0) & (curves.share > 0)).any():
            bounds, reason = UNKNOWN, NOT_FOLLOWED
        found.append(
            Survival(
                round=place,
                at_risk=int(here.sum()),
                events=int(ends.sum()),
                censored=int(((last == place) & ~diverged).sum()),
                undiverged=bounds,
                reason=reason or "",
            )
        )
    return found


class _Curves:
    """The product limit of each stratum, round by round; arrays of shape (strata,)."""

    def __init__(self, weights: Values, runs: Ids) -> None:
        self.weights, self.runs = weights, runs
        self.share = np.ones(runs.size)
        self.hazard = np.zeros(runs.size)
        self.worth = runs.astype(np.float64)
        """Runs without censoring that would show as much."""

    def follow(self, at_risk: Ids, events: Ids) -> None:
        """Go on by one round."""
        left = at_risk - events
        self.share = self.share * np.where(at_risk, left / np.maximum(at_risk, 1), 1.0)
        self.hazard += np.where(left, events / np.maximum(at_risk * left, 1), 0.0)
        odds, shown = self.share * self.hazard, self.worth.copy()
        np.copyto(shown, at_risk, where=at_risk > 0)
        np.divide(1 - self.share, odds, out=shown, where=(odds > 0) & (at_risk > 0))
        self.worth = shown

    def bounds(self, freedom: float, level: float) -> Bounds:
        """The weighted share with Wilson's interval; none of a single run."""
        value = min(max(float(self.weights @ self.share), 0.0), 1.0)
        if not freedom:
            return Bounds(value, math.nan, math.nan)
        quantile = float(stats.t.ppf((1 + level) / 2, freedom))
        scale = self.runs / np.maximum(self.runs - 1, 1) / self.worth
        alone = (self.share - value) ** 2
        each = np.where(self.runs > 1, self.share * (1 - self.share) * scale, alone)
        v = float(self.weights**2 @ each)
        most = 1 / float((self.weights**2 / self.worth).sum())
        number = min(value * (1 - value) / v, most) if v > NO_SPREAD else most
        limits = wilson(np.array(value), number, quantile)
        return Bounds(value, float(limits.low), float(limits.high))


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


def _followed(turns: Turns) -> tuple[Ids, NDArray[np.bool_], Ids]:
    """Of each run the last round known, whether it diverges there, and its cell.

    Runs are in order of their cells, which are 0, 1, ...
    """
    ids, first, members = np.unique(turns.runs, return_index=True, return_inverse=True)
    rounds = int(turns.rounds.max()) if turns.rounds.size else 0
    table = np.full((ids.size, rounds + 1), math.nan)
    table[members, turns.rounds] = np.abs(turns.public - turns.other)
    stops = ~(table[:, 1:] == 0)
    stops = np.concatenate([stops, np.ones((ids.size, 1), dtype=bool)], axis=1)
    stop = stops.argmax(axis=1)  # rounds before the first that is no agreement
    diverged = np.zeros(ids.size, dtype=bool)
    inside = stop < rounds
    diverged[inside] = table[inside, stop[inside] + 1] == 1
    cells = np.unique(turns.cells[first], return_inverse=True)[1]
    order = np.argsort(cells, kind="stable")
    return (stop + diverged)[order], diverged[order], cells[order]
