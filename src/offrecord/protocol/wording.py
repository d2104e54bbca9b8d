"""What a guard says to a model: its query, and the requests of its actions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from offrecord.content import data_folder, fill, read_document
from offrecord.content.decision import Decision
from offrecord.content.document import Document
from offrecord.content.library import find
from offrecord.protocol.channel import read_channel
from offrecord.records import digest

CHANNEL: Final = "off_record"
"""The channel whose paragraph the query ends with."""

_SECTIONS: Final = ("decision", "free", "rewrite", "disclose", "clarify")


class Wording(NamedTuple):
    """The texts of a guard, from one file."""

    document: Document
    audience: str
    """The paragraph that says that no one hears it."""
    stamp: str
    """A hash of file and paragraph: two guards with it ask alike."""

    def text(self, section: str) -> str:
        """A section as it stands."""
        return self.document.section(section)

    def query(self, decision: Decision | None) -> str:
        """The last part of the query."""
        if decision is None:
            return fill(self.text("free"), {"audience": self.audience})
        first, second = decision.labels
        return fill(
            self.text("decision"),
            {
                "audience": self.audience,
                "question": decision.question,
                "label_first": first,
                "label_second": second,
            },
        )


@cache
def read_wording(path: Path | None = None) -> Wording:
    """Read a guard's wording.

    Args:
        path: A file with the sections of the one that ships; that one by default.

    Raises:
        OffrecordError: If it breaks the format, naming file and section.
    """
    document = read_document(path or data_folder("guard") / "guard.md")
    document.only_sections(*_SECTIONS)
    for section in _SECTIONS:
        document.section(section)
    channel = read_channel(find("channel", CHANNEL))
    return Wording(document, channel.utterance, digest([document.stamp, channel.stamp]))
