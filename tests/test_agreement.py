"""Krippendorff's alpha: hand-worked, published, and where it is undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from offrecord.estimates.arrays.agreement import krippendorff_alpha

NAN = math.nan


def coded(*coders: str) -> np.ndarray:
    """Units by coders from one string a coder; a dot is a missing code."""
    return np.array([[NAN if c == "." else ord(c) for c in row] for row in coders]).T


def test_worked_by_hand() -> None:
    # Units aa, ab, bb: margins a 3, b 3, n 6. Observed disagreement 2 of 6 ordered
    # pairs; expected 1 - (3*2 + 3*2) / (6*5) = 3/5. Alpha 1 - (1/3) / (3/5) = 4/9.
    found = krippendorff_alpha(coded("aab", "abb"))
    assert found.alpha == pytest.approx(4 / 9)
    assert found.agreeing == pytest.approx(2 / 3)
    assert (found.units, found.alone, found.codes) == (3, 0, 6)


def test_worked_by_hand_with_a_missing_code() -> None:
    # Units aaa, ab., b.. : the last has no pair. Margins a 4, b 1, n 5. Observed: unit
    # 1 none; unit 2 has 2 unlike ordered pairs / (2 - 1) = 2, so 2/5. Expected
    # 1 - (4*3 + 0) / (5*4) = 2/5. Alpha 0.
    found = krippendorff_alpha(coded("aab", "ab.", "a.."))
    assert found.alpha == pytest.approx(0)
    assert (found.units, found.alone, found.codes) == (2, 1, 5)


@pytest.mark.parametrize(
    ("coders", "alpha"),
    [
        # Krippendorff (2011), its examples of two coders, binary and nominal codes, and
        # of four coders with missing codes.
        (("0100000010", "1110010000"), 0.095),
        (("aabbdcccedda", "babbbccceddd"), 0.692),
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
    ],
)
def test_published_examples(coders: tuple[str, ...], alpha: float) -> None:
    assert krippendorff_alpha(coded(*coders)).alpha == pytest.approx(alpha, abs=5e-4)


def test_perfect_and_opposite() -> None:
    assert krippendorff_alpha(coded("abab", "abab")).alpha == 1
    # Every unit disagrees: margins 4 and 4 of 8, expected 1 - 24/56, 1 - 1/(4/7).
    assert krippendorff_alpha(coded("abab", "baba")).alpha == pytest.approx(-0.75)


@pytest.mark.parametrize(
    ("codes", "units", "alone"),
    [
        (np.empty((0, 2)), 0, 0),
        (coded("...", "..."), 0, 0),
        (coded("ab.", "..c"), 0, 3),
        (coded("aaa", "aaa"), 3, 0),
        (coded("aaa"), 0, 3),
    ],
)
def test_what_is_undefined_is_nan_and_counted(
    codes: np.ndarray, units: int, alone: int
) -> None:
    found = krippendorff_alpha(codes)
    assert math.isnan(found.alpha)
    assert (found.units, found.alone) == (units, alone)


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 4)),
        elements=st.sampled_from([NAN, 0.0, 1.0, 2.0]),
    )
)
def test_the_order_of_coders_units_and_names_of_codes_mean_nothing(
    codes: np.ndarray,
) -> None:
    alpha = krippendorff_alpha(codes).alpha
    for same in (codes[::-1], codes[:, ::-1], 7 - 3 * codes):
        assert krippendorff_alpha(same).alpha == pytest.approx(alpha, nan_ok=True)
    assert math.isnan(alpha) or alpha <= 1
