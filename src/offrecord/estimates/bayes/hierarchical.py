"""The hierarchical model: divergence by model and scenario, partially pooled.

Few scenarios and a handful of models say little about new ones, and a rate from few
runs is apt to be extreme. Here the divergent turns of a run are beta-binomial; the
logit of a cell's rate is an overall level plus one effect of the model, one of the
scenario and one of the two together, each normal around zero with a scale of its own.
Models borrow strength from each other by as much as they are alike, and the scales
say what a new model or a new scenario may bring.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import UNKNOWN, Bounds
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.bayes.posterior import Outcomes, Posterior, outcomes_of, sample
from offrecord.estimates.frames.groups import turns_of
from offrecord.estimates.frames.row import Row, group_rows

DRAWS: Final = 1000
"""Of each chain, after as many steps to warm up."""
SCOPE: Final = "posterior of the hierarchical model"

MODEL: Final = "model"
OTHERS: Final = (
    "new model",
    "new scenario",
    "scale of models",
    "scale of scenarios",
    "scale of model x scenario",
    "correlation within a run",
)
"""What is estimated beside each model's rate; scales are of logits."""

_FEW: Final = "fewer than two models or two scenarios with known turns"
_R_HAT: Final = 1.01
_EFFECTIVE: Final = 400
"""Bounds that Vehtari et al. (2021) recommend, for 4 chains."""


class _Label(NamedTuple):
    """What a row is of, and what was seen of it."""

    quantity: str
    model: int | None
    runs: int
    turns: int
    observed: float


class _Checked(NamedTuple):
    """What the draws say, and whether they are to be trusted."""

    bounds: Bounds
    r_hat: float
    effective: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class HierarchicalFigures:
    """One quantity of the model."""

    quantity: str
    """`MODEL`, or one of `OTHERS`."""
    runs: int
    turns: int
    observed: float
    """The plain share of a model's turns."""
    checked: _Checked
    level: float
    scope: str = SCOPE


def quantities(drawn: Posterior, rng: np.random.Generator) -> dict[str, Values]:
    """What is said of the draws: rates, predictions, scales.

    Args:
        drawn: The draws.
        rng: Draws the new model and the new scenario.

    Returns:
        Each model's rate, averaged over the scenarios, of shape (chains, draws,
        models); then `OTHERS` of shape (chains, draws): the rate of a new model in the
        same scenarios, that of the same models in a new scenario, and the scales.
    """

    def new(scale: Values, size: int) -> Values:
        return scale[..., None] * rng.standard_normal((*scale.shape, size))

    models, scenarios = drawn.both.shape[-2:]
    level, own = drawn.overall[..., None], drawn.model[..., None]
    cells = level[..., None] + own + drawn.scenario[..., None, :] + drawn.both
    model = new(drawn.scale_model, 1) + new(drawn.scale_both, scenarios)
    scenario = new(drawn.scale_scenario, 1) + new(drawn.scale_both, models)
    others = (
        _rate(level + model + drawn.scenario).mean(axis=-1),
        _rate(level + drawn.model + scenario).mean(axis=-1),
        drawn.scale_model,
        drawn.scale_scenario,
        drawn.scale_both,
        drawn.correlation,
    )
    return {MODEL: _rate(cells).mean(axis=-1), **dict(zip(OTHERS, others, strict=True))}


