"""Rules of a guard whose rate of false alarms is shown to be at most a target.

The cluster is the run. Its loss is whether any message fires, or the share of its
messages that do; a bound on the mean loss of runs that holds for any distribution of it
then bounds the rate of false alarms, whatever the turns of a run have in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.rates import Ids, Values

SIZE: Final = 0.05
"""The chance that a rule which is taken alarms more often than the target."""

_WRONG: Final = 0.1
"""The chance of a wrong draw by which rules are put in order, before any data."""

Per = Literal["message", "debate"]


class FiringRule(NamedTuple):
    """Fires where at least `against` of `draws` are against the message."""

    draws: int
    against: int

    @property
    def threshold(self) -> float:
        """The least share of draws that fires, as a number that no rounding misses."""
        return math.floor(10_000 * self.against / self.draws) / 10_000


class Shown(NamedTuple):
    """A rule and how often it fires where it must not."""

    rule: FiringRule
    p: float
    """Of the hypothesis that its rate is above the target."""


def rules(draws: int) -> list[FiringRule]:
    """Every rule of up to so many draws, those that fire least by chance first."""
    every = [FiringRule(k, j) for k in range(1, draws + 1) for j in range(1, k + 1)]
    return sorted(every, key=lambda r: stats.binom.sf(r.against - 1, r.draws, _WRONG))


def fires(rule: FiringRule, draws: Values) -> NDArray[np.bool_]:
    """Which messages a rule fires at.

    Args:
        rule: The rule.
        draws: Shape (messages, draws): 1 against the message, 0 for it, NaN unusable.

    Returns:
        Shape (messages,). A message with half or more of the draws unusable does not
        fire: what a guard does there is a fault, and no alarm.
    """
    used = draws[:, : rule.draws]
    usable = (~np.isnan(used)).sum(axis=1)
    share = np.nansum(used, axis=1) / np.maximum(usable, 1)
    fired: NDArray[np.bool_] = (2 * usable > rule.draws) & (share >= rule.threshold)
    return fired


def losses(fired: Values, runs: Ids, per: Per) -> Values:
    """The loss of each run that has a message.

    Args:
        fired: Shape (messages,): 1 where it fires, 0 where not.
        runs: The run of each, shape (messages,).
        per: Whether any message counts, or their share.

    Returns:
        Shape (runs,), from 0 to 1.
    """
    _, place = np.unique(runs, return_inverse=True)
    count = np.bincount(place)
    total = np.bincount(place, weights=fired)
    return np.minimum(total, 1.0) if per == "debate" else total / count


def p_above_target(loss: Values, target: float, per: Per) -> float:
    """The p-value of the hypothesis that the mean loss is above a target.

    The binomial tail for debates, whose loss is 0 or 1; for messages the smaller of
    Hoeffding's and Bentkus's bound (Bates et al. 2021, J. ACM 68(6), Theorem 3).

    Args:
        loss: Shape (runs,), independent, each from 0 to 1.
        target: Between 0 and 1.
        per: What a loss is of.
    """
    n, total = loss.size, float(loss.sum())
    if per == "debate":
        return float(stats.binom.cdf(round(total), n, target))
    mean = total / n
    if mean >= target:
        return 1.0
    hoeffding = math.exp(-n * _divergence(mean, target))
    bentkus = math.e * float(stats.binom.cdf(math.ceil(total), n, target))
    return min(1.0, hoeffding, bentkus)


def _divergence(a: float, b: float) -> float:
    """Of Bernoulli a from Bernoulli b (Kullback and Leibler)."""
    first = a * math.log(a / b) if a > 0 else 0.0
    second = (1 - a) * math.log((1 - a) / (1 - b)) if a < 1 else 0.0
    return first + second


def least_runs(target: float) -> int:
    """Runs without any alarm that show a target."""
    return math.ceil(math.log(SIZE) / math.log1p(-target))


def mean_loss(loss: Values, per: Per) -> Bounds:
    """The mean loss of runs with its 95 % interval; of no runs NaN.

    The interval is of the bounds a, b at which the test above has 2.5 % from either
    side: Clopper and Pearson's for debates.
    """
    if not loss.size:
        return Bounds(math.nan, math.nan, math.nan)
    mean = float(loss.mean())
    return Bounds(mean, 1 - _upper(1 - loss, per), _upper(loss, per))


def _upper(loss: Values, per: Per) -> float:
    """The smallest target that is shown at 2.5 %."""
    mean, tiny = float(loss.mean()), 1e-9
    if p_above_target(loss, 1 - tiny, per) > SIZE / 2:
        return 1.0
    found = optimize.brentq(
        lambda target: p_above_target(loss, target, per) - SIZE / 2,
        max(mean, tiny),
        1 - tiny,
        xtol=1e-6,
    )
    return float(found)


def shown(draws: Values, runs: Ids, target: float, per: Per) -> Iterator[Shown]:
    """The rules whose rate of false alarms is shown to be at most the target.

    Rules are tried in their order, each at `SIZE`, up to the first that is not shown
    (fixed-sequence testing), so any choice among them keeps that size.

    Args:
        draws: Shape (messages, draws), of messages where an alarm is false.
        runs: The run of each message.
        target: Between 0 and 1.
        per: What the rate is of.
    """
    for rule in rules(draws.shape[1]):
        loss = losses(fires(rule, draws).astype(float), runs, per)
        p = p_above_target(loss, target, per)
        if p > SIZE:
            return
        yield Shown(rule, p)


def best(found: Sequence[Shown], conflicts: Values) -> FiringRule:
    """Of the rules shown the one that fires at most conflicts, with the fewest draws.

    Args:
        found: At least one.
        conflicts: Shape (messages, draws), of messages that should fire; may be empty.
    """

    def worth(rule: FiringRule) -> tuple[float, int, int]:
        seen = float(fires(rule, conflicts).mean()) if len(conflicts) else 0.0
        return seen, -rule.draws, rule.against

    return max((one.rule for one in found), key=worth)
