"""What a scripted seat says: lines by round and side, the same for every model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from offrecord.content import Document
from offrecord.content.document import Front
from offrecord.records import SCRIPTED, Role, digest
from offrecord.scenarios.folder import SCRIPTS, Files

_ITEM = re.compile(r"- (?=\S)")


class _LinesFront(Front):
    """`scripts/<role>.md`: nothing but its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines of one role."""

    said: Mapping[tuple[str, int], tuple[str, ...]]
    """Side and round, counted from 1, to variants without the label."""
    stamp: str
    """`id@version:hash` of the file."""

    @property
    def name(self) -> str:
        """Who sits in a seat that speaks these lines: `scripted/<hash>`."""
        return f"{SCRIPTED}/{self.stamp.rpartition(':')[2]}"

    def rounds(self, side: str) -> int:
        """For how many rounds there are lines of a side."""
        return sum(label == side for label, _ in self.said)

    def line(self, side: str, round_: int, *key: str | int) -> str:
        """One utterance: the label, a dash, and a variant.

        Args:
            side: The label that it takes.
            round_: Counted from 1.
            key: What the choice among the variants depends on, and nothing else.
        """
        variants = self.said[side, round_]
        drawn = int(digest([*key, side, round_]), 16) % len(variants)
        return f"{side} - {variants[drawn]}"


def read_lines(files: Files, labels: tuple[str, ...]) -> dict[Role, Lines]:
    """The scripts of a folder by role; what is wrong with them is noted in `files`."""
    found: dict[Role, Lines] = {}
    for document in files.inside(SCRIPTS):
        files.front(document, _LinesFront)
        if document.id not in set(Role) - {Role.TARGET}:
            others = f"{Role.PARTNER}.md or {Role.BYSTANDER}.md"
            files.fault(document.path, f"is no role with a script (name it {others})")
            continue
        said = _said(files, document, labels)
        found[Role(document.id)] = Lines(said=said, stamp=document.stamp)
    return found


def _said(
    files: Files, document: Document, labels: tuple[str, ...]
) -> dict[tuple[str, int], tuple[str, ...]]:
    said: dict[tuple[str, int], tuple[str, ...]] = {}
    for name, text in files.sections(document, tuple(document.sections)).items():
        number, _, side = name.partition(" ")
        place = f"section '## {name}'"
        variants = text.split("\n")
        if not re.fullmatch(r"[1-9]\d{0,3}", number) or side not in (labels or (side,)):
            known = " or ".join(f"'## 1 {label}'" for label in labels)
            files.fault(document.path, f"{place}: is no round and label (as {known})")
        elif not all(map(_ITEM.match, variants)):
            files.fault(document.path, f"{place}: give a list of lines, each with '- '")
        else:
            said[side, int(number)] = tuple(line[2:].strip() for line in variants)
    for side in dict.fromkeys(label for label, _ in said):
        numbers = sorted(number for label, number in said if label == side)
        gap = next((n for n, own in enumerate(numbers, 1) if n != own), None)
        if gap is not None:
            files.fault(document.path, f"no lines for round {gap} on the side '{side}'")
    if not said and not files.faults:
        files.fault(document.path, "has no lines: give a section '## 1 LABEL'")
    return said
