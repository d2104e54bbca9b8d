"""Tests that ask what another arrangement of the same data would have shown.

A statistic is a sum of independent pieces: under the null each run could have had the
other sign, each turn its draws dealt otherwise between the channels. Where the sums
that can come about are few they are all counted, and the test is exact; else
arrangements are drawn, and the observed one counts as one of them. Both hold at any
sample size and whatever the correlation of turns within a run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values

DRAWS: Final = 9999
"""Arrangements drawn where they are too many to count."""

_SUMS: Final = 1_000_000  # additions at once while the pieces are put together
_COUNTED: Final = 2_000  # pieces at most whose sums are counted
_DIGITS: Final = 9  # sums that agree to these are one value
_TIE: Final = 1e-6


class Piece(NamedTuple):
    """One independent summand of a statistic under the null."""

    draw: Callable[[np.random.Generator, int], Values]
    """Gives that many values of it."""
    values: Values | None
    """Every value that it can take, or None where they are too many."""
    chances: Values | None
    """The probability of each."""


class PValue(NamedTuple):
    """The outcome of a test."""

    p: float
    """How often an arrangement is at least as far out; NaN where there is no test."""
    exact: bool
    """Whether all arrangements were counted; else the observed one counts as one."""
    drawn: int
    """Arrangements drawn; 0 where all were counted."""
    reason: str
    """Why there is no test; empty where there is one."""


def no_test(reason: str) -> PValue:
    """The outcome where nothing can be tested."""
    return PValue(math.nan, exact=False, drawn=0, reason=reason)


def p_value(
    observed: float,
    pieces: Sequence[Piece],
    rng: np.random.Generator,
    *,
    draws: int = DRAWS,
    two_sided: bool = True,
) -> PValue:
    """How often the pieces add up to something at least as far out as what was seen.

    Args:
        observed: The statistic, one of the sums that the pieces can make.
        pieces: Its summands under the null.
        rng: Draws arrangements where they are too many to count.
        draws: How many it draws; p is then (b + 1) / (draws + 1).
        two_sided: Whether far below zero counts as far out too.
    """
    whole = _all_sums(pieces)
    if whole is None:
        sums, chances = drawn_sums(pieces, rng, draws), None
    else:
        sums, chances = whole
    if two_sided:
        observed, sums = abs(observed), np.abs(sums)
    beyond = sums >= observed - _TIE
    if chances is None:
        p = (int(beyond.sum()) + 1) / (draws + 1)
        return PValue(p, exact=False, drawn=draws, reason="")
    p = min(1.0, float(chances[beyond].sum()))
    return PValue(p, exact=True, drawn=0, reason="")


def drawn_sums(pieces: Sequence[Piece], rng: np.random.Generator, draws: int) -> Values:
    """Statistics of random arrangements, shape (draws,)."""
    sums = np.zeros(draws)
    if len(pieces) <= _COUNTED:
        for piece in pieces:
            sums += piece.draw(rng, draws)
        return sums
    for piece, times in _alike(pieces):
        if piece.values is None or piece.chances is None:
            for _ in range(times):
                sums += piece.draw(rng, draws)
        else:
            chances = piece.chances / piece.chances.sum()
            sums += rng.multinomial(times, chances, size=draws) @ piece.values
    return sums


def _alike(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, int]]:
    """Each piece with how often it stands there: very many are of few kinds."""
    times = Counter(map(id, pieces))
    for piece in {id(piece): piece for piece in pieces}.values():
        yield piece, times[id(piece)]


def sign_flip_test(
    differences: Values, clusters: Ids, rng: np.random.Generator, draws: int = DRAWS
) -> PValue:
    """Test that paired differences are zero on average: each cluster's sign flipped.

    Only for what is paired by itself: two channels of one run, or two answers to one
    history. Turns of a run keep their signs together. Of a single turn it is exact.
    Over several it takes run sums as symmetric about zero, which holds nearly, since
    what was said in public shapes the turns that follow.

    Args:
        differences: Shape (turns,), NaN if missing.
        clusters: The run, or the history's run, of each.
        rng: Draws signs where they are too many to count.
        draws: How many arrangements it draws.
    """
    known = ~np.isnan(differences)
    if not known.any():
        return no_test("no turn has both sides")
    _, members = np.unique(clusters[known], return_inverse=True)
    sums = np.sort(np.bincount(members, weights=differences[known]))
    sizes, kinds = np.unique(np.abs(sums[sums != 0]), return_inverse=True)
    either = [_either_sign(float(size)) for size in sizes]
    pieces = [either[kind] for kind in kinds]
    return p_value(float(sums.sum()), pieces, rng, draws=draws)


def _either_sign(size: float) -> Piece:
    return listed_piece(np.array([-size, size]))


def listed_piece(values: Values, chances: Values | None = None) -> Piece:
    """A piece whose values are all known.

    Args:
        values: What it can be, equal ones among them.
        chances: The probability of each; all the same by default.
    """
    if chances is None:
        chances = np.full(values.size, 1 / values.size)
    kept, merged = _merge(values, chances)

    def draw(rng: np.random.Generator, draws: int) -> Values:
        return rng.choice(kept, size=draws, p=merged / merged.sum())

    return Piece(draw, kept, merged)


def _all_sums(pieces: Sequence[Piece]) -> tuple[Values, Values] | None:
    """Every sum that the pieces can make and its probability, unless too many."""
    if len(pieces) > _COUNTED:
        return None
    sums, weights = np.zeros(1), np.ones(1)
    for piece in pieces:
        if piece.values is None or piece.chances is None:
            return None
        if sums.size * piece.values.size > _SUMS:
            return None
        sums, weights = _merge(
            np.add.outer(sums, piece.values).ravel(),
            np.multiply.outer(weights, piece.chances).ravel(),
        )
    return sums, weights


def _merge(values: Values, chances: Values) -> tuple[Values, Values]:
    kept, members = np.unique(values.round(_DIGITS), return_inverse=True)
    return kept, np.asarray(np.bincount(members, weights=chances), dtype=np.float64)
