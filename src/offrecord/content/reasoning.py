"""Reasoning: parts what a model thinks in its reply from what it says.

One function for the history, the parsers and the logs, so that all of them agree on
what was said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from offrecord.content.document import data_folder, read_document


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A reply in its two parts."""

    visible: str
    """What is said: the reply itself where it holds no thinking."""
    reasoning: str
    """The thinking without its tags, blocks parted by blank lines."""
    unclosed: bool
    """Whether a block was still open at the end, so that the reply was cut in it."""


_DOCUMENT: Final = read_document(data_folder("parsing") / "reasoning.yaml")
REASONING_RULES: Final = _DOCUMENT.hash
"""The hash of the list of marks, part of every parser's version."""


def _compile() -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    """All marks as one pattern, and the closing mark of each pair.

    A fence's end stands in no pattern of marks: it ends a fence and begins no thought.
    """
    front = _DOCUMENT.front
    pairs = [
        (rf"<\s*{re.escape(tag)}(?:\s[^<>]*)?(?<!/)>", rf"<\s*/\s*{re.escape(tag)}\s*>")
        for tag in front["tags"]
    ] + [(pair["open"], pair["close"]) for pair in front["pairs"]]
    marks = "|".join(
        f"(?P<open{index}>{opening})|(?P<close{index}>{closing})"
        for index, (opening, closing) in enumerate(pairs)
    )
    named = "|".join(front["fences"])
    fence = rf"(?:^|(?<=\n))[ \t]*(?:```+|~~~+)[ \t]*(?:{named})[ \t]*(?=\n|\Z)"
    marks += f"|(?P<open{len(pairs)}>{fence})"
    pairs.append((fence, r"\n[ \t]*(?:```+|~~~+)[ \t]*(?=\n|\Z)"))
    closings = tuple(re.compile(closing, re.IGNORECASE) for _, closing in pairs)
    return re.compile(marks, re.IGNORECASE), closings


_MARKS, _CLOSINGS = _compile()
_MAYBE: Final = re.compile(r"[<\[◁]|```|~~~|assistant|\A\s*analysis", re.IGNORECASE)


def split_reasoning(text: str) -> Reasoned:
    """Part a reply into what is said and what is only thought.

    Takes off every block of a known pair of tags, wherever it stands. Before a closing
    tag without an opening one everything is thought, since its opening tag was in the
    prompt; after an opening tag that is never closed everything is.

    Args:
        text: The raw reply.
    """
    if not _MAYBE.search(text):
        return Reasoned(text, "", False)
    said: list[str] = []
    thought: list[str] = []
    place, unclosed = 0, False
    while mark := _MARKS.search(text, place):
        name = str(mark.lastgroup)
        if name.startswith("close"):
            thought += [*said, text[place : mark.start()]]
            said, place = [], mark.end()
            continue
        said.append(text[place : mark.start()])
        closing = _CLOSINGS[int(name.removeprefix("open"))].search(text, mark.end())
        if closing is None:
            thought.append(text[mark.end() :])
            place, unclosed = len(text), True
            break
        thought.append(text[mark.end() : closing.start()])
        place = closing.end()
    said.append(text[place:])
    blocks = [block.strip() for block in thought if block.strip()]
    if len(said) == 1 and not thought:
        return Reasoned(said[0], "", unclosed)
    return Reasoned(
        " ".join(part for part in said if part.strip()) or "",
        "\n\n".join(blocks),
        unclosed,
    )
