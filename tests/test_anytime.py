"""The gate that may be looked at at any time: by hand, its guarantees, its order.

By hand: one cell, limit 1/2, two blocks with means 0 and 1. The target is 1/2 in both,
the largest bet 1 / (1 - 1/2) = 2, so a share f of it makes the factors of the first
block 1 + f and those of the second 1 - f: the e-value is the grid's mean of 1 + f, then
of 1 - f^2.
"""

import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offrecord.estimates.arrays.anytime import (
    BETS,
    Check,
    block_targets,
    difference_check,
    e_paths,
    gate,
    share_check,
)
from offrecord.estimates.arrays.blocks import RunMeans, in_blocks, run_means
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.verdict import Verdict


def known(means: Values | Sequence[Sequence[float]]) -> RunMeans:
    """Runs without a missing turn."""
    values = np.array(means, dtype=np.float64)
    return RunMeans(values, values)


def blocks(cells: int) -> st.SearchStrategy[RunMeans]:
    share = st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    row = st.lists(share, min_size=cells, max_size=cells)
    return st.lists(row, min_size=1, max_size=12).map(known)


def test_one_cell_by_hand() -> None:
    paths = e_paths(share_check(known([[0.0], [1.0]]), 0.5))
    expected = [np.mean(1 + BETS), np.mean(1 - BETS**2)]
    assert np.exp(paths.below).tolist() == pytest.approx(expected)
    assert np.exp(paths.above).tolist() == pytest.approx(
        [np.mean(1 - BETS), expected[1]]
    )


def test_two_cells_by_hand() -> None:
    # Weights 3/4 and 1/4 of two runs: w = 3/2 and 1/2. The largest bet against the
    # limit 1/4 leaves 1 - bet (3/2) (3/4) = 0. Means 0 and 1: steps 3/8 and -3/8.
    check = share_check(known([[0.0, 1.0]]), 0.25, np.array([3.0, 1.0]))
    bets = BETS * 8 / 9
    expected = np.mean((1 + bets * 3 / 8) * (1 - bets * 3 / 8))
    assert math.exp(e_paths(check).below[0]) == pytest.approx(expected)


def test_a_difference_halves_both_sides() -> None:
    # Gap 1/2 under the condition, -1/2 in baseline: Z = 1, and x = 1/2 in both runs.
    check = difference_check(known([[0.5]]), known([[-0.5]]), 0.1)
    assert check.weights.tolist() == [0.5, 0.5]
    assert check.targets.tolist() == pytest.approx([0.05, 0.05])
    above = np.mean((1 + BETS / 1.05 * 0.45) ** 2)
    assert math.exp(e_paths(check).above[0]) == pytest.approx(above)


def test_targets_follow_the_cells_and_meet_the_limit() -> None:
    check = share_check(known([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]]), 0.5)
    # (2 * 1/2 + 0) / 3 and (2 * 1/2 + 1) / 3, whose mean is the limit; then 1/4, 3/4.
    expected = [[0.5, 0.5], [1 / 3, 2 / 3], [0.25, 0.75]]
    assert block_targets(check) == pytest.approx(np.array(expected))


@given(
    blocks(3),
    st.floats(0.02, 0.98),
    st.lists(st.floats(0.1, 9), min_size=3, max_size=3),
)
def test_targets_stay_inside_and_meet_the_limit(
    means: RunMeans, limit: float, weights: list[float]
) -> None:
    check = share_check(means, limit, np.array(weights))
    targets = block_targets(check)
    assert (targets > 0).all()
    assert (targets < 1).all()
    assert targets @ check.weights == pytest.approx(np.full(len(targets), limit))


@given(blocks(4), st.floats(-0.9, 0.9), st.booleans())
def test_targets_of_a_difference_stay_inside(
    means: RunMeans, limit: float, signed: bool
) -> None:
    sides = [RunMeans(means.low[:, part], means.low[:, part]) for part in ([0], [1, 2])]
    check = difference_check(sides[0], sides[1], limit, signed=signed)
    targets = block_targets(check)
    assert (targets > check.least).all()
    assert (targets < check.most).all()
    assert targets @ check.weights == pytest.approx(np.full(len(targets), limit / 2))


