"""Coverage of the wider scopes: new models, new scenarios, both, and pairs of them.

Planted: the share of a cell is the normal distribution function of a level plus an
effect of its model, one of its scenario and one of both, each normal; at baseline the
level is lower and effects count half, as they do off the record. Three runs of five
turns a cell. What an interval generalizes to is drawn anew for every study, what it
does not is the same in all, and the truth is the expectation over what is drawn.
`pairs` is held against new models in new scenarios, for which it is often used and does
not serve.

    python -m benchmarks scopes
    python -m benchmarks.scopes        prints the table of the docs
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks import Figure
from offrecord.estimates.arrays.differences import stratified_difference
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.signed import stratified_audience_effect
from offrecord.estimates.arrays.stratified import stratified_rate

RUNS: Final = 3
TURNS: Final = 5
DRAWS: Final = 400
SCOPES: Final = (Scope.MODELS, Scope.SCENARIOS, Scope.BOTH, Scope.PAIRS)
SIZES: Final = ((10, 3), (10, 6), (10, 15), (20, 6), (6, 15))
"""Models and scenarios."""
LEVELS: Final = (-0.3, -1.3)
"""Under the condition, and at baseline."""
OFF_THE_RECORD: Final = (-1.0, -1.3)
"""The same; effects count half in both."""
FIGURES: Final = ("rate", "public shift", "audience effect")
SPREAD: Final = (0.6, 0.4, 0.3)
"""Of models, scenarios and their pairs."""


class Effects(NamedTuple):
    """What cells differ by."""

    models: Values
    scenarios: Values
    pairs: Values

    def shares(self, level: float, weight: float) -> Values:
        """The share of every cell, shape (models, scenarios)."""
        whole = self.models[:, None] + self.scenarios + self.pairs
        return np.asarray(stats.norm.cdf(level + weight * whole))


class Outcome(NamedTuple):
    """How an interval did."""

    covered: float
    width: float
    refused: float


def outcomes(
    models: int, scenarios: int, scope: Scope, rng: np.random.Generator, draws: int
) -> tuple[Outcome, ...]:
    """Of each of `FIGURES`."""
    fixed = _drawn(models, scenarios, rng)
    found: tuple[list[Estimate], ...] = ([], [], [])
    for _ in range(draws):
        new = _drawn(models, scenarios, rng)
        effects = Effects(
            fixed.models if scope is Scope.SCENARIOS else new.models,
            fixed.scenarios if scope is Scope.MODELS else new.scenarios,
            new.pairs,
        )
        under, base = (
            _sample(effects.shares(level, weight), scope, rng)
            for level, weight in zip(LEVELS, (1.0, 0.5), strict=True)
        )
        found[0].append(stratified_rate(under, scope=scope))
        found[1].append(stratified_difference(under, base, scope=scope))
        gap, before = (
            one.of(one.values - _sample(effects.shares(level, 0.5), scope, rng).values)
            for one, level in zip((under, base), OFF_THE_RECORD, strict=True)
        )
        found[2].append(stratified_audience_effect(gap, before, scope=scope))
    first, second = (
        _truth(level, weight, fixed, scope)
        for level, weight in zip(LEVELS, (1.0, 0.5), strict=True)
    )
    kept, other = (_truth(level, 0.5, fixed, scope) for level in OFF_THE_RECORD)
    truths = first, first - second, first - second - (kept - other)
    return tuple(map(_outcome, found, truths))


def _drawn(models: int, scenarios: int, rng: np.random.Generator) -> Effects:
    shapes = (models,), (scenarios,), (models, scenarios)
    return Effects(
        *(rng.normal(0, s, shape) for s, shape in zip(SPREAD, shapes, strict=True))
    )


def _sample(shares: Values, scope: Scope, rng: np.random.Generator) -> Sample:
    rows, columns = (ids.ravel() for ids in np.indices(shares.shape))
    cells = np.repeat(np.arange(shares.size), RUNS * TURNS)
    values = (rng.random(cells.size) < shares.ravel()[cells]).astype(np.float64)
    runs = np.repeat(np.arange(shares.size * RUNS), TURNS)
    model, scenario = rows[cells], columns[cells]
    clusters: dict[Scope, tuple[NDArray[np.int64], ...]] = {
        Scope.MODELS: (model,),
        Scope.SCENARIOS: (scenario,),
        Scope.BOTH: (model, scenario),
        Scope.PAIRS: (),
    }
    ways = clusters[scope]
    one = ways[0] if len(ways) == 1 else cells
    return Sample(values, runs, one, cells * 0, cells, ways)


def _truth(level: float, weight: float, fixed: Effects, scope: Scope) -> float:
    """The expected share over what the scope draws anew."""
    own: Values = np.zeros(1)
    spread: tuple[float, ...] = SPREAD
    if scope is Scope.MODELS:
        own, spread = fixed.scenarios, (SPREAD[0], SPREAD[2])
    elif scope is Scope.SCENARIOS:
        own, spread = fixed.models, (SPREAD[1], SPREAD[2])
    scale = math.sqrt(1 + weight**2 * sum(one**2 for one in spread))
    return float(stats.norm.cdf((level + weight * own) / scale).mean())


def _outcome(found: list[Estimate], truth: float) -> Outcome:
    bounds = np.array([(one.low, one.high) for one in found])
    held = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    return Outcome(
        float(held.mean()),
        float(np.nanmean(bounds[:, 1] - bounds[:, 0])),
        float(np.mean([one.refused for one in found])),
    )


def run(seed: int = 1, draws: int = DRAWS) -> list[Figure]:
    """Coverage of each scope in each size."""
    rng = np.random.default_rng(seed)
    figures = [
        Figure(
            "Monte Carlo error of a coverage", f"{math.sqrt(0.05 * 0.95 / draws):.1%}"
        )
    ]
    for (models, scenarios), scope in product(SIZES, SCOPES):
        each = outcomes(models, scenarios, scope, rng, draws)
        figures.append(
            Figure(
                f"{models} models x {scenarios} scenarios, {scope}: "
                + ", ".join(FIGURES),
                ", ".join(_shown(one) for one in each),
                "shown failing" if scope is Scope.PAIRS else "95%",
            )
        )
    return figures


def _shown(one: Outcome) -> str:
    text = f"{one.covered:.0%} ({100 * one.width:.0f})"
    return f"{text}, refused" if one.refused else text


def table(rng: np.random.Generator, draws: int = DRAWS) -> Iterator[str]:
    """Lines of Markdown: coverage, and the mean width in points in brackets."""
    yield "| models | scenarios | figure | models | scenarios | both | pairs |"
    yield "|--:|--:|---|--:|--:|--:|--:|"
    for models, scenarios in SIZES:
        found = [outcomes(models, scenarios, s, rng, draws) for s in SCOPES]
        for place, name in enumerate(FIGURES):
            cells = " | ".join(_shown(each[place]) for each in found)
            yield f"| {models} | {scenarios} | {name} | {cells} |"


if __name__ == "__main__":
    print(*table(np.random.default_rng(1)), sep="\n", flush=True)
