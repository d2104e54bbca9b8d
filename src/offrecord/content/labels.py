"""Labels: finding a decision label where it may stand.

A label matches whole, longest first, on the plain copy of a text. What is damaged is
repaired only where one label alone can have become what stands there, and the repair is
named. Patterns are compiled once for each set of labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from offrecord.content.damage import damages
from offrecord.content.document import data_folder, read_document
from offrecord.content.letters import (
    LETTER_RULES,
    fold,
    fold_with_origin,
    mark_ranges,
)
from offrecord.records import OffrecordError, digest

_WORDS: Final = read_document(data_folder("parsing") / "labels.yaml")
LABEL_RULES: Final = digest([_WORDS.hash, LETTER_RULES], 8)
"""A hash of the word lists, part of every parser's version."""

_BULLET: Final = re.compile(r"^([ ]*)[*+•·](?=[ ])", re.MULTILINE)
_MARKED: Final = re.compile(r"[*+•·_`\\$]")
_LATEX: Final = re.compile(
    rf"\\(?:(?:{'|'.join(_WORDS.front['latex'])})\b[ ]*\{{?|[()\[\] ,;:!*_`])|\$+(?!\d)"
)
_EMPHASIS: Final = str.maketrans("*_`", "   ")
OPENING: Final = rf"(?:[\s#\"'\[({{<{_WORDS.front['signs']}]|-\s|\d+[.)]\s)*"
"""A pattern for what may stand before a label that heads a text or a line."""
_OPENING: Final = re.compile(OPENING)
_EDGES: Final = " \n#>~\"'()[]{}<>.,:;!|=—-"
_ZONE: Final = re.compile(r"[^\n.:;,!?()\[\]{}<>—|\"]*?(?=\s+-+\s|[\n.:;,!(—|]|\s*\Z)")
_SEPARATORS: Final = re.compile(
    r"[\s\"'\])}>*_`~]*(?:[.:,;!]|—+|-+(?=\s|[A-Z]))?[\s*_`~\"']*"
)
NEGATIONS: Final = frozenset(_WORDS.front["negations"])
"""Words that carry a label's meaning alone, case folded."""
_CONTRACTIONS: Final[dict[str, list[str]]] = _WORDS.front["contractions"]
_QUALIFIERS: Final = "|".join(
    word.replace(" ", r"\s+") for word in _WORDS.front["qualifiers"]
)
_AFTER: Final = re.compile(
    rf"""(?P<asked>[\s"'\])}}>]*\?)
    |(?P<parted>[ ]*[\])}}>]|[ "']*(?:\Z|[\n:—|]|\.(?!\.|\w)|\s-(?!>)|-+(?=\s|[A-Z])))
    |(?P<paused>[ "']*(?:[,;(\[{{]|!))
    |(?P<qualified>\s+(?i:{_QUALIFIERS})\b)
    |(?P<fused>(?:[A-Z][a-z]|[AI]\s))""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A label that stands at a place of a plain copy."""

    label: str
    start: int
    end: int
    capitals: bool
    """Whether no letter of it is a small one, so that it is no word of a sentence."""
    after: str
    """What follows: asked, parted, paused, qualified, fused, or running on."""
    repairs: tuple[str, ...]

    @property
    def heads(self) -> bool:
        """Whether, standing first, it is the reply's label and not its first words."""
        if self.after == "parted":
            return True
        return self.capitals and self.after in {"paused", "qualified", "fused"}


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The compiled labels of one question."""

    labels: tuple[str, ...]
    whole: re.Pattern[str]
    """Every label as it is, longest first, in groups named by their index."""
    near: re.Pattern[str]
    """Shortened, contracted, fused and split forms of each."""
    longest: int

    def at(self, copy: str, place: int) -> Found | None:
        """The label that begins at a place, if one does, whole or repaired.

        Args:
            copy: A plain copy, as `plain_copy` makes it.
            place: An index into it.
        """
        match = self.whole.match(copy, place)
        repairs: tuple[str, ...] = ()
        if match is None and (match := self.near.match(copy, place)):
            repairs = (_REPAIRS[str(match.lastgroup)[0]],)
        if match is None:
            return self._damaged(copy, place)
        label = self.labels[int(str(match.lastgroup)[1:])]
        after = _AFTER.match(copy, match.end())
        kind = str(after.lastgroup) if after else "running"
        capitals = all(char == char.title() for char in match.group())
        if kind == "fused":
            repairs = (*repairs, "fused")
        return Found(label, place, match.end(), capitals, kind, repairs)

    def is_label(self, copy: str) -> bool:
        """Whether a piece of a plain copy is nothing but one label."""
        return bool(self.whole.fullmatch(copy.strip(_EDGES)))

    def head(self, copy: str, place: int = 0) -> Found | None:
        """The label that heads a plain copy from a place on, if one does."""
        opening = _OPENING.match(copy, place)
        found = self.at(copy, opening.end() if opening else place)
        return found if found is not None and found.heads else None

    def _damaged(self, copy: str, place: int) -> Found | None:
        zone = _ZONE.match(copy, place, place + self.longest + 8)
        if zone is None or not zone.group().strip().isupper():
            return None
        head = zone.group().strip()
        after = _AFTER.match(copy, place + len(head))
        rest = copy[place + len(head) :].strip()
        at_end, dashed = not rest, rest.startswith(("—", "-"))
        possible = {
            label: kind
            for label in self.labels
            if (
                kind := damages(
                    head, fold(label), at_end=at_end, dashed=dashed, negations=NEGATIONS
                )
            )
        }
        if after is None or len(possible) != 1:
            return None
        [(label, kind)] = possible.items()
        if kind == "doubtful":
            return None
        kind_after = str(after.lastgroup)
        return Found(label, place, place + len(head), True, kind_after, (kind,))


_REPAIRS: Final = {
    "a": "short negation",
    "b": "contraction",
    "c": "spacing",
    "d": "stray",
}


def plain_copy(text: str) -> str:
    """The copy that labels are matched in: folded, emphasis and LaTeX as spaces."""
    return _without_emphasis(fold(text))


def plain_copy_with_origin(text: str) -> tuple[str, list[int]]:
    """The plain copy, and where in the text each of its characters came from.

    Args:
        text: A text as `composed` makes it.

    Returns:
        The copy, and indices into `text`, with one more for the end.
    """
    copy, origin = fold_with_origin(text)
    return _without_emphasis(copy), origin


def past_separators(copy: str, place: int) -> int:
    """Where, behind a label that ends at a place of a plain copy, the rest begins."""
    gap = _SEPARATORS.match(copy, place)
    return gap.end() if gap else place


def _without_emphasis(copy: str) -> str:
    if not _MARKED.search(copy):
        return copy
    copy = _LATEX.sub(lambda mark: " " * len(mark.group()), copy)
    return _BULLET.sub(r"\1-", copy).translate(_EMPHASIS)


def normalise(text: str) -> str:
    """A text for comparing: folded, bare of decoration, case folded, on one line."""
    return " ".join(plain_copy(text).strip(_EDGES).casefold().split())


@lru_cache(maxsize=256)
def label_set(labels: tuple[str, ...]) -> LabelSet:
    """Compile the labels of one question.

    Raises:
        OffrecordError: If a label has no letters, or two are the same when folded.
    """
    words = [fold(label).split() for label in labels]
    seen = {" ".join(parts).casefold() for parts in words}
    if len(seen) != len(labels) or not all(any(c.isalnum() for c in s) for s in seen):
        raise OffrecordError(
            f"labels {list(labels)}: each needs letters of its own; rename one"
        )
    order = sorted(range(len(labels)), key=lambda i: -len(" ".join(words[i])))
    return LabelSet(
        labels=labels,
        whole=_alternatives([(f"w{i}", _gapped(words[i])) for i in order]),
        near=_alternatives([form for i in order for form in _near(i, words[i])]),
        longest=max((len(label) for label in labels), default=0),
    )


def _near(index: int, words: list[str]) -> list[tuple[str, str]]:
    """The forms near to a label: kind and index, and pattern."""
    forms = [
        (f"a{index}", _gapped(words[place:]))
        for place in range(1, len(words))
        if words[place].casefold() in NEGATIONS
    ][:1]
    phrase = " ".join(words).casefold()
    short = [
        other + phrase.removeprefix(full)
        for full, others in _CONTRACTIONS.items()
        if phrase.startswith(f"{full} ")
        for other in others
    ]
    if short:
        forms.append((f"b{index}", "|".join(_gapped(form.split()) for form in short)))
    forms.append((f"c{index}", _gapped(words, "*")))
    strays = [
        _gapped([*words[:w], f"{word[:c]}\0{word[c:]}", *words[w + 1 :]], "*")
        for w, word in enumerate(words)
        for c in range(1, len(word))
    ]
    if strays:
        stray = rf"[^\w\n{mark_ranges()}]"
        pattern = "|".join(strays).replace(re.escape("\0"), stray)
        forms.append((f"d{index}", pattern))
    return forms


def _gapped(words: Sequence[str], count: str = "+") -> str:
    return rf"[\s-]{count}".join(re.escape(word) for word in words)


def _alternatives(forms: Sequence[tuple[str, str]]) -> re.Pattern[str]:
    """One pattern of named forms, each a run of whole words in any case."""
    choice = "|".join(f"(?P<{name}>{pattern})" for name, pattern in forms) or "(?!)"
    end = rf"(?![\w'{mark_ranges()}]|-(?-i:[a-z0-9]))|(?-i:(?=[A-Z][a-z]|[AI]\s))"
    return re.compile(rf"(?:{choice})(?:{end})", re.IGNORECASE)
