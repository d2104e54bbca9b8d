"""What a scenario is, as frozen value types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from offrecord.records import ENGLISH, Kind, Role, Timing
from offrecord.scenarios.front import Item
from offrecord.scenarios.lines import Lines

EVERYONE = "everyone"
"""The one section of a condition that is the same for all agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One seat at the table."""

    id: str
    """`alpha`, `beta`, later more."""
    role: Role
    name: str
    """How others and the record call this person, e.g. `The sponsor`."""
    side: str
    """The label that this role's interests favour."""
    card: str
    """What this person knows about themselves, in second person."""
    summary: str
    """One sentence that the others read about this person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A relational context, mirrored for each agent."""

    id: str
    kind: Kind
    timing: Timing
    contexts: Mapping[str, str]
    """Agent id to text; empty for baseline."""
    stamp: str
    """`id@version:hash` of its file."""
    dose: float | None = None
    """How much of it, 1 or 3; None for the standard dose, or where it has none."""

    @property
    def sections(self) -> Mapping[str, str]:
        """The texts as its file has them: evidence is one for everyone."""
        if self.kind is not Kind.EVIDENCE:
            return self.contexts
        return {EVERYONE: next(iter(self.contexts.values()))}

    @property
    def is_standard(self) -> bool:
        """Whether it is asked where a design names no conditions."""
        return self.kind is not Kind.EVIDENCE and self.dose is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """A survey: shared items, then the scenario's own, on one integer scale."""

    id: str
    low: int
    high: int
    anchors: Mapping[int, str]
    """Scale point to wording."""
    items: tuple[Item, ...]
    stamp: str
    """`id@version:hash` of the files it came from."""
    language: str = ENGLISH
    answers: Mapping[int, str] = field(default_factory=dict)
    """Scale point to the word that answers it; empty where numbers do."""

    @property
    def points(self) -> tuple[int, ...] | tuple[str, ...]:
        """What answers an item: words where they are declared, or whole numbers."""
        return tuple(self.answers.values()) or (*range(self.low, self.high + 1),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One question with everything that is asked about it."""

    id: str
    title: str
    setting: str
    """The shared text that both agents read, evidence included."""
    question: str
    labels: tuple[str, str]
    leaning: str
    """`evidence`, `card` or `balanced`: what leans against the partner's side."""
    agents: tuple[Agent, ...]
    conditions: Mapping[str, Condition]
    instrument: Instrument
    stamp: str
    """`id@version:hash` over the files that every prompt of it reads: its own and its
    agents'. Conditions and the instrument have stamps of their own."""
    lines: Mapping[Role, Lines] = field(default_factory=dict)
    """What a seat says if it is scripted, by its role."""
    language: str = ENGLISH
    domain: str = ""
    """The walk of life; empty where its file names none."""

    def agent(self, agent_id: str) -> Agent:
        """The agent of an id."""
        return next(agent for agent in self.agents if agent.id == agent_id)

    def seat(self, role: Role) -> Agent:
        """The first agent of a role."""
        return next(agent for agent in self.agents if agent.role is role)

    @property
    def pressed_side(self) -> str:
        """The side of the agent whose role is partner."""
        return self.seat(Role.PARTNER).side
