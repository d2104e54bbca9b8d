"""Size and power: tests of size .05 reject no more than that where nothing differs.

Turns of a run correlate, strata differ, designs are small: what naive tests fall for.

    python -m benchmarks tests_size --seed 1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from scipy import stats

from benchmarks import Figure
from offrecord.estimates.arrays.floor import Draws
from offrecord.estimates.arrays.floor_spread import floor_interval, floor_test
from offrecord.estimates.arrays.multiplicity import holm
from offrecord.estimates.arrays.permutation import (
    sign_flip_test,
)
from offrecord.estimates.arrays.power import runs_needed, stated_spread
from offrecord.estimates.arrays.randomization import randomization_test
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample

SAMPLES: Final = 2000
SIZE: Final = 0.05

_ARRANGEMENTS: Final = 999
_TURNS: Final = 5
_RATES: Final = (0.05, 0.3, 0.8)  # of the strata

Generator = np.random.Generator


def run(seed: int = 1) -> list[Figure]:
    """Estimate how often each test rejects where there is nothing to find.

    Args:
        seed: Of all samples.
    """
    rng = np.random.default_rng(seed)
    most = SIZE + 2 * math.sqrt(SIZE * (1 - SIZE) / SAMPLES)
    tests: dict[str, Callable[[Generator], float]] = {
        "labels, 3 x 5 runs, correlation .2": lambda g: _labels(g, 5, 0.2),
        "labels, 3 x 5 runs, correlation .65": lambda g: _labels(g, 5, 0.65),
        "labels, 3 x 2 runs, correlation .4": lambda g: _labels(g, 2, 0.4),
        "labels, 3 x 12 runs (drawn), correlation .4": lambda g: _labels(g, 12, 0.4),
        "signs of the gap, 12 runs": _signs,
        "floor, 12 runs with one shadow": lambda g: _floor(g, False),
        "floor, 6 cells of 5 first turns": lambda g: _floor(g, True),
        "holm over 5, any": _family,
    }
    figures = [
        Figure(name, _percent(_rejected(test, rng)), f"at most {100 * most:.1f} %")
        for name, test in tests.items()
    ]
    naive = _rejected(_chi_squared, rng)
    figures.append(Figure("chi squared of turns, for comparison", _percent(naive)))
    return [*figures, *_interval(rng), *_power(rng)]


def _rejected(test: Callable[[Generator], float], rng: Generator) -> float:
    return sum(test(rng) <= SIZE for _ in range(SAMPLES)) / SAMPLES


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def beta_runs(
    rng: Generator, rate: float, shape: tuple[int, ...], correlation: float
) -> Values:
    """Turns, shape (*shape, turns), whose runs differ by a beta distribution."""
    a, b = (p * (1 - correlation) / correlation for p in (rate, 1 - rate))
    chances = rng.beta(a, b, shape)[..., None]
    return (rng.random((*shape, _TURNS)) < chances).astype(np.float64)


def _two_groups(
    rng: Generator, runs: int, correlation: float
) -> tuple[Values, Ids, Ids]:
    """Two groups of three strata: values, runs and strata; the first group first."""
    groups = [
        beta_runs(rng, rate, (runs,), correlation).ravel()
        for rate in (*_RATES, *_RATES)
    ]
    values = np.concatenate(groups)
    ids = np.arange(values.size // _TURNS).repeat(_TURNS)
    return values, ids, ids // runs % len(_RATES)


def _labels(rng: Generator, runs: int, correlation: float) -> float:
    return _exchanged(*_two_groups(rng, runs, correlation), rng)


def _exchanged(
    values: Values, ids: Ids, strata: Ids, rng: Generator, draws: int = _ARRANGEMENTS
) -> float:
    """The p-value of the first half of the turns against the second."""
    cells = 2 * strata + (np.arange(values.size) < values.size // 2)
    names = np.unique(cells)
    contrast = np.where(names % 2 == 1, 2.0, -2.0) / names.size
    sample = Sample(values, ids, ids, cells)
    return randomization_test(sample, contrast, names // 2, rng, draws=draws).test.p


def _chi_squared(rng: Generator) -> float:
    sides = beta_runs(rng, 0.4, (2, 15), 0.4).reshape(2, -1)
    table = [[side.sum(), side.size - side.sum()] for side in sides]
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def _signs(rng: Generator) -> float:
    """Channels with one chance per turn, which the public history pulls along."""
    chances, gaps = rng.beta(1, 1, 12), []
    for _ in range(_TURNS):
        public, other = (rng.random(12) < chances for _ in range(2))
        gaps.append(public.astype(np.float64) - other)
        chances = np.clip(chances + np.where(public, 0.1, -0.1), 0, 1)
    runs = np.tile(np.arange(12), _TURNS)
    return sign_flip_test(np.concatenate(gaps), runs, rng, draws=_ARRANGEMENTS).p


def _draws(p: Values, q: Values, rng: Generator, each: int) -> Draws:
    """Units with so many draws in each channel, p and q their chances."""
    chances = np.repeat(np.stack([p, q], axis=1), each, axis=1)
    values = (rng.random(chances.shape) < chances).astype(np.float64)
    units = np.arange(p.size).repeat(2 * each)
    other = np.tile(np.repeat([False, True], each), p.size)
    return Draws(values.ravel(), other, units, units, units * 0, other & False)


def _first_turns(p: Values, q: Values, runs: int, rng: Generator) -> Draws:
    draws = _draws(p, q, rng, runs)
    repeat = np.tile(np.arange(runs), 2 * p.size)
    return draws._replace(runs=draws.units * runs + repeat, cells=draws.units)


def _shadows(p: Values, q: Values, rng: Generator) -> Draws:
    """Runs of turns with one shadow in each channel; the first draw is committed."""
    draws = _draws(p.repeat(_TURNS), q.repeat(_TURNS), rng, 2)
    first = np.tile([True, False, False, False], p.size * _TURNS)
    return draws._replace(runs=draws.units // _TURNS, fixed=first)


def _floor(rng: Generator, repeats: bool) -> float:
    p = rng.beta(1, 1, 6 if repeats else 12)
    draws = _first_turns(p, p, 5, rng) if repeats else _shadows(p, p, rng)
    return floor_test(draws, rng, _ARRANGEMENTS).p


def _family(rng: Generator) -> float:
    """The smallest adjusted p of five contrasts without a difference."""
    p = []
    for _ in range(5):
        p.append(_exchanged(*_two_groups(rng, 4, 0.4), rng))
    return float(holm(np.array(p)).min())


def _interval(rng: Generator) -> Iterator[Figure]:
    """How often the interval of D* holds its true value, twelve cells or runs."""
    cases = ((0.5, 0.5), (0.5, 0.9), (0.1, 0.9), (0.05, 0.3))
    for p, q in cases:
        held = [0, 0]
        for _ in range(SAMPLES // 4):
            for place, draws in enumerate(
                (
                    _first_turns(np.full(12, p), np.full(12, q), 5, rng),
                    _shadows(np.full(12, p), np.full(12, q), rng),
                )
            ):
                found = floor_interval(draws)
                held[place] += found.low <= (p - q) ** 2 <= found.high
        shares = " and ".join(_percent(h / (SAMPLES // 4)) for h in held)
        yield Figure(f"interval of D* at {p}, {q}: repeats, shadows", shares, "95 %")


def _power(rng: Generator) -> Iterator[Figure]:
    """How often the runs that a plan asks for detect the difference."""
    for rate, difference, cells in ((0.1, 0.2, 3), (0.5, 0.3, 1), (0.3, 0.3, 3)):
        needed = runs_needed(difference, stated_spread(rate, difference, _TURNS), cells)
        runs = int(needed.size)
        ids = np.arange(2 * cells * runs).repeat(_TURNS)
        hits = 0
        for _ in range(SAMPLES // 4):
            values = np.concatenate(
                [
                    beta_runs(rng, r, (cells * runs,), 0.4).ravel()
                    for r in (rate + difference, rate)
                ]
            )
            hits += _exchanged(values, ids, ids // runs % cells, rng) <= SIZE
        yield Figure(
            f"power, {100 * rate:.0f} and {100 * difference:.0f} points more, "
            f"{cells} x {runs} runs",
            _percent(hits / (SAMPLES // 4)),
            "80 % ± 3.6 %",
        )
