"""Tests by arrangements: exact where these can be counted, and of the stated size."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from offrecord.estimates.arrays.multiplicity import (
    benjamini_hochberg,
    holm,
    sidak_level,
)
from offrecord.estimates.arrays.permutation import (
    PValue,
    drawn_sums,
    label_pieces,
    label_test,
    sign_flip_test,
)
from offrecord.estimates.arrays.rates import Ids, Values

NAN = math.nan


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def compare(a: Values, b: Values, generator: np.random.Generator) -> PValue:
    """Two groups of shape (strata, runs, turns)."""
    strata, runs, turns = a.shape
    ids = np.arange(strata * runs).repeat(turns)
    labels = np.repeat([True, False], [a.size, b.size])
    return label_test(
        np.concatenate([a.ravel(), b.ravel()]),
        np.concatenate([ids, ids + strata * runs]),
        np.concatenate([ids // runs, ids // runs]),
        labels,
        generator,
        draws=999,
    )


def test_two_runs_against_two_by_hand() -> None:
    # Runs of two turns with sums 2 2 against 0 0: of six ways to choose two, two are
    # as far out, one on each side.
    a, b = np.ones((1, 2, 2)), np.zeros((1, 2, 2))
    found = compare(a, b, rng())
    assert found.exact
    assert found.p == pytest.approx(2 / 6)


def test_strata_multiply_the_ways() -> None:
    a, b = np.ones((2, 2, 3)), np.zeros((2, 2, 3))
    assert compare(a, b, rng()).p == pytest.approx(2 / 36)


def test_what_strata_differ_by_is_no_difference_of_groups() -> None:
    # A has three runs of the stratum where all is 1 and one of the other, B one and
    # three: the pooled rates are 3/4 and 1/4, and within strata nothing differs.
    strata = np.array([1, 1, 1, 2, 1, 2, 2, 2])
    found = label_test(
        (strata == 1).astype(np.float64),
        np.arange(8),
        strata,
        np.arange(8) < 4,
        rng(),
    )
    assert found.p == 1


def test_unlike_shares_of_strata_do_not_shift_the_test_by_hand() -> None:
    # Stratum 1 has A 0 against B 1 1 0, stratum 2 A 0 0 0 against B 0. About their
    # stratum's mean A's run is at -1/2, and all others at +-1/2: nothing is seen.
    found = label_test(
        np.array([0.0, 1, 1, 0, 0, 0, 0, 0]),
        np.arange(8),
        np.array([1, 1, 1, 1, 2, 2, 2, 2]),
        np.array([True, False, False, False, True, True, True, False]),
        rng(),
    )
    assert found.p == 1


def test_turns_of_a_run_move_together() -> None:
    # One run against one has two arrangements, however many turns there are.
    assert compare(np.ones((1, 1, 500)), np.zeros((1, 1, 500)), rng()).p == 1


@given(st.lists(st.integers(0, 3), min_size=5, max_size=9), st.integers(2, 3))
@settings(max_examples=25)
def test_the_exact_test_is_that_of_scipy(sums: list[int], first: int) -> None:
    scores = np.array(sums, dtype=np.float64)
    ours = label_test(
        scores,
        np.arange(scores.size),
        np.zeros(scores.size, dtype=np.int64),
        np.arange(scores.size) < first,
        rng(),
    )

    def distance(x: Values, y: Values) -> float:
        centre = scores.mean()
        return abs(float((x - centre).sum() - (y - centre).sum()))

    theirs = stats.permutation_test(
        (scores[:first], scores[first:]),
        distance,
        alternative="greater",
        n_resamples=1e5,
    )
    assert ours.p == pytest.approx(theirs.pvalue)


def test_many_runs_are_drawn_and_the_observed_arrangement_is_one_of_them() -> None:
    a, b = np.ones((1, 20, 5)), np.zeros((1, 20, 5))
    found = compare(a, b, rng())
    assert not found.exact
    assert found.drawn == 999
    assert found.p == 1 / 1000, "no draw comes near, and p is not zero"


def test_drawn_and_counted_agree() -> None:
    generator = rng()
    values = (generator.random(16 * 5) < 0.4).astype(np.float64)
    runs = np.arange(16).repeat(5)
    args = (values, runs, runs % 2, runs < 8)
    exact = label_test(*args, rng())
    observed, pieces = label_pieces(*args)
    drawn = np.abs(drawn_sums(pieces, rng(), 20_000)) >= abs(observed) - 1e-6
    assert exact.exact
    assert drawn.mean() == pytest.approx(exact.p, abs=4 * math.sqrt(0.25 / 20_000))


def test_sign_flips_by_hand() -> None:
    # Runs sum to 2, 1 and 1; of eight ways to set signs two reach 4, none more.
    values = np.array([1.0, 1, 1, 0, 1, 0])
    found = sign_flip_test(values, np.array([1, 1, 2, 2, 3, 3]), rng())
    assert found.p == pytest.approx(2 / 8)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
@settings(max_examples=40)
def test_sign_flips_are_counted(sums: list[int]) -> None:
    found = sign_flip_test(
        np.array(sums, dtype=np.float64), np.arange(len(sums)), rng()
    )
    ways = [
        abs(sum(s * d for s, d in zip(signs, sums, strict=True))) >= abs(sum(sums))
        for signs in product((1, -1), repeat=len(sums))
    ]
    assert found.exact
    assert found.p == pytest.approx(np.mean(ways))


@pytest.mark.filterwarnings("error")
def test_nothing_to_compare_is_said() -> None:
    none = np.array([NAN, NAN])
    ids: Ids = np.array([1, 2])
    both = np.array([True, False])
    for found in (
        label_test(none, ids, ids * 0, both, rng()),
        label_test(np.ones(2), ids, ids, both, rng()),
        label_test(np.ones(0), ids[:0], ids[:0], both[:0], rng()),
        sign_flip_test(none, ids, rng()),
    ):
        assert math.isnan(found.p)
        assert found.reason


def test_rows_in_any_order_and_the_same_seed_give_the_same_digits() -> None:
    generator = rng()
    values = (generator.random(200) < 0.3).astype(np.float64)
    values[::17] = NAN
    runs = np.arange(40).repeat(5)
    order = generator.permutation(200)
    one, even = runs * 0, runs % 2 == 0
    found = label_test(values, runs, one, even, rng(), draws=500)
    assert not found.exact
    assert found == label_test(
        values[order], runs[order], one, even[order], rng(), draws=500
    )
    assert sign_flip_test(values, runs, rng()) == sign_flip_test(
        values[order], runs[order], rng()
    )


def beta_runs(
    generator: np.random.Generator, rate: float, shape: tuple[int, ...]
) -> Values:
    """Turns whose correlation within a run is 0.4."""
    a, b = rate * 1.5, (1 - rate) * 1.5
    chances = generator.beta(a, b, shape[:-1])[..., None]
    return (generator.random(shape) < chances).astype(np.float64)


def test_the_size_is_held_with_correlated_turns_and_unlike_strata() -> None:
    # As if turns were independent (chi squared) the same data reject far too often.
    generator, ours, naive = rng(), 0, 0
    for _ in range(400):
        a, b = (
            np.concatenate(
                [beta_runs(generator, p, (1, 5, 5)) for p in (0.1, 0.4, 0.8)]
            )
            for _ in range(2)
        )
        ours += compare(a, b, generator).p <= 0.05
        table = [[x.sum(), x.size - x.sum()] for x in (a[1:2], b[1:2])]
        naive += stats.chi2_contingency(table, correction=False).pvalue <= 0.05
    assert ours / 400 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)
    assert naive / 400 > 0.1


p_values = st.lists(st.floats(0.0001, 1), min_size=1, max_size=12)


@given(p_values)
@settings(max_examples=25)
@pytest.mark.slow  # statsmodels alone takes seconds to import
def test_adjustments_are_those_of_statsmodels(values: list[float]) -> None:
    p = np.array(values)
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])


def test_tests_that_were_not_made_count_for_nothing() -> None:
    p = np.array([0.01, NAN, 0.04])
    assert holm(p) == pytest.approx([0.02, NAN, 0.04], nan_ok=True)
    assert benjamini_hochberg(p) == pytest.approx([0.02, NAN, 0.04], nan_ok=True)
    assert np.isnan(holm(np.array([NAN]))).all()


def test_family_wise_error_is_held() -> None:
    generator, false = rng(), 0
    for _ in range(200):
        p = [
            label_test(
                beta_runs(generator, 0.3, (1, 12, 5)).sum(axis=2).ravel(),
                np.arange(12),
                np.zeros(12, dtype=np.int64),
                np.arange(12) < 6,
                generator,
            ).p
            for _ in range(4)
        ]
        false += bool((holm(np.array(p)) <= 0.05).any())
    assert false / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def test_sidak_levels_hold_together_when_independent() -> None:
    assert sidak_level(0.95, 3) ** 3 == pytest.approx(0.95)
    assert sidak_level(0.95, 0) == 0.95


def test_very_many_pieces_are_drawn_and_not_counted() -> None:
    # 4,000 runs of which 2,072 lean one way: the sum is 144, its null error the root of
    # 4,000, so z is 2.277 and, with half a step of 2 taken off, p is 0.0238.
    lean = np.where(np.arange(4_000) < 2_072, 1.0, -1.0)
    many = sign_flip_test(lean, np.arange(4_000), rng())
    assert (many.exact, many.drawn) == (False, 9_999)
    assert many.p == pytest.approx(0.0238, abs=0.005)
    few = sign_flip_test(np.repeat(lean, 5)[::200], np.arange(100), rng())
    assert few.exact
