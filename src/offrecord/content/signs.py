"""Signs: what in a reply is thought or meant for other ears, though no mark parts it.

No list knows every way in which models mark their thinking. Where a reply shows a sign
of it, a label that heads a line is the only thing that surely is said. A part whose
name says who is not to hear it is left out; see docs/design/replies.md.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from offrecord.content.document import data_folder, read_document
from offrecord.content.labels import (
    OPENING,
    Found,
    LabelSet,
    label_set,
    plain_copy,
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
    "{lead}": _FRONT["named"]["lead"],
    "{noun}": _FRONT["named"]["noun"],
    "{end}": r"[*_ \t]*(?:[(（][^)）\n]*[)）][*_ \t]*)?(?:[:：…]|\.{3}|$)",
}


def _any(shapes: Sequence[str], start: str = "") -> re.Pattern[str]:
    pattern = f"{start}(?:{'|'.join(shapes)})"
    for part, meaning in _PARTS.items():
        pattern = pattern.replace(part, meaning)
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _named(*kinds: str) -> re.Pattern[str]:
    """The headings whose name is of one of these kinds."""
    names = "|".join(name for kind in kinds for name in _FRONT["named"][kind])
    return _any(
        [
            rf"{{start}}{{lead}}(?:{names}){{noun}}{{end}}",
            rf"{{start}}[\w. ]{{1,30}}[(（][ ]*(?:{names})[ ]*[)）][*_ ]*[:：]",
            rf"[\[【<][ ]*{{lead}}(?:{names}){{noun}}[ ]*[\]】>:：]",
        ]
    )


_HEAD: Final = r"\A[\s#*_\"'-]*"
_SIGNS: Final = _any(_FRONT["signs"])
_HEADS: Final = _any(_FRONT["heads"], _HEAD)
_LOOSE: Final = _any(_FRONT["loose"], r"\A\s*")
_NAMED: Final = _named("private", "draft", "public")
_PRIVATE: Final = _named("private")
_DRAFT: Final = _named("draft")
_PUBLIC: Final = _named("public")
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
_ANSWER: Final = _any(
    [f"(?:{'|'.join(_FRONT['announced'])}){{end}}"], r"^[ \t#*_]*{whose}"
)
_OPENING: Final = re.compile(OPENING)


class _Parts(NamedTuple):
    """Where a reply holds what is not said, and what it states."""

    signs: list[int]
    """Where thinking begins that no mark parts."""
    apart: list[re.Match[str]]
    """The headings of parts that are drafts or for other ears."""
    public: list[re.Match[str]]
    opened: bool
    """Whether the first public heading opens the reply."""
    stated: list[tuple[int, str]]
    """The places and labels of what it states, without what stands in such parts."""


def part_by_label(
    reply: Reasoned, labels: Sequence[str], *, aloud: bool = False
) -> Reasoned:
    """Leave of a reply that shows signs of thinking only what a label parts off.

    What follows the last label that heads a line is said, up to the next sign. Where
    the reply states one label before the thinking and another one behind it, or none
    at all, nothing is. Parts with a private name count as thinking where they are more
    than the opener of the reply.

    Args:
        reply: A reply without the thinking that marks part off.
        labels: The labels it may state; with none, it stays as it is.
        aloud: Whether it is asked what others hear. Then words under a private name
            that opens the reply are left out too, up to a label that heads a line. For
            what the reply states, such a name changes nothing, as in every channel.
    """
    if not labels or not reply.visible.strip():
        return reply
    said = composed(reply.visible)
    if quoted := _QUOTED.match(said):
        thought = [reply.reasoning, quoted.group().strip()]
        rest, thoughts = said[quoted.end() :], "\n\n".join(filter(None, thought))
        parted = Reasoned(rest, thoughts, reply.unclosed, guessed=not rest)
        return part_by_label(parted, labels, aloud=aloud)
    known = label_set(tuple(labels))
    parts = _parts(said, known, aloud=aloud)
    if parts is None:
        return reply
    signs, stated = parts.signs, parts.stated
    before = [label for place, label in stated if place < signs[0]]
    starts = [place for place, _ in stated]
    if not stated and len(signs) == len(parts.apart):
        starts = [heading.end() for heading in parts.public]
    if not starts or (before and stated[-1][1] != before[-1]):
        return Reasoned("", said.strip(), reply.unclosed, guessed=True)
    start = 0 if before else starts[-1]
    end = next((sign for sign in signs if sign > start), len(said))
    left = [said[:start].strip(), said[end:].strip()]
    return Reasoned(
        said[start:end],
        "\n\n".join(filter(None, [reply.reasoning, *left])),
        reply.unclosed,
        guessed=True,
        rival=_is_rival("\n".join(left), parts, known),
    )


def _parts(said: str, known: LabelSet, *, aloud: bool) -> _Parts | None:
    """What parts a reply; None where all of it is said."""
    loose = _LOOSE.match(said)
    thought = [0] if _HEADS.match(said) else [m.start() for m in _SIGNS.finditer(said)]
    named = list(_NAMED.finditer(said))
    if not (thought or loose or named):
        return None
    private, drafts, public = (
        [one for one in named if kind.match(one.group())]
        for kind in (_PRIVATE, _DRAFT, _PUBLIC)
    )
    apart = [*private, *drafts]
    copy, origin = plain_copy_with_origin(said)
    led = {bisect_left(origin, one.end()) for one in public}
    stated = [(origin[one.start], one.label) for one in _stated(copy, known, led)]
    answers = list(_ANSWER.finditer(said)) if drafts else []
    beside = bool(public) or len(drafts) + len(answers) > 1
    places = [place for place, _ in stated]
    apart = [
        one
        for one in apart
        if beside
        or (_is_apart(said, one, known, places) and (aloud or not _opens(said, one)))
    ]
    hidden = drafts[: None if answers else -1]
    hidden += [one for one in private if public or not _opens(said, one)]
    owners = [(one.start(), one in hidden) for one in [*named, *answers]]
    stated = [
        (place, label)
        for place, label in stated
        if not max((one for one in owners if one[0] <= place), default=(0, False))[1]
    ]
    signs = sorted({*thought, *(one.start() for one in apart)})
    if not signs and len({label for _, label in stated}) > 1 and public:
        behind = [label for place, label in stated if place >= public[-1].end()]
        signs = [0] if behind and behind[-1] != stated[0][1] else []
    if not signs and loose:
        headed = stated and "\n" not in said[: stated[0][0]].lstrip()
        signs = [0] if stated and not headed else []
    opened = bool(public) and _opens(said, public[0])
    return _Parts(signs, apart, public, opened, stated) if signs else None


def _opens(said: str, heading: re.Match[str]) -> bool:
    """Whether no words stand before a heading."""
    return re.search(r"\w", said[: heading.start()]) is None


def _is_apart(
    said: str, heading: re.Match[str], known: LabelSet, places: Sequence[int]
) -> bool:
    """Whether a heading begins a part of its own, and does not open the reply."""
    if places and places[0] < heading.start():
        return True
    if re.search(r"\n\s*\n", said[: heading.start()].lstrip()):
        return True
    if known.head(plain_copy(said[heading.end() :])):
        return False
    behind = next((place for place in places if place >= heading.end()), 0)
    if not _opens(said, heading) and not behind:
        return True
    return bool(re.search(r"\w", said[heading.end() : behind]))


def _is_rival(left: str, parts: _Parts, known: LabelSet) -> bool:
    """Whether what is left out of a reply may be its stance before others."""
    private = any(_PRIVATE.match(one.group()) for one in parts.apart)
    public = parts.public if private else parts.public[parts.opened :]
    if not (private or public):
        return False
    named = {
        known.labels[int(str(one.lastgroup)[1:])]
        for one in known.whole.finditer(plain_copy(left))
        if all(char == char.title() for char in one.group())
    }
    label = parts.stated[-1][1] if parts.stated else None
    return bool(named - {label}) or (bool(public) and label not in named)


def _stated(copy: str, known: LabelSet, led: Iterable[int]) -> Iterator[Found]:
    """The labels that head a line, or stand right behind words that announce one."""
    places = {m.end() for shape in (_LINE, _LED) for m in shape.finditer(copy)}
    places |= {m.end() for place in led if (m := _OPENING.match(copy, place))}
    end = 0
    for place in sorted(places):
        found = known.at(copy, place) if place >= end else None
        quoted = copy[copy.rfind("\n", 0, place) + 1 : place].lstrip().startswith(">")
        if found is not None and found.heads and not quoted:
            end = found.end
            yield found
