"""Truth: the latent stances of simulated agents, turn by turn.

At each of its turns an agent is in one **state**: whether it leaves its own side for
the other one, that is yields, in public and off the record. States are relative to the
speaker. The target's other side is the partner's; a partner that stays is on its own
side, which the estimates call *both* on the partner's side.

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
from typing import Self

from pydantic import Field, model_validator

from offrecord.content.document import Front
from offrecord.records import HOLDOUT, Cell, Kind, Role, Timing


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


class Rule(Front):
    """Probabilities of the states where everything named holds; the rest stays."""

    kind: Kind | None = None
    timing: Timing | None = None
    scenario: str | None = None
    condition: str | None = None
    role: Role | None = None
    factors: Mapping[str, str] = Field(default_factory=dict)
    """Levels that the cell must have; a pilot without roles has `roles: none`."""
    accommodating: float = Field(default=0, ge=0, le=1)
    reversing: float = Field(default=0, ge=0, le=1)
    converting: float = Field(default=0, ge=0, le=1)
    holdout: float | None = Field(default=None, ge=0, le=1)
    """Share of turns off its own side in the hold-out; by default as off the record."""
    refusing: float = Field(default=0, ge=0, le=1)
    """Share of public utterances that are refused."""

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
        levels = all(cell.factors.get(n) == one for n, one in self.factors.items())
        return levels and all(one is None or one == given for one, given in asked)

    @cached_property
    def shares(self) -> Mapping[State, float]:
        """The probability of each state at any turn."""
        shares = {
            State.ACCOMMODATING: self.accommodating,
            State.REVERSING: self.reversing,
            State.CONVERTING: self.converting,
        }
        return {**shares, State.STAYING: max(0.0, 1 - sum(shares.values()))}

    def yields(self, u: float, channel: str, *, private: bool) -> bool:
        """Whether an agent leaves its own side in a channel, at a draw from [0, 1).

        Args:
            u: The turn's draw.
            channel: Which one.
            private: Whether it is answered as off the record.
        """
        if channel == HOLDOUT and self.holdout is not None:
            return u < self.holdout
        return self.state(u).yields(private)

    def state(self, u: float) -> State:
        """The state that a uniform draw from [0, 1) falls on."""
        for state, share in self.shares.items():
            if u < share:
                return state
            u -= share
        return State.STAYING
