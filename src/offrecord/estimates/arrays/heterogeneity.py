"""Heterogeneity: how far models and scenarios differ, and by what share each.

The cell means of a model x scenario table are split by the method of moments of a
two-way analysis of variance with random effects. Cells are means of few runs, so a
part of their spread is the runs' own; it is estimated from the runs within each cell
and taken out of the interaction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values


class Components(NamedTuple):
    """Variances of cell means, in squared units of the measure.

    An estimate may be below zero where the truth is near it; it is shown as it is, and
    the shares, which count it as zero, are of what is left.
    """

    models: int
    scenarios: int
    runs: int
    by_model: float
    """Variance of the models' own level."""
    by_scenario: float
    interaction: float
    """Variance of what a model does in one scenario and not in others."""
    within: float
    """Variance of a cell's mean that the runs' own spread brings about."""
    share_model: float
    """Part of the first three together, from 0 to 1."""
    share_scenario: float
    share_interaction: float
    reason: str
    """Why there is nothing to split; empty where there is."""


def variance_components(
    values: Values, runs: Ids, models: Ids, scenarios: Ids
) -> Components:
    """Split the variance of cell means by model, scenario and their interaction.

    With a models, b scenarios, cell means m and e the mean over cells of s^2 / G (s^2
    the variance of a cell's G run means): the mean squares of m have the means
    b A + I + e, a B + I + e and I + e (Searle, Casella and McCulloch 1992, chapter 4).

    Args:
        values: Shape (turns,), NaN if missing.
        runs: The run of each turn.
        models: The model of each.
        scenarios: The scenario of each.

    Returns:
        NaN with a reason unless there are two models and two scenarios or more, every
        model has runs in every scenario, and some cell has two.
    """
    known = ~np.isnan(values)
    ids, first, members = np.unique(runs[known], return_index=True, return_inverse=True)
    means = np.bincount(members, weights=values[known]) / np.bincount(members)
    names, row = np.unique(models[known][first], return_inverse=True)
    places, column = np.unique(scenarios[known][first], return_inverse=True)
    a, b = names.size, places.size
    cell = row * b + column
    sizes = np.bincount(cell, minlength=a * b)
    reason = _unfit(a, b, sizes)
    if reason:
        nan = math.nan
        return Components(a, b, ids.size, nan, nan, nan, nan, nan, nan, nan, reason)
    table = np.bincount(cell, weights=means, minlength=a * b) / sizes
    spread = np.bincount(cell, weights=(means - table[cell]) ** 2, minlength=a * b)
    several = sizes > 1
    # A cell of one run has the spread that the others have on average.
    pooled = spread[several].sum() / (sizes[several] - 1).sum()
    own = np.where(several, spread / np.maximum(sizes - 1, 1), pooled)
    within = float((own / sizes).mean())
    return _moments(table.reshape(a, b), within, ids.size)


def _unfit(models: int, scenarios: int, sizes: Ids) -> str:
    if models < 2 or scenarios < 2:
        return "fewer than two models or two scenarios"
    if (sizes == 0).any():
        return "not every model has runs in every scenario"
    if (sizes < 2).all():
        return "no cell has two runs"
    return ""


def _moments(table: Values, within: float, runs: int) -> Components:
    a, b = table.shape
    grand, rows, columns = table.mean(), table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns[None, :] + grand
    square_model = b * float(((rows - grand) ** 2).sum()) / (a - 1)
    square_scenario = a * float(((columns - grand) ** 2).sum()) / (b - 1)
    square_rest = float((rest**2).sum()) / ((a - 1) * (b - 1))
    parts = (
        (square_model - square_rest) / b,
        (square_scenario - square_rest) / a,
        square_rest - within,
    )
    kept = [max(part, 0.0) for part in parts]
    total = sum(kept)
    model, scenario, both = (part / total if total > 0 else math.nan for part in kept)
    reason = "" if total > 0 else "models and scenarios do not differ beyond their runs"
    return Components(a, b, runs, *parts, within, model, scenario, both, reason)
