"""What measures say of an output or of a pair of channels, in words for a reader.

Which columns are shown is data. A table that is not there shows nothing; a value that
is missing shows its reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from offrecord.measures.pairings import DEFAULT_PAIRING
from offrecord.transcript.schema import ROW_KEY

Values = list[list[str]]
"""Names, each with what is shown of it."""

_OF_OUTPUT: Final[dict[str, dict[str, str]]] = {
    "second-coder": {"second coder": "code"},
    "attribution": {"attribution": "code"},
    "attribution-lexical": {"attribution by words": "code"},
    "awareness": {"awareness of a test": "test", "of a role": "role_play"},
    "markers": {
        "words": "words",
        "hedges": "hedges",
        "boosters": "boosters",
        "credit to partner": "partner_credit",
    },
}
# Table (a file's stem) to what is shown of an output: name to column.

_OF_PAIR: Final[dict[str, dict[str, str]]] = {
    "similarity": {"cosine similarity": "cosine"},
    "entailment": {
        "entailment": "mean_entailment",
        "neutral": "mean_neutral",
        "contradiction": "mean_contradiction",
    },
    "entailment-judge": {
        "judge, from public": "left_to_right",
        "judge, to public": "right_to_left",
    },
}
# The same of a pair of channels.

_PAIRED: Final = ("run", "attempt", "turn", "agent")


def output_values(
    tables: Mapping[str, pl.DataFrame], runs: list[str]
) -> dict[tuple[Any, ...], Values]:
    """What was measured of each output.

    Args:
        tables: The measure tables there are, by the stem of their file.
        runs: Which runs count.

    Returns:
        The row's key (`ROW_KEY`) to its values.
    """
    found: dict[tuple[Any, ...], Values] = defaultdict(list)
    for table, columns in _OF_OUTPUT.items():
        if table not in tables:
            continue
        for row in (
            tables[table].filter(pl.col("run").is_in(runs)).iter_rows(named=True)
        ):
            key = tuple(row[name] for name in ROW_KEY)
            found[key] += _shown(row, columns)
    return found


def pair_values(
    tables: Mapping[str, pl.DataFrame], runs: list[str]
) -> dict[tuple[Any, ...], Values]:
    """What was measured of each pair of channels, committed draws alone.

    Args:
        tables: The measure tables there are, by the stem of their file.
        runs: Which runs count.

    Returns:
        Run, attempt, turn, agent and the other channel to the values.
    """
    found: dict[tuple[Any, ...], Values] = defaultdict(list)
    for table, columns in _OF_PAIR.items():
        if table not in tables:
            continue
        rows = tables[table].filter(
            pl.col("left_run").is_in(runs),
            pairing=DEFAULT_PAIRING,
            left_draw=0,
            right_draw=0,
        )
        for row in rows.iter_rows(named=True):
            key = (*(row[f"left_{name}"] for name in _PAIRED), row["right_channel"])
            found[key] += _shown(row, columns)
    return found


def _shown(row: Mapping[str, Any], columns: Mapping[str, str]) -> Values:
    """The values of one row; flags that are not raised are left out."""
    thought = " (reasoning)" if row.get("source") == "reasoning" else ""
    who = f", {row['coder']}" if row.get("coder") else ""
    words = "; ".join(dict.fromkeys(s["words"] for s in row.get("spans") or []))
    values = []
    for name, column in columns.items():
        value = row[column]
        if value is False:
            continue
        text = _in_words(value, row)
        quoted = f"{text}: {words}" if words and value is not None else text
        values.append([f"{name}{who}{thought}", quoted])
    return values


def _in_words(value: object, row: Mapping[str, Any]) -> str:
    if value is None:
        return (
            f"missing ({row.get('reason') or row.get('status') or 'no reason given'})"
        )
    if value is True:
        return "yes"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
