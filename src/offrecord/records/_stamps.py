"""The stamp and the frame of one elicitation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from offrecord.records._cells import Cell
from offrecord.records._words import Form, Role

STAMP_KEY: Final = "offrecord"
"""The key of a request's last message's metadata under which its stamp stands."""

LINE_KEY: Final = "line"
"""The key beside it under which stands what a scripted seat says."""

RECORD_KEY: Final = "record"
"""The key beside it of what a record says otherwise than the call does."""

FRAME_KEY: Final = "frame"
"""The key beside it under which the request's frame stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The full name of one elicitation."""

    cell: Cell
    repeat: int
    """Counted from 1."""
    round: int
    """Counted from 1; one round is one turn of each agent."""
    turn: int
    """Counted from 1 over all agents: 1 to rounds x agents."""
    agent: str
    channel: str
    form: Form
    draw: int
    """0 is the committed sample; 1..K are shadows."""

    @property
    def run(self) -> str:
        """The id of the run."""
        return self.cell.run(self.repeat)

    def as_dict(self) -> dict[str, Any]:
        """The stamp as a message's metadata carries it."""
        return {
            "run": self.run,
            "cell": self.cell.as_dict(),
            "repeat": self.repeat,
            "round": self.round,
            "turn": self.turn,
            "agent": self.agent,
            "channel": self.channel,
            "form": str(self.form),
            "draw": self.draw,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Stamp:
        """Read a stamp back from a message's metadata.

        Raises:
            KeyError: If a key is missing.
            ValueError: If a value is none of its vocabulary.
        """
        return cls(
            cell=Cell.from_dict(value["cell"]),
            repeat=int(value["repeat"]),
            round=int(value["round"]),
            turn=int(value["turn"]),
            agent=str(value["agent"]),
            channel=str(value["channel"]),
            form=Form(value["form"]),
            draw=int(value["draw"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a reply must answer to: known to providers and parsers, not to estimates."""

    labels: tuple[str, str]
    """The two decision labels, in the order shown to the agent."""
    side: str
    """The label that the speaker's own role favours."""
    pressed_side: str
    """The label that the partner's role favours, in every agent's frame."""
    role: Role
    items: tuple[str, ...] = ()
    """Survey item ids in the order shown; empty for an utterance."""
    low: int = 0
    high: int = 0
    seed: int = 0
    """The study's seed; only our own providers use it."""

    def as_dict(self) -> dict[str, Any]:
        """The frame as a message's metadata carries it, beside the stamp."""
        return {
            "labels": list(self.labels),
            "side": self.side,
            "pressed_side": self.pressed_side,
            "role": str(self.role),
            "items": list(self.items),
            "low": self.low,
            "high": self.high,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Frame:
        """Read a frame back from a message's metadata."""
        first, second = value["labels"]
        return cls(
            labels=(str(first), str(second)),
            side=str(value["side"]),
            pressed_side=str(value["pressed_side"]),
            role=Role(value["role"]),
            items=tuple(str(item) for item in value["items"]),
            low=int(value["low"]),
            high=int(value["high"]),
            seed=int(value["seed"]),
        )
