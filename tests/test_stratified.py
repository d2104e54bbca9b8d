"""Weighted cells: by hand and at the edges.

By hand: a cell of three runs of two turns with 0, 1 and 2 events, and one of two runs
of two turns with 2 and 2. Rates 1/2 and 1, value 3/4. In the first the run means are
0, 1/2, 1: s^2 = 1/4, s^2 / 3 = 1/12, and v = (1/4) (1/12) = 1/48. Degrees of freedom:
c = 1/12 and 1/8, (5/24)^2 / ((1/144)/2 + (1/64)/1) = (25/576) / (11/576) = 25/11.
"""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from offrecord.estimates.arrays.differences import stratified_difference
from offrecord.estimates.arrays.pairing import Linked, Weights, following, paired
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.stratified import (
    ALIKE,
    EMPTY_CELL,
    NO_VALUE,
    ONE_RUN,
    effective_turns,
    rate_limits,
    stratified_mean,
    stratified_rate,
)
from offrecord.estimates.arrays.weighed import (
    paired_weights,
    variance,
    weighed,
)

Events = Sequence[Sequence[int]]


def turns_of(cells: Events, length: int) -> Sample:
    """For each cell the events of its runs, each of so many turns."""
    runs = [events for cell in cells for events in cell]
    rows = [[1.0] * events + [0.0] * (length - events) for events in runs]
    numbers = np.repeat(np.arange(len(cells)), [len(cell) for cell in cells])
    clusters = np.repeat(np.arange(len(runs)), length)
    return Sample(
        np.array(rows).ravel(), clusters, clusters, np.repeat(numbers, length)
    )


HAND = turns_of([[0, 1, 2], [2, 2]], 2)

uneven = st.lists(
    st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=5
)


def test_value_variance_and_freedom_by_hand() -> None:
    data = weighed(HAND)
    assert data is not None
    assert data.rates.tolist() == [0.5, 1.0]
    assert float(data.value) == 0.75
    assert float(variance(data)) == pytest.approx(1 / 48)
    assert data.layout.freedom == pytest.approx(25 / 11)


def test_effective_turns_by_hand() -> None:
    data = weighed(HAND)
    assert data is not None
    # Informative: 2 of 3 have an event, 2 of 3 a turn without; of the second cell none
    # lacks one. (1/2)(2/3) / (5/24) - 1 = 3/5, and f = 1 + 0.35 * 20 / 20.6.
    floor = 1 + 0.35 * 20 / 20.6
    # Rates drawn toward 3/4: keep 2/2.25 and 1/1.25.
    own = [8 / 9 * 0.5 + 1 / 9 * 0.75, 0.8 * 1 + 0.2 * 0.75]
    spread = [(8 / 9) ** 2 / 12, 0.0]
    within = [p * (1 - p) + s for p, s in zip(own, spread, strict=True)]
    cap = (3 / 16) / (floor / 4 * (within[0] / 6 + within[1] / 4))
    assert float(effective_turns(data)) == pytest.approx(min(9.0, cap))
    assert cap < 9  # 9 = (3/16) / (1/48), what the runs show


def test_interval_is_wilson_with_these() -> None:
    data = weighed(HAND)
    assert data is not None
    extra = stats.t.ppf(0.975, 25 / 11) ** 2 / float(effective_turns(data))
    middle = (0.75 + extra / 2) / (1 + extra)
    half = math.sqrt(extra * (3 / 16 + extra / 4)) / (1 + extra)
    found = stratified_rate(HAND)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half))
    assert found.se == pytest.approx(math.sqrt(1 / 48))
    assert (found.clusters, found.runs, found.turns, found.missing) == (5, 5, 10, 0)
    assert found.reason is None


def test_weights_by_hand() -> None:
    data = weighed(HAND, np.array([3.0, 1.0]))
    assert data is not None
    assert float(data.value) == pytest.approx(0.75 * 0.5 + 0.25)
    assert float(variance(data)) == pytest.approx(9 / 16 / 12)


def test_runs_of_unlike_length_that_agree_have_no_spread() -> None:
    # Each cell's runs agree; only their lengths differ, 1 turn and 3.
    values = np.repeat([1.0, 1.0, 0.0, 0.0], [1, 3, 1, 3])
    runs = np.repeat(np.arange(4), [1, 3, 1, 3])
    assert stratified_rate(Sample(values, runs, runs, np.repeat([0, 1], 4))).se == 0


def test_cells_that_share_clusters_weigh_alike_all_the_same() -> None:
    # Two debates stand in both cells, as copies: rates 1/2 and 3/4 of unlike turns.
    values = np.array([1.0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0])
    debates = np.repeat([1, 2, 1, 2], [2, 2, 4, 4])
    cells = np.repeat([5, 3], [4, 8])
    found = weighed(Sample(values, debates, debates, cells))
    assert found is not None
    assert float(found.value) == pytest.approx(0.625)
    assert stratified_rate(Sample(values, debates, debates, cells)).clusters == 2


