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
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.rates import Ids, Values, divergences
from offrecord.estimates.bayes.posterior import Outcomes, Posterior, outcomes_of, sample
from offrecord.estimates.frames.groups import group_keys, grouped, numbered, turns_of

Rows = list[dict[str, Any]]

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
) -> Rows:
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
        names = ("value", "low", "high", "r_hat", "effective")
        nothing = {**dict.fromkeys(names, math.nan), "level": level, "reason": _FEW}
        return [{**label, **nothing} for label in labels]
    drawn, astray = sample(found, seed, draws)
    named = quantities(drawn, np.random.default_rng(seed))
    parts = [*np.moveaxis(named[MODEL], -1, 0), *(named[name] for name in OTHERS)]
    return [
        {**label, **summary(part, level), "level": level, **_checks(part, astray)}
        for label, part in zip(labels, parts, strict=True)
    ]


def hierarchical_rows(
    pairs: pl.DataFrame, by: Sequence[str], seed: int, *, level: float = 0.95
) -> Rows:
    """The hierarchical model of each group of a study.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by; model and scenario, which are modelled, are none.
        seed: Of the sampler.
        level: Of the intervals.

    Raises:
        OffrecordError: If a key is unknown, or the extra is not installed.
    """
    rows = Rows()
    keys = [key for key in group_keys(pairs, by) if key not in {"model", "scenario"}]
    ids = [
        pl.col(name).rank("dense").cast(pl.Int64).alias(f"_{name}")
        for name in ("model", "scenario")
    ]
    names = dict(enumerate(sorted(pairs["model"].unique()), start=1))
    for named, group in grouped(numbered(pairs).with_columns(ids), keys):
        held = turns_of(group)
        _, first, run = np.unique(held.runs, return_index=True, return_inverse=True)
        divergent = np.nan_to_num(divergences(held.public, held.other))
        found = hierarchical_rates(
            np.bincount(run, weights=divergent).astype(np.int64),
            np.bincount(run, weights=held.known).astype(np.int64),
            group["_model"].to_numpy()[first],
            group["_scenario"].to_numpy()[first],
            seed,
            level=level,
        )
        rows += [
            {**named, **row, "model": names.get(row["model"]), "scope": SCOPE}
            for row in found
        ]
    return rows


def summary(drawn: Values, level: float) -> dict[str, float]:
    """The mean of draws and the interval that leaves equal tails.

    Args:
        drawn: Any shape.
        level: The share of the draws within.
    """
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return {"value": float(drawn.mean()), "low": float(low), "high": float(high)}


def _rate(logits: Values) -> Values:
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))


def _labels(found: Outcomes) -> Rows:
    """What each row is of, and what was seen of it."""
    size = found.models.size
    runs, turns, events = (
        np.bincount(found.model, weights=found.alike * each, minlength=size)
        for each in (1, found.turns, found.events)
    )
    labels: Rows = [
        {
            "quantity": MODEL,
            "model": int(model),
            "runs": int(runs[place]),
            "turns": int(turns[place]),
            "observed": float(events[place] / turns[place]),
        }
        for place, model in enumerate(found.models)
    ]
    seen = {"model": None, "runs": int(runs.sum()), "turns": int(turns.sum())}
    return labels + [
        {"quantity": name, **seen, "observed": math.nan} for name in OTHERS
    ]


def _checks(drawn: Values, astray: int) -> dict[str, Any]:
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    r_hat = float(split_gelman_rubin(drawn))
    effective = float(effective_sample_size(drawn))
    doubts = []
    if not r_hat <= _R_HAT:
        doubts.append(f"R-hat {r_hat:.3f} is above {_R_HAT}")
    if not effective >= _EFFECTIVE:
        doubts.append(f"effective sample size {effective:.0f} is below {_EFFECTIVE}")
    if astray:
        doubts.append(f"transitions of the sampler that went astray: {astray}")
    return {"r_hat": r_hat, "effective": effective, "reason": "; ".join(doubts)}
