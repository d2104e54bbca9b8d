"""The shared history: what was said, and the one place that decides who sees it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offrecord.protocol.channel import SPEAKERS, Channel
from offrecord.records import OffrecordError, digest
from offrecord.scenarios.model import Agent


class HistoryPolicy(StrEnum):
    """How much of what it heard an agent is shown."""

    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """Words said to someone. What was said to no one cannot be made into this.

    Raises:
        OffrecordError: If the audience is empty, or there is no text.
    """

    turn: int
    agent: str
    channel: str
    audience: tuple[str, ...]
    text: str
    """The visible text: reasoning blocks are gone."""
    model: str = ""
    """Whose words these are where they are not the agent's own, as in a replay."""

    def __post_init__(self) -> None:
        if not self.audience:
            raise OffrecordError(
                f"'{self.channel}' has no audience: its text may enter no history"
            )
        if not self.text:
            raise OffrecordError("words without text may enter no history")

    @classmethod
    def through(cls, channel: Channel, *, turn: int, agent: str, text: str) -> Spoken:
        """Words that an agent says through a channel."""
        return cls(
            turn=turn,
            agent=agent,
            channel=channel.id,
            audience=channel.audience,
            text=text,
        )


@dataclass(frozen=True, slots=True)
class History:
    """Everything said so far, oldest first."""

    said: tuple[Spoken, ...] = ()

    def add(self, words: Spoken) -> History:
        """The history after these words.

        Raises:
            TypeError: If given anything that was not spoken to an audience.
        """
        if not isinstance(words, Spoken):
            raise TypeError(f"{type(words).__name__} may enter no history")
        return History((*self.said, words))

    def before(self, turn: int) -> History:
        """What was said before a turn."""
        return History(tuple(words for words in self.said if words.turn < turn))

    def visible_to(
        self, agent: Agent, policy: HistoryPolicy = HistoryPolicy.ALL
    ) -> tuple[Spoken, ...]:
        """What one agent may see, oldest first. Nothing else decides this.

        A speaker hears their own words; `self`, `record` and `outside:NAME` name no
        one else at the table.
        """
        assert policy is HistoryPolicy.ALL
        names = {SPEAKERS, agent.id, str(agent.role)}
        return tuple(
            words
            for words in self.said
            if words.agent == agent.id or names & set(words.audience)
        )

    @property
    def hash(self) -> str:
        """A hash of who said what in which turn."""
        return digest([[words.turn, words.agent, words.text] for words in self.said])