def test_clusters_that_reach_over_cells_weigh_as_these() -> None:
    # Model a has a cell of 1 turn at 1 and one of 3 at 0, model b 2 turns at 0: cells
    # weigh a third each. Turn weights: sizes 2 a cell of 6 in all, so clusters have
    # sums 2 and 0 of sizes 4 and 2: mean 1/3, errors (2 - 4/3)/6 and -(2/3)/6, and
    # v = 2 (1/81 + 1/81) = 4/81.
    values = np.array([1.0, 0, 0, 0, 0, 0])
    model, cell = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 1, 1, 2, 2])
    found = stratified_rate(Sample(values, model, model, model * 0, cell))
    assert found.value == pytest.approx(1 / 3)
    assert found.se == pytest.approx(2 / 9)
    assert (found.clusters, found.turns) == (2, 6)


@given(uneven)
def test_every_cell_that_counts_gets_bounds_or_a_reason(cells: Events) -> None:
    found = stratified_rate(turns_of(cells, 5))
    mean = stratified_mean(turns_of(cells, 5))
    if any(len(cell) == 1 for cell in cells):
        assert found.reason is not None
        assert math.isnan(found.se)
    for one in (found, mean):
        assert one.reason is not None or not math.isnan(one.low)
    if sum(map(len, cells)) == 1:
        assert found.reason == ONE_RUN
        assert math.isnan(found.low)
    else:
        assert 0 <= found.low <= found.value + 1e-12
        assert found.value - 1e-12 <= found.high <= 1


@given(uneven)
def test_events_and_their_absence_are_mirrored(cells: Events) -> None:
    sample = turns_of(cells, 5)
    one, other = stratified_rate(sample), stratified_rate(sample.of(1 - sample.values))
    assert (other.low, other.high) == pytest.approx(
        (1 - one.high, 1 - one.low), abs=1e-12, nan_ok=True
    )


