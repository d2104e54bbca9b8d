"""The answers that a reply gives to a survey: one point per item, or none.

Strict JSON first. What is not strict is read without adding to it, and every repair is
named: no value appears that does not stand beside its own item's key in the reply.
Several answer sets count as one only if they agree, or if words say which one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from types import MappingProxyType
from typing import Final, NamedTuple

from offrecord.content.labels import normalise, plain_copy
from offrecord.content.letters import fold
from offrecord.content.reasoning import REASONING_RULES
from offrecord.content.reply import LONGEST, said_and_thought
from offrecord.content.turns import TURN_RULES
from offrecord.measures.replies.survey_json import Read, read_json
from offrecord.measures.replies.survey_own import are_others, is_reversed
from offrecord.measures.replies.survey_sets import (
    Answers,
    Keys,
    answer_sets,
    item_keys,
    line_answers,
)
from offrecord.measures.replies.survey_value import RULES, Point, read_point
from offrecord.measures.wordlists import NOTHING, compile_any, why_nothing
from offrecord.records import OffrecordError, Status, digest

_HASHES: Final = [RULES.hash, NOTHING.hash, REASONING_RULES, TURN_RULES]
SURVEY_VERSION: Final = f"5+{digest(_HASHES, 8)}"
"""The parser's version: its code's, and a hash of its word lists."""

_WORDS: Final = RULES.front
_START: Final = re.compile(r"[{｛](?!\s*[{｛])|\[(?=\s*[{｛])")
_FENCE: Final = re.compile(r"\s*```\w*\s*|\s*```\s*")
_FINAL: Final = compile_any(_WORDS["final"])
_EXAMPLE: Final = compile_any(_WORDS["examples"])
_ESCAPED: Final = re.compile(r'(?:[{\[,]|\A|\n)\s*(?:\\[nrt]\s*)*\\+"')
_ESCAPE: Final = re.compile(r'\\(["\\/nrt])')
_ESCAPES: Final = {"n": "\n", "r": "\n", "t": "\t"}
_ENTITY: Final = re.compile(r"&(?:quot|apos|#0*3[49]|#x0*2[27]|l(?:brace|cub));", re.I)
_LEVELS: Final = 3  # of encoding
_TRIES: Final = 100  # brackets that begin no answers, before a reply is given up


@dataclass(frozen=True, slots=True)
class Survey:
    """What a reply answers."""

    answers: dict[str, int | None]
    """Every item asked, in the order asked; None where there is no answer."""
    status: Status
    """Ok or repaired if there is any answer at all."""
    repairs: tuple[str, ...] = ()
    """What was undone to read the answers, by name."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each item without an answer has none."""


class _Set(NamedTuple):
    """One answer set of a reply, and where its text begins and ends."""

    points: dict[str, Point]
    repairs: tuple[str, ...]
    start: int
    end: int
    others: bool = False
    """Whether they are somebody else's, or not given here."""


_WORD: Final = re.compile(r"\w")


def parse_survey(
    text: str,
    items: Sequence[str],
    low: int,
    high: int,
    words: Mapping[str, str] = MappingProxyType({}),
) -> Survey:
    """The answers that a reply gives to a survey.

    Args:
        text: The raw reply, thinking included.
        items: The ids of the items, in the order asked.
        low: The scale's lowest point.
        high: Its highest.
        words: Point to the word that answers it, as an instrument declares them; any
            other answer in words is missing.

    Raises:
        OffrecordError: If the scale has not two points.
    """
    if low >= high:
        raise OffrecordError(f"a scale from {low} to {high} has not two points")
    reply = said_and_thought(text)
    said = reply.visible
    if not fold(said).strip():
        status = Status.TRUNCATED if reply.unclosed else Status.EMPTY
        return _nothing(items, status, "no reply")
    if len(said) > LONGEST:
        return _nothing(items, Status.UNCLEAR, "too long")
    keys = item_keys(tuple(items))
    named = {normalise(word): int(point) for point, word in words.items()}

    def points(answers: Answers) -> dict[str, Point]:
        return {
            item: _one([read_point(value, low, high, named) for value in values])
            for item, values in answers.values.items()
        }

    sets: list[_Set] = []
    undone: tuple[str, ...] = ()
    for said, undone in _decoded(reply.visible):
        for read in _reads(said, keys):
            around = (*undone, *_around(said, read))
            for found in answer_sets(read.node, keys):
                repairs = (*around, *found.repairs)
                others = found.others or are_others(said, read.start, read.end)
                one = _Set(points(found), repairs, read.start, read.end, others)
                sets.append(one)
        if sets:
            break
    if not sets and (lines := line_answers(said, keys, low, high)):
        sets = [_Set(points(lines), (*undone, *lines.repairs), 0, len(said))]
    if not sets:
        return _nothing(items, why_nothing(plain_copy(said)), "no answers")
    chosen = _choose(said, sets)
    if chosen is None:
        return _nothing(items, Status.UNCLEAR, "rival answers")
    reason = _why_not(said, chosen, low)
    return _nothing(items, Status.UNCLEAR, reason) if reason else _survey(items, chosen)


