"""Weighted cells: by hand, as today where cells are alike, and at the edges.

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

from offrecord.estimates.arrays.intervals import rate_estimate
from offrecord.estimates.arrays.means import mean_estimate
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.split import rate_difference
from offrecord.estimates.arrays.stratified import (
    EMPTY_CELL,
    NO_VALUE,
    ONE_RUN,
    UNPAIRED,
    effective_turns,
    rate_limits,
    stratified_difference,
    stratified_mean,
    stratified_rate,
)
from offrecord.estimates.arrays.variance import Sample
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

balanced = st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 4)).flatmap(
    lambda size: st.tuples(
        st.just(size[2]),
        st.lists(
            st.lists(st.integers(0, size[2]), min_size=size[0], max_size=size[0]),
            min_size=size[1],
            max_size=size[1],
        ),
    )
)
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


@given(balanced)
def test_alike_cells_give_today_s_interval(given: tuple[int, Events]) -> None:
    length, cells = given
    sample = turns_of(cells, length)
    old, new = rate_estimate(sample), stratified_rate(sample)
    for name in ("value", "low", "high", "se"):
        a, b = getattr(old, name), getattr(new, name)
        assert b == pytest.approx(a, rel=1e-9, abs=1e-12, nan_ok=True), name
    assert (old.reason is None) == (new.reason is None)


@given(balanced)
def test_alike_cells_give_today_s_mean(given: tuple[int, Events]) -> None:
    length, cells = given
    sample = turns_of(cells, length)
    old, new = mean_estimate(sample), stratified_mean(sample)
    for name in ("value", "low", "high", "se"):
        a, b = getattr(old, name), getattr(new, name)
        assert b == pytest.approx(a, rel=1e-9, abs=1e-12, nan_ok=True), name


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=2))
def test_one_cell_is_today_s_interval_whatever_its_runs(
    runs: list[tuple[int, int]],
) -> None:
    values = [
        np.repeat([1.0, 0.0], [min(e, size), size - min(e, size)]) for size, e in runs
    ]
    ids = np.repeat(np.arange(len(runs)), [size for size, _ in runs])
    sample = Sample(np.concatenate(values), ids, ids, np.zeros_like(ids))
    old, new = rate_estimate(sample), stratified_rate(sample)
    assert (new.low, new.high) == pytest.approx((old.low, old.high), rel=1e-9)


def test_unlike_runs_of_several_cells_differ_from_today_s() -> None:
    # Today's variance holds a run against the pooled rate, (y - p t): where runs of a
    # cell are of unlike length, a cell off the pooled rate then looks noisy, though
    # its runs agree. Here each cell's runs agree and only their lengths differ.
    values = np.repeat([1.0, 1.0, 0.0, 0.0], [1, 3, 1, 3])
    runs = np.repeat(np.arange(4), [1, 3, 1, 3])
    sample = Sample(values, runs, runs, np.repeat([0, 1], 4))
    assert stratified_rate(sample).se == 0
    # Scores 1/16 and 3/16 about their mean, in both: 2 (1/16^2 + 1/16^2) each.
    assert rate_estimate(sample).se == pytest.approx(math.sqrt(8) / 16)


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
    values[:] = math.nan
    assert stratified_rate(HAND.of(values)).reason == NO_VALUE
    assert stratified_mean(HAND.of(values)).reason == NO_VALUE


@pytest.mark.parametrize(
    "weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, math.nan], [math.inf, 1.0]]
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


def test_a_difference_pairs_each_cell_with_its_baseline() -> None:
    condition = turns_of([[0, 1, 2], [2, 2], [1, 2]], 2)
    other = turns_of([[1, 0], [0, 0, 1]], 2)
    baseline = Sample(other.values, other.runs, other.clusters + 100, other.strata + 7)
    found = stratified_difference(condition, baseline, np.array([7, 7, 8]))
    a = stratified_rate(condition)
    b = stratified_rate(baseline, np.array([2.0, 1.0]))
    assert found.value == pytest.approx((0.5 + 1 + 0.75) / 3 - (2 * 0.25 + 1 / 6) / 3)
    assert found.low == pytest.approx(
        found.value - math.hypot(a.value - a.low, b.high - b.value)
    )
    assert found.se == pytest.approx(math.hypot(a.se, b.se))
    assert (found.clusters, found.turns) == (12, 24)
    gone = stratified_difference(condition, baseline, np.array([7, 7, 9]))
    assert gone.reason == UNPAIRED
    with pytest.raises(ValueError, match="3 weights and 1 counterparts for 3 cells"):
        stratified_difference(condition, baseline, np.array([7]))


def test_a_difference_of_alike_cells_is_today_s() -> None:
    first, second = turns_of([[0, 1, 2], [2, 2, 1]], 2), turns_of([[0, 1, 0]] * 2, 2)
    second = Sample(
        second.values, second.runs + 50, second.clusters + 50, second.strata + 50
    )
    old, new = rate_difference(first, second), stratified_difference(first, second)
    assert (new.value, new.low, new.high, new.se) == pytest.approx(
        (old.value, old.low, old.high, old.se)
    )


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
