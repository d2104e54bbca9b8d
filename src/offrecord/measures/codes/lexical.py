"""The lexical baseline of attribution: codes by phrases, without any model.

It says `mention` where an incentive or a relation of the speaker is named,
`implicit_accommodation` where the text says that its public line is another, and
`explicit` where words within one statement make the first the reason for the second. It
never says `private_incentive`, which no word list can tell from a mention. It is a
baseline to hold a judge against and not a truth; its phrases are data, in
`lexicons/attribution.yaml`, and the words that matched stand beside every code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import polars as pl

from offrecord.measures.batches import lists_of
from offrecord.measures.codes.coded_texts import (
    CODED_KEY,
    code_quantities,
    coded_table,
)
from offrecord.measures.codes.phrases import (
    Phrases,
    Plain,
    lexicon_phrases,
    read_lexicon,
)
from offrecord.measures.declare import Table
from offrecord.records import Form

_LEXICON: Final = read_lexicon("attribution")
LEXICAL_VERSION: Final = f"lexical-1:{_LEXICON.stamp}"
"""The version of the baseline: its code's, and the stamp of its word list."""

_SPAN: Final = pl.Struct(
    {
        "part": pl.String,  # acknowledgement, link, or a cause facet
        "start": pl.Int32,  # in the coded text, in characters
        "end": pl.Int32,
        "words": pl.String,
    }
)

FACETS: Final = tuple(_LEXICON.front["causes"])
"""The facets of a cause, in the order of the word list."""

LEXICAL: Final = Table(
    "attribution-lexical",
    "text",
    {
        "code": pl.String,  # none, mention, implicit_accommodation, explicit; or null
        "facets": pl.List(pl.String),  # of the causes; of those linked, if explicit
        "spans": pl.List(_SPAN),
        "status": pl.String,
        "version": pl.String,
    },
    extra_key=("source",),
    quantities=code_quantities("attribution by words"),
    sides=True,
)
"""One row per coded text; a text that is missing has no code, and its status says why.
"""


