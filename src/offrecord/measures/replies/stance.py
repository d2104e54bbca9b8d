"""The stance that a reply states: one of two labels, or none with a reason.

Rules in order, each by name. A statement is a label that heads the reply, follows a
decision cue, or has a line of its own; anything else is a mention. Quotations, reports
of others and thinking state nothing. Of the speaker's own conflicting statements the
last one counts where words say that it replaces the others; else the reply is unclear.
The words are data: `rules/stance.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from offrecord.content.labels import LABEL_RULES, Found, LabelSet, label_set, plain_copy
from offrecord.content.letters import fold, is_invisible
from offrecord.content.reasoning import REASONING_RULES
from offrecord.content.reply import LONGEST, said_and_thought
from offrecord.content.turns import TURN_RULES
from offrecord.measures.replies.openers import opened
from offrecord.measures.replies.own_words import own_words
from offrecord.measures.replies.ownership import (
    is_denied,
    is_elsewhere,
    is_final,
    is_own,
    is_reported_after,
    is_taken_back,
    sentence_before,
)
from offrecord.measures.wordlists import (
    NOTHING,
    any_of,
    why_nothing,
    word_lists,
)
from offrecord.records import Status, digest

_RULES: Final = word_lists("stance")
_WORDS: Final = _RULES.front
_HASHES: Final = [LABEL_RULES, _RULES.hash, NOTHING.hash, REASONING_RULES, TURN_RULES]
STANCE_VERSION: Final = f"4+{digest(_HASHES, 8)}"
"""The parser's version: its code's, and a hash of its word lists."""

# These three are searched for in the whole copy: in lower case, which is far quicker
# than taking any case.
_CUE: Final = re.compile(rf"(?<![\w-])(?:{any_of(_WORDS['cues'])})(?![\w-])")
_JOIN: Final = re.compile(
    rf"""(?:\s+(?:on|for|about|regarding|as|at|in|after|here|now|today)\b
          [^.:;!?\n"\ufffc—]{{0,60}}?)?
    [\s\])]*(?:\([^)\n]{{0,40}}\)\s*)?
    (?:(?P<sign>:|=(?!=)|[→⇒]|[-=]+>|—|-(?=\s))|(?P<word>(?:{any_of(_WORDS["joins"])}):?|\n))
    [\s\#"'\[({{<✅✔☑:]*(?:-\s+)?""",
    re.VERBOSE | re.IGNORECASE,
)
_VERB: Final = re.compile(
    rf"\b(?:i|we)\s+(?:(?:{any_of(_WORDS['manner'])})\s+)*"
    rf"(?:{any_of(_WORDS['verbs'])})\s*:?[\s\"'\[(]*"
)
_LINE: Final = re.compile(r"^[\s#\"'\[({<]*(?:(?:-|\d+[.)])\s+)?", re.MULTILINE)
_BETWEEN: Final = re.compile(
    rf"[\s\"'\])}}>]*(?:{any_of(_WORDS['between'])})[\s\"'\[({{<]*"
    rf"(?:(?:{any_of(_WORDS['cues'])})\s*:\s*)?",
    re.IGNORECASE,
)
_REVISION: Final = re.compile(any_of([*_WORDS["revisions"], *_WORDS["withdrawals"]]))
_CORRECTION: Final = re.compile(
    rf"(?<![\w-])(?:{any_of([*_WORDS['revisions'], *_WORDS['corrections']])})"
    r"[\s,:;.—\-\"'\[(]*"
)
_WITHDRAWAL: Final = re.compile(any_of(_WORDS["withdrawals"]))


@dataclass(frozen=True, slots=True)
class Stance:
    """What a reply states."""

    label: str | None
    """One of the labels as given; None unless the status is ok or repaired."""
    status: Status
    rule: str
    """The name of the rule that decided."""
    repairs: tuple[str, ...] = ()
    """What was mended in the label, by name; empty unless the status is repaired."""


@dataclass(frozen=True, slots=True)
class _Statement:
    found: Found
    rule: str
    final: bool = False


def parse_stance(text: str, labels: Sequence[str]) -> Stance:
    """The stance that a reply states.

    Args:
        text: The raw reply, thinking included. Nothing else is read: not the prompt,
            not the channel.
        labels: The decision labels. With none there is nothing to state.

    Raises:
        OffrecordError: If two labels are the same when folded.
    """
    reply = said_and_thought(text, labels)
    known = label_set(tuple(labels))
    if len(reply.visible) > LONGEST:
        return Stance(None, Status.UNCLEAR, "too long")
    copy = own_words(reply.visible, known.is_label)
    if not copy.strip():
        if reply.guessed:
            return Stance(None, Status.UNCLEAR, "not parted")
        if reply.unclosed:
            return Stance(None, Status.TRUNCATED, "reasoning only")
        blank = not fold(reply.visible).strip()
        return Stance(None, Status.EMPTY if blank else Status.UNCLEAR, "nothing said")
    statements = _statements(copy, known)
    if not statements:
        return Stance(None, why_nothing(copy), "no statement")
    return _decide(copy, statements, reply.visible, known)


