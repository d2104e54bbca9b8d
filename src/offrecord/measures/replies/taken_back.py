"""Taken back: whether what follows a label leaves it the speaker's own statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final

from offrecord.content.labels import NEGATIONS, Found, LabelSet, past_separators
from offrecord.measures.replies.own_words import GONE
from offrecord.measures.wordlists import any_case, any_listed, language_lists

_NUMBER: Final = r"[<>~+-]?\d+(?:[.,]\d+)?\s*(?:%|/\s*\d+|percent|points?|votes?)?"
_IS_KEY: Final = re.compile(r"[\s\"']*:")
_CLAUSE_END: Final = r"\s*(?:[.,;:!?—)\n]|\Z)"
_SENTENCE_END: Final = re.compile(r"[.!?;]+(?=[\s\"')\]]|\Z)|\n|\Z")
_DASH: Final = re.compile(r"\s[-–—]+\s|—")
_INSTEAD: Final = re.compile(r"\binstead\b(?!\s+of\b)", re.IGNORECASE)
_NEAR: Final = 240  # characters in which a condition is said to be unmet


class TakenBack:
    """The words of one language by which what follows a label takes it back."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        """Compile the lists of `rules/stance.yaml`, of one language."""
        listed = partial(any_listed, words)
        blank = r"\s+" if words["spaced"] else r"\s*"
        lead = rf"(?:{listed('leads')}{blank})?"
        that_is = r"(?:that|this|it)(?:\s+is|'s)\s+(?:(?:just|only|merely)\s+)?"
        ends = rf"{listed('pronouns')}(?={_CLAUSE_END}|\s+{listed('tails')})"
        self._elsewhere = any_case(
            rf"{listed('elsewhere_after')}"
            rf"|{that_is}what\s+(?:(?:the|my|our|your)\s+(?:\w+\s+)?)?{listed('meant_for')}"
            rf"|{that_is}(?:my|the|our)\s+(?:public\s+\w+|(?:\w+\s+)?{listed('roles')})"
            rf"|as\s+(?:[\w']+\s+){{1,3}}would\s+{listed('puts')}"
        )
        self._aside = any_case(rf"[\s\"']*\(\s*{listed('set_against')}\s*\)")
        self._set_against = any_case(listed("set_against"))
        self._past = any_case(
            rf"{lead}(?:{listed('unsaid')}"
            rf"|(?:i|we)\s+(?:{listed('used_to')}\s+{listed('avowed', 'backed')}"
            rf"|{listed('refused')}\s+{listed('avowed')})\s+{ends})"
        )
        self._unbacked = any_case(
            rf"{lead}(?:i|we)\s+{listed('refused')}\s+(?:\w+\s+)?{listed('backed')}"
            rf"\s+{ends}"
        )
        self._rejected = any_case(rf"{lead}{listed('rejections')}")
        self._later = any_case(rf"{lead}{listed('later')}")
        self._unmet = any_case(rf"(?:[^\w\s'\"]|{listed('turns')})\s*{listed('unmet')}")
        self._denial = any_case(
            rf"\s*[\"'(\[]*{listed('bare_denials')}[\"')\]]*\s*"
            r"(?:(?P<bare>[.!)\n]|\Z)|[,;:—]|-\s)"
        )
        self._contrast = any_case(listed("contrasts"))
        self._refusing = any_case(
            rf"{listed('declining')}|.*\b(?:{'|'.join(sorted(NEGATIONS))})\b"
        )
        self._value = any_case(
            rf"[ \"']*(?P<sign>[:=—]|-+(?=\s))[ \"'(\[]*"
            rf"(?:(?P<affirmed>{listed('affirmed')}|{GONE})"
            rf"|{listed('denied_values')}|{_NUMBER})[ \"')\]]*"
            r"(?:[}|\n]|\Z|\.[ ]*(?:\n|\Z)|[,;/](?=(?P<more>[ \"'\n{]*)))"
        )

    def has_value(self, copy: str, found: Found, known: LabelSet) -> bool:
        """Whether a label is a key, or has a value of its own, as votes or a tick."""
        if copy[: found.start].rstrip(" \n\"'").endswith("{"):
            return bool(_IS_KEY.match(copy, found.end))
        value = self._value.match(copy, found.end)
        if value is None or (value["affirmed"] and value["sign"] not in {":", "="}):
            return False
        return value["more"] is None or known.at(copy, value.end("more")) is not None

    def is_taken_back(self, copy: str, found: Found, known: LabelSet) -> bool:
        """Whether what follows a label in its own sentence takes it back.

        The label is asked about, denied, kept for another audience or time, or runs
        on to another label.

        Args:
            copy: The speaker's own words.
            found: The label.
            known: All the labels.
        """
        reasons = past_separators(copy, found.end)
        if self._elsewhere.match(copy, reasons) or self._past.match(copy, reasons):
            return True
        aside = self._aside.match(copy, found.end)
        if aside and self._set_against.search(copy, aside.end()):
            return True
        parted = found.after in {"parted", "fused"}
        end = _SENTENCE_END.search(copy, reasons if parted else found.end)
        if end is None:  # pragma: no cover - a text has an end
            return False
        answer = self._denial.match(copy, end.end())
        if "?" in end.group() and (answer or not parted):
            return True
        if not parted and _runs_on_to_another(copy, found, known, end.start()):
            return True
        if self._refusing.match(found.label):
            return False
        return self._is_refused(copy, reasons, end.start()) or bool(
            self._denial.match(copy, reasons) or (answer and answer["bare"] is not None)
        )

    def _is_refused(self, copy: str, reasons: int, end: int) -> bool:
        """Whether the reasons of a label that is no refusal refuse it."""
        rejected = self._rejected.match(copy, reasons)
        if rejected and not self._contrast.search(copy, rejected.end(), end):
            return True
        later = self._later.match(copy, reasons)
        if later and self._unmet.search(copy, later.end(), later.end() + _NEAR):
            return True
        return bool(self._unbacked.match(copy, reasons))


@cache
def taken_back(language: str) -> TakenBack:
    """`TakenBack` by the words of a language, as a scenario names it."""
    return TakenBack(language_lists("stance", language))


def _runs_on_to_another(copy: str, found: Found, known: LabelSet, end: int) -> bool:
    # Behind a dash come reasons, which may well weigh the other label.
    dash = _DASH.search(copy, found.end, end)
    end = dash.start() if dash else end
    if found.after == "qualified" and _INSTEAD.search(copy, found.end, end):
        return True
    for other in known.whole.finditer(copy, found.end, end):
        label = known.labels[int(str(other.lastgroup)[1:])]
        inside = label.casefold() in found.label.casefold()
        if label != found.label and (other.group().isupper() or not inside):
            return True
    return False
