"""Comparison: what of two texts a model for natural language inference reads.

Texts of up to two sentences are compared whole. Above that each sentence of the
conclusion is compared with each of the premise: its entailment and its contradiction
are the highest that any of them gives, its neutrality the lowest, and the text has the
mean over its sentences (so the three need not sum to one there). A pair that exceeds
the model's window is compared in sentences, too, and a sentence that exceeds half of it
in parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from offrecord.measures.texts.nli import NLI_FILE, NliModel, read_pairs
from offrecord.measures.texts.nli_network import Pair

Method = Literal["auto", "whole"]
"""`auto` as the module says; `whole` never looks at sentences unless it must."""

_WHOLE: Final = 2  # sentences that are still compared whole
_ABBREVIATIONS: Final = frozenset(NLI_FILE.front["abbreviations"])
_END: Final = re.compile(r"[.!?…]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\Wa-z_])|\n+|[。！？]+")
_LAST_WORD: Final = re.compile(r"([^\W\d_](?:[\w.]*\w)?)\.\s+$")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one pair of texts is compared."""

    left: list[str]
    """The text whole, or its sentences or parts of them."""
    right: list[str]
    method: str
    """`whole` or `sentences`: what is done."""
    sentences: tuple[int, int]
    """How many each text has."""
    tokens: int
    """Of the whole pair, special ones included."""


class Pooled(NamedTuple):
    """What a model says of one direction of a pair."""

    probabilities: npt.NDArray[np.float64]
    """Shape (3,), in the order of `CLASSES`."""
    truncated: bool
    """Whether anything was dropped."""


def comparisons(
    model: NliModel, pairs: Sequence[Pair], method: Method
) -> list[Comparison]:
    """How each pair of texts is compared.

    Args:
        model: Who reads: its window counts.
        pairs: Two texts each, neither empty.
        method: See `Method`.
    """
    found = []
    for pair, tokens in zip(pairs, model.tokens(pairs), strict=True):
        left, right = map(split_sentences, pair)
        count = (len(left), len(right))
        short = method == "whole" or max(count) <= _WHOLE
        if short and tokens <= model.window:
            whole = Comparison([pair[0]], [pair[1]], "whole", count, int(tokens))
            found.append(whole)
            continue
        parts = [[p for s in side for p in _parts(model, s)] for side in (left, right)]
        found.append(Comparison(parts[0], parts[1], "sentences", count, int(tokens)))
    return found


def pooled(
    model: NliModel, sides: Sequence[tuple[list[str], list[str]]], cache: Path
) -> list[Pooled]:
    """Read each premise against each conclusion, and pool their parts.

    Args:
        model: Who reads.
        sides: The parts of a premise and those of a conclusion.
        cache: A folder for what the model says.
    """
    questions = [
        (premise, conclusion)
        for premises, conclusions in sides
        for premise in premises
        for conclusion in conclusions
    ]
    read = read_pairs(model, questions, cache)
    found, start = [], 0
    for premises, conclusions in sides:
        end = start + len(premises) * len(conclusions)
        grid = read.probabilities[start:end].reshape(len(premises), -1, 3)
        cut = bool((read.tokens[start:end] > model.window).any())
        found.append(Pooled(_pool(grid), cut))
        start = end
    return found


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order; none is lost and none is empty.

    A full stop ends one only before a capital, a digit or a letter without case, and
    not after a known abbreviation or a single letter. A line end always does.
    """
    found, start = [], 0
    for end in _END.finditer(text):
        before = text[start : end.end()]
        word = _LAST_WORD.search(before)
        if word and (
            word.group(1).casefold() in _ABBREVIATIONS
            or (len(word.group(1)) == 1 and word.group(1) != "I")
        ):
            continue
        found.append(before.strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def _parts(model: NliModel, text: str) -> list[str]:
    """A text in parts of which any two fit into the window, unless a word does not."""
    words = text.split()
    if len(words) < 2 or model.tokens([(text, text)])[0] <= model.window:
        return [text]
    half = len(words) // 2
    first, second = " ".join(words[:half]), " ".join(words[half:])
    return _parts(model, first) + _parts(model, second)


def _pool(grid: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Shape (premise, conclusion, 3) to (3,): see the module."""
    entailment, neutral, contradiction = np.moveaxis(grid, 2, 0)
    best = entailment.max(axis=0), neutral.min(axis=0), contradiction.max(axis=0)
    return np.array([each.mean() for each in best])