def _statements(copy: str, known: LabelSet) -> list[_Statement]:
    """The speaker's own statements in order, of the strongest kinds there are."""
    head = _head(copy, known)
    behind = {"vote": _VERB, "correction": _CORRECTION}
    cued = [*_cued(copy, known)]
    for rule, words in behind.items():
        cued += _behind(words, rule, copy, known)
    if cued:
        plain = head is not None and head.found.capitals and head.rule == "head"
        stated = [head, *cued] if head and plain else cued
    else:
        stated = [*([head] if head else []), *_lines(copy, known)]
    apart: list[_Statement] = []
    for one in sorted(stated, key=lambda one: one.found.start):
        if not apart or one.found.start >= apart[-1].found.end:
            apart.append(one)
    return apart


def _head(copy: str, known: LabelSet) -> _Statement | None:
    found = known.head(copy)
    opening = opened(copy, known) if found is None else None
    found = opening.found if opening else found
    if found is None or not _stands(copy, found, known):
        return None
    if opening:
        return _Statement(found, "opener")
    listed = copy[: found.start].strip().endswith(("-", ".", ")"))
    return _Statement(found, "list head" if listed else "head")


def _cued(copy: str, known: LabelSet) -> Iterator[_Statement]:
    for cue in _CUE.finditer(copy.lower()):
        join = _JOIN.match(copy, cue.end())
        found = known.at(copy, join.end()) if join else None
        if join is None or found is None or not _stands(copy, found, known):
            continue
        before = sentence_before(copy, cue.start())
        signed = join["word"] is None and found.after == "paused"
        if not (found.heads or signed) or not is_own(before):
            continue
        if is_elsewhere(copy[cue.end() : found.start]):
            continue
        final = is_final(before) or cue.group() == "final"
        yield _Statement(found, "cue", final)


def _behind(
    words: re.Pattern[str], rule: str, copy: str, known: LabelSet
) -> Iterator[_Statement]:
    """Labels in capitals right behind words: a vote, or what takes back another."""
    for match in words.finditer(copy.lower()):
        found = known.at(copy, match.end())
        if found is None or not (found.capitals and found.heads):
            continue
        before = sentence_before(copy, match.start())
        if _stands(copy, found, known) and is_own(before, cue=False):
            yield _Statement(found, rule, final=rule == "correction")


def _lines(copy: str, known: LabelSet) -> Iterator[_Statement]:
    for line in _LINE.finditer(copy):
        found = known.at(copy, line.end())
        if found is None or not (found.capitals and found.after == "parted"):
            continue
        before = sentence_before(copy, line.start())
        if _stands(copy, found, known) and is_own(before):
            yield _Statement(found, "line")


def _stands(copy: str, found: Found, known: LabelSet) -> bool:
    """Whether a label is none of a list to choose from, nor another's, nor denied."""
    between = _BETWEEN.match(copy, found.end)
    listed = between is not None and known.whole.match(copy, between.end())
    if listed or is_reported_after(copy, found.end):
        return False
    return not is_taken_back(copy, found, known)


def _decide(
    copy: str, stated: Sequence[_Statement], said: str, known: LabelSet
) -> Stance:
    last = stated[-1]
    label = last.found.label
    conflicts = [i for i, one in enumerate(stated) if one.found.label != label]
    deciding = stated[conflicts[-1] + 1 :] if conflicts else stated
    revised = conflicts and (
        any(one.final for one in deciding)
        or _says(
            _REVISION, copy, stated[conflicts[-1]].found.end, deciding[0].found.start
        )
    )
    if conflicts and not revised:
        return Stance(None, Status.UNCLEAR, "conflict")
    if _says(_WITHDRAWAL, copy, last.found.end, len(copy)):
        return Stance(None, Status.UNCLEAR, "withdrawn")
    rule = "revision" if revised else last.rule
    best = min((_repairs(copy, one.found, said, known) for one in deciding), key=len)
    return Stance(label, Status.REPAIRED if best else Status.OK, rule, best)


def _says(phrases: re.Pattern[str], copy: str, start: int, end: int) -> bool:
    return any(
        not is_denied(copy[start : phrase.start()])
        for phrase in phrases.finditer(copy.lower(), start, end)
    )


def _repairs(copy: str, found: Found, said: str, known: LabelSet) -> tuple[str, ...]:
    """The repairs of a label, with the invisible characters that stood inside it."""
    if found.repairs or copy[found.start : found.end] in said:
        return found.repairs
    shown = "".join("·" if is_invisible(char) else char for char in said)
    with_mark, without = (
        [match.lastgroup for match in known.whole.finditer(plain_copy(one))]
        for one in (shown, said)
    )
    return ("invisible",) if with_mark != without else ()