@given(uneven, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_cells_do_not_matter(
    cells: Events, shuffle: Random
) -> None:
    sample = turns_of(cells, 5)
    weights = np.arange(1.0, len(cells) + 1)
    order = list(range(sample.values.size))
    shuffle.shuffle(order)
    renamed = Sample(
        sample.values[order],
        sample.runs[order],
        1000 - sample.clusters[order],
        -sample.strata[order],
    )
    a = stratified_rate(sample, weights)
    b = stratified_rate(renamed, weights[::-1])
    assert (b.value, b.low, b.high) == pytest.approx(
        (a.value, a.low, a.high), rel=1e-9, abs=1e-12, nan_ok=True
    )


@given(
    st.lists(st.integers(2, 12), min_size=1, max_size=5),
    st.lists(st.floats(0.1, 5), min_size=5, max_size=5),
    st.data(),
)
def test_a_first_event_never_lowers_a_bound(
    runs: list[int], weights: list[float], data: st.DataObject
) -> None:
    cells = [[0] * number for number in runs]
    given_weights = np.array(weights[: len(runs)])
    none = stratified_rate(turns_of(cells, 5), given_weights)
    place = data.draw(st.integers(0, len(runs) - 1))
    cells[place][0] = 1
    one = stratified_rate(turns_of(cells, 5), given_weights)
    assert none.low == 0
    assert one.low >= none.low
    assert one.high >= none.high - 1e-12


def test_a_cell_of_weight_zero_is_left_out() -> None:
    alone = turns_of([[0, 1, 2]], 2)
    beside = stratified_rate(HAND, np.array([2.0, 0.0]))
    assert (beside.low, beside.high) == pytest.approx(
        (stratified_rate(alone).low, stratified_rate(alone).high)
    )


def test_cells_of_a_single_run_are_taken_together() -> None:
    # Two single runs with 0 and 1: their common mean is 1/2 and v = s^2 (1/4 + 1/4),
    # s^2 = 1/2 over two runs; unlike weights 3/4 and 1/4 give s^2 (9/16 + 1/16).
    sample = turns_of([[0], [2]], 2)
    for weights, expected in (((1.0, 1.0), 1 / 4), ((3.0, 1.0), 5 / 16)):
        data = weighed(sample, np.array(weights))
        assert data is not None
        assert float(variance(data)) == pytest.approx(expected)
    found = stratified_rate(sample)
    assert found.reason is not None
    assert found.reason.startswith("2 cells have a single run")


def test_a_lone_single_run_counts_by_its_distance_with_one_degree() -> None:
    sample = turns_of([[1, 1], [2]], 2)  # rates 1/2 and 1, value 3/4
    data = weighed(sample)
    assert data is not None
    assert float(variance(data)) == pytest.approx((1 / 4) * (1 / 16))
    # c = 1/8 and 1/4: (3/8)^2 / (1/64 + 1/16) = 9/5
    assert data.layout.freedom == pytest.approx(9 / 5)
    found = stratified_rate(sample)
    assert found.low < 0.3
    assert found.high > 0.95
    assert found.reason is not None
    assert found.reason.startswith("1 cell has a single run")


def test_missing_turns_and_empty_cells() -> None:
    values = HAND.values.copy()
    values[0] = math.nan  # the first run keeps one turn, without an event
    found = stratified_rate(HAND.of(values))
    assert found.value == pytest.approx((3 / 5 + 1) / 2)
    assert (found.turns, found.missing) == (9, 1)
    values[HAND.strata == 0] = math.nan
    empty = stratified_rate(HAND.of(values))
    assert empty.reason == EMPTY_CELL
    assert math.isnan(empty.value)
    assert math.isnan(empty.low)
    weighed_out = stratified_rate(HAND.of(values), np.array([0.0, 1.0]))
    assert weighed_out.value == 1
    assert math.isnan(stratified_rate(HAND, np.zeros(2)).value)
    values[:] = math.nan
    assert stratified_rate(HAND.of(values)).reason == NO_VALUE
    assert stratified_mean(HAND.of(values)).reason == NO_VALUE


@pytest.mark.parametrize(
    "weights", [[1.0], [1.0, -1.0], [1.0, math.nan], [math.inf, 1.0]]
)
def test_weights_that_are_none_are_refused(weights: Values) -> None:
    with pytest.raises(ValueError, match="weight"):
        stratified_rate(HAND, np.array(weights))


def test_a_baseline_weighs_as_the_cells_paired_with_it() -> None:
    ids, weights = paired_weights(np.array([7, 3, 7]))
    assert ids.tolist() == [3, 7]
    assert weights.tolist() == pytest.approx([1 / 3, 2 / 3])
    ids, weights = paired_weights(np.array([7, 3, 7]), np.array([0.5, 0.3, 0.2]))
    assert weights.tolist() == pytest.approx([0.3, 0.7])


def cells(turns: Sequence[int], links: Sequence[int]) -> Linked:
    return Linked(np.array(turns, dtype=np.float64), np.array(links))


def test_every_pair_of_cells_weighs_alike() -> None:
    # Conditions linked to 7, 7, 8 and 9; baseline has 7, 8 without a value, and 9
    # twice: pairs are 7-7, 7-7 and two of 9-9.
    condition, baseline = (
        cells([5, 9, 5, 5], [7, 7, 8, 9]),
        cells([5, 0, 5, 5], [7, 8, 9, 9]),
    )
    a, b = paired(condition, baseline, Weights.CELLS)
    assert (a.tolist(), b.tolist()) == ([1, 1, 0, 2], [2, 0, 1, 1])
    a, b = paired(condition, baseline, Weights.TURNS)
    assert (a.tolist(), b.tolist()) == ([5, 9, 0, 5], [5, 0, 5, 5])
    a, b = paired(cells([0], [7]), baseline, Weights.CELLS)
    assert (a.tolist(), b.tolist()) == ([0], [0, 0, 0, 0])


def test_a_baseline_follows_the_weights_of_its_conditions() -> None:
    condition, baseline = cells([5, 9, 5], [7, 7, 9]), cells([5, 5, 5], [7, 9, 9])
    given = np.array([2.0, 1.0, 4.0])
    found = following(given, condition, baseline, Weights.CELLS)
    assert found.tolist() == [3, 2, 2]
    given = np.array([5.0, 9.0, 0.0])
    found = following(given, condition, baseline, Weights.TURNS)
    assert found.tolist() == [5, 0, 0]


def test_a_difference_joins_both_intervals() -> None:
    condition = turns_of([[0, 1, 2], [2, 2], [1, 2]], 2)
    other = turns_of([[1, 0], [0, 0, 1]], 2)
    baseline = Sample(other.values, other.runs, other.clusters + 100, other.strata + 7)
    sides = np.ones(3), np.array([2.0, 1.0])
    found = stratified_difference(condition, baseline, sides)
    a, b = (
        stratified_rate(sample, own)
        for sample, own in zip((condition, baseline), sides, strict=True)
    )
    assert found.value == pytest.approx((0.5 + 1 + 0.75) / 3 - (2 * 0.25 + 1 / 6) / 3)
    assert found.low == pytest.approx(
        found.value - math.hypot(a.value - a.low, b.high - b.value)
    )
    assert found.se == pytest.approx(math.hypot(a.se, b.se))
    assert (found.clusters, found.turns) == (12, 24)


def test_rates_of_the_same_clusters_differ_by_what_these_do() -> None:
    # The same values on both sides, at a rate of a half: nothing is left to vary.
    half = turns_of([[0, 1, 2]], 2)
    whole = stratified_difference(half, half)
    assert whole.value == whole.se == 0
    assert math.isnan(whole.low)
    assert whole.reason == ALIKE


def test_samples_of_one_design_at_once() -> None:
    first, second = HAND, HAND.of(1 - HAND.values)
    one, two = weighed(first), weighed(second)
    assert one is not None
    assert two is not None
    both = one._replace(sums=np.stack([one.sums, two.sums]))
    limits = rate_limits(both)
    for place, sample in enumerate((first, second)):
        alone = stratified_rate(sample)
        assert float(limits.low[place]) == pytest.approx(alone.low)
        assert float(limits.high[place]) == pytest.approx(alone.high)
