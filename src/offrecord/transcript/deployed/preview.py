"""A map to begin with, and what it finds: for people to look at and edit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from offrecord.content.boundary.shown import escaped
from offrecord.records import OffrecordError
from offrecord.transcript.deployed.around import told
from offrecord.transcript.deployed.entry import Entry
from offrecord.transcript.deployed.mapping import Map, Remove, presets, read_map
from offrecord.transcript.deployed.messages import Message, messages_of
from offrecord.transcript.deployed.personal import cleaner

_READ: Final = 200
"""Entries that are tried."""
_SHOWN: Final = 3
_LETTERS: Final = 100


def guessed(source: Path) -> Iterator[str]:
    """Lines of a map that reads a source, and of three conversations that it finds.

    Args:
        source: A file, or a folder of files.

    Raises:
        OffrecordError: If no map that ships finds a message of an agent in it.
    """
    best, most, said = "", 0, list[Message]()
    for name in presets():
        try:
            found = list(_found(source, read_map(name)[0]))
        except OffrecordError:
            continue
        agents = sum(one.is_agent for one in found)
        if agents > most:
            best, most, said = name, agents, found
    if not best:
        raise OffrecordError(
            f"{source}: none of the maps that ship ({', '.join(presets())}) finds a "
            "message of an agent: write one (docs/transcripts.md)"
        )
    yield f"preset: {best}"
    yield "# agents: [NAME, ...]        whose messages count; by role unless given"
    yield "# decisions:"
    yield "#   - question: ..."
    yield "#     labels: [FIRST, SECOND]"
    yield "#     pressed_side: FIRST"
    yield "# remove: {email: true, phone: US, fields: [user/name]}"
    clean = cleaner(Remove())
    shown: dict[str, list[Message]] = {}
    for one in said:
        shown.setdefault(one.conversation, []).append(one)
    for name, own in islice(shown.items(), _SHOWN):
        yield f"# conversation {escaped(clean(name))}"
        for one in own[:6]:
            who = f"{one.speaker}{' (agent)' if one.is_agent else ''}"
            text = " ".join(clean(one.text).split())
            yield f"#   {escaped(clean(who))}: {escaped(text[:_LETTERS])}"


def _found(source: Path, how: Map) -> Iterator[Message]:
    for entry in told(source, how, most=_READ):
        if isinstance(entry, Entry):
            for one in messages_of(entry, how):
                if isinstance(one, Message):
                    yield one
