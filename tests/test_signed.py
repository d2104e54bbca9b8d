"""The audience effect by signs: by hand, against two gaps joined, and at the edges.

By hand: one cell of two runs of two turns. Under the condition 1 and 2 turns are
accommodating, in baseline 0 and 1 reversing. Each side weighs one half, so *towards* is
(3/4 + 1/4) / 2 = 1/2, *away* 0, and Z = 2 (1/2) = 1: the gap is 3/4 under the condition
and -1/4 in baseline. Run means differ by 1/2 in both: s^2 / 2 = 1/16 each, so the
variance of the mean sign is (1/4) (1/16 + 1/16) = 1/32, that of Z four times that.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from offrecord.estimates.arrays.mover import difference
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample, Side
from offrecord.estimates.arrays.signed import (
    joint,
    signed,
    signed_limits,
    stratified_audience_effect,
    stratified_gap,
    stratified_gaps,
)
from offrecord.estimates.arrays.stratified import (
    EMPTY_CELL,
    NO_VALUE,
    ONE_RUN,
)

TURNS = 5
Run = tuple[int, int]
"""Accommodating and reversing turns."""


def gaps(
    cells: Sequence[Sequence[Run]], *, turns: int = TURNS, offset: int = 0
) -> Sample:
    """Gaps of runs of so many turns; ids from `offset` on."""
    runs = [run for cell in cells for run in cell]
    rows = [[1.0] * a + [-1.0] * r + [0.0] * (turns - a - r) for a, r in runs]
    numbers = np.repeat(np.arange(len(cells)), [len(cell) for cell in cells])
    ids = np.repeat(np.arange(len(runs)), turns) + offset
    strata = np.repeat(numbers, turns) + offset
    return Sample(np.array(rows).ravel(), ids, ids, strata)


NONE: list[Run] = [(0, 0)] * 5
README = [(0, 0), (1, 0), (2, 0), (4, 0), (5, 0)]

a_run = st.tuples(st.integers(0, TURNS), st.integers(0, TURNS)).filter(
    lambda run: sum(run) <= TURNS
)
some_cells = st.lists(st.lists(a_run, min_size=2, max_size=5), min_size=1, max_size=4)


def test_by_hand() -> None:
    condition = gaps([[(1, 0), (2, 0)]], turns=2)
    baseline = gaps([[(0, 0), (0, 1)]], turns=2, offset=10)
    found = stratified_audience_effect(condition, baseline)
    assert found.value == pytest.approx(1.0)
    assert found.se == pytest.approx(math.sqrt(4 / 32))
    assert (found.clusters, found.runs, found.turns, found.missing) == (4, 4, 8, 0)


def test_the_readme_s_first_example() -> None:
    # 12 of 25 turns accommodating under the condition, none divergent in baseline.
    condition, baseline = gaps([README]), gaps([NONE], offset=10)
    found = stratified_audience_effect(condition, baseline)
    shown = [round(100 * x, 1) for x in (found.value, found.low, found.high)]
    assert shown == [48.0, -2.1, 98.1]
    two = [stratified_gap(side).bounds for side in (condition, baseline)]
    joined = difference(two[0], two[1])
    assert [round(100 * x, 1) for x in joined] == [48.0, -21.5, 104.3]


@pytest.mark.parametrize(
    ("condition", "baseline", "expected"),
    [
        # What reference/stratified_signed.py gives for these runs.
        (
            [[(0, 1), (1, 0), (2, 0), (4, 0), (5, 0)], [(5, 0), (5, 0), (3, 1)]],
            [[(0, 0), (0, 1), (1, 0)]],
            (0.62, -0.33024789779153274, 1.1609006610545352),
        ),
    ],
)
def test_against_the_reference(
    condition: list[list[Run]],
    baseline: list[list[Run]],
    expected: tuple[float, float, float],
) -> None:
    sides = [Side(gaps(condition)), Side(gaps(baseline, offset=50), -1)]
    both = signed(*joint(sides))
    assert both is not None
    found = both.value, *signed_limits(both)
    assert [2 * float(x) for x in found] == pytest.approx(expected)
    # The reference has no rule for a side that alone is known less: baseline's 3 runs.
    shown = stratified_gaps(sides)
    assert (shown.value, shown.low) == pytest.approx(expected[:2])
    assert shown.high > expected[2]


@given(some_cells, some_cells)
def test_sides_exchanged_negate_the_effect(
    first: list[list[Run]], second: list[list[Run]]
) -> None:
    a, b = gaps(first), gaps(second, offset=100)
    one, other = stratified_audience_effect(a, b), stratified_audience_effect(b, a)
    assert (other.value, other.low, other.high) == pytest.approx(
        (-one.value, -one.high, -one.low), abs=1e-9
    )
    assert -2 <= one.low <= one.value + 1e-9
    assert one.value - 1e-9 <= one.high <= 2
    assert one.reason is None


@given(some_cells, some_cells)
def test_the_value_is_the_difference_of_equally_weighted_gaps(
    first: list[list[Run]], second: list[list[Run]]
) -> None:
    a, b = gaps(first), gaps(second, offset=100)
    means = [
        np.mean([np.mean([(p - o) / TURNS for p, o in cell]) for cell in cells])
        for cells in (first, second)
    ]
    found = stratified_audience_effect(a, b)
    parts = stratified_gap(a), stratified_gap(b)
    assert found.value == pytest.approx(float(means[0] - means[1]), abs=1e-12)
    assert found.value == pytest.approx(parts[0].value - parts[1].value, abs=1e-12)
    assert found.se == pytest.approx(math.hypot(parts[0].se, parts[1].se), abs=1e-12)


def test_no_event_anywhere_keeps_a_width() -> None:
    found = stratified_audience_effect(gaps([NONE]), gaps([NONE], offset=10))
    assert found.value == 0
    assert found.low < -0.1
    assert found.high == pytest.approx(-found.low)


def test_a_side_without_events_is_no_better_known_beside_one_with_many() -> None:
    # 0 of 50 turns in 10 runs are at most e / (1 + e), e = q^2 / n and n = 50 / 2.4:
    # alone, they show no spread. By weights of 1/4, q has 12.34 degrees of freedom:
    # (2 (1/80) + 2 (1/320))^2 / (2 (1/80)^2 / 4 + 2 (1/320)^2 / 19).
    condition = gaps([NONE, NONE])
    baseline = gaps([[(1, 0), (0, 1)] * 10] * 2, offset=50)
    found = stratified_audience_effect(condition, baseline)
    e = float(stats.t.ppf(0.975, 12.338)) ** 2 * 2.4 / 50
    assert found.value == pytest.approx(0)
    assert found.high >= e / (1 + e)
    assert found.low <= -e / (1 + e)
    other = stratified_audience_effect(baseline, condition)
    assert (other.low, other.high) == pytest.approx((-found.high, -found.low))


def test_cells_of_each_side_have_their_weights() -> None:
    # Two conditions of one scenario, one of another: their baselines weigh 2 to 1.
    condition = gaps([[(1, 0), (2, 0)], [(3, 0), (4, 0)], [(0, 0), (5, 0)]])
    baseline = gaps([[(1, 0), (1, 0)], [(0, 3), (0, 1)]], offset=100)
    weights = np.ones(3), np.array([2.0, 1.0])
    found = stratified_audience_effect(condition, baseline, weights)
    expected = (0.3 + 0.7 + 0.5) / 3 - (2 * 0.2 - 0.4) / 3
    assert found.value == pytest.approx(expected)
    alike = stratified_audience_effect(condition, baseline)
    assert alike.value == pytest.approx(0.5 - (0.2 - 0.4) / 2)
    only = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0])
    found = stratified_audience_effect(condition, baseline, only)
    assert found.value == pytest.approx(0.5 + 0.4)
    nothing = stratified_audience_effect(condition, baseline, (np.zeros(3), np.ones(2)))
    assert math.isnan(nothing.value)
    assert nothing.reason


def test_two_effects_differ_by_the_signs_of_four_sides() -> None:
    # Gaps of .48, 0, .2 and -.2: (.48 - 0) - (.2 + .2) = .08.
    a, b = gaps([README]), gaps([NONE], offset=10)
    c, d = gaps([[(1, 0)] * 5], offset=20), gaps([[(0, 1)] * 5], offset=30)
    found = stratified_gaps([Side(a), Side(b, -1), Side(c, -1), Side(d)])
    assert found.value == pytest.approx(0.08)
    one, two = stratified_audience_effect(a, b), stratified_audience_effect(c, d)
    assert found.se == pytest.approx(math.hypot(one.se, two.se))
    joined = difference(one.bounds, two.bounds)
    assert found.high - found.low < joined.high - joined.low
    # Cells of two sides are two cells, whatever they are called.
    named = stratified_gaps(
        [Side(a), Side(Sample(c.values, c.runs, c.clusters, a.strata), -1)]
    )
    assert named.value == pytest.approx(0.48 - 0.2)


def test_sides_of_the_same_clusters_are_taken_together() -> None:
    # Two models whose gap rises by .5 each, from 0 and from .5: nothing varies in Z.
    values = np.array([1.0, 0, 1, 1]), np.array([0.0, 0, 1, 0])
    model, one = np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64)
    condition, baseline = (
        Sample(v, np.arange(4) + 10 * side, model, one, one + side)
        for side, v in enumerate(values)
    )
    found = stratified_audience_effect(condition, baseline)
    assert (found.value, found.clusters) == (0.5, 2)
    assert found.se == pytest.approx(0)


def test_missing_turns_are_counted_and_an_empty_cell_has_its_reason() -> None:
    condition, baseline = gaps([README, README]), gaps([NONE], offset=50)
    values: Values = condition.values.copy()
    values[:3] = math.nan
    found = stratified_audience_effect(condition.of(values), baseline)
    assert (found.turns, found.missing) == (72, 3)
    values[condition.strata == 0] = math.nan
    assert stratified_gap(condition.of(values)).reason == EMPTY_CELL
    assert stratified_audience_effect(condition.of(values), baseline).reason == (
        EMPTY_CELL
    )
    values[:] = math.nan
    assert stratified_gap(condition.of(values)).reason == NO_VALUE
    assert stratified_audience_effect(condition.of(values), baseline).reason == NO_VALUE


def test_single_runs() -> None:
    alone = stratified_gap(gaps([[(2, 1)]]))
    assert alone.reason == ONE_RUN
    assert math.isnan(alone.low)
    # One run on each side: two cells of a single run, taken together.
    found = stratified_audience_effect(gaps([[(5, 0)]]), gaps([[(0, 0)]], offset=10))
    assert found.value == 1
    assert found.reason is not None
    assert found.reason.startswith("2 cells have a single run")
    assert found.low < -0.5


def test_samples_of_one_design_at_once() -> None:
    cells = [README, [(0, 2), (1, 1), (3, 0)]]
    one, two = signed(gaps(cells)), signed(gaps([cell[::-1] for cell in cells]))
    assert one is not None
    assert two is not None
    both = one._replace(
        towards=one.towards._replace(sums=np.stack([one.towards.sums] * 2)),
        away=one.away._replace(sums=np.stack([one.away.sums] * 2)),
    )
    low = signed_limits(both).low
    assert low.tolist() == pytest.approx([float(signed_limits(one).low)] * 2)
    assert float(signed_limits(two).low) == pytest.approx(low[0])
