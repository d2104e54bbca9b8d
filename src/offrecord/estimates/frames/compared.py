"""What a contrast compares: both sides as sums of weighted cells."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from offrecord.estimates.arrays.differences import stratified_difference
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.pairing import Linked, following, paired
from offrecord.estimates.arrays.permutation import PValue
from offrecord.estimates.arrays.randomization import randomization_test
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Side as Summand
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.signed import joint, stratified_gaps
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.frames.groups import CONTEXT
from offrecord.estimates.frames.sides import Contrast, Side, Sides
from offrecord.estimates.frames.weighing import NO_BASELINE, How, left_out

RATES: Final = ("divergence", "public", "off_record")
MEASURES: Final = (*RATES, "gap", "audience_effect")
"""What every contrast is made of; differences of shares, as fractions of 1."""


class Moved(NamedTuple):
    """Both sides, and the first less the second."""

    a: Estimate
    b: Estimate
    difference: Estimate


class _Part(NamedTuple):
    """One summand of a side."""

    side: Summand
    strata: Ids
    """Shape (cells,): what its cells share with those of the other side."""


class Compared(NamedTuple):
    """One measure of the two sides of one contrast."""

    contrast: Contrast
    measure: str
    sides: Sides
    how: How

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
        a, b = ([part.side for part in parts] for parts in self._parts(self.how))
        rest = self.how.scope, self.how.level
        if self.measure in RATES:
            [one], [two] = a, b
            given = one.weights, two.weights
            assert given[0] is not None
            assert given[1] is not None
            return Moved(
                stratified_rate(one.sample, given[0], *rest),
                stratified_rate(two.sample, given[1], *rest),
                stratified_difference(
                    one.sample, two.sample, (given[0], given[1]), *rest
                ),
            )
        return Moved(*(stratified_gaps(s, *rest) for s in (a, b, self.summands)))

    @property
    def summands(self) -> list[Summand]:
        """The difference as a sum of gaps, those of the second side subtracted."""
        a, b = ([part.side for part in parts] for parts in self._parts(self.how))
        return [*a, *(one._replace(sign=-one.sign) for one in b)]

    def test(self, rng: np.random.Generator) -> PValue:
        """Whether the difference is 0, pairs of cells weighing alike."""
        a, b = self._parts(How())
        parts = [*a, *(p._replace(side=p.side._replace(sign=-p.side.sign)) for p in b)]
        sample, weights = joint([part.side for part in parts])
        signs = np.repeat([p.side.sign for p in parts], [p.strata.size for p in parts])
        strata = np.concatenate([part.strata for part in parts])
        # The joint sample of a sum of gaps has what is subtracted negated.
        values = sample.values * np.repeat(
            [part.side.sign for part in parts],
            [part.side.sample.values.size for part in parts],
        )
        return randomization_test(sample.of(values), signs * weights, strata, rng).test

    def _parts(self, how: How) -> tuple[list[_Part], list[_Part]]:
        """What each side is the sum of, with its baseline subtracted if doubly."""
        two = self.sides.a, self.sides.b
        if not self.doubly:
            values = [_values(side.turns, self.measure) for side in two]
            cells = [side.cells(one) for side, one in zip(two, values, strict=True)]
            given = paired(cells[0], cells[1], how.weights)
            first, second = (
                [_Part(Summand(side.sample(one, how.scope), 1, weights), of.links)]
                for side, one, of, weights in zip(
                    two, values, cells, given, strict=True
                )
            )
            return first, second
        pressed = [side.where(pressed=True) for side in two]
        bases = [side.where(pressed=False) for side in two]
        beside = [side.cells(_gaps(side), "_same") for side in bases]
        links = [side.cells(_gaps(side), "_same") for side in pressed]
        own = [side.cells(_gaps(side)) for side in pressed]
        own = [
            Linked(cells.turns * link.beside(base), cells.links)
            for cells, link, base in zip(own, links, beside, strict=True)
        ]
        given = paired(own[0], own[1], how.weights)
        found = [
            [_Part(Summand(side.sample(_gaps(side), how.scope), 1, weights), of.links)]
            for side, weights, of in zip(pressed, given, own, strict=True)
        ]
        for place, base in enumerate(bases):
            weights = following(given[place], links[place], beside[place], how.weights)
            gaps = base.sample(_gaps(base), how.scope)
            strata = base.cells(_gaps(base)).links
            found[place].append(_Part(Summand(gaps, -1, weights), strata))
        return found[0], found[1]


def barred(column: str, scope: Scope) -> str:
    """Why a contrast is not one for a scope: its levels would be drawn anew.

    Args:
        column: What its levels are of.
        scope: The scope.

    Returns:
        Nothing where it is one.
    """
    models, scenarios = ("model", "partner"), ("scenario",)
    anew = {
        Scope.PAIRS: models + scenarios,
        Scope.BOTH: models + scenarios,
        Scope.MODELS: models,
        Scope.SCENARIOS: scenarios,
    }
    if column not in anew.get(scope, ()):
        return ""
    return f"a difference of named {column}s is not one for {scope}"


def _gaps(side: Side) -> Values:
    return side.turns.public - side.turns.other


def _values(turns: Turns, measure: str) -> Values:
    if measure == "divergence":
        return turns.divergent
    if measure in RATES:
        stance = turns.public if measure == "public" else turns.other
        return np.where(turns.known, stance, math.nan)
    return turns.public - turns.other
