"""The interval of a rate: Wilson's, for clusters within strata.

It is Wilson's with a t quantile (clusters minus strata) and an effective
number of turns. Its variance comes from clusters within strata, but with few events it
is itself a guess, and at 0 or 1 it is zero. So the effective number is capped at what
the design allows if turns of a cluster correlate by 0.35, and the cap fades as clusters
that show how much they vary come in:

    n = min(p (1 - p) / v, R N / (1 + 0.35 (T - 1) 20 / (20 + k)))

N turns, T a cluster; k, the informative clusters, is over strata the sum of the smaller
of clusters with an event and clusters with a turn without one, less 1; R = p (1 - p) /
B is what stratifying gains, B being the variance of a turn within its stratum, with
each stratum's rate drawn a little toward the pooled one. At k = 0 (no event or all of
them, or events in one run alone) R is 1: from 0 of N, one event more never lowers a
bound, nor does one less from N of N. `benchmarks/coverage.py` shows that this covers.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.variance import (
    Sample,
    Totals,
    counted,
    stratum_variances,
    totals,
    variance,
)

LEVEL: Final = 0.95
METHOD: Final = "wilson"
NO_SPREAD: Final = 1e-20
"""A variance of rates below this is rounding: the clusters are all alike."""

_CORRELATION: Final = 0.35  # of turns within a cluster, until the data speak
_INFORMATIVE: Final = 20  # clusters that halve its weight
_PULL: Final = 0.25  # clusters' worth of the pooled rate in each stratum's own


class Limits(NamedTuple):
    """Bounds, each of the shape of the samples given."""

    low: Values
    high: Values


def wilson(rate: Values, number: Values | float, quantile: float) -> Limits:
    """Wilson's interval of a rate from an effective number of turns."""
    extra = quantile**2 / number
    middle = (rate + extra / 2) / (1 + extra)
    half = np.sqrt(extra * (rate * (1 - rate) + extra / 4)) / (1 + extra)
    return Limits(
        np.where(rate > 0, middle - half, 0.0), np.where(rate < 1, middle + half, 1.0)
    )


def design_effect_floor(sums: Totals) -> Values:
    """The least design effect that so few informative clusters may claim."""
    some = sums.per_stratum((sums.sums > 0).astype(np.int64))
    short = sums.per_stratum((sums.sums < sums.sizes).astype(np.int64))
    informative = np.maximum(np.minimum(some, short).sum(axis=-1) - 1, 0)
    weight = _INFORMATIVE / (_INFORMATIVE + informative)
    return np.asarray(1 + _CORRELATION * (sums.length - 1) * weight)


def effective_turns(sums: Totals) -> Values:
    """How many independent turns the sample is worth, shape (...); see the module."""
    p, v = sums.mean, variance(sums)
    binomial = p * (1 - p)
    size, clusters = sums.per_stratum(sums.sizes), sums.counts
    own = sums.per_stratum(sums.sums) / size
    keep = (clusters - 1) / (clusters - 1 + _PULL)
    drawn = keep * own + (1 - keep) * p[..., None]
    share = size / sums.turns
    within = drawn * (1 - drawn) + keep**2 * stratum_variances(sums) / share**2
    floor = design_effect_floor(sums)
    gains = floor < 1 + _CORRELATION * (sums.length - 1)
    inner = (share * within).sum(axis=-1)
    gain = np.ones_like(p)
    np.divide(binomial, inner, out=gain, where=gains & (inner > 0))
    shown = np.full_like(p, math.inf)
    np.divide(binomial, v, out=shown, where=v > NO_SPREAD)
    return np.asarray(np.minimum(shown, gain * sums.turns / floor))


def rate_limits(sums: Totals, level: float = LEVEL) -> Limits:
    """The interval of the rate of each sample of one design.

    Args:
        sums: Totals of values 0 and 1.
        level: How often such intervals are to hold the truth.

    Returns:
        NaN for a single cluster.
    """
    p = sums.mean
    if sums.freedom < 1:
        return Limits(np.full_like(p, math.nan), np.full_like(p, math.nan))
    quantile = float(stats.t.ppf((1 + level) / 2, sums.freedom))
    return wilson(p, effective_turns(sums), quantile)


def rate_interval(
    values: Values, clusters: Ids, strata: Ids, level: float = LEVEL
) -> tuple[float, float]:
    """The default interval of a rate, as two numbers.

    Args:
        values: Shape (turns,): 1, 0, or NaN where missing.
        clusters: Shape (turns,), ids that no other stratum uses.
        strata: Shape (turns,).
        level: How often such intervals are to hold the truth.
    """
    sums = totals(Sample(values, clusters, clusters, strata))
    if sums is None:
        return math.nan, math.nan
    limits = rate_limits(sums, level=level)
    return float(limits.low), float(limits.high)


def rate_estimate(
    sample: Sample, scope: Scope = Scope.RUNS, level: float = LEVEL
) -> Estimate:
    """A rate with its interval.

    The standard error is NaN where a stratum has a single cluster. The interval then
    takes the strata of single clusters together, which makes it wider if they differ.

    Args:
        sample: Values 0, 1 or NaN, with the clusters and strata of the scope.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    sums = totals(sample)
    value = low = high = error = math.nan
    reason: str | None = "no turn has a value"
    if sums is not None:
        value = float(sums.mean)
        limits = rate_limits(sums, level)
        low, high = float(limits.low), float(limits.high)
        error = math.nan if sums.alone else math.sqrt(float(variance(sums)))
        reason = shortfall(sums, math.isnan(low))
    return Estimate(
        value=value,
        low=low,
        high=high,
        se=error,
        method=METHOD,
        scope=str(scope),
        reason=reason,
        **counted(sample),
    )


def shortfall(sums: Totals, unbounded: bool) -> str | None:
    """Why something is NaN in an estimate, or None.

    Args:
        sums: What the estimate was made of.
        unbounded: Whether its interval is NaN.
    """
    if sums.sizes.size < 2:
        return "a single cluster shows no spread"
    if sums.alone:
        rest = "" if unbounded else "; the interval takes such strata together"
        strata = "stratum has" if sums.alone == 1 else "strata have"
        return f"{sums.alone} {strata} a single cluster, without spread{rest}"
    return "all clusters are alike, without spread" if unbounded else None
