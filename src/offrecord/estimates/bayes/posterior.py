"""Draws from the hierarchical model, by NumPyro; needs the extra `bayes`.

The divergent turns of a run are beta-binomial. Priors: the overall logit normal
(0, 1.5), about flat as a rate; the scales of models, scenarios and the two together
half-normal (1.5); the correlation of two turns of a run uniform from 0 to 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.records import OffrecordError

CHAINS: Final = 4
PRIOR_SCALE: Final = 1.5


class Outcomes(NamedTuple):
    """Runs by cell: equal ones are held once, sorted, with how many there are."""

    model: Ids
    """From 0, in the order of `models`; shape (distinct runs,), as the next four."""
    scenario: Ids
    turns: Ids
    events: Ids
    alike: Ids
    models: Ids
    """The ids as they were given."""
    scenarios: Ids


class Posterior(NamedTuple):
    """Draws of the model, all with the leading shape (chains, draws)."""

    overall: Values
    model: Values
    """Shape (chains, draws, models), logits."""
    scenario: Values
    """Shape (chains, draws, scenarios)."""
    both: Values
    """Shape (chains, draws, models, scenarios)."""
    scale_model: Values
    scale_scenario: Values
    scale_both: Values
    correlation: Values


def outcomes_of(events: Ids, turns: Ids, models: Ids, scenarios: Ids) -> Outcomes:
    """Count equal runs; those without a turn are left out.

    Args:
        events: Divergent turns of each run; shape (runs,), as the others.
        turns: Its turns with both stances.
        models: Its model.
        scenarios: Its scenario.

    Raises:
        OffrecordError: If a run has fewer than 0 or more than all turns divergent.
    """
    if ((events < 0) | (events > turns)).any():
        raise OffrecordError("divergent turns of a run: give 0 to all of its turns")
    kept = turns > 0
    table = np.stack([models, scenarios, turns, events], axis=1)[kept]
    rows, count = np.unique(table, axis=0, return_counts=True)
    known, model = np.unique(rows[:, 0], return_inverse=True)
    places, scenario = np.unique(rows[:, 1], return_inverse=True)
    return Outcomes(model, scenario, rows[:, 2], rows[:, 3], count, known, places)


def sample(found: Outcomes, seed: int, draws: int) -> tuple[Posterior, int]:
    """Draw by the no-U-turn sampler, in as many steps again to warm up.

    Args:
        found: The runs, of two models and two scenarios or more.
        seed: The same gives the same digits.
        draws: Of each chain.

    Returns:
        The draws, and how many transitions of the sampler diverged.

    Raises:
        OffrecordError: If the extra is not installed.
    """
    try:
        from jax import random
        from numpyro.infer import MCMC, NUTS
    except ImportError:
        raise OffrecordError(
            "the hierarchical model needs numpyro: pip install 'offrecord[bayes]'"
        ) from None
    sampler = MCMC(
        NUTS(partial(_model, found), target_accept_prob=0.95),
        num_warmup=draws,
        num_samples=draws,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    key = random.PRNGKey(int(np.random.default_rng(seed).integers(2**31)))
    sampler.run(key, extra_fields=("diverging",))
    sites = sampler.get_samples(group_by_chain=True)
    drawn = {name: np.asarray(sites[name], dtype=np.float64) for name in sites}
    for name in ("model", "scenario", "both"):
        scale = drawn[f"scale_{name}"]
        unit = drawn.pop(f"unit_{name}")
        drawn[name] = unit * scale.reshape(*scale.shape, *[1] * (unit.ndim - 2))
    divergent = int(np.asarray(sampler.get_extra_fields()["diverging"]).sum())
    return Posterior(**drawn), divergent


def _model(found: Outcomes) -> None:
    """The model; effects in units of their scale, which samples well with few runs."""
    import numpyro
    from numpyro import distributions as dist

    models, scenarios = found.models.size, found.scenarios.size
    shapes = {"model": (models,), "scenario": (scenarios,), "both": (models, scenarios)}
    level = numpyro.sample("overall", dist.Normal(0, PRIOR_SCALE))
    effects = {}
    for name, shape in shapes.items():
        scale = numpyro.sample(f"scale_{name}", dist.HalfNormal(PRIOR_SCALE))
        unit = dist.Normal(0, 1).expand(shape).to_event(len(shape))
        effects[name] = scale * numpyro.sample(f"unit_{name}", unit)
    correlation = numpyro.sample("correlation", dist.Uniform(0, 1))
    logit = (
        level
        + effects["model"][found.model]
        + effects["scenario"][found.scenario]
        + effects["both"][found.model, found.scenario]
    )
    each = log_mass(found.events, found.turns, logit, correlation)
    numpyro.factor("runs", (found.alike * each).sum())


def log_mass(events: Ids, turns: Ids, logit: Any, within: Any) -> Any:  # noqa: ANN401
    """The beta-binomial, as a product over turns, but for its constant.

    Unlike its gamma functions this is exact in single precision where turns hardly
    depend on each other, or wholly.

    Args:
        events: Divergent turns; shape (runs,).
        turns: All turns, at least 1.
        logit: Of the rate; an array that JAX takes.
        within: The correlation of two turns of a run.

    Returns:
        Shape (runs,): the log of the chance, less that of the ways to order the turns.
    """
    from jax import numpy as jnp
    from jax.nn import log_sigmoid, sigmoid

    later = np.arange(1, max(int(turns.max()), 2))

    def over(seen: Ids, logs: Any) -> Any:  # noqa: ANN401
        return jnp.where(later < seen[:, None], logs, 0).sum(axis=-1)

    total = -over(turns, jnp.log(1 - within + later * within))
    for sign, seen in ((1, events), (-1, turns - events)):
        rest = (1 - within) * sigmoid(sign * logit)[:, None] + later * within
        total += jnp.where(seen > 0, log_sigmoid(sign * logit), 0)
        total += over(seen, jnp.log(rest))
    mixed = (events > 0) & (events < turns)
    return total + jnp.where(mixed, jnp.log1p(-within), 0)
