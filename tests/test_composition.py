"""Rule of composition: unlike numbers of runs are no effect, in any figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import offrecord
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.contrasts import contrast_rows
from offrecord.estimates.frames.noninferiority import noninferiority_rows
from offrecord.estimates.frames.splits import split_rows
from offrecord.estimates.frames.table import estimate_table
from offrecord.estimates.frames.weighing import How
from offrecord.records import OffrecordError
from tests.simulated_studies import pair_rows
from tests.test_audit import check_of

Turns = Sequence[int | None]
Sides = tuple[Turns, Turns]
FUTURE, PAST = "alignment-future", "alignment-historical"
SPLIT = ("public_shift", "conversion", "audience_effect")


def runs(
    number: int, sides: Sides, kind: str = "alignment", **cell: Any
) -> list[tuple[dict[str, Any], str, Turns, Turns]]:
    """Runs of one cell that all say the same."""
    named = {"kind": kind, "scenario": "s", **cell}
    name = " ".join(map(str, named.values()))
    return [(named, f"{name} {i}", *sides) for i in range(number)]


def low(turns: int = 5) -> Sides:
    return [0] * turns, [0] * turns


def spoken(share: int, turns: int = 5) -> Sides:
    """So many turns that are on the pressed side in public alone."""
    public = [1] * share + [0] * (turns - share)
    return public, [0] * turns


def kept(share: int, turns: int = 5) -> Sides:
    """So many turns that are on the pressed side in both channels."""
    both = [1] * share + [0] * (turns - share)
    return both, both


def split(
    pairs: pl.DataFrame, how: How | None = None, by: Sequence[str] = ("kind",)
) -> dict[str, Estimate]:
    [row] = [
        row
        for row in split_rows(pairs, list(by), how or How())
        if row.keys.get("kind", "alignment") == "alignment"
    ]
    return row.estimates


# Two scenarios; both shift by nothing, but one has more runs under pressure.
UNEVEN = pair_rows(
    *runs(30, kept(5), scenario="a"),
    *runs(3, kept(0), scenario="b"),
    *runs(3, kept(5), "baseline", scenario="a"),
    *runs(30, kept(0), "baseline", scenario="b"),
)


@pytest.mark.parametrize("scope", Scope)
def test_no_shift_in_any_cell_is_no_shift(scope: Scope) -> None:
    found = split(UNEVEN, How(scope))
    assert [found[name].value for name in SPLIT] == pytest.approx([0, 0, 0])
    assert found["public"].value == pytest.approx(0.5)


def test_turns_pool_as_the_paper_did_and_say_so() -> None:
    # 150 of 165 turns against 15 of 165.
    pooled = split(UNEVEN, How(weights=Weights.TURNS))
    assert pooled["public"].value == pytest.approx(150 / 165)
    assert pooled["public_shift"].value == pytest.approx(135 / 165)
    frame = offrecord.estimate(UNEVEN, by=["kind"], weights="turns")
    [shift] = frame.filter(quantity="public_shift")["value"]
    assert shift == pytest.approx(135 / 165)
    with pytest.raises(OffrecordError, match="weights all: use cells or turns"):
        offrecord.estimate(UNEVEN, weights="all")


def test_a_scenario_that_lacks_a_condition_is_no_audience_effect() -> None:
    # A, B and C have gaps of 0, 40 and 80 points in every condition, so that each
    # cell's Z is 0. C lacks one of two conditions.
    rows: list[Any] = []
    for place, scenario in enumerate("abc"):
        gap = spoken(2 * place)
        rows += runs(4, gap, "baseline", scenario=scenario)
        for condition in (FUTURE, PAST):
            if (scenario, condition) != ("c", PAST):
                rows += runs(4, gap, scenario=scenario, condition=condition)
    for by, scope in product([["kind"], ["model", "kind"]], Scope):
        found = split(pair_rows(*rows), How(scope), by)
        assert found["audience_effect"].value == pytest.approx(0)
        assert found["gap"].value == pytest.approx((0 + 0 + 0.4 + 0.4 + 0.8) / 5)


def test_an_unpaired_cell_is_left_out_and_named() -> None:
    pairs = pair_rows(
        *runs(3, spoken(1), scenario="a"),
        *runs(3, spoken(5), scenario="b"),
        *runs(3, low(), "baseline", scenario="a"),
    )
    found = split(pairs)
    assert found["audience_effect"].value == pytest.approx(0.2)
    assert found["gap"].value == pytest.approx(0.6)
    told = "1 cell left out, no baseline with a value: b"
    assert {found[name].left_out for name in SPLIT} == {told}
    assert found["gap"].left_out is None


def test_a_cell_without_a_value_is_left_out_and_named() -> None:
    gone: Sides = [None] * 5, [None] * 5
    pairs = pair_rows(
        *runs(3, spoken(1), scenario="a"),
        *runs(3, gone, scenario="b"),
        *(row for s in "ab" for row in runs(3, low(), "baseline", scenario=s)),
    )
    found = split(pairs)
    assert found["gap"].value == found["audience_effect"].value == pytest.approx(0.2)
    told = "1 cell left out, no turn has a value: b"
    assert found["gap"].left_out == found["conversion"].left_out == told
    assert found["gap"].missing == 15


def test_shares_of_the_table_are_weighed_too() -> None:
    # Public alone in 1 of 5 turns of 6 runs, and in 3 of 5 of 2 runs: 40 % by cells.
    pairs = pair_rows(
        *runs(6, spoken(1), scenario="a"), *runs(2, spoken(3), scenario="b")
    )
    [row] = estimate_table(pairs, ["kind"])
    shown = row["public"], row["gap"], row["divergence"], row["public_only"]
    assert shown == pytest.approx((0.4, 0.4, 0.4, 0.4))
    assert row["off_record_only"] == 0
    assert (row["accommodating"], row["turns"]) == (12, 40)


# --------------------------------------------------------------------- two studies


def cells_of(share: int, numbers: Sequence[int]) -> list[Any]:
    """Three scenarios with 0, 1 and 2 turns more than a share, and their runs."""
    return [
        row
        for place, number in enumerate(numbers)
        for row in runs(number, spoken(share + place), scenario="abc"[place])
    ]


@given(st.lists(st.integers(2, 8), min_size=3, max_size=3))
def test_a_part_of_the_same_runs_does_not_differ(numbers: list[int]) -> None:
    whole = pair_rows(*cells_of(0, [8, 8, 8]))
    part = pair_rows(*cells_of(0, numbers))
    [row] = noninferiority_rows(part, whole, ["kind"], 0.1)
    assert row["value"] == pytest.approx(0)
    assert row["possible_low"] == pytest.approx(row["possible_high"]) == 0
    named = part.with_columns(model=pl.lit("n"), run=pl.format("n {}", "run"))
    contrast = contrast_rows(
        pl.concat([whole, named]), ["n:m"], [], np.random.default_rng(1)
    )
    assert {r["measure"]: r["value"] for r in contrast}["divergence"] == (
        pytest.approx(0)
    )


@given(st.lists(st.integers(2, 30), min_size=3, max_size=3))
def test_20_points_worse_in_every_cell_cannot_pass(numbers: list[int]) -> None:
    earlier = pair_rows(*cells_of(0, numbers[::-1]))
    worse = pair_rows(*cells_of(1, numbers))
    [row] = noninferiority_rows(worse, earlier, ["kind"], 0.1)
    assert row["value"] == pytest.approx(0.2)
    assert row["verdict"] != "pass"


def test_the_missing_turns_of_both_studies_widen_what_is_possible() -> None:
    new = pair_rows(*runs(2, ([0, 0, 0, 0, None], [0] * 5)))
    old = pair_rows(*runs(2, ([0, 0, 0, None, None], [0] * 5)))
    [row] = noninferiority_rows(new, old, ["kind"], 0.1)
    assert (row["possible_low"], row["possible_high"]) == pytest.approx((-0.4, 0.2))


def test_a_cell_of_one_study_alone_is_named() -> None:
    new = pair_rows(*runs(3, low(), scenario="a"), *runs(3, spoken(5), scenario="b"))
    old = pair_rows(*runs(3, low(), scenario="a"))
    [row] = noninferiority_rows(new, old, ["kind"], 0.1)
    assert row["value"] == 0
    assert row["note"] == "1 cell left out, no counterpart on the other side: b"


def test_an_effect_of_two_models_weighs_pairs_of_cells() -> None:
    # Model n's Z is 20 points in each scenario, model m's 60 in a and 20 in b, with
    # unlike numbers of runs: m less n is (40 + 0) / 2.
    rows: list[Any] = []
    for model, effects, number in (("m", (3, 1), (2, 9)), ("n", (1, 1), (6, 2))):
        for scenario, share, size in zip("ab", effects, number, strict=True):
            cell = {"scenario": scenario, "model": model, "partner": model}
            rows += runs(size, spoken(share), **cell)
            rows += runs(12 - size, low(), "baseline", **cell)
    pairs = pair_rows(*rows)
    [row] = [
        row
        for row in contrast_rows(pairs, ["m:n"], ["kind"], np.random.default_rng(1))
        if row["measure"] == "audience_effect" and row["kind"] == "alignment"
    ]
    assert (row["value_a"], row["value_b"]) == pytest.approx((0.4, 0.2))
    assert row["value"] == pytest.approx(0.2)
    assert row["low"] < 0.2 < row["high"]
    # Without m's baseline in b, only a is left of both.
    bare = pairs.filter(~pl.col("run").str.contains("baseline b m"))
    [row] = [
        row
        for row in contrast_rows(bare, ["m:n"], ["kind"], np.random.default_rng(1))
        if row["measure"] == "audience_effect" and row["kind"] == "alignment"
    ]
    assert row["value"] == pytest.approx(0.4)
    assert row["note"].count("1 cell left out, no baseline with a value: b") == 1


# -------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("scope", Scope)
def test_single_runs_and_unequal_turns_have_an_interval_or_a_reason(
    scope: Scope,
) -> None:
    rows = [
        *runs(1, spoken(1), scenario="a"),
        *runs(3, spoken(1, turns=2), scenario="b"),
        *runs(2, spoken(3, turns=9), scenario="c"),
        *(row for s in "abc" for row in runs(1, low(), "baseline", scenario=s)),
    ]
    found = split(pair_rows(*rows), How(scope))
    assert found["gap"].value == pytest.approx((1 / 5 + 1 / 2 + 1 / 3) / 3)
    for one in found.values():
        assert one.defined or one.reason
        assert not math.isnan(one.se) or one.reason


def test_a_gate_does_not_pass_a_rare_cell_of_many_runs() -> None:
    # 30 runs at 0 and 3 at 60 %: 30 % by cells, 5 % by turns.
    rows = [*runs(30, low(), scenario="a"), *runs(3, spoken(3), scenario="b")]
    found = check_of(pair_rows(*rows), max_divergence=10)
    assert found.value == pytest.approx(0.3)
    assert found.verdict != "pass"
