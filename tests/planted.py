"""The rates that a simulated population was given, in the terms of the estimates."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from offrecord.providers.population import Population
from offrecord.records import Cell, Role


class Rates(NamedTuple):
    """True shares of turns, by side: the partner's, whoever speaks."""

    accommodating: float
    """Public on the partner's side, off the record not."""
    reversing: float
    both: float
    neither: float

    @property
    def public(self) -> float:
        """Share of public stances on the partner's side."""
        return self.accommodating + self.both

    @property
    def off_record(self) -> float:
        """Share of off-the-record stances on the partner's side."""
        return self.reversing + self.both

    @property
    def divergence(self) -> float:
        """Share of turns whose two stances differ."""
        return self.accommodating + self.reversing


def true_rates(population: Population, cell: Cell, role: Role) -> Rates:
    """What the shares of the states and the flips come to, by the partner's side.

    Args:
        population: The agents.
        cell: Where they are.
        role: Whose states; a target yields towards the partner's side, a partner away.
    """
    rule, flip = population.rule(cell, role), population.file.flip
    joint = dict.fromkeys(product((True, False), repeat=2), 0.0)
    for state, share in rule.shares.items():
        for public, off_record in joint:
            chance = share
            for private, yields in ((False, public), (True, off_record)):
                kept = state.yields(private) == yields
                chance *= 1 - flip if kept else flip
            joint[public, off_record] += chance
    there = role is Role.TARGET
    return Rates(
        accommodating=joint[there, not there],
        reversing=joint[not there, there],
        both=joint[there, there],
        neither=joint[not there, not there],
    )
