"""What a study cost: tokens as the providers reported them, priced by a user's file.

A figure that nobody gave is unknown and never 0, and every amount says by whose prices
it is. The package has no prices of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from offrecord.runner.prices import Prices

LOGGED: Final = "the prices that Inspect was given"
"""The basis of a cost that stands in the logs (see `--model-cost-config`)."""

UNKNOWN: Final = "unknown"


class Cost(NamedTuple):
    """What one model's tokens of a study cost."""

    model: str
    usage: Mapping[str, Any]
    """As `usage_of` gives it."""
    amount: float | None
    """None where it is unknown."""
    currency: str
    basis: str
    """By whose prices, or why there is no amount."""
    whole: bool
    """Whether the amount is of all calls; at least the amount otherwise."""


def costs_of(
    usage: Mapping[str, Mapping[str, Any]], prices: Prices | None
) -> list[Cost]:
    """Price what each model used.

    Args:
        usage: Per model, as `usage_of` gives it.
        prices: The user's prices; else the costs that stand in the logs.
    """
    return [
        _logged(model, used) if prices is None else _priced(model, used, prices)
        for model, used in usage.items()
    ]


def _logged(model: str, used: Mapping[str, Any]) -> Cost:
    costed = used["costed"] > 0
    basis = LOGGED if costed else "no prices: give --prices"
    whole = used["costed"] == used["calls"]
    return Cost(model, used, used["cost"], "USD", basis, whole)


def _priced(model: str, used: Mapping[str, Any], prices: Prices) -> Cost:
    price = prices.models.get(model)
    if price is None:
        why = f"{prices.name} has no price of it"
        return Cost(model, used, None, prices.currency, why, whole=False)
    if not used["metered"]:
        why = "no reply reported its tokens"
        return Cost(model, used, None, prices.currency, why, whole=False)
    cached, written = used["cached_tokens"] or 0, used["written_tokens"] or 0
    amount = price.cost(
        fresh=used["input_tokens"] - cached - written,
        cached=cached,
        written=written,
        output=used["output_tokens"],
    )
    whole = used["metered"] == used["calls"]
    return Cost(model, used, amount, prices.currency, prices.name, whole)


def cached_share(used: Mapping[str, Any]) -> float | None:
    """The share of input tokens that came from a cache, as a fraction.

    Of those replies that say it; None where none does.
    """
    whole = used["cache_input_tokens"]
    return used["cached_tokens"] / whole if whole else None


def money(amount: float | None, currency: str, *, whole: bool = True) -> str:
    """An amount as it is written: two decimals, or four where it is small."""
    if amount is None:
        return UNKNOWN
    digits = 2 if amount >= 1 or amount == 0 else 4
    least = "" if whole else "at least "
    return f"{least}{amount:,.{digits}f} {currency}"


def total_of(costs: Sequence[Cost]) -> str:
    """All models together; at least so much where one is unknown."""
    known = [cost for cost in costs if cost.amount is not None]
    if not known:
        return UNKNOWN
    whole = len(known) == len(costs) and all(cost.whole for cost in known)
    amount = sum(cost.amount for cost in known if cost.amount is not None)
    return money(amount, known[0].currency, whole=whole)


def usage_line(used: Mapping[str, Any]) -> str:
    """One model's tokens in words, with how many replies they are of."""
    if not used["metered"]:
        return f"{used['calls']:,} requests, none of which reported its tokens"
    share = cached_share(used)
    if share is None:
        cached = "cached tokens not reported"
    else:
        cached = f"{100 * share:.1f} % from a cache"
        silent = used["metered"] - used["cache_metered"]
        cached += f" ({silent:,} replies do not say)" if silent else ""
    without = used["calls"] - used["metered"]
    rest = f"; {without:,} of them came without tokens" if without else ""
    return (
        f"{used['calls']:,} requests, {used['input_tokens']:,} tokens in "
        f"({cached}), {used['output_tokens']:,} out{rest}"
    )


def cost_lines(costs: Sequence[Cost]) -> Iterator[str]:
    """Tokens and costs of each model, as `offrecord status` prints them."""
    for cost in costs:
        yield cost.model
        by = "as the provider reported: " if cost.usage["metered"] else ""
        yield f"  tokens  {by}{usage_line(cost.usage)}"
        by = cost.basis if cost.amount is None else f"by {cost.basis}"
        yield f"  cost    {money(cost.amount, cost.currency, whole=cost.whole)} ({by})"
    yield f"total     {total_of(costs)}"
    yield (
        "Every recorded request counts, also of attempts that were restarted. What "
        "failed or was lost under way reports no tokens; judges are not included."
    )


def cost_objects(costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """The same as plain values, for `--json`."""
    return [
        {
            "model": cost.model,
            **{name: of for name, of in cost.usage.items() if name != "cost"},
            "cached_share": cached_share(cost.usage),
            "amount": cost.amount,
            "currency": cost.currency if cost.amount is not None else None,
            "basis": cost.basis,
            "whole": cost.whole,
        }
        for cost in costs
    ]
