"""Planted truths in unlike cells: the intervals cover, and the gate keeps its error."""

import numpy as np
import pytest

from benchmarks import anytime, signed


@pytest.mark.parametrize("name", signed.RATES)
def test_rates_of_unlike_cells_are_covered(name: str) -> None:
    # 1,000 draws: a coverage of 95 % shows 92.8 % or less once in 1000.
    rng = np.random.default_rng(5)
    found = signed.rate_outcome(signed.RATES[name], 0.65, rng, 1000)
    assert found.covered >= 0.928
    if name == "30 runs at 0, 3 at .6":
        assert found.below <= 0.05


@pytest.mark.parametrize("name", signed.EFFECTS)
def test_audience_effects_are_covered(name: str) -> None:
    rng = np.random.default_rng(6)
    drawn = signed.effects(signed.EFFECTS[name], 0.65, rng, 1000)
    assert signed.effect_outcome(drawn).covered >= 0.92


def test_one_interval_is_narrower_than_two_joined() -> None:
    rng = np.random.default_rng(6)
    drawn = signed.effects(signed.EFFECTS["1 cell x 5 runs"], 0.65, rng, 40)
    new, old = signed.effect_outcome(drawn), signed.joined_outcome(drawn, 40)
    assert new.width < 0.9 * old.width


@pytest.mark.parametrize("figure", anytime.FIGURES)
def test_a_gate_that_looks_after_every_block_keeps_its_error(figure: str) -> None:
    # 400 studies: an error of 2.5 % shows more than 5.3 % once in 1000.
    design = anytime.Design(figure, 6, 5, 0.65)
    passed, failed = anytime.border(design, np.random.default_rng(8), 400)
    assert max(passed, failed) <= 0.053


def test_a_clear_truth_needs_fewer_blocks_than_a_fixed_design() -> None:
    rng = np.random.default_rng(9)
    for side in (-1, 1):
        found = anytime.speed(anytime.Design("Z", 6, 5, 0.65), side, rng, 60)
        assert found.right == 1
        assert found.blocks < 0.6 * found.fixed
