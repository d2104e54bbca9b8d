"""A channel: who is told to be listening, and how each form says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from offrecord.content import read_document
from offrecord.content.document import Front
from offrecord.content.library import find, is_id
from offrecord.records import Form

SPEAKERS = "participants"
"""The audience name that stands for every agent of the debate."""


class _ChannelFront(Front):
    audience: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One channel, read from its file."""

    id: str
    audience: tuple[str, ...]
    """Who is told to be listening; empty when no one is."""
    utterance: str
    """The audience paragraph of an utterance."""
    opening: str
    """The same for an utterance before anything was said; often the same text."""
    survey: str
    stamp: str
    """`id@version:hash`."""

    @property
    def spoken(self) -> bool:
        """Whether what is said here may enter a history."""
        return bool(self.audience)

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
    utterance = document.section("utterance")
    return Channel(
        id=document.id,
        audience=tuple(front.audience),
        utterance=utterance,
        opening=document.sections.get("utterance.opening", utterance),
        survey=document.section("survey"),
        stamp=document.stamp,
    )


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