@given(blocks(2), st.floats(0.05, 0.95))
def test_the_two_sides_are_mirrored(means: RunMeans, limit: float) -> None:
    one = e_paths(share_check(means, limit))
    other = e_paths(share_check(known(1 - means.low), 1 - limit))
    assert other.above == pytest.approx(one.below, abs=1e-9)
    assert other.below == pytest.approx(one.above, abs=1e-9)


@given(blocks(2), blocks(2), st.floats(0.05, 0.95))
def test_no_block_is_changed_by_later_ones(
    means: RunMeans, later: RunMeans, limit: float
) -> None:
    longer = known(np.concatenate([means.low, later.low]))
    short, long = (e_paths(share_check(m, limit)) for m in (means, longer))
    seen = len(short.below)
    assert long.below[:seen] == pytest.approx(short.below)
    assert long.above[:seen] == pytest.approx(short.above)


def test_e_values_of_a_block_have_mean_one_at_most() -> None:
    # All outcomes of two runs of one turn, exactly: rates p and q on the limit.
    limit, past = 0.3, [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    for p, q in ((0.3, 0.3), (0.1, 0.5), (0.0, 0.6)):
        for sided in ("below", "above"):
            total = 0.0
            before = getattr(e_paths(share_check(known(past), limit)), sided)[-1]
            for x in (0.0, 1.0):
                for y in (0.0, 1.0):
                    chance = (p if x else 1 - p) * (q if y else 1 - q)
                    path = e_paths(share_check(known([*past, [x, y]]), limit))
                    total += chance * math.exp(getattr(path, sided)[-1])
            assert total <= math.exp(before) + 1e-12


@given(blocks(2), st.floats(0.05, 0.95))
def test_missing_turns_only_weaken_what_is_shown(means: RunMeans, limit: float) -> None:
    # Targets from past blocks may move as well: the last block alone has missing turns.
    low, high = means.low.copy(), means.high.copy()
    low[-1], high[-1] = np.maximum(low[-1] - 0.2, 0), np.minimum(high[-1] + 0.2, 1)
    whole = e_paths(share_check(means, limit))
    gone = e_paths(share_check(RunMeans(low, high), limit))
    assert gone.below[-1] <= whole.below[-1] + 1e-9
    assert gone.above[-1] <= whole.above[-1] + 1e-9


def test_run_means_take_missing_turns_either_way() -> None:
    values = np.array([1.0, 0.0, math.nan, math.nan, 1.0])
    means = run_means(values, np.array([7, 7, 7, 9, 9]), -1.0, 1.0)
    assert means.low.tolist() == pytest.approx([0.0, 0.0])
    assert means.high.tolist() == pytest.approx([2 / 3, 1.0])


def test_a_gate_passes_and_fails() -> None:
    zeros, ones = known(np.zeros((60, 3))), known(np.ones((60, 3)))
    passed = gate([share_check(zeros, 0.2), share_check(zeros, 0.4)])
    first = int(passed.passed)
    assert first > 0
    assert passed.verdict(first - 1) is Verdict.INCONCLUSIVE
    assert passed.verdict(first) is Verdict.PASS
    assert passed.verdict(60) is Verdict.PASS
    failed = gate([share_check(zeros, 0.2), share_check(ones, 0.4)])
    assert failed.verdict(60) is Verdict.FAIL
    assert int(failed.passed) == 0


def test_one_of_many_checks_fails_at_its_share_of_the_error() -> None:
    ones, even = known(np.ones((60, 2))), known(np.full((60, 2), 0.5))
    alone = gate([share_check(ones, 0.5)])
    among = gate([share_check(ones, 0.5), *[share_check(even, 0.5)] * 9])
    path = alone.paths[0].above
    assert int(alone.failed) == int((path < math.log(1 / 0.025)).sum()) + 1
    assert int(among.failed) == int((path < math.log(10 / 0.025)).sum()) + 1


def test_a_check_that_was_shown_stays_shown() -> None:
    # The first figure is shown below its limit early and then drifts onto it.
    early = np.concatenate([np.zeros((20, 2)), np.full((20, 2), 0.6)])
    late = np.concatenate([np.full((20, 2), 0.5), np.zeros((20, 2))])
    found = gate([share_check(known(early), 0.5), share_check(known(late), 0.5)])
    assert found.verdict(40) in (Verdict.PASS, Verdict.FAIL)


@given(st.randoms(use_true_random=False), st.integers(0, 23))
def test_the_order_in_which_runs_end_does_not_matter(
    shuffle: Random, gone: int
) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 6, 24) / 5
    cells, repeats = np.tile([3, 5, 9], 8), np.repeat(np.arange(8), 3)
    order = [run for run in range(24) if run != gone]
    shuffle.shuffle(order)
    found = in_blocks(
        known(values[order]),
        cells[order],
        repeats[order],
        planned=np.array([3, 5, 9]),
        order=np.arange(8),
    )
    whole = gone // 3  # blocks before the one that lacks a run
    assert found.low.tolist() == values.reshape(8, 3)[:whole].tolist()
    serial, sharded = (
        gate([share_check(known(v), 0.4)])
        for v in (values.reshape(8, 3)[:whole], found.low)
    )
    assert serial.verdict(whole) is sharded.verdict(whole)


