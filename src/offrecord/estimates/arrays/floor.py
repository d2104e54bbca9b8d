"""The noise floor: how often two samples differ when nobody's audience changed.

Draws that answer one and the same prompt, apart from its audience, form a **unit**: the
draws of one turn where there are shadows, else the first turns of a cell's runs, which
all have the same empty history. With p and q the unit's chances of a stance on the
pressed side in the two channels, draws of different channels differ with chance
p + q - 2pq, two draws of one channel with 2p(1-p) or 2q(1-q), and

    D* = cross - (within public + within other) / 2

has the mean (p - q)^2: above zero where the audience changes anything. It is a squared
unit and no corrected divergence. The share of turns that the audience changes, the mean
of |p - q|, lies between max(|gap|, D*) and min(D, sqrt(D*)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offrecord.estimates.arrays.rates import Ids, Values

Flags = NDArray[np.bool_]


class Draws(NamedTuple):
    """Draws of two channels, one entry each; all arrays have shape (draws,)."""

    values: Values
    """1 on the pressed side, 0 not, NaN missing."""
    other: Flags
    """Whether the draw is of the other channel, not of the public one."""
    units: Ids
    runs: Ids
    cells: Ids
    fixed: Flags
    """Draws that later histories hold, so that no arrangement may move them."""

    def at(self, places: Flags) -> Draws:
        """Some of the draws."""
        return Draws(
            self.values[places],
            self.other[places],
            self.units[places],
            self.runs[places],
            self.cells[places],
            self.fixed[places],
        )


class Floor(NamedTuple):
    """Disagreements as fractions of 1, all over the same units and draws."""

    units: int
    """Units with two draws or more in each channel."""
    left_out: int
    """Units with fewer."""
    draws: int
    """Draws with a stance in the units that count."""
    gap: float
    cross: float
    """D: how often draws of different channels differ."""
    within_public: float
    within_other: float
    d_star: float
    """D*, shown as it is where noise takes it to zero or below."""
    changed_low: float
    """The share of turns that the audience changes is no lower than this."""
    changed_high: float


class Counts(NamedTuple):
    """Draws per unit, or per part of one."""

    n: Values
    """Public ones."""
    s: Values
    """Of these on the pressed side."""
    m: Values
    """Those of the other channel."""
    t: Values
    """Of these on the pressed side."""

    def less(self, part: Counts) -> Counts:
        """What is left without a part."""
        return Counts(*(a - b for a, b in zip(self, part, strict=True)))

    def at(self, places: Ids | Flags) -> Counts:
        """Those of some units."""
        return Counts(*(a[places] for a in self))

    @property
    def full(self) -> Flags:
        """Units whose every kind of pair exists."""
        return (self.n >= 2) & (self.m >= 2)

    @property
    def cross(self) -> Values:
        """How often a draw of each channel differ."""
        differing = self.s * (self.m - self.t) + (self.n - self.s) * self.t
        return differing / (self.n * self.m)

    @property
    def within(self) -> tuple[Values, Values]:
        """How often two draws differ: of the public channel, of the other one."""
        return _within(self.n, self.s), _within(self.m, self.t)

    @property
    def d_star(self) -> Values:
        """D* of each unit, whose mean is (p - q)^2."""
        public, other = self.within
        return self.cross - (public + other) / 2


def _within(n: Values, s: Values) -> Values:
    return 2 * s * (n - s) / (n * (n - 1))


def count_draws(draws: Draws, members: Ids, size: int) -> Counts:
    """Count the draws of each part.

    Args:
        draws: The draws.
        members: The part of each, numbered from 0.
        size: How many parts there are.
    """
    known = ~np.isnan(draws.values)

    def count(chosen: Flags, weights: Values | None = None) -> Values:
        picked = None if weights is None else weights[chosen]
        return np.bincount(members[chosen], picked, minlength=size).astype(np.float64)

    public, other = known & ~draws.other, known & draws.other
    return Counts(
        n=count(public),
        s=count(public, draws.values),
        m=count(other),
        t=count(other, draws.values),
    )


class Units(NamedTuple):
    """The units that count, and the weight of each: the runs that it speaks for."""

    counts: Counts
    weights: Values
    left_out: int
    draws: Draws
    """Their draws."""
    members: Ids
    """The unit of each draw, numbered from 0."""


def full_units(draws: Draws) -> Units:
    """The units with two draws or more of each channel."""
    ids, members = np.unique(draws.units, return_inverse=True)
    full = count_draws(draws, members, ids.size).full
    kept = full[members]
    inside = draws.at(kept)
    members = (np.cumsum(full) - 1)[members[kept]]
    size = int(full.sum())
    spoken = np.unique(np.stack([members, inside.runs]), axis=1)[0]
    weights = np.bincount(spoken, minlength=size).astype(np.float64)
    counts = count_draws(inside, members, size)
    return Units(counts, weights, ids.size - size, inside, members)


def noise_floor(draws: Draws) -> Floor:
    """Disagreement across and within channels, and what it says of the audience.

    Within a unit every pair of draws counts once; over units the means are weighted
    with the runs that each speaks for, so that a turn counts as a turn. A unit without
    two draws of each channel shows no floor and is left out of all figures alike.

    Where D* is below the squared gap, which noise alone can bring about, its root
    bounds nothing, and the bracket is |gap| to D.
    """
    units = full_units(draws)
    if not units.weights.size:
        return Floor(0, units.left_out, 0, *[math.nan] * 7)
    counts = units.counts

    def mean(values: Values) -> float:
        return float(np.average(values, weights=units.weights))

    gap = mean(counts.s / counts.n - counts.t / counts.m)
    public, other = counts.within
    cross, d_star = mean(counts.cross), mean(counts.d_star)
    sound = d_star > 0 and d_star >= gap**2 - 1e-12
    return Floor(
        units=units.weights.size,
        left_out=units.left_out,
        draws=int(counts.n.sum() + counts.m.sum()),
        gap=gap,
        cross=cross,
        within_public=mean(public),
        within_other=mean(other),
        d_star=d_star,
        changed_low=max(abs(gap), d_star),
        changed_high=min(cross, math.sqrt(d_star)) if sound else cross,
    )
