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
from functools import cache
from typing import Final, NamedTuple

from offrecord.content.labels import (
    LABEL_RULES,
    Found,
    LabelSet,
    label_set,
    past_separators,
    plain_copy,
)
from offrecord.content.letters import fold, is_invisible
from offrecord.content.reasoning import REASONING_RULES
from offrecord.content.reply import LONGEST, said_and_thought
from offrecord.content.turns import TURN_RULES
from offrecord.measures.replies.openers import (
    is_set_against,
    past_openers,
    without_openers,
)
from offrecord.measures.replies.own_words import own_words
from offrecord.measures.replies.ownership import (
    Ownership,
    ownership,
    sentence_before,
)
from offrecord.measures.replies.taken_back import TakenBack, taken_back
from offrecord.measures.wordlists import (
    NOTHING,
    any_of,
    language_hashes,
    language_lists,
    why_nothing,
)
from offrecord.records import ENGLISH, Status, digest

_HASHES: Final = [
    LABEL_RULES,
    *language_hashes("stance"),
    NOTHING.hash,
    REASONING_RULES,
    TURN_RULES,
]
STANCE_VERSION: Final = f"7+{digest(_HASHES, 8)}"
"""The parser's version: its code's, and a hash of its word lists."""

_LINE: Final = re.compile(r"^[\s#\"'\[({<]*(?:(?:-|\d+[.)])\s+)?", re.MULTILINE)
_WHOLE: Final = (r"(?<![\w-])", r"(?![\w-])")


class _Words(NamedTuple):
    """The patterns of one language, all for the lower-case copy but two."""

    cue: re.Pattern[str]
    join: re.Pattern[str]  # of the copy as it is
    vote: re.Pattern[str]
    between: re.Pattern[str]  # of the copy as it is
    revision: re.Pattern[str]
    correction: re.Pattern[str]
    withdrawal: re.Pattern[str]
    finals: frozenset[str]
    ownership: Ownership
    taken_back: TakenBack


@cache
def _words(language: str) -> _Words:
    # What is searched for in the whole copy is so in lower case, which is far quicker
    # than taking any case.
    lists = language_lists("stance", language)
    join = rf"""(?:\s+(?:{any_of(lists["topics"])})[^.:;!?\n"\ufffc—]{{0,60}}?)?
        [\s\])]*(?:\([^)\n]{{0,40}}\)\s*)?
        (?:(?P<sign>:|=(?!=)|[→⇒]|[-=]+>|—|-(?=\s))
        |(?P<word>(?:{any_of(lists["joins"])}):?|\n))
        [\s\#"'\[({{<✅✔☑:]*(?:-\s+)?"""
    vote = (
        rf"(?:(?:{any_of(lists['speakers'])})\s*(?:(?:{any_of(lists['manner'])})\s*)*"
        rf"(?:{any_of(lists['verbs'])})|{any_of(lists['inverted'])})"
        rf"\s*(?:(?:{any_of(lists['toward'])})\s*)*:?[\s\"'\[(]*"
    )
    between = (
        rf"[\s\"'\])}}>]*(?:{any_of(lists['between'])})[\s\"'\[({{<]*"
        rf"(?:(?:{any_of(lists['cues'])})\s*:\s*)?"
    )
    correcting = any_of([*lists["revisions"], *lists["corrections"]], *_WHOLE)
    return _Words(
        cue=re.compile(any_of(lists["cues"], *_WHOLE)),
        join=re.compile(join, re.VERBOSE | re.IGNORECASE),
        vote=re.compile(vote),
        between=re.compile(between, re.IGNORECASE),
        revision=re.compile(any_of([*lists["revisions"], *lists["withdrawals"]])),
        correction=re.compile(rf"(?:{correcting})[\s,:;.—\-\"'\[(]*"),
        withdrawal=re.compile(any_of(lists["withdrawals"])),
        finals=frozenset(lists["final"]),
        ownership=ownership(language),
        taken_back=taken_back(language),
    )


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


def parse_stance(text: str, labels: Sequence[str], language: str = ENGLISH) -> Stance:
    """The stance that a reply states.

    Args:
        text: The raw reply, thinking included. Nothing else is read: not the prompt,
            not the channel.
        labels: The decision labels. With none there is nothing to state.
        language: In which it was asked for, such as `de` or `zh-Hant`. The words of
            English count in every language.

    Raises:
        OffrecordError: If two labels are the same when folded.
    """
    reply = said_and_thought(text, labels)
    known = label_set(tuple(labels))
    if len(reply.visible) > LONGEST:
        return Stance(None, Status.UNCLEAR, "too long")
    behind = without_openers(reply.visible, known, language)
    copy = own_words(behind, known.is_label, language)
    place = past_openers(copy, known, language).place
    copy, opened = copy[place:], bool(place) or behind != reply.visible
    if not copy.strip():
        if reply.guessed:
            return Stance(None, Status.UNCLEAR, "not parted")
        if reply.unclosed:
            return Stance(None, Status.TRUNCATED, "reasoning only")
        blank = not fold(reply.visible).strip()
        return Stance(None, Status.EMPTY if blank else Status.UNCLEAR, "nothing said")
    said = _Said(copy, copy.lower(), known, _words(language))
    statements = said.statements()
    if not statements:
        return Stance(None, why_nothing(copy), "no statement")
    end = statements[-1].found.end
    if reply.rival or (opened and is_set_against(copy, end, language)):
        return Stance(None, Status.UNCLEAR, "another channel")
    return said.decide(statements, reply.visible)


