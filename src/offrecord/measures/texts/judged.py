"""Pairs of texts as a judge of entailment takes them, and the table of what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from offrecord.measures.declare import Quantity, Table
from offrecord.measures.texts.nli_network import Pair
from offrecord.measures.texts.preparation import Variant, prepare

JUDGED: Final = Table(
    "entailment-judge",
    "pair",
    {
        "left_to_right": pl.String,  # entailment, neutral or contradiction
        "right_to_left": pl.String,
        "status": pl.String,  # of the judge's reply; null where nothing was asked
        "reason": pl.String,  # why there are no values
        "reply": pl.String,  # raw
        "variant": pl.String,
        "model": pl.String,  # the judge
        "model_answered": pl.String,
        "version": pl.String,
    },
    extra_key=("variant", "model"),
    quantities=(
        Quantity("left_to_right", "judge, from public", kind="note", exported=False),
        Quantity("right_to_left", "judge, to public", kind="note", exported=False),
    ),
)
"""One row per planned pair and judge."""


def prepared_pair(row: Mapping[str, Any], variant: Variant) -> Pair | str:
    """Both texts of a row of `PAIR_SCHEMA`, or why there are not two: side and reason.

    Args:
        row: A row as a dict.
        variant: How the texts are prepared.
    """
    found = []
    for side in ("left", "right"):
        raw = row[f"{side}_text"]
        if raw is None:
            return f"{side}: {row[f'{side}_status']}"
        ready = prepare(raw, tuple(row["labels"] or ()), variant)
        if ready.text is None:
            return f"{side}: {ready.reason}"
        found.append(ready.text)
    return found[0], found[1]
