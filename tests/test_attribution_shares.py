"""Shares of attributed turns: counts by hand, and the spread of the difference."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from offrecord.estimates.frames.attribution import (
    EXPLICIT,
    MENTIONED,
    accommodating,
    attribution_table,
    consistent,
    counted,
    difference,
)
from offrecord.records import CELL

NAN = math.nan


def test_groups_are_of_turns_with_both_stances() -> None:
    public = np.array([1, 1, 0, 0, 1, NAN, NAN])
    other = np.array([0, 1, 1, 0, NAN, 0, NAN])
    assert accommodating(public, other).tolist() == [True] + [False] * 6
    assert (
        consistent(public, other).tolist() == [False, True, False, True] + [False] * 3
    )


def test_a_missing_code_is_in_no_denominator() -> None:
    group = np.array([True, True, True, False])
    of = counted(np.array([1, 0, NAN, 1]), group)
    assert (of.hits, of.turns, of.missing, of.share) == (1, 2, 1, 0.5)
    assert math.isnan(counted(np.array([NAN]), np.array([True])).share)


def test_the_difference_and_its_error_by_hand() -> None:
    # One cell, runs 1 and 2, each with two accommodating and two consistent turns.
    # Accommodating 1 1 | 1 0: mean 3/4; consistent 0 0 | 1 0: mean 1/4; difference 1/2.
    # Per run: sum of (x - 3/4) / 4 minus sum of (x - 1/4) / 4:
    # run 1: (1/2) / 4 - (-1/2) / 4 = 1/4; run 2: -1/4.
    # Variance G / (G - 1) * (1/16 + 1/16) = 1/4, error 1/2.
    code = np.array([1.0, 1, 0, 0, 1, 0, 1, 0])
    first = np.array([True, True, False, False] * 2)
    runs = np.repeat([1, 2], 4)
    cells = np.ones(8, dtype=np.int64)
    found = difference(code, first, ~first, runs, cells)
    assert found.value == pytest.approx(0.5)
    assert found.se == pytest.approx(0.5)


def test_a_run_without_such_turns_still_is_a_run_of_its_cell() -> None:
    code = np.array([1.0, 0, 0, 0])
    first = np.array([True, False, False, False])
    second = np.array([False, True, False, True])
    found = difference(code, first, second, np.array([1, 1, 2, 2]), np.zeros(4, int))
    assert found.value == 1.0
    assert found.se == 0.0
    alone = difference(code, first, second, np.arange(4), np.arange(4))
    assert math.isnan(alone.se)
    nothing = difference(code, first & False, second, np.arange(4), np.zeros(4, int))
    assert math.isnan(nothing.value)


def turn(
    run: str, kind: str, round_: int, public: bool, code: str | None
) -> dict[str, object]:
    """A turn whose stance off the record is against the partner's side."""
    cell = dict.fromkeys(CELL, "x")
    return {
        **cell,
        "kind": kind,
        "run": run,
        "cluster": run,
        "round": round_,
        "left": public,
        "right": False,
        "code": code,
        "public_code": "none",
    }


def test_shares_stand_side_by_side_with_the_first_round_apart() -> None:
    pairs = pl.DataFrame(
        [
            turn("a", "alignment", 1, True, "none"),
            turn("a", "alignment", 2, True, "explicit"),
            turn("a", "alignment", 3, False, "mention"),
            turn("b", "alignment", 1, False, "none"),
            turn("b", "alignment", 2, True, None),
            turn("c", "baseline", 1, False, "mention"),
            turn("d", "baseline", 1, False, "none"),
            turn("e", "persona", 2, False, "explicit"),  # no part of the comparison
        ]
    )
    every, first, later = attribution_table(pairs, codes=EXPLICIT)
    assert [every["rounds"], first["rounds"], later["rounds"]] == [
        "all",
        "first",
        "later",
    ]
    assert (every["accommodating_hits"], every["accommodating_turns"]) == (1, 2)
    assert every["accommodating_missing"] == 1
    assert (every["consistent_hits"], every["consistent_turns"]) == (0, 2)
    assert every["minus_consistent"] == 0.5
    assert every["minus_baseline"] == 0.5
    assert (every["public_hits"], every["public_turns"]) == (0, 7)
    assert (first["accommodating_share"], later["accommodating_share"]) == (0.0, 1.0)
    named = attribution_table(pairs, codes=MENTIONED)[0]
    assert named["consistent_share"] == named["baseline_share"] == 0.5
    assert named["minus_baseline"] == 0.0
    assert attribution_table(pairs, by=["model"])[0]["model"] == "x"
