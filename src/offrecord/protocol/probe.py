"""A probe: a turn that an agent had, asked again before several audiences.

All requests of a turn have the very prompt that its model was given; they end as it
ended, or with the paragraph of a channel. What was said then stands beside the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from offrecord.protocol.channel import Channel
from offrecord.protocol.debate import Request
from offrecord.protocol.prompts import Message
from offrecord.records import SCRIPTED, Cell, Form, Frame, Role, Stamp, digest, due

STORED: Final = "stored"
"""The channel of what was said then."""

PLAIN: Final = "plain"
"""The channel that adds no paragraph."""

CHANNELS: Final = ("public", "off_record", PLAIN)
"""What a probe asks where a design names no channels."""


class Probed(NamedTuple):
    """A turn that is asked again."""

    turn: int
    round: int
    agent: str
    messages: list[Message]
    """What its model was given, the last from a user."""
    said: str
    said_by: str
    """The model that said it; empty where that is not known."""
    labels: list[str]
    """Of the decision; empty where none was declared."""
    pressed_side: str
    stratum: str
    prompt: str
    """`recorded` or `reconstructed`."""
    weight: float


class Asking(NamedTuple):
    """What all turns of a probe are asked with."""

    channels: tuple[Channel, ...]
    shadows: int
    seed: int


def probe_requests(
    turn: Probed, cell: Cell, repeat: int, how: Asking
) -> Iterator[Request]:
    """What is asked at a turn, after what was said there.

    Args:
        turn: The turn.
        cell: The conversation's.
        repeat: Which conversation of the cell.
        how: Channels and draws.
    """
    stored = Channel(
        id=STORED, audience=(), utterance="", opening="", survey="", stamp=""
    )
    wanted = [(stored, 0)] + [
        (channel, draw)
        for channel, _, draw in due(how.channels, how.shadows, (Form.UTTERANCE,))
    ]
    spoke = f"{SCRIPTED}/{turn.said_by or 'unknown'}"
    first, second = turn.labels or ("", "")
    for channel, draw in wanted:
        said = channel is stored
        yield Request(
            stamp=Stamp(
                cell=cell,
                repeat=repeat,
                round=turn.round,
                turn=turn.turn,
                agent=turn.agent,
                channel=channel.id,
                form=Form.UTTERANCE,
                draw=draw,
            ),
            frame=Frame(
                labels=(first, second),
                side=second if turn.pressed_side == first else first,
                pressed_side=turn.pressed_side,
                role=Role.TARGET,
                seed=how.seed,
            ),
            messages=ending(turn.messages, channel),
            channel=channel,
            history_hash=digest(turn.messages),
            line=turn.said if said else None,
            record={"agent_model": spoke} if said else {},
        )


def ending(messages: Sequence[Message], channel: Channel) -> list[Message]:
    """A prompt that ends with the paragraph of a channel, if it has one."""
    *before, (sender, text) = messages
    paragraph = channel.paragraph(Form.UTTERANCE, opening=False)
    last = f"{text}\n\n{paragraph}" if paragraph else text
    return [*map(_pair, before), (sender, last)]


def _pair(message: Sequence[str]) -> Message:
    sender, text = message
    return sender, text
