"""The codebook of attribution: codes, what each must quote, and the judge's prompt.

One content file holds all of it, so that the definitions a reader sees, the ones that
the judge is shown and the quotes that its verdict is checked by cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from offrecord.content import data_folder, fill, read_document
from offrecord.measures.codes.verdicts import Answer, JudgePrompt
from offrecord.records import OffrecordError

Evidence = Literal["acknowledgement", "cause", "link"]

EVIDENCE: Final[tuple[Evidence, ...]] = get_args(Evidence)
"""The kinds of quotes that a verdict gives."""

_QUOTES: Final = 5  # of each kind; texts have a few sentences


class CodeRule(BaseModel):
    """One code of the codebook."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str
    """What a text of this code says."""
    example: str
    needs: tuple[Evidence, ...]
    """The kinds of quotes without which it does not stand."""
    falls_to: str | None = None
    """What is left without them; None only where nothing is needed."""


class _Front(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

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
    front = document.validate(_Front)
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
