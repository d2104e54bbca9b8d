"""The default interval holds what was planted; the bench tries every design."""

import math

import numpy as np
import pytest

from benchmarks.coverage import HOLDS, WIDTH, Design, designs, outcome, simulate

DRAWS = 1500
ERROR = math.sqrt(HOLDS * (1 - HOLDS) / DRAWS)


def test_designs_are_those_that_were_promised() -> None:
    every = list(designs())
    # 1 stratum: 3 sizes, 3 strata: 5, 12 strata: 5; times 6 rates, 2 correlations,
    # 2 populations; 3 and 12 strata also with unlike and very unlike rates.
    assert len(every) == 24 * (3 + 3 * 10)
    assert min(d.strata * d.runs for d in every) == 5


@pytest.mark.parametrize("population", ["beta", "common"])
def test_populations_have_the_rate_and_correlation_that_were_planted(
    population: str,
) -> None:
    design = Design(3, 20, 0.3, 0.65, population, "unlike")
    sums = simulate(design, np.random.default_rng(1), 4000).sums
    by_stratum = sums.reshape(4000, 3, 20)
    rates = by_stratum.mean(axis=(0, 2)) / 5
    assert rates == pytest.approx(design.rates, abs=0.01)
    variances = by_stratum.var(axis=(0, 2))
    binomial = 5 * design.rates * (1 - design.rates)
    assert variances / binomial == pytest.approx([1 + 4 * 0.65] * 3, rel=0.03)


@pytest.mark.parametrize("correlation", [0.2, 0.65])
@pytest.mark.parametrize("spread", ["equal", "unlike", "very unlike"])
def test_default_covers_at_little_width_where_turns_as_independent_do_not(
    spread: str, correlation: float
) -> None:
    rng = np.random.default_rng(1)
    done = [
        outcome(design, rng, DRAWS)
        for design in designs([spread])
        if design.correlation == correlation and design.rate in (0.03, 0.1, 0.5)
    ]
    assert [o for o in done if o.covered < HOLDS - 2 * ERROR] == []
    if spread != "very unlike":
        assert [o for o in done if o.rated and o.width > WIDTH] == []
    naive = [o.naive for o in done]
    assert min(naive) < (0.9 if correlation == 0.2 else 0.75)
    assert np.median(naive) < HOLDS
