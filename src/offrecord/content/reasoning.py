"""Reasoning: parts what a model thinks in its reply from what it says.

One function for the history, the parsers and the logs, so that all of them agree on
what was said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

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
    guessed: bool = False
    """Whether it holds thinking that no mark parts, so that a label had to."""
    rival: bool = False
    """Whether what it sets apart for other ears states, or may state, another label."""


_DOCUMENT: Final = read_document(data_folder("parsing") / "reasoning.yaml")
REASONING_RULES: Final = _DOCUMENT.hash
"""The hash of the list of marks, part of every parser's version."""


NAMES: Final = "(?:{})".format(
    "|".join(
        re.escape(tag).replace("_", "[ _-]")
        for tag in sorted(_DOCUMENT.front["tags"], reverse=True)
    )
)
"""A pattern for any name of thinking."""


_PART: Final = rf"(?!end)(?:[a-z]+[ _-]){{0,3}}?{NAMES}(?:[ _-][a-z]+){{0,3}}"


class _Pair(NamedTuple):
    open: str
    close: str
    must_close: bool = False
    """Whether an opening mark that is never closed is no mark."""


def _compile() -> tuple[re.Pattern[str], list[tuple[re.Pattern[str], bool]]]:
    """All marks as one pattern, and of each pair the closing one and whether it must.

    A fence's end stands in no pattern of marks: it ends a fence and begins no thought.
    """
    front = _DOCUMENT.front
    pairs = [
        _Pair(
            rf"<\s*{re.escape(tag)}(?:\s[^<>]*)?(?<!/)>",
            # not always the same name, nor the right slash
            rf"<\s*[/\\]\s*(?:{re.escape(tag)}|{NAMES})(?:_end)?\s*>",
        )
        for tag in front["tags"]
    ] + [_Pair(**pair) for pair in front["pairs"]]
    ends = [pair.close for pair in pairs]
    ends += [mark.replace("{part}", _PART) for mark in front["answers"]]
    named = "|".join(front["fences"])
    fence = rf"(?:^|(?<=\n))[ \t]*(?:```+|~~~+)[ \t]*(?:{named})[ \t]*(?=\n|\Z)"
    pairs.append(_Pair(fence, r"\n[ \t]*(?:```+|~~~+)[ \t]*(?=\n|\Z)"))
    for pair in front["closed"]:
        marks = [
            mark.replace("{part}", _PART) for mark in (pair["open"], pair["close"])
        ]
        opening, closing = (mark.replace("{name}", NAMES) for mark in marks)
        pairs.append(_Pair(opening, closing, must_close=True))
    openings = (f"(?P<open{place}>{pair.open})" for place, pair in enumerate(pairs))
    closings = (f"(?P<close{place}>{mark})" for place, mark in enumerate(ends))
    return re.compile("|".join([*openings, *closings]), re.IGNORECASE), [
        (re.compile(pair.close, re.IGNORECASE), pair.must_close) for pair in pairs
    ]


_MARKS, _PAIRS = _compile()
_MAYBE: Final = re.compile(
    r"[<\[◁{【(＜]|&lt;|```|~~~|assistant|\A\s*analysis", re.IGNORECASE
)


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
    begin = place = 0
    unclosed, never = False, set[int]()
    while mark := _MARKS.search(text, place):
        name = str(mark.lastgroup)
        if name.startswith("close"):
            thought += [*said, text[begin : mark.start()]]
            said, begin = [], mark.end()
            place = begin
            continue
        index = int(name.removeprefix("open"))
        close, must_close = _PAIRS[index]
        closing = None if index in never else close.search(text, mark.end())
        if closing is None and must_close:
            never.add(index)
            place = mark.end()
            continue
        said.append(text[begin : mark.start()])
        if closing is None:
            thought.append(text[mark.end() :])
            begin, unclosed = len(text), True
            break
        thought.append(text[mark.end() : closing.start()])
        begin = place = closing.end()
    said.append(text[begin:])
    blocks = [block.strip() for block in thought if block.strip()]
    if len(said) == 1 and not thought:
        return Reasoned(said[0], "", unclosed)
    return Reasoned(
        " ".join(part for part in said if part.strip()) or "",
        "\n\n".join(blocks),
        unclosed,
    )