def _decoded(said: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A reply as it is, and with each way of writing an object as text undone."""
    undone: tuple[str, ...] = ()
    yield said, undone
    for _ in range(_LEVELS):
        if _ESCAPED.search(said):
            said = _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), said).strip()
            said = said[1:-1] if said[:1] == said[-1:] == '"' else said
            undone = (*undone, "encoded twice")
        elif _ENTITY.search(said):
            said, undone = unescape(said), (*undone, "entities")
        else:
            return
        yield said, undone


def _reads(said: str, keys: Keys) -> Iterator[Read]:
    """The objects and arrays of a reply that name an item."""
    place = tries = 0
    while tries < _TRIES and (start := _START.search(said, place)):
        read = read_json(said, start.start())
        if any(answer_sets(read.node, keys)):
            yield read
            place = read.end
        else:
            tries += 1
            place = read.end if read.strict else start.end()


def _around(said: str, read: Read) -> list[str]:
    """The repairs that an object's dialect and surroundings took."""
    repairs = [] if read.strict else ["dialect"]
    before, after = fold(said[: read.start]).strip(), fold(said[read.end :]).strip()
    if _FENCE.fullmatch(before) and _FENCE.fullmatch(after or "```"):
        return [*repairs, "fence"]
    return [*repairs, "prose"] if before or after else repairs


def _one(points: Sequence[Point]) -> Point:
    """The one point that repeated keys agree on."""
    first = points[0]
    if any(point.value != first.value for point in points):
        return Point(None, "conflict")
    repeated = len(points) > 1 and first.value is not None
    return first._replace(repair="duplicate") if repeated else first


def _choose(said: str, sets: Sequence[_Set]) -> _Set | None:
    """The set that counts: all of them where they agree, else the one words name."""
    stated = [
        one for one in sets if any(p.value is not None for p in one.points.values())
    ]
    if len(stated) < 2:
        return stated[0] if stated else sets[-1]
    if merged := _merge(said, stated):
        return merged
    last, before = stated[-1], stated[-2]
    if _FINAL.search(said, before.end, max(before.end, last.start)):
        return last._replace(repairs=(*last.repairs, "revised"))
    ends = [0, *(one.end for one in stated)]
    own = [
        one
        for one, end in zip(stated, ends, strict=False)
        if one is last or not _EXAMPLE.search(said, end, max(end, one.start))
    ]
    merged = _merge(said, own)
    return merged and merged._replace(repairs=(*merged.repairs, "example left out"))


def _why_not(said: str, chosen: _Set, low: int) -> str:
    """Why the chosen set does not count; empty if it does."""
    if chosen.others:
        return "not own answers"
    around = f"{said[: chosen.start]} {said[chosen.end :]}"
    return "reversed scale" if is_reversed(around, low) else ""


def _merge(said: str, sets: Sequence[_Set]) -> _Set | None:
    """The sets as one, if they are parts of one answer or repeat each other.

    Sets that share no item are parts where nothing but blanks stands between them, or
    where one object holds both, as by category. Sets that share items are one where
    they repeat each other; in one object they may be two people's.
    """
    points: dict[str, Point] = {}
    for place, one in enumerate(sets):
        end = sets[max(0, place - 1)].end
        for other in sets[:place]:
            if not _belong(said, other, one, end):
                return None
        for item, point in one.points.items():
            if point.value is not None or item not in points:
                points[item] = point
    repairs = tuple(repair for one in sets for repair in one.repairs)
    others = all(one.others for one in sets)
    return _Set(points, repairs, sets[0].start, sets[-1].end, others)


def _belong(said: str, first: _Set, second: _Set, end: int) -> bool:
    """Whether two sets are one; `end` is that of the set right before the second."""
    one, two = (
        {i: p.value for i, p in s.points.items() if p.value is not None}
        for s in (first, second)
    )
    shared = one.keys() & two.keys()
    if any(one[item] != two[item] for item in shared):
        return False
    nested = first.start == second.start
    if shared:
        return (
            one == two
            if nested
            else one.keys() <= two.keys() or two.keys() <= one.keys()
        )
    return nested or not _WORD.search(said, end, max(end, second.start))


def _survey(items: Sequence[str], chosen: _Set) -> Survey:
    points = {item: chosen.points.get(item, Point(None, "absent")) for item in items}
    named = [*chosen.repairs, *(point.repair for point in points.values())]
    answers = {item: point.value for item, point in points.items()}
    reasons = {i: p.reason for i, p in points.items() if p.value is None}
    repairs = tuple(dict.fromkeys(filter(None, named)))
    if len(reasons) == len(points):
        cut = "cut" in reasons.values()
        status = Status.TRUNCATED if cut else Status.UNCLEAR
        return Survey(answers, status, (), reasons)
    return Survey(answers, Status.REPAIRED if repairs else Status.OK, repairs, reasons)


def _nothing(items: Sequence[str], status: Status, reason: str) -> Survey:
    return Survey(dict.fromkeys(items), status, (), dict.fromkeys(items, reason))
