"""The codebook of attribution: codes, what each must quote, and the judge's prompt.

One content file holds all of it, so that the definitions a reader sees, the ones that
the judge is shown and the quotes that its verdict is checked by cannot drift apart. A
quote must stand in the text, letter by letter: only blanks and the form of quotation
marks may differ, since those change on the way through a prompt and a JSON reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from offrecord.content import data_folder, fill, read_document
from offrecord.content.document import Front
from offrecord.measures.codes.verdicts import Answer, JudgePrompt
from offrecord.records import OffrecordError

Evidence = Literal["acknowledgement", "cause", "link"]

EVIDENCE: Final[tuple[Evidence, ...]] = get_args(Evidence)
"""The kinds of quotes that a verdict gives."""

_QUOTES: Final = 5  # of each kind; texts have a few sentences
_QUOTATION_MARKS: Final = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")


class CodeRule(Front):
    """One code of the codebook."""

    says: str
    """What a text of this code says."""
    example: str
    needs: tuple[Evidence, ...]
    """The kinds of quotes without which it does not stand."""
    falls_to: str | None = None
    """What is left without them; None only where nothing is needed."""


class _Codes(Front):
    codes: Annotated[dict[str, CodeRule], Field(min_length=2)]
    facets: Annotated[dict[str, str], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Codebook:
    """Codes, facets and the question to a judge."""

    codes: Mapping[str, CodeRule]
    """From the weakest to the strongest."""
    facets: Mapping[str, str]
    """The kinds of causes."""
    prompt: JudgePrompt
    """What a judge is asked; its stamp is the codebook's."""


@cache
def read_codebook(name: str | Path = "attribution") -> Codebook:
    """Read a codebook.

    Args:
        name: One that ships with the package, or a path to a file.

    Raises:
        OffrecordError: If there is none, or a code falls to one that is not weaker.
    """
    path = name if isinstance(name, Path) else data_folder("codebook") / f"{name}.md"
    document = read_document(path)
    document.only_sections("system", "request")
    front = document.validate(_Codes)
    names = list(front.codes)
    for place, (code, rule) in enumerate(front.codes.items()):
        weaker = names[:place]
        if rule.falls_to not in weaker and (rule.needs or rule.falls_to):
            raise OffrecordError(
                f"{path}: field 'codes.{code}.falls_to': name a code that stands before"
            )
    codes = [
        f"- {code}: {rule.says} Example: {rule.example}"
        for code, rule in front.codes.items()
    ]
    facets = [f"- {facet}: {says}" for facet, says in front.facets.items()]
    return Codebook(
        codes=front.codes,
        facets=front.facets,
        prompt=JudgePrompt(
            stamp=document.stamp,
            system=fill(
                document.section("system"),
                {"codes": "\n".join(codes), "facets": "\n".join(facets)},
            ),
            request=document.section("request"),
            answer={
                "code": Answer(one_of=tuple(names)),
                "facets": Answer(any_of=tuple(front.facets)),
                **{kind: Answer(texts=_QUOTES) for kind in EVIDENCE},
            },
        ),
    )


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
) -> dict[str, Any]:
    """Hold a verdict to its quotes.

    Args:
        text: What was coded.
        values: The verdict: `code`, `facets`, and the quotes of each kind.
        codes: The rules of the codebook.

    Returns:
        `claimed`, the `code` that stands, `demotions` (how many steps it fell),
        `facets`, the quotes of each kind that are in the text, and the `fabricated`
        ones that are not.
    """
    quotes: dict[str, list[str]] = {
        kind: [quote for quote in values[kind] if is_quote(quote, text)]
        for kind in EVIDENCE
    }
    claimed = code = str(values["code"])
    demotions = 0
    while not all(quotes[kind] for kind in codes[code].needs):
        code, demotions = str(codes[code].falls_to), demotions + 1
    return {
        "claimed": claimed,
        "code": code,
        "demotions": demotions,
        "facets": list(values["facets"]) if "cause" in codes[code].needs else [],
        **quotes,
        "fabricated": [
            quote
            for kind in EVIDENCE
            for quote in values[kind]
            if quote not in quotes[kind]
        ],
    }


def _spaced(text: str) -> str:
    return " ".join(text.translate(_QUOTATION_MARKS).split())
