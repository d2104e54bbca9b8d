"""One measure of the two sides of a contrast, and their difference."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.mover import difference
from offrecord.estimates.arrays.pairing import Linked, Weights, following, paired
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.signed import Side as Signs
from offrecord.estimates.arrays.signed import stratified_gaps
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.frames.groups import CONTEXT
from offrecord.estimates.frames.sides import Contrast, Side, Sides
from offrecord.estimates.frames.weighing import NO_BASELINE, left_out

RATES: Final = ("divergence", "public", "off_record")
MEASURES: Final = (*RATES, "gap", "audience_effect")
"""What every contrast is made of; differences of shares, as fractions of 1."""


class Moved(NamedTuple):
    """The values of both sides, and the first less the second."""

    a: Bounds
    b: Bounds
    difference: Bounds


class Compared(NamedTuple):
    """One measure of the two sides of one contrast."""

    contrast: Contrast
    measure: str
    sides: Sides
    weights: Weights

    @property
    def doubly(self) -> bool:
        """Whether each side is itself a difference from its own baseline.

        Between two conditions the baseline is the same and falls out of the
        difference, so that audience effects differ as gaps do.
        """
        return self.measure == "audience_effect" and self.contrast.column not in CONTEXT

    @property
    def note(self) -> str:
        """What was left out, and what is unlike."""
        two = self.sides.a, self.sides.b
        notes = [self.sides.note, *(side.empty for side in two)]
        if self.doubly:
            for side in two:
                pressed, base = side.where(pressed=True), side.where(pressed=False)
                known = pressed.cells(_gaps(pressed), "_same")
                bare = ~known.beside(base.cells(_gaps(base), "_same"))
                out = bare & (known.turns > 0)
                notes.append(left_out(pressed.rows, out, NO_BASELINE))
        return "; ".join(dict.fromkeys(note for note in notes if note))

    @property
    def moved(self) -> Moved:
        """Both sides and their difference."""
        if self.measure in RATES:
            return self._rates()
        a, b = self._signs()
        return Moved(
            stratified_gaps(a, level=LEVEL).bounds,
            stratified_gaps(b, level=LEVEL).bounds,
            stratified_gaps([*a, *(s._replace(sign=-s.sign) for s in b)]).bounds,
        )

    def _rates(self) -> Moved:
        two = self.sides.a, self.sides.b
        values = [_values(side.turns, self.measure) for side in two]
        cells = [side.cells(one) for side, one in zip(two, values, strict=True)]
        first, second = (
            stratified_rate(side.turns.sample(one), given, level=LEVEL).bounds
            for side, one, given in zip(
                two, values, paired(cells[0], cells[1], self.weights), strict=True
            )
        )
        return Moved(first, second, difference(first, second))

    def _signs(self) -> tuple[list[Signs], list[Signs]]:
        """The gaps of each side, with those of its baseline subtracted if doubly."""
        two = self.sides.a, self.sides.b
        pressed = [s.where(pressed=True) if self.doubly else s for s in two]
        own = [side.cells(_gaps(side)) for side in pressed]
        bases = [side.where(pressed=False) for side in two] if self.doubly else []
        beside = [side.cells(_gaps(side), "_same") for side in bases]
        links = [side.cells(_gaps(side), "_same") for side in pressed]
        if self.doubly:
            own = [
                Linked(cells.turns * link.beside(base), cells.links)
                for cells, link, base in zip(own, links, beside, strict=True)
            ]
        given = paired(own[0], own[1], self.weights)
        found = [
            [Signs(side.turns.sample(_gaps(side)), 1, weights)]
            for side, weights in zip(pressed, given, strict=True)
        ]
        for place, base in enumerate(bases):
            weights = following(given[place], links[place], beside[place], self.weights)
            found[place].append(Signs(base.turns.sample(_gaps(base)), -1, weights))
        return found[0], found[1]

    def scores(self, side: Side) -> Values:
        """Values whose sum over turns is the side's measure, up to a factor."""
        values = _values(side.turns, self.measure)
        if self.doubly:
            known = side.turns.known
            pressed, base = (known & side.pressed).sum(), (known & ~side.pressed).sum()
            values = np.where(side.pressed, values, -values * pressed / max(base, 1))
        return values


def _gaps(side: Side) -> Values:
    return side.turns.public - side.turns.other


def _values(turns: Turns, measure: str) -> Values:
    if measure == "divergence":
        return turns.divergent
    if measure in RATES:
        stance = turns.public if measure == "public" else turns.other
        return np.where(turns.known, stance, math.nan)
    return turns.public - turns.other
