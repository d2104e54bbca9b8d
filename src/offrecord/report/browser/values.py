"""What measures say of an output or of a pair of channels, in words for a reader.

Which columns are shown, measures declare. A table that is not there shows nothing; a
value that is missing shows its reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from offrecord.measures.declare import Quantity, Table
from offrecord.measures.pairings import DEFAULT_PAIRING
from offrecord.transcript.schema import ROW_KEY

Values = list[list[str]]
"""Names, each with what is shown of it."""

Tables = Sequence[tuple[Table, pl.DataFrame]]
"""Tables of measures, with their rows."""

_PAIRED: Final = ("run", "attempt", "turn", "agent")


def shown_values(tables: Tables, runs: list[str]) -> dict[tuple[Any, ...], Values]:
    """What was measured of each output, and of each pair of channels, draw 0 of both.

    Args:
        tables: The measure tables there are.
        runs: Which runs count.

    Returns:
        The values by an output's key (`ROW_KEY`), or by a pair's: run, attempt, turn,
        agent and the other channel.
    """
    found: dict[tuple[Any, ...], Values] = defaultdict(list)
    for table, rows in tables:
        there = _there(table, rows)
        if table.row == "text":
            key, own = [*ROW_KEY], rows.filter(pl.col("run").is_in(runs))
        elif table.row == "pair":
            key = [*(f"left_{name}" for name in _PAIRED), "right_channel"]
            committed = rows.filter(pairing=DEFAULT_PAIRING, left_draw=0, right_draw=0)
            own = committed.filter(pl.col("left_run").is_in(runs))
        else:
            continue
        for row in own.iter_rows(named=True):
            found[tuple(row[name] for name in key)] += _shown(row, there)
    return found


def never_measured(tables: Tables) -> list[str]:
    """What has no value in any row, with the reason: said once, not in every turn.

    Args:
        tables: The measure tables there are.
    """
    told = []
    for table, rows in tables:
        there = _there(table, rows)
        bare = [one for one in table.quantities if one.shown and one not in there]
        reasons = [_in_words(None, row) for row in rows.head(1).iter_rows(named=True)]
        told += [f"{one.title} {reason}" for one in bare for reason in reasons]
    return told


def _there(table: Table, rows: pl.DataFrame) -> list[Quantity]:
    """The quantities that are shown of each row: those with a value in any."""
    known = {column for column in rows.columns if rows[column].null_count() < len(rows)}
    return [one for one in table.quantities if one.shown and one.column in known]


def _shown(row: Mapping[str, Any], there: Sequence[Quantity]) -> Values:
    """The values of one row; flags that are not raised are left out."""
    thought = " (reasoning)" if row.get("source") == "reasoning" else ""
    who = f", {row['coder']}" if row.get("coder") else ""
    words = "; ".join(dict.fromkeys(s["words"] for s in row.get("spans") or []))
    values = []
    for one in there:
        value = row[one.column]
        if value is False:
            continue
        text = _in_words(value, row)
        quoted = f"{text}: {words}" if words and value is not None else text
        values.append([f"{one.title}{who}{thought}", quoted])
    return values


def _in_words(value: object, row: Mapping[str, Any]) -> str:
    if value is None:
        return (
            f"missing ({row.get('reason') or row.get('status') or 'no reason given'})"
        )
    if value is True:
        return "yes"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