class Match(NamedTuple):
    """Words of a text that a phrase matched."""

    part: str
    """`acknowledgement`, `link`, or the facet of a cause."""
    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What the baseline makes of one text."""

    code: str
    facets: tuple[str, ...]
    matches: tuple[Match, ...]


def read_attribution(text: str) -> Reading:
    """Code one text by the phrases of the word list.

    Args:
        text: What was said, without reasoning.
    """
    plain = Plain.of(text)
    copy = _without_idle(plain.copy)
    statements = [_Statement.at(copy, *place) for place in _statements(plain)]
    causes = [cause for one in statements for cause in one.causes]
    public = [match for one in statements for match in one.said]
    joined = [match for one in statements for match in one.joined()]
    if joined:
        code, counted = "explicit", [m for m in joined if m.part in FACETS]
    elif public:
        code, counted = "implicit_accommodation", []
    else:
        code, counted = ("mention", causes) if causes else ("none", [])
    found = {(m.part, m.start, m.end): m for m in (*public, *joined, *causes)}
    return Reading(
        code,
        tuple(facet for facet in FACETS if any(m.part == facet for m in counted)),
        tuple(
            _in_text(match, plain)
            for match in sorted(found.values(), key=lambda m: (m.start, m.end, m.part))
        ),
    )


def lexical_table(transcript: pl.DataFrame) -> pl.DataFrame:
    """Code every utterance, and its reasoning where that was recorded.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        Rows in `LEXICAL`.
    """
    return coded_table(transcript, [Form.UTTERANCE], _coded)


def _coded(texts: pl.DataFrame) -> pl.DataFrame:
    read = cache(read_attribution)
    readings = [None if text is None else read(text) for text in texts["coded"]]
    return texts.select(
        *CODED_KEY,
        pl.Series("code", [r.code if r else None for r in readings], pl.String),
        pl.Series(
            "facets",
            [list(r.facets) if r else None for r in readings],
            pl.List(pl.String),
        ),
        lists_of(
            "spans",
            [[match._asdict() for match in r.matches] if r else None for r in readings],
            _SPAN,
        ),
        "status",
        pl.lit(LEXICAL_VERSION).alias("version"),
    )


def _phrases(*path: str) -> Phrases:
    return lexicon_phrases("attribution", *path)


def _without_idle(copy: str) -> str:
    """The copy with blanks for words that look like something and are not."""
    for idle in list(_phrases("idle").find_all(copy)):
        blanks = " " * len(idle.group())
        copy = copy[: idle.start()] + blanks + copy[idle.end() :]
    return copy


def _statements(plain: Plain) -> list[tuple[int, int]]:
    """Where each statement stands: a sentence with those that go on about it."""
    places: list[tuple[int, int]] = []
    for start, end in plain.sentences():
        first = start + len(plain.copy[start:end]) - len(plain.copy[start:end].lstrip())
        if places and _phrases("follow").match(plain.copy, first, end):
            places[-1] = (places[-1][0], end)
        else:
            places.append((start, end))
    return places


@dataclass(frozen=True, slots=True)
class _Statement:
    """What matched in one statement."""

    copy: str
    start: int
    end: int
    said: list[Match]
    causes: list[Match]
    links: list[Match]

    @classmethod
    def at(cls, copy: str, start: int, end: int) -> _Statement:
        def find(part: str, *path: str) -> list[Match]:
            return [
                Match(part, *match.span(), match.group())
                for match in _phrases(*path).find(copy, start, end)
            ]

        return cls(
            copy=copy,
            start=start,
            end=end,
            said=[
                match
                for match in find("acknowledgement", "acknowledgements")
                if not _voided(copy, match)
            ],
            causes=[
                cause for facet in FACETS for cause in find(facet, "causes", facet)
            ],
            links=find("link", "links"),
        )

    def joined(self) -> Iterator[Match]:
        """The links that make a cause the reason for the public line, and causes."""
        for said in self.said:
            for cause in self.causes:
                link = (
                    self._reason_after(said, cause)
                    if cause.end > said.end
                    else self._reason_before(said, cause)
                )
                if link is not None:
                    yield from (link, cause)

    def _reason_after(self, said: Match, cause: Match) -> Match | None:
        """The link of "in public I ..., because of my ..."."""
        if cause.start >= self._clause_end(said):
            return None
        for link in self.links:
            if (
                said.start <= link.start < cause.start
                and not self._has(said.end, link.start, "breaks", "own")
                and not self._has(link.end, cause.start, "breaks")
            ):
                return link
        return None

    def _reason_before(self, said: Match, cause: Match) -> Match | None:
        """The link of "because of my ..., in public I ..."."""
        if self._has(cause.end, said.start, "breaks", "concessive"):
            return None
        drivers = _phrases("drivers").find(self.copy, cause.end, said.end)
        if driver := next(drivers, None):
            return Match("link", *driver.span(), driver.group())
        for link in reversed(self.links):
            if (
                link.start < cause.start
                and not self.copy[self.start : link.start].strip()
            ):
                return link
        return None

    def _clause_end(self, said: Match) -> int:
        """Where the clause of an acknowledgement ends, if it only concedes."""
        before = self.copy[self.start : said.start]
        opened = before[before.rfind(",") + 1 :]
        comma = self.copy.find(",", said.end, self.end)
        conceding = any(_phrases("concessive").find_all(opened))
        return comma if conceding and comma >= 0 else self.end

    def _has(self, start: int, end: int, *lists: str) -> bool:
        return any(
            True for name in lists for _ in _phrases(name).find(self.copy, start, end)
        )


def _voided(copy: str, said: Match) -> bool:
    """Whether the words beside an acknowledgement take it back."""
    place = said.end + len(copy[said.end :]) - len(copy[said.end :].lstrip())
    after = _phrases("voids").match(copy, place, len(copy))
    before = copy[max(0, said.start - 60) : said.start].rstrip()
    return after is not None or any(
        same.end() == len(before) for same in _phrases("same").find_all(before)
    )


def _in_text(match: Match, plain: Plain) -> Match:
    start, end = plain.place(match.start, match.end)
    return Match(match.part, start, end, plain.text[start:end])
