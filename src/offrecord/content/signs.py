"""Signs: thinking in a reply that no mark parts from what is said.

No list knows every way in which models mark their thinking. Where a reply shows a sign
of it, a label that heads a line is the only thing that surely is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from offrecord.content.document import data_folder, read_document
from offrecord.content.labels import (
    OPENING,
    Found,
    LabelSet,
    label_set,
    plain_copy_with_origin,
)
from offrecord.content.letters import composed, fold
from offrecord.content.reasoning import NAMES, Reasoned

_FRONT: Final = read_document(data_folder("parsing") / "reasoning.yaml").front
_PARTS: Final = {
    "{name}": NAMES,
    "{heading}": "(?:{})".format("|".join(_FRONT["headings"])),
    "{plain}": "(?:{})".format("|".join(_FRONT["plain"])),
    "{start}": r"(?:^|(?<=[.!?] )|(?<=[。！？]))[ \t#*_(\"'-]*",
    "{whose}": _FRONT["whose"],
    "{aside}": _FRONT["aside"],
    "{end}": r"[*_ \t]*(?:[(（][^)）\n]*[)）][*_ \t]*)?(?:[:：…]|\.{3}|$)",
}


def _any(shapes: Sequence[str], start: str = "") -> re.Pattern[str]:
    pattern = "|".join(shapes)
    for part, meaning in _PARTS.items():
        pattern = pattern.replace(part, meaning)
    return re.compile(rf"{start}(?:{pattern})", re.IGNORECASE | re.MULTILINE)


_HEAD: Final = r"\A[\s#*_\"'-]*"
_SIGNS: Final = _any(_FRONT["signs"])
_HEADS: Final = _any(_FRONT["heads"], _HEAD)
_LOOSE: Final = _any(_FRONT["loose"], r"\A\s*")
_QUOTED: Final = re.compile(
    r"\s*(?:[ \t]*>[^\n]*\n(?:[ \t]*\n)*)*[ \t]*>[^\n]*(?:\n[ \t]*\n\s*|\s*\Z)"
)
_LINE: Final = re.compile(rf"^{OPENING}", re.MULTILINE)
_ANNOUNCED: Final = fold("|".join(_FRONT["announced"]))
_LED: Final = re.compile(
    r"""(?:^[\s#*_"'\[({<-]*|(?<=[.!?\])}>] )|(?<=[.!?\])}>\[({<"']))"""
    rf"""(?:{_FRONT["whose"]})(?:{_ANNOUNCED})[ "']*[:\])}}>]+\s*{OPENING}""",
    re.MULTILINE | re.IGNORECASE,
)


def part_by_label(reply: Reasoned, labels: Sequence[str]) -> Reasoned:
    """Leave of a reply that shows signs of thinking only what a label parts off.

    What follows the last label that heads a line is said, up to the next sign. Where
    the reply states one label before the thinking and another one behind it, or none
    at all, nothing is.

    Args:
        reply: A reply without the thinking that marks part off.
        labels: The labels it may state; with none, it stays as it is.
    """
    if not labels or not reply.visible.strip():
        return reply
    said = composed(reply.visible)
    if quoted := _QUOTED.match(said):
        thought = [reply.reasoning, quoted.group().strip()]
        rest, thoughts = said[quoted.end() :], "\n\n".join(filter(None, thought))
        parted = Reasoned(rest, thoughts, reply.unclosed, guessed=not rest)
        return part_by_label(parted, labels)
    head, loose = _HEADS.match(said), _LOOSE.match(said)
    signs = [0] if head else [sign.start() for sign in _SIGNS.finditer(said)]
    if not signs and loose is None:
        return reply
    copy, origin = plain_copy_with_origin(said)
    known = label_set(tuple(labels))
    stated = [(origin[one.start], one.label) for one in _stated(copy, known)]
    if not signs:
        headed = stated and "\n" not in said[: stated[0][0]].lstrip()
        if not stated or headed:
            return reply
        signs = [0]
    before = [label for place, label in stated if place < signs[0]]
    if not stated or (before and stated[-1][1] != before[-1]):
        return Reasoned("", said.strip(), reply.unclosed, guessed=True)
    start = 0 if before else stated[-1][0]
    later = (sign.start() for sign in _SIGNS.finditer(said, max(start, 1)))
    end = next(later, len(said))
    thought = [reply.reasoning, said[:start].strip(), said[end:].strip()]
    return Reasoned(
        said[start:end], "\n\n".join(filter(None, thought)), reply.unclosed, True
    )


def _stated(copy: str, known: LabelSet) -> Iterator[Found]:
    """The labels that head a line, or stand right behind words that announce one."""
    places = {m.end() for shape in (_LINE, _LED) for m in shape.finditer(copy)}
    for place in sorted(places):
        found = known.at(copy, place)
        quoted = copy[copy.rfind("\n", 0, place) + 1 : place].lstrip().startswith(">")
        if found is not None and found.heads and not quoted:
            yield found