def test_before_the_first_block_nothing_is_shown() -> None:
    found = gate([share_check(known(np.zeros((0, 3))), 0.2)])
    assert found.verdict(0) is Verdict.INCONCLUSIVE


def test_blocks_are_in_the_planned_order_and_have_one_run_of_a_cell() -> None:
    means = known(np.array([0.1, 0.2, 0.3, 0.4]))
    cells, repeats, order = np.array([0, 1, 0, 1]), np.array([1, 1, 2, 2]), [2, 1]
    both, again = np.array([1, 0]), np.array(order)
    found = in_blocks(means, cells, repeats, planned=both, order=again)
    assert found.low.tolist() == [[0.4, 0.3], [0.2, 0.1]]
    # A planned cell without any run: no block is whole, whatever the others have.
    short = in_blocks(means, cells, repeats, planned=np.array([0, 1, 2]), order=again)
    assert short.low.shape == (0, 3)
    with pytest.raises(ValueError, match="two runs of cell 0"):
        in_blocks(means, cells, np.array([1, 1, 1, 2]), planned=both, order=again)
    with pytest.raises(ValueError, match="no planned cell"):
        in_blocks(means, cells, repeats, planned=np.array([0]), order=again)


def test_border_error_of_a_small_gate() -> None:
    # Planted: Z exactly on the limit of 10 points, in three unlike cells a side. The
    # error is at most 2.5 %; 400 studies show 4.2 % or more by chance once in 50.
    rng = np.random.default_rng(7)
    rates = [np.array([0.02, 0.13, 0.24]), np.array([0.0, 0.02, 0.07])]
    condition, baseline = (
        known(rng.binomial(5, rng.beta(p + 1e-9, 1 - p, (400, 40, 3))) / 5)
        for p in rates
    )
    found = gate([difference_check(condition, baseline, 0.1)])
    assert (found.passed > 0).mean() <= 0.042
    assert (found.failed > 0).mean() <= 0.042


@pytest.mark.parametrize(
    ("low", "high", "limit", "weights", "message"),
    [
        ([[0.5]], [[0.5]], 1.0, None, "limit"),
        ([[0.5]], [[0.5]], 0.0, None, "limit"),
        ([[math.nan]], [[0.5]], 0.5, None, "missing"),
        ([[0.6]], [[0.5]], 0.5, None, "outside"),
        ([[0.6]], [[1.1]], 0.5, None, "outside"),
        ([[0.6, 0.6]], [[0.6, 0.6]], 0.5, [1.0, 0.0], "positive"),
        ([[0.6, 0.6]], [[0.6]], 0.5, None, "one mean"),
    ],
)
def test_what_is_no_check_is_refused(
    low: list[list[float]],
    high: list[list[float]],
    limit: float,
    weights: list[float] | None,
    message: str,
) -> None:
    means = RunMeans(np.array(low), np.array(high))
    with pytest.raises(ValueError, match=message):
        share_check(means, limit, None if weights is None else np.array(weights))


def test_a_gate_needs_checks_of_the_same_blocks() -> None:
    with pytest.raises(ValueError, match="at least one"):
        gate([])
    checks: list[Check] = [share_check(known(np.ones((n, 1))), 0.5) for n in (2, 3)]
    with pytest.raises(ValueError, match="same blocks"):
        gate(checks)
