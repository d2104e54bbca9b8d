"""Whether models that are compared met the same partners."""

from __future__ import annotations

import polars as pl

from offrecord.records import SCRIPTED


def partner_kind(pairs: pl.DataFrame) -> str:
    """What kind of partner the models met, where all met the same kind.

    Args:
        pairs: Rows with the columns `model` and `partner`.

    Returns:
        A clause; empty where kinds differ.
    """
    partner = pairs["partner"]
    if partner.str.starts_with(f"{SCRIPTED}/").all():
        return "partners spoke written lines, the same to every model"
    if (pairs["model"] == partner).all():
        return "each model met itself as its partner"
    return f"every model met {partner[0]}" if partner.n_unique() == 1 else ""


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
