"""Whether models that are compared met the same partners."""

from __future__ import annotations

import polars as pl


def unlike_partners(pairs: pl.DataFrame) -> str:
    """A note where models are compared that did not debate the same partners.

    Args:
        pairs: Rows with the columns `model` and `partner`.

    Returns:
        A sentence, or nothing where all models met the same partners.
    """
    met = {
        frozenset(group["partner"])
        for _, group in pairs.select("model", "partner").unique().group_by("model")
    }
    if len(met) < 2:
        return ""
    if (pairs["model"] == pairs["partner"]).all():
        return (
            "models are compared with unlike partners: each met itself, so a "
            "difference is that of two pairs of agents"
        )
    return "models are compared with unlike partners: they did not meet the same ones"
