"""What missing turns could change, and when it is said."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.missingness import missingness, rate_ranges
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.frames.table import as_json, estimate_table
from tests.simulated_studies import pair_rows

NAN = math.nan


def floats(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def test_ranges_by_hand() -> None:
    # Pairs (public, other): (1,0) (1,1) (1,?) (?,0) (?,?)
    ranges = rate_ranges(
        floats(1, 1, 1, NAN, NAN), floats(0, 1, NAN, 0, NAN), np.full(5, 1 / 5)
    )
    assert ranges.divergence == pytest.approx((1 / 5, 4 / 5))
    assert ranges.public == pytest.approx((3 / 5, 5 / 5))
    assert ranges.off_record == pytest.approx((1 / 5, 3 / 5))
    # differences: 1, 0, 0..1, 0..1, -1..1
    assert ranges.gap == pytest.approx((0 / 5, 4 / 5))


sides = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0, NAN]),
        st.sampled_from([0.0, 1.0, NAN]),
        st.sampled_from([0.0, 1.0]),
        st.sampled_from([0.0, 1.0]),
    ),
    min_size=1,
    max_size=30,
)


@given(sides)
def test_whatever_the_missing_ones_were_the_rates_lie_within(
    turns: list[tuple[float, float, float, float]],
) -> None:
    public, other, was, meant = (floats(*column) for column in zip(*turns, strict=True))
    ranges = rate_ranges(public, other, np.full(public.size, 1 / public.size))
    spoken = np.where(np.isnan(public), was, public)
    kept = np.where(np.isnan(other), meant, other)
    truth = {
        "divergence": np.mean(spoken != kept),
        "public": spoken.mean(),
        "off_record": kept.mean(),
        "gap": (spoken - kept).mean(),
    }
    for name, value in truth.items():
        low, high = getattr(ranges, name)
        assert low - 1e-12 <= value <= high + 1e-12, name
    if not np.isnan(public + other).any():
        assert all(math.isclose(low, high) for low, high in ranges)


def test_nothing_planned_has_no_range() -> None:
    assert all(math.isnan(low) for low, _ in rate_ranges(floats(), floats(), floats()))
    empty = missingness(floats(), floats(), attempts=0, runs=0)
    assert math.isnan(empty.share)
    assert empty.flags == ()


def test_counts_and_flags_above_five_percent() -> None:
    public, other = np.zeros(40), np.zeros(40)
    public[0] = other[0] = other[1] = NAN
    found = missingness(public, other, attempts=21, runs=20)
    assert (found.planned, found.missing) == (40, 2)
    assert (found.missing_public, found.missing_other) == (1, 2)
    assert (found.share, found.attempts_per_run) == (0.05, 1.05)
    assert found.flags == (), "5 % is not above 5 %"
    other[2] = NAN
    found = missingness(public, other, attempts=1520, runs=750)
    assert found.flags == (
        "7.5% of 40 planned turns lack a stance",
        "2.03 attempts per run that was kept",
    )


def test_stances_that_one_channel_loses_are_flagged() -> None:
    public, other = np.zeros(40), np.zeros(40)
    other[:2] = NAN
    assert missingness(public, other, 20, 20).flags == (), "5 points apart"
    other[2] = NAN
    apart = "stances are missing in 0.0% of public turns and in 7.5% of the others'"
    assert missingness(public, other, 20, 20).flags[-1] == apart
    public[:3] = NAN
    assert len(missingness(public, other, 20, 20).flags) == 1


def test_range_of_a_difference() -> None:
    assert Range(0.2, 0.5).minus(Range(0.1, 0.4)) == pytest.approx((-0.2, 0.4))


def test_the_rates_of_a_group_say_what_missing_turns_could_make_of_the_split() -> None:
    # In public 1, ? and 0, 0 off the record; baseline 0 in both: X and Z are 1/2 or 1.
    held = pair_rows(
        ({}, "a", [1, None], [0, 0]), ({"kind": "baseline"}, "b", [0, 0], [0, 0])
    )
    rows = json.loads(as_json(estimate_table(held, ["kind"])))
    base, moved = sorted(rows, key=lambda row: str(row["kind"]), reverse=True)
    found = {
        name: (moved[f"possible_{name}_low"], moved[f"possible_{name}_high"])
        for name in ("public_shift", "conversion", "audience_effect")
    }
    assert found == {
        "public_shift": (0.5, 1),
        "conversion": (0, 0),
        "audience_effect": (0.5, 1),
    }
    assert base["possible_public_shift_low"] is None
