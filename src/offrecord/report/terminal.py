"""The summary table in the terminal. Rates are in percentage points.

Names come from files and models that nobody vouches for: they are shown as text,
never as markup, and what would steer the terminal is shown as a visible escape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from offrecord.content.boundary.shown import escaped
from offrecord.estimates.arrays.rates import share
from offrecord.report.numbers import interval, points

CAPTION: Final = (
    "Percentage points; public and off record: share on the partner's side (in the "
    "partner's own rows that is its own side). Divergence with its 95 % interval for "
    "new runs of these cells; it is accommodating (only the public stance is on that "
    "side) plus reversing (only the other is). Pressure against baseline = conversion "
    "(off the record too) + audience effect. Off the record is a contrast under the "
    "same condition, not a belief."
)

_COUNTS: Final = ("runs", "turns", "missing")
_RATES: Final = ("public", "off_record", "gap")
_DIRECTIONS: Final = ("accommodating", "reversing")
_SPLIT: Final = ("public_shift", "conversion", "audience_effect")
_PARTS: Final = (
    (*_COUNTS, *_RATES, "divergence"),
    (*_DIRECTIONS, *_SPLIT),
)
_COLUMNS: Final = (*_PARTS[0], *_PARTS[1])
_HEADINGS: Final = {
    "off_record": "off\nrecord",
    "accommodating": "accommo-\ndating",
    "audience_effect": "audience\neffect",
}
_NARROWEST: Final = 8  # characters of a key before it folds
_ANY_WIDTH: Final = 1000


def summary_table(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = _COLUMNS
) -> Table:
    """The estimates as a table; a key with a single value stands in its title.

    Args:
        rows: Rows as `estimate_table` gives them: their keys stand before `runs`.
        columns: Which of the figures.
    """
    keys = _keys(rows)
    fixed = [key for key in keys if len({row[key] for row in rows}) == 1]
    varying = [key for key in keys if key not in fixed]
    table = Table(
        title=Text(", ").join(visible(f"{key} {rows[0][key]}") for key in fixed),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,
    )
    for key in varying:
        table.add_column(visible(key), overflow="fold", min_width=_NARROWEST)
    # With several channels beside the spoken one, a row says which it is about.
    headings = _HEADINGS | (
        {"off_record": "other\nchannel"} if "right_channel" in keys else {}
    )
    for name in columns:
        table.add_column(Text(headings.get(name, name)), justify="right", no_wrap=True)
    for row in rows:
        figures = _figures(row)
        table.add_row(
            *(visible(str(row[key])) for key in varying),
            *(figures[name] for name in columns),
        )
    return table


def print_summary(
    rows: Sequence[Mapping[str, Any]], console: Console | None = None
) -> None:
    """Print the estimates as one table, or as two where the terminal is too narrow.

    Args:
        rows: Rows as `estimate_table` gives them.
        console: Where to; standard output unless given.
    """
    console = console or Console()
    whole = summary_table(rows)
    narrow = console.is_terminal and _needs(console, whole) > console.width
    for table in [summary_table(rows, part) for part in _PARTS] if narrow else [whole]:
        print_whole(console, table)
    console.print(Text(CAPTION, style="dim italic"))


def print_whole(console: Console, table: Table) -> None:
    """Print a table; where no terminal sets the width, as wide as it needs to be."""
    if not console.is_terminal:
        console.width = max(_needs(console, table), console.width)
    console.print(table)


def _needs(console: Console, table: Table) -> int:
    anything = console.options.update(width=_ANY_WIDTH)
    return Measurement.get(console, anything, table).maximum


def visible(text: str) -> Text:
    """Text as it is, but control, format and bidirectional characters as escapes."""
    return Text(escaped(text))


def _keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    names = list(rows[0]) if rows else []
    return names[: names.index("runs")] if names else []


def _figures(row: Mapping[str, Any]) -> dict[str, str]:
    turns = row["turns"]
    return {
        **{name: str(row[name]) for name in _COUNTS},
        **{name: points(row[name]) for name in (*_RATES, *_SPLIT)},
        **{name: points(share(row[name], turns)) for name in _DIRECTIONS},
        "divergence": points(row["divergence"])
        + interval(row["ci_low"], row["ci_high"]),
    }
