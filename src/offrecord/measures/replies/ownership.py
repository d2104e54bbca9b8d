"""Ownership: whether what words lead to is the speaker's own present statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final

from offrecord.measures.wordlists import any_case, any_listed, language_lists

_BOUNDARY: Final = re.compile(r"[.!?;][\s\"')\]]|\n")


class Ownership:
    """The words of one language by which a statement is the speaker's own, or not."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        """Compile the lists of `rules/stance.yaml`, of one language."""
        listed = partial(any_listed, words)

        def few(most: int, least: int = 0, of: str = r"[\w']") -> str:
            if not words["spaced"]:
                return rf"{of}{{0,{6 * most}}}?"
            return rf"(?:{of}+\s+){{{least},{most}}}?"

        blank = r"\s+" if words["spaced"] else r"\s*"
        beside = rf"(?:{listed('plain', 'final', 'channels')}{blank})*$"
        self._no_owner = any_case(rf"{listed('no_owners')}$")
        self._final = any_case(
            rf"{listed('final')}{blank}(?:{listed('plain')}{blank})*$"
        )
        self._owner = any_case(rf"\b({words['owner']}){blank}{beside}")
        self._others = any_case(rf"{listed('others', 'earlier')}{blank}{beside}")
        self._denied = any_case(rf"{listed('denials')}{blank}{few(2)}$")
        self._listed = any_case(rf"(?:{listed('listed')}|[/|])\s*$")
        self._report = any_case(listed("reports"))
        self._self = any_case(
            rf"{listed('selves')}{blank}{few(1)}$|{listed('owned')}{blank}$"
        )
        self._concession = any_case(listed("concessions"))
        self._idle = any_case(
            rf"{listed('idle')}(?=\s*(?:[,;:—)]|\Z))|{listed('idle_always')}"
        )
        self._elsewhere = any_case(listed("elsewhere"))
        self._predicted = any_case(rf"{listed('predictions')}{blank}{few(4)}\W*$")
        self._condition = any_case(listed("conditions"))
        names = few(3, 0 if words["verb_first"] else 1, r"[\w'.]")
        said = rf"\s*(?!{listed('own_reports')}){names}{listed('reports')}"
        self._reported_after = any_case(rf"[\"']*,[\"']*{said}")
        self._said = any_case(rf"\s*,?{said}")

    def is_own(self, before: str, *, cue: bool = True) -> bool:
        """Whether the speaker states, here and now, what follows.

        Args:
            before: What stands before it in its sentence.
            cue: Whether a cue follows directly, which words before it may give to
                others.
        """
        if not before or before.isspace():
            return True
        if cue and self._owned_by_other(before):
            return False
        reported = any(
            not self._self.search(before[: report.start()])
            for report in self._report.finditer(before)
        )
        if reported and not self._concession.search(before):
            return False
        if self.is_elsewhere(before) or self._predicted.search(before):
            return False
        return not self._condition.search(self._idle.sub(" ", before))

    def _owned_by_other(self, before: str) -> bool:
        owner = self._owner.search(before)
        if owner and not self._no_owner.search(owner.group(1)):
            return True
        return any(
            rule.search(before) for rule in (self._others, self._denied, self._listed)
        )

    def is_elsewhere(self, words: str) -> bool:
        """Whether words name an audience that is not this one ("in the meeting")."""
        return bool(self._elsewhere.search(words))

    def is_final(self, before: str) -> bool:
        """Whether the words before a cue say that it replaces an earlier one."""
        return bool(self._final.search(before))

    def is_denied(self, before: str) -> bool:
        """Whether the last words deny what follows them."""
        return bool(self._denied.search(before))

    def is_reported_after(self, copy: str, place: int) -> bool:
        """Whether what follows a label says that somebody else said it."""
        return bool(self._reported_after.match(copy, place))

    def is_said_by_other(self, copy: str, place: int) -> bool:
        """Whether what follows a quotation says that somebody else said it."""
        return bool(self._said.match(copy, place))


@cache
def ownership(language: str) -> Ownership:
    """Ownership by the words of a language, as a scenario names it."""
    return Ownership(language_lists("stance", language))


def sentence_before(copy: str, place: int) -> str:
    """What stands before a place in its sentence.

    Where that is nothing and the line before ends in a colon, it is that line.
    """
    lead = copy[:place].rstrip(" #-")
    if lead.endswith("\n") and lead.rstrip().endswith(":"):
        lead = lead.rstrip()
        return lead[lead.rfind("\n") + 1 :]
    start = 0
    for boundary in _BOUNDARY.finditer(copy, max(0, place - 400), place):
        start = boundary.end()
    return copy[start:place]
