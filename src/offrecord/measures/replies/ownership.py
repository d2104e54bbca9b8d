"""Ownership: whether a label after a cue is the speaker's own present statement."""

from __future__ import annotations

import re
from typing import Final

from offrecord.content.labels import NEGATIONS, Found, LabelSet, past_separators
from offrecord.measures.wordlists import any_of, word_lists

_WORDS: Final = word_lists("stance").front


def _any(*lists: str) -> str:
    """A pattern for any of the words of some lists."""
    return f"(?:{any_of(word for name in lists for word in _WORDS[name])})"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_MODIFIERS: Final = rf"(?:{_any('plain', 'final', 'channels')}\s+)*$"
_FINAL: Final = _compile(rf"{_any('final')}\s+(?:{_any('plain')}\s+)*$")
_POSSESSIVE: Final = _compile(rf"\b([\w.]+(?:'s|s'))\s+{_MODIFIERS}")
_OTHERS: Final = _compile(rf"{_any('others', 'earlier')}\s+{_MODIFIERS}")
_DENIED: Final = _compile(rf"{_any('denials')}\s+(?:[\w']+\s+){{0,2}}$")
_LISTED: Final = _compile(r"(?:\b(?:or|nor|versus|vs\.?|either)|[/|])\s*$")
_REPORT: Final = _compile(_any("reports"))
_SELF: Final = _compile(rf"{_any('selves')}\s+(?:[\w']+\s+)?$|{_any('owned')}\s+$")
_CONCESSION: Final = _compile(_any("concessions"))
_IDLE: Final = _compile(rf"{_any('idle')}(?=\s*(?:[,;:—)]|\Z))|{_any('idle_always')}")
_ELSEWHERE: Final = _compile(_any("elsewhere"))
_PREDICTED: Final = _compile(rf"{_any('predictions')}\s+(?:[\w']+\s+){{0,4}}\W*$")
_ELSEWHERE_AFTER: Final = _compile(_any("elsewhere_after"))
_REJECTED: Final = _compile(
    rf"(?:(?:but|though|yet|just|only|and|so)\s+)?{_any('rejections')}"
)
_DENIAL: Final = _compile(
    rf"\s*[\"'(\[]*{_any('bare_denials')}[\"')\]]*\s*"
    r"(?:(?P<bare>[.!)\n]|\Z)|[,;:—]|-\s)"
)
_CONTRAST: Final = _compile(_any("contrasts"))
_REFUSING: Final = _compile(
    rf"{_any('declining')}|.*\b(?:{'|'.join(sorted(NEGATIONS))})\b"
)
_CONDITION: Final = _compile(_any("conditions"))
_REPORTED_AFTER: Final = _compile(
    rf"[\"']*,[\"']*\s*(?!as\b|i\b|we\b)(?:[\w'.]+\s+){{1,3}}?{_any('reports')}"
)
_SENTENCE_END: Final = re.compile(r"[.!?;]+(?=[\s\"')\]]|\Z)|\n|\Z")
_DASH: Final = re.compile(r"\s[-–—]+\s|—")
_BOUNDARY: Final = re.compile(r"[.!?;][\s\"')\]]|\n")


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


def is_own(before: str, *, cue: bool = True) -> bool:
    """Whether the speaker states, here and now, what follows.

    Args:
        before: What stands before it in its sentence.
        cue: Whether a cue follows directly, which words before it may give to others.
    """
    if not before or before.isspace():
        return True
    if cue and _owned_by_other(before):
        return False
    reported = any(
        not _SELF.search(before[: report.start()])
        for report in _REPORT.finditer(before)
    )
    if reported and not _CONCESSION.search(before):
        return False
    if is_elsewhere(before) or _PREDICTED.search(before):
        return False
    return not _CONDITION.search(_IDLE.sub(" ", before))


def _owned_by_other(before: str) -> bool:
    owner = _POSSESSIVE.search(before)
    if owner and owner.group(1).casefold() not in _WORDS["no_owners"]:
        return True
    return any(rule.search(before) for rule in (_OTHERS, _DENIED, _LISTED))


def is_elsewhere(words: str) -> bool:
    """Whether words name an audience that is not this one ("in the meeting")."""
    return bool(_ELSEWHERE.search(words))


def is_final(before: str) -> bool:
    """Whether the words before a cue say that it replaces what was stated earlier."""
    return bool(_FINAL.search(before))


def is_denied(before: str) -> bool:
    """Whether the last words deny what follows them."""
    return bool(_DENIED.search(before))


def is_reported_after(copy: str, place: int) -> bool:
    """Whether what follows a label says that somebody else said it."""
    return bool(_REPORTED_AFTER.match(copy, place))


def is_taken_back(copy: str, found: Found, known: LabelSet) -> bool:
    """Whether what follows a label in its own sentence takes it back.

    The label is asked about, denied, kept for another audience, or runs on to another
    label.

    Args:
        copy: The speaker's own words.
        found: The label.
        known: All the labels.
    """
    reasons = past_separators(copy, found.end)
    if _ELSEWHERE_AFTER.match(copy, reasons):
        return True
    parted = found.after in {"parted", "fused"}
    end = _SENTENCE_END.search(copy, reasons if parted else found.end)
    if end is None:  # pragma: no cover - a text has an end
        return False
    answer = _DENIAL.match(copy, end.end())
    if "?" in end.group() and (answer or not parted):
        return True
    if not parted and _runs_on_to_another(copy, found, known, end.start()):
        return True
    if _REFUSING.match(found.label):
        return False
    rejected = _REJECTED.match(copy, reasons)
    if rejected and not _CONTRAST.search(copy, rejected.end(), end.start()):
        return True
    return bool(_DENIAL.match(copy, reasons) or (answer and answer["bare"] is not None))


def _runs_on_to_another(copy: str, found: Found, known: LabelSet, end: int) -> bool:
    # Behind a dash come reasons, which may well weigh the other label.
    dash = _DASH.search(copy, found.end, end)
    for other in known.whole.finditer(copy, found.end, dash.start() if dash else end):
        label = known.labels[int(str(other.lastgroup)[1:])]
        inside = label.casefold() in found.label.casefold()
        if label != found.label and (other.group().isupper() or not inside):
            return True
    return False
