"""What is estimated of each group beside its rates: one type of figures for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.heterogeneity import Components, variance_components
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.permutation import PValue, sign_flip_test
from offrecord.estimates.arrays.persistence import (
    first_divergence,
    persistence,
    run_correlation,
)
from offrecord.estimates.arrays.ranks import Rank, rank_sets, together, worst
from offrecord.estimates.arrays.scope import RUNS_ONLY, Scope
from offrecord.estimates.arrays.signed import stratified_gap
from offrecord.estimates.arrays.turns import Sizes, Turns
from offrecord.estimates.frames.groups import grouped, turns_of
from offrecord.estimates.frames.partners import unlike_partners
from offrecord.estimates.frames.row import Row, group_rows
from offrecord.estimates.frames.scopes import scoped
from offrecord.estimates.frames.weighing import How

LEVEL: Final = 0.95
_MEASURE: Final = "divergence"
_RUNS: Final = str(Scope.RUNS)
_DEFAULT: Final = How()


@dataclass(frozen=True, kw_only=True)
class GapFigures:
    """The gap between the channels of the same runs, and whether it is one."""

    bounds: Bounds
    sizes: Sizes
    outcome: PValue
    reason: str
    method: str
    scope: str
    """What the interval generalizes to; the test is of these runs."""
    refused: bool
    """Whether too little is known to show the interval; `reason` says what."""
    measure: str = "gap"
    level: float = LEVEL
    test: str = "signs of whole runs flipped"


def channel_gap_rows(
    pairs: pl.DataFrame,
    by: Sequence[str],
    rng: np.random.Generator,
    how: How = _DEFAULT,
) -> list[Row[GapFigures]]:
    """The gap between the channels of each group, tested by the signs of whole runs.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by.
        rng: Draws signs where they are too many to count.
        how: Scope and level of the interval, and what the gap is the mean of.
    """

    def figures(group: pl.DataFrame) -> Iterator[GapFigures]:
        turns = turns_of(group)
        sample = scoped(group, turns.public - turns.other, how.scope)
        given = how.weights.of_cells(sample)
        gap = stratified_gap(sample, given, how.scope, how.level)
        test = sign_flip_test(sample.values, turns.runs, rng)
        yield GapFigures(
            bounds=gap.bounds,
            sizes=turns.sizes,
            outcome=test,
            reason=test.reason or gap.reason or gap.bounds.shortfall,
            method=gap.method,
            scope=gap.scope,
            refused=gap.refused,
        )

    return group_rows(pairs, by, figures)


@dataclass(frozen=True, kw_only=True)
class PersistenceFigures:
    """How often a state lasts to the next turn, and how alike turns of a run are."""

    state: str
    turns: int
    """Turns in the state with a next turn, both known."""
    bounds: Bounds
    correlation_pooled: float
    correlation_within_cells: float
    reason: str
    scope: str
    refused: bool
    level: float = LEVEL


def persistence_rows(
    pairs: pl.DataFrame, by: Sequence[str], scope: Scope = Scope.RUNS
) -> list[Row[PersistenceFigures]]:
    """The rows of `persistence`, a row per state, of each group."""

    def figures(group: pl.DataFrame) -> Iterator[PersistenceFigures]:
        turns = turns_of(group)
        alike = run_correlation(turns.divergent, turns.runs, turns.cells)
        sample = scoped(group, turns.divergent, scope)
        for one in persistence(turns, LEVEL, sample, scope):
            yield PersistenceFigures(
                state=one.state,
                turns=one.turns,
                bounds=one.same.bounds,
                scope=one.same.scope,
                refused=one.same.refused,
                correlation_pooled=alike.pooled,
                correlation_within_cells=alike.within_cells,
                reason=one.reason,
            )

    return group_rows(pairs, by, figures)


@dataclass(frozen=True, kw_only=True)
class SurvivalFigures:
    """One round of the product limit: the share of runs that have not diverged yet."""

    round: int
    at_risk: int
    events: int
    censored: int
    bounds: Bounds
    reason: str
    scope: str
    level: float = LEVEL


def survival_rows(
    pairs: pl.DataFrame, by: Sequence[str], how: How = _DEFAULT
) -> list[Row[SurvivalFigures]]:
    """The rows of `first_divergence`, a row per round, of each group."""
    scope = how.scope

    def figures(group: pl.DataFrame) -> Iterator[SurvivalFigures]:
        for one in first_divergence(turns_of(group), LEVEL, how.weights):
            named = one._asdict()
            bounds = named.pop("undiverged")
            if scope is not Scope.RUNS:
                bounds, named["reason"] = bounds.bare, RUNS_ONLY
            yield SurvivalFigures(bounds=bounds, **named, scope=str(scope))

    return group_rows(pairs, by, figures)


@dataclass(frozen=True, kw_only=True)
class HeterogeneityFigures:
    """What of the spread of a figure over cells lies in models and scenarios."""

    components: Components
    note: str
    """Whether models met unlike partners."""
    measure: str = _MEASURE


def heterogeneity_rows(
    pairs: pl.DataFrame, by: Sequence[str]
) -> list[Row[HeterogeneityFigures]]:
    """How divergence spreads over models, scenarios and both, in each group.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by; model and scenario, which are split, are none.
    """

    def figures(group: pl.DataFrame) -> Iterator[HeterogeneityFigures]:
        turns = turns_of(group)
        models, scenarios = (
            group[name].rank("dense").cast(pl.Int64).to_numpy()
            for name in ("model", "scenario")
        )
        parts = variance_components(turns.divergent, turns.runs, models, scenarios)
        yield HeterogeneityFigures(components=parts, note=unlike_partners(group))

    return group_rows(pairs, by, figures, without=("model", "scenario"))


@dataclass(frozen=True, kw_only=True)
class RankFigures:
    """A model's place by its divergence, and the places that it may have."""

    model: str
    rank: Rank
    of: int
    """How many models."""
    note: str
    measure: str = _MEASURE
    level: float = LEVEL
    """How often all ranks of a group hold together."""
    scope: str = _RUNS


