"""Tests by arrangements: exact where these can be counted, and of the stated size."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from offrecord.estimates.arrays.multiplicity import (
    benjamini_hochberg,
    holm,
    sidak_level,
)
from offrecord.estimates.arrays.permutation import (
    drawn_sums,
    listed_piece,
    p_value,
    sign_flip_test,
)

NAN = math.nan


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_drawn_and_counted_agree() -> None:
    generator = rng()
    sums = generator.integers(-3, 4, 14).astype(np.float64)
    pieces = [listed_piece(np.array([-one, one])) for one in sums]
    exact = p_value(float(sums.sum()), pieces, rng())
    drawn = np.abs(drawn_sums(pieces, rng(), 20_000)) >= abs(sums.sum()) - 1e-6
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
    found = sign_flip_test(none, np.array([1, 2]), rng())
    assert math.isnan(found.p)
    assert found.reason


def test_rows_in_any_order_and_the_same_seed_give_the_same_digits() -> None:
    generator = rng()
    values = (generator.random(200) < 0.3).astype(np.float64)
    values[::17] = NAN
    runs = np.arange(40).repeat(5)
    order = generator.permutation(200)
    assert sign_flip_test(values, runs, rng()) == sign_flip_test(
        values[order], runs[order], rng()
    )


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
    generator = rng()
    false = sum(bool((holm(generator.random(4)) <= 0.05).any()) for _ in range(400))
    assert 0 < false / 400 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)


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
