"""Where the rate of one further model may lie: wider than the interval of the mean."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL, rate_estimate
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.variance import Sample, counted, totals

METHOD = "t prediction on the arcsine scale"


def predict_cluster(
    sample: Sample, scope: Scope = Scope.MODELS, level: float = LEVEL
) -> Estimate:
    """A prediction interval for the rate that one more cluster would show.

    On the scale arcsin(sqrt(rate)), where the variance of a rate hardly depends on it
    and no bound passes 0 or 1, every cluster counts alike. It takes the clusters as
    drawn from one population, and the new one as asked as often as they were. It holds
    the interval of the mean, so that clusters that happen to be alike promise no more
    than their number allows.

    Args:
        sample: Values 0, 1 or NaN, clusters those of the scope, without strata.
        scope: `MODELS`, or `SCENARIOS` for one further scenario of one of them.
        level: How often such intervals are to hold the new rate.

    Returns:
        The mean with the interval of a new cluster; `se` is NaN, since a prediction
        has none.
    """
    mean = rate_estimate(sample, scope, level=level)
    sums = totals(sample)
    low, high = mean.low, mean.high
    if sums is not None and mean.defined:
        angles = np.arcsin(np.sqrt(sums.sums / sums.sizes))
        spread = float(angles.std(ddof=1)) * math.sqrt(1 + 1 / angles.size)
        half = spread * float(stats.t.ppf((1 + level) / 2, sums.freedom))
        middle = float(angles.mean())
        low = min(low, math.sin(max(middle - half, 0.0)) ** 2)
        high = max(high, math.sin(min(middle + half, math.pi / 2)) ** 2)
    return Estimate(
        value=mean.value,
        low=low,
        high=high,
        se=math.nan,
        method=METHOD,
        scope=f"one of the {scope}",
        reason=mean.reason,
        **counted(sample),
    )