def hierarchical_rates(
    events: Ids,
    turns: Ids,
    models: Ids,
    scenarios: Ids,
    seed: int,
    *,
    draws: int = DRAWS,
    level: float = 0.95,
) -> list[Row[HierarchicalFigures]]:
    """Rates of models, of a new one and in a new scenario, with the scales between.

    Args:
        events: Divergent turns of each run; shape (runs,), as the others.
        turns: Its turns with both stances.
        models: Its model.
        scenarios: Its scenario.
        seed: Of the sampler. The same seed gives the same digits, in any row order.
        draws: Of each of the four chains.
        level: Of the intervals, equal tails.

    Returns:
        One row per model in the order of their ids, with `observed`, the plain share
        of its turns; then one per prediction and scale (of logits), whose `model` is
        None. `reason` says what is undefined, or why the draws are not to be trusted.

    Raises:
        OffrecordError: If the extra is not installed, or a count is impossible.
    """
    found = outcomes_of(events, turns, models, scenarios)
    labels = _labels(found)
    if found.models.size < 2 or found.scenarios.size < 2:
        unknown = _Checked(UNKNOWN, math.nan, math.nan, _FEW)
        made = [unknown] * len(labels)
    else:
        drawn, divergent = sample(found, seed, draws)
        named = quantities(drawn, np.random.default_rng(seed))
        parts = [*np.moveaxis(named[MODEL], -1, 0), *(named[name] for name in OTHERS)]
        made = [_checked(part, level, divergent) for part in parts]
    return [
        Row(
            {"model": label.model},
            HierarchicalFigures(
                quantity=label.quantity,
                runs=label.runs,
                turns=label.turns,
                observed=label.observed,
                checked=checked,
                level=level,
            ),
        )
        for label, checked in zip(labels, made, strict=True)
    ]


def hierarchical_rows(
    pairs: pl.DataFrame, by: Sequence[str], seed: int
) -> list[Row[HierarchicalFigures]]:
    """The hierarchical model of each group of a study.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by; model and scenario, which are modelled, are none.
        seed: Of the sampler.

    Raises:
        OffrecordError: If a key is unknown, or the extra is not installed.
    """
    ids = [
        pl.col(name).rank("dense").cast(pl.Int64).alias(f"_{name}")
        for name in ("model", "scenario")
    ]
    names = dict(enumerate(sorted(pairs["model"].unique()), start=1))

    def figures(group: pl.DataFrame) -> Iterator[Row[HierarchicalFigures]]:
        held = turns_of(group)
        _, first, run = np.unique(held.runs, return_index=True, return_inverse=True)
        yield from hierarchical_rates(
            np.bincount(run, weights=np.nan_to_num(held.divergent)).astype(np.int64),
            np.bincount(run, weights=held.known).astype(np.int64),
            group["_model"].to_numpy()[first],
            group["_scenario"].to_numpy()[first],
            seed,
        )

    rows = group_rows(pairs.with_columns(ids), by, figures, ("model", "scenario"))
    return [
        Row({**row.group, "model": names.get(row.of["model"])}, row.of.of)
        for row in rows
    ]


def summary(drawn: Values, level: float) -> Bounds:
    """The mean of draws and the interval that leaves equal tails.

    Args:
        drawn: Any shape.
        level: The share of the draws within.
    """
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Bounds(float(drawn.mean()), float(low), float(high))


def _rate(logits: Values) -> Values:
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))


def _labels(found: Outcomes) -> list[_Label]:
    """What each row is of, and what was seen of it."""
    size = found.models.size
    runs, turns, events = (
        np.bincount(found.model, weights=found.alike * each, minlength=size)
        for each in (1, found.turns, found.events)
    )
    labels = [
        _Label(MODEL, int(model), int(n), int(size), float(event / size))
        for model, n, size, event in zip(found.models, runs, turns, events, strict=True)
    ]
    seen = int(runs.sum()), int(turns.sum())
    return labels + [_Label(name, None, *seen, math.nan) for name in OTHERS]


def _checked(drawn: Values, level: float, divergent: int) -> _Checked:
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    r_hat = float(split_gelman_rubin(drawn))
    effective = float(effective_sample_size(drawn))
    doubts = []
    if not r_hat <= _R_HAT:
        doubts.append(f"R-hat {r_hat:.3f} is above {_R_HAT}")
    if not effective >= _EFFECTIVE:
        doubts.append(f"effective sample size {effective:.0f} is below {_EFFECTIVE}")
    if divergent:
        doubts.append(f"divergent transitions of the sampler: {divergent}")
    return _Checked(summary(drawn, level), r_hat, effective, "; ".join(doubts))
