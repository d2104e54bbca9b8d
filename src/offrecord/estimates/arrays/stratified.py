"""A figure over cells that each have a weight, whatever their numbers of runs.

The value is sum w_c p_c, with p_c the mean over the turns of cell c that have a value.
Its variance is v = sum w_c^2 s_c^2 / m_c: m_c runs, and s_c^2 / m_c the variance of the
ratio p_c from m_c / (m_c - 1) times the squares of (y_i - p_c t_i) / T_c, a run having
the sum y_i over t_i of the cell's T_c turns (Cochran, Sampling Techniques, 1977, the
separate ratio estimate). Degrees of freedom are Satterthwaite's for runs that vary
alike in all cells: (sum c)^2 / sum(c^2 / (m_c - 1)), c = w_c^2 / m_c. They come from
the design, since a variance of few events is itself a guess.

The interval of a rate is Wilson's with a t quantile and n = p (1 - p) / v turns, capped
as in `intervals`, cell by cell:

    n <= p (1 - p) / sum(w_c^2 B_c f_c / T_c),  f_c = 1 + 0.35 (L_c - 1) 20 / (20 + k)

B_c is the variance of one turn in its cell, with the cell's rate drawn a little toward
the figure, L_c the turns of a run as a turn sees them, and k, the informative runs,

    k = sum(w_c min(some_c, short_c) / m_c) / sum(w_c^2 / m_c) - 1

with some_c runs that have an event and short_c that have a turn without one; k is 0
where a single run of all cells has an event, or a turn without one. At k = 0
the cap is 1 / sum(w_c^2 f_c / T_c), as if cells were all alike: from 0 events, one more
never lowers a bound, nor does one less from all of them.

Where clusters reach over cells, as models do, clusters stand here for runs and their
strata for cells (`weighed`). The cap guards against a variance that nothing shows yet.
From six models with an event and six with a turn without one on, models show it, and
the cap is left out: it would take the dozens of turns of a model for as many guesses.
Where scenarios are drawn anew, intervals are those of `scoped`.

A cell with a single run shows no spread. Such cells are taken together, as one stratum
about their common mean, which is too wide where they differ. A cell that is alone in
this counts with its distance from the figure and one degree of freedom.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import (
    CORRELATION,
    INFORMATIVE,
    LEVEL,
    NO_SPREAD,
    PULL,
    Limits,
    wilson,
)
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample, Side, counted
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.scoped import FEWEST, anew, by_clusters
from offrecord.estimates.arrays.weighed import (
    Layout,
    Weighed,
    errors,
    variance,
    weighed,
)

METHOD: Final = "wilson"
"""How the interval of a rate is made."""
MEAN_METHOD: Final = "t"
"""How the interval of any other mean is made."""
NO_VALUE: Final = "no turn has a value"
EMPTY_CELL: Final = "a cell has no turn with a value"
ONE_RUN: Final = "a single run or cluster shows no spread"
ALIKE: Final = "all runs of a cell are alike, without spread"

ROUNDING: Final = 1e-10
"""Of the largest value: a smaller standard error is no spread."""


def effective_turns(data: Weighed, *, capped: bool = True) -> Values:
    """How many independent turns a rate is worth, shape (...); see the module.

    Args:
        data: Sums of values 0 and 1.
        capped: Whether the cap holds too where enough clusters are informative.
    """
    layout, p = data.layout, data.value
    weight, turns = layout.weights, layout.turns
    whole, runs = layout.per_stratum(weight), layout.per_stratum(layout.runs)
    own = layout.per_stratum(weight * data.rates) / whole
    spread = layout.per_stratum(layout.per_cell(errors(data) ** 2)) / whole**2
    keep = (runs - 1) / (runs - 1 + PULL)
    drawn = keep * own + (1 - keep) * p[..., None]
    within = (drawn * (1 - drawn) + keep**2 * spread)[..., layout.strata]
    informative = _informative(data)
    length = layout.per_cell(layout.sizes**2) / turns
    fading = INFORMATIVE / (INFORMATIVE + informative)
    floor = 1 + CORRELATION * (length - 1) * fading[..., None]
    each = weight**2 * floor / turns
    binomial, inner = p * (1 - p), (each * within).sum(axis=-1)
    cap = np.asarray(1 / each.sum(axis=-1))
    gains = (informative > 0) & (inner > 0) & bool((length > 1).any())
    np.divide(binomial, inner, out=cap, where=gains)
    if not capped:
        cap[informative + 1 >= FEWEST] = math.inf
    v = variance(data)
    shown = np.full_like(p, math.inf)
    np.divide(binomial, v, out=shown, where=v > NO_SPREAD)
    return np.asarray(np.minimum(shown, cap))


def rate_limits(
    data: Weighed,
    level: float = LEVEL,
    *,
    capped: bool = True,
    freedom: float | None = None,
) -> Limits:
    """The interval of the rate of each sample of one design.

    Args:
        data: Sums of values 0 and 1.
        level: How often such intervals are to hold the truth.
        capped: As in `effective_turns`.
        freedom: Degrees of freedom, where not those of the design.

    Returns:
        NaN for a single run, unless it is given degrees of freedom.
    """
    freedom = data.layout.freedom if freedom is None else freedom
    if not freedom:
        nothing = np.full_like(data.value, math.nan)
        return Limits(nothing, nothing)
    quantile = float(stats.t.ppf((1 + level) / 2, freedom))
    p = np.clip(data.value, 0.0, 1.0)  # a sum of products may end beyond 1
    return wilson(p, effective_turns(data, capped=capped), quantile)


def stratified_rate(
    sample: Sample,
    weights: Values | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> Estimate:
    """A rate over cells with its interval; the standard error as in `intervals`.

    Args:
        sample: Values 0, 1 or NaN with their runs (`clusters`) and cells (`strata`).
        weights: Shape (cells,), in the order of `np.unique(sample.strata)`; alike by
            default.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Raises:
        ValueError: If the weights are none.
    """
    data = weighed(sample, weights)
    if data is None:
        return undefined(METHOD, scope, empty_reason(sample), sample)
    if by_clusters([Side(sample, 1, weights)], scope):
        return anew([Side(sample, 1, weights)], scope, level, Range(0.0, 1.0))
    limits = rate_limits(data, level, capped=scope is not Scope.MODELS)
    return Estimate(
        value=float(data.value),
        low=float(limits.low),
        high=float(limits.high),
        se=standard_error(data),
        method=METHOD,
        scope=str(scope),
        reason=shortfall(data.layout),
        **counted(sample),
    )


def stratified_mean(
    sample: Sample,
    weights: Values | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> Estimate:
    """A mean of any numeric measure over cells, with its t interval.

    Args:
        sample: Values in any unit, NaN where missing.
        weights: As in `stratified_rate`.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Returns:
        Without bounds, and with a reason, for a single run or where all runs of each
        cell are alike.

    Raises:
        ValueError: If the weights are none.
    """
    data = weighed(sample, weights)
    if data is None:
        return undefined(MEAN_METHOD, scope, empty_reason(sample), sample)
    if by_clusters([Side(sample, 1, weights)], scope):
        return anew([Side(sample, 1, weights)], scope, level)
    value, error = float(data.value), math.sqrt(float(variance(data)))
    reason = shortfall(data.layout)
    if not error > ROUNDING * float(np.nanmax(np.abs(sample.values))):
        error, reason = math.nan, reason or ALIKE
    freedom = max(data.layout.freedom, 1.0)
    half = error * float(stats.t.ppf((1 + level) / 2, freedom))
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        se=math.nan if data.layout.singles else error,
        method=MEAN_METHOD,
        scope=str(scope),
        reason=reason,
        **counted(sample),
    )


def standard_error(data: Weighed) -> float:
    """The clustered standard error; NaN where a cell has a single run."""
    return math.nan if data.layout.singles else math.sqrt(float(variance(data)))


def shortfall(layout: Layout) -> str | None:
    """Why a bound or the standard error is NaN, or None."""
    if layout.sizes.size < 2:
        return ONE_RUN
    if layout.singles > 1:
        return (
            f"{layout.singles} cells have a single run, without spread; "
            "the interval takes such cells together"
        )
    if layout.singles:
        return (
            "1 cell has a single run, without spread; the interval takes how far it "
            "is from the other cells"
        )
    return None


def empty_reason(sample: Sample) -> str:
    """Why a figure over cells has no value."""
    return NO_VALUE if np.isnan(sample.values).all() else EMPTY_CELL


def undefined(method: str, scope: str, reason: str, *samples: Sample) -> Estimate:
    """An estimate of nothing, with its counts and its reason."""
    nan = math.nan
    return Estimate(
        value=nan,
        low=nan,
        high=nan,
        se=nan,
        method=method,
        scope=str(scope),
        reason=reason,
        **counted(*samples),
    )


def _informative(data: Weighed) -> Values:
    """The runs that show how much runs vary, shape (...); see the module."""
    layout = data.layout
    some = layout.per_cell((data.sums > 0).astype(np.float64))
    short = layout.per_cell((data.sums < layout.sizes).astype(np.float64))
    share = layout.weights / layout.runs
    least = np.minimum(
        layout.per_stratum(share * some), layout.per_stratum(share * short)
    ).sum(axis=-1)
    number = least / (share * layout.weights).sum() - 1
    several = np.minimum(some.sum(axis=-1), short.sum(axis=-1)) > 1
    return np.asarray(np.where(several & (number > ROUNDING), number, 0.0))