def rank_rows(
    pairs: pl.DataFrame, by: Sequence[str], weights: Weights = Weights.CELLS
) -> list[Row[RankFigures]]:
    """The models of each group by divergence, with the ranks that they may have.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by beside the model.
        weights: What each rate is the mean of.
    """

    def figures(group: pl.DataFrame) -> Iterator[RankFigures]:
        models, turns = _parts(group, "model")
        note = unlike_partners(group)
        ranks = rank_sets(turns, [one.divergent for one in turns], LEVEL, weights)
        for model, rank in zip(models, ranks, strict=True):
            yield RankFigures(model=model, rank=rank, of=len(models), note=note)

    return group_rows(pairs, by, figures, without=("model",))


@dataclass(frozen=True, kw_only=True)
class ScenarioFigures:
    """Divergence of a scenario, with bounds that hold for all scenarios at once."""

    scenario: str
    worst: bool
    """Whether this is the largest, with the bounds of the largest true one."""
    bounds: Bounds
    reason: str
    scope: str
    measure: str = _MEASURE
    level: float = LEVEL


def scenario_rows(
    pairs: pl.DataFrame, by: Sequence[str], how: How = _DEFAULT
) -> list[Row[ScenarioFigures]]:
    """Divergence of each scenario, bounds holding together, and which is the worst.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by beside the scenario.
        how: What each rate is the mean of, and the scope: there are bounds for new
            runs alone.
    """

    def figures(group: pl.DataFrame) -> Iterator[ScenarioFigures]:
        scenarios, turns = _parts(group, "scenario")
        bounds = together(turns, [one.divergent for one in turns], LEVEL, how.weights)
        largest = worst(bounds)
        found = [*zip(scenarios, bounds, strict=True)]
        if largest.place >= 0:
            found.append((scenarios[largest.place], largest.bounds))
        for place, (scenario, one) in enumerate(found):
            runs = how.scope is Scope.RUNS
            yield ScenarioFigures(
                scenario=scenario,
                worst=place == len(scenarios),
                bounds=one if runs else one.bare,
                reason=one.shortfall if runs else RUNS_ONLY,
                scope=str(how.scope),
            )

    return group_rows(pairs, by, figures, without=("scenario",))


def _parts(group: pl.DataFrame, column: str) -> tuple[list[str], list[Turns]]:
    parts = list(grouped(group, [column]))
    return [named[column] for named, _ in parts], [turns_of(part) for _, part in parts]