@dataclass(frozen=True, slots=True)
class _Said:
    """The speaker's own words, as `own_words` gives them, and what they state."""

    copy: str
    lower: str
    known: LabelSet
    words: _Words

    def statements(self) -> list[_Statement]:
        """The speaker's own statements in order, of the strongest kinds there are."""
        head = self._head()
        cued = [
            *self._cued(),
            *self._behind(self.words.vote, "vote"),
            *self._behind(self.words.correction, "correction"),
        ]
        if cued:
            plain = head is not None and head.found.capitals and head.rule == "head"
            stated = [head, *cued] if head and plain else cued
        else:
            stated = [*([head] if head else []), *self._lines()]
        apart: list[_Statement] = []
        for one in sorted(stated, key=lambda one: one.found.start):
            if not apart or one.found.start >= apart[-1].found.end:
                apart.append(one)
        return apart

    def _head(self) -> _Statement | None:
        found = self.known.head(self.copy)
        if found is None or not self._stands(found):
            return None
        listed = self.copy[: found.start].strip().endswith(("-", ".", ")"))
        return _Statement(found, "list head" if listed else "head")

    def _cued(self) -> Iterator[_Statement]:
        copy, owner = self.copy, self.words.ownership
        for cue in self.words.cue.finditer(self.lower):
            join = self.words.join.match(copy, cue.end())
            found = self.known.at(copy, join.end()) if join else None
            if join is None or found is None or not self._stands(found):
                continue
            before = sentence_before(copy, cue.start())
            signed = join["word"] is None and found.after == "paused"
            if not (found.heads or signed) or not owner.is_own(before):
                continue
            if owner.is_elsewhere(copy[cue.end() : found.start]):
                continue
            final = owner.is_final(before) or cue.group() in self.words.finals
            yield _Statement(found, "cue", final)

    def _behind(self, words: re.Pattern[str], rule: str) -> Iterator[_Statement]:
        """Labels in capitals right behind words: a vote, or what takes back another."""
        for match in words.finditer(self.lower):
            found = self.known.at(self.copy, match.end())
            if found is None or not (found.capitals and found.heads):
                continue
            before = sentence_before(self.copy, match.start())
            own = self.words.ownership.is_own(before, cue=False)
            if own and self._stands(found):
                yield _Statement(found, rule, final=rule == "correction")

    def _lines(self) -> Iterator[_Statement]:
        for line in _LINE.finditer(self.copy):
            found = self.known.at(self.copy, line.end())
            if found is None or not (found.capitals and found.after == "parted"):
                continue
            before = sentence_before(self.copy, line.start())
            if self._stands(found) and self.words.ownership.is_own(before):
                yield _Statement(found, "line")

    def _stands(self, found: Found) -> bool:
        """Whether a label is none of a list, nor another's, nor denied."""
        between = self.words.between.match(
            self.copy, past_separators(self.copy, found.end)
        )
        listed = between and self.known.whole.match(self.copy, between.end())
        if listed or self.words.ownership.is_reported_after(self.copy, found.end):
            return False
        after = self.words.taken_back
        return not (
            after.has_value(self.copy, found, self.known)
            or after.is_taken_back(self.copy, found, self.known)
        )

    def decide(self, stated: Sequence[_Statement], said: str) -> Stance:
        """The stance of a reply that states something.

        Args:
            stated: Its statements in order.
            said: The reply without reasoning, as it came.
        """
        words, last = self.words, stated[-1]
        label = last.found.label
        conflicts = [i for i, one in enumerate(stated) if one.found.label != label]
        deciding = stated[conflicts[-1] + 1 :] if conflicts else stated
        revised = conflicts and (
            any(one.final for one in deciding)
            or self._says(
                words.revision,
                stated[conflicts[-1]].found.end,
                deciding[0].found.start,
            )
        )
        if conflicts and not revised:
            return Stance(None, Status.UNCLEAR, "conflict")
        if self._says(words.withdrawal, last.found.end, len(self.copy)):
            return Stance(None, Status.UNCLEAR, "withdrawn")
        rule = "revision" if revised else last.rule
        best = min((self._repairs(one.found, said) for one in deciding), key=len)
        return Stance(label, Status.REPAIRED if best else Status.OK, rule, best)

    def _says(self, phrases: re.Pattern[str], start: int, end: int) -> bool:
        return any(
            not self.words.ownership.is_denied(self.copy[start : phrase.start()])
            for phrase in phrases.finditer(self.lower, start, end)
        )

    def _repairs(self, found: Found, said: str) -> tuple[str, ...]:
        """The repairs of a label, with the invisible characters inside it."""
        if found.repairs or self.copy[found.start : found.end] in said:
            return found.repairs
        shown = "".join("·" if is_invisible(char) else char for char in said)
        with_mark, without = (
            [match.lastgroup for match in self.known.whole.finditer(plain_copy(one))]
            for one in (shown, said)
        )
        return ("invisible",) if with_mark != without else ()
