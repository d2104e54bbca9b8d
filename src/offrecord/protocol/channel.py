"""A channel: who is told to be listening, and how each form says so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from offrecord.content import data_folder, read_document
from offrecord.content.document import Front, Language
from offrecord.content.library import find, is_id
from offrecord.records import ENGLISH, Form, Role

SPEAKERS: Final = "participants"
"""The audience name that stands for every agent of the debate."""

RECORD: Final = "record"
"""The audience name of the record; no agent reads it."""

WRITER: Final = "self"
"""The audience name of the one who writes: heard by no one else."""

OUTSIDE: Final = "outside:"
"""What the audience name of someone begins with who is told but has no seat."""


class _ChannelFront(Front):
    audience: list[str]
    language: Language = ENGLISH


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One channel, read from its file."""

    id: str
    audience: tuple[str, ...]
    """Who is told to be listening; empty when no one is. Whether the channel is
    spoken stands in the design."""
    utterance: str
    """The audience paragraph of an utterance; empty where a channel has none."""
    opening: str
    """The same for an utterance before anything was said; often the same text."""
    survey: str
    stamp: str
    """`id@version:hash`."""
    language: str = ENGLISH

    def paragraph(self, form: Form, *, opening: bool) -> str:
        """The audience paragraph of a form.

        Args:
            form: Utterance or survey.
            opening: Whether nothing has been said yet.
        """
        if form is Form.SURVEY:
            return self.survey
        return self.opening if opening else self.utterance


def read_channel(path: Path) -> Channel:
    """Read a channel file.

    Raises:
        OffrecordError: If the file breaks the format, naming file and field.
    """
    document = read_document(path)
    document.only_sections("utterance", "utterance.opening", "survey")
    front = document.validate(_ChannelFront)
    bare = not document.sections  # nothing is said of who listens
    utterance = "" if bare else document.section("utterance")
    return Channel(
        id=document.id,
        audience=tuple(front.audience),
        utterance=utterance,
        opening=document.sections.get("utterance.opening", utterance),
        survey="" if bare else document.section("survey"),
        stamp=document.stamp,
        language=front.language,
    )


@cache
def rungs() -> tuple[str, ...]:
    """The channels of the ladder of audiences, from no one to everyone."""
    return tuple(read_document(data_folder("ladder.yaml")).front["rungs"])


def fault_of_audience(channel: Channel, agents: Collection[str]) -> str | None:
    """What is wrong with the audience of a channel, or nothing.

    Args:
        channel: Whose audience names `participants`, `record`, roles, agents' ids,
            `self`, or `outside:NAME`.
        agents: The ids of those who are seated.
    """
    known = {SPEAKERS, RECORD, WRITER, *Role, *agents}
    for listener in channel.audience:
        if listener not in known and not _is_outside(listener):
            return (
                f"channel '{channel.id}': audience '{listener}' is no one (use "
                f"{SPEAKERS}, {RECORD}, {WRITER}, {OUTSIDE}NAME, a role, or "
                f"{', '.join(sorted(agents))})"
            )
    return None


def _is_outside(listener: str) -> bool:
    return listener.startswith(OUTSIDE) and len(listener) > len(OUTSIDE)


def find_channel(name: str, protocol_folder: Path) -> Channel:
    """Find a channel by id or by path.

    A protocol's own wording of a channel comes before the common one.

    Args:
        name: An id such as `off_record`, or a path to a `.md` file.
        protocol_folder: The folder of the protocol in use.

    Raises:
        OffrecordError: If there is no such channel, listing those there are.
    """
    own = protocol_folder / "channels" / f"{name}.md"
    return read_channel(own if is_id(name) and own.is_file() else find("channel", name))
