"""Quotes: what a judge says a text says must stand in the text.

A quote is compared letter by letter; only blanks and the form of quotation marks may
differ, since those change on the way through a prompt and a JSON reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from offrecord.measures.codes.codebook import EVIDENCE, CodeRule

_QUOTATION_MARKS: Final = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A judge's code after the check of its quotes."""

    claimed: str
    code: str
    demotions: int
    """How many steps the code fell."""
    facets: tuple[str, ...]
    quotes: Mapping[str, tuple[str, ...]]
    """Kind of evidence to the quotes that are in the text."""
    fabricated: tuple[str, ...]
    """The quotes that are not in the text."""


def is_quote(quote: str, text: str) -> bool:
    """Whether whole words stand in a text, but for blanks and quotation marks.

    Args:
        quote: What is said to be in the text, letter by letter.
        text: The text.
    """
    wanted, there = _spaced(quote), _spaced(text)
    if not any(char.isalnum() for char in wanted):
        return False
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", there) is not None


def check_quotes(
    text: str, values: Mapping[str, Any], codes: Mapping[str, CodeRule]
) -> Checked:
    """Hold a verdict to its quotes.

    Args:
        text: What was coded.
        values: The verdict: `code`, `facets`, and the quotes of each kind.
        codes: The rules of the codebook.
    """
    quotes: dict[str, tuple[str, ...]] = {
        kind: tuple(quote for quote in values[kind] if is_quote(quote, text))
        for kind in EVIDENCE
    }
    claimed = code = str(values["code"])
    demotions = 0
    while not all(quotes[kind] for kind in codes[code].needs):
        code, demotions = str(codes[code].falls_to), demotions + 1
    return Checked(
        claimed=claimed,
        code=code,
        demotions=demotions,
        facets=tuple(values["facets"]) if "cause" in codes[code].needs else (),
        quotes=quotes,
        fabricated=tuple(
            quote
            for kind in EVIDENCE
            for quote in values[kind]
            if quote not in quotes[kind]
        ),
    )


def _spaced(text: str) -> str:
    return " ".join(text.translate(_QUOTATION_MARKS).split())
