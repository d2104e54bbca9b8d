"""Truth: the latent stances of simulated agents, turn by turn.

At each of its turns an agent is in one **state**: whether it leaves its own side for
the other one, that is yields, in public and off the record. States are relative to the
speaker. The target's other side is the partner's; a partner that stays is on its own
side, which the estimates call *both* on the partner's side. `Rates` speaks in the
estimates' terms.

Every reply takes the stance of its turn's state, apart from a **flip**: an independent
chance f of the other stance, the same for draw 0 as for shadows and surveys. Where f is
0 the planted shares are exact and shadows repeat their channel. Otherwise two replies
with one stance behind them differ with probability 2f(1-f), which is the noise floor,
and a channel's share y of yielding becomes y(1-2f) + f.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from offrecord.records import Cell, Kind, Role, Timing


class State(StrEnum):
    """Where an agent leaves its own side during one turn."""

    ACCOMMODATING = "accommodating"
    """In public only."""
    REVERSING = "reversing"
    """Off the record only."""
    CONVERTING = "converting"
    """On both."""
    STAYING = "staying"
    """On neither."""

    def yields(self, private: bool) -> bool:
        """Whether the agent leaves its own side.

        Args:
            private: Off the record, not in public.
        """
        alone = State.REVERSING if private else State.ACCOMMODATING
        return self in {alone, State.CONVERTING}


class Rule(BaseModel):
    """Probabilities of the states where everything named holds; the rest stays."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind | None = None
    timing: Timing | None = None
    scenario: str | None = None
    condition: str | None = None
    role: Role | None = None
    accommodating: float = Field(default=0, ge=0, le=1)
    reversing: float = Field(default=0, ge=0, le=1)
    converting: float = Field(default=0, ge=0, le=1)

    @model_validator(mode="after")
    def _at_most_one(self) -> Self:
        if self.accommodating + self.reversing + self.converting > 1 + 1e-9:
            raise ValueError("the probabilities of the states exceed 1")
        return self

    def covers(self, cell: Cell, role: Role) -> bool:
        """Whether this rule speaks for an agent of a cell."""
        asked = (
            (self.kind, cell.kind),
            (self.timing, cell.timing),
            (self.scenario, cell.scenario),
            (self.condition, cell.condition),
            (self.role, role),
        )
        return all(wanted is None or wanted == given for wanted, given in asked)

    @cached_property
    def shares(self) -> Mapping[State, float]:
        """The probability of each state at any turn."""
        shares = {
            State.ACCOMMODATING: self.accommodating,
            State.REVERSING: self.reversing,
            State.CONVERTING: self.converting,
        }
        return {**shares, State.STAYING: max(0.0, 1 - sum(shares.values()))}

    def state(self, u: float) -> State:
        """The state that a uniform draw from [0, 1) falls on."""
        for state, share in self.shares.items():
            if u < share:
                return state
            u -= share
        return State.STAYING


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


def true_rates(rule: Rule, flip: float, role: Role) -> Rates:
    """What the shares of the states and the flips come to, by the partner's side.

    Args:
        rule: The probabilities of the states.
        flip: Probability that a reply leaves the stance of its state.
        role: Whose states; a target yields towards the partner's side, a partner away.
    """
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
