"""The summary table in the terminal. Rates are in percentage points.

Names come from files and models that nobody vouches for: they are shown as text,
never as markup, and what would steer the terminal is shown as a visible escape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from offrecord.content.boundary.shown import escaped
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.table import RateFigures
from offrecord.report.numbers import interval, points

CAPTION: Final = (
    "Percentage points. Public and off record: share of turns on the pressed side. "
    "Divergence with its 95 % interval for {scope}; it is public only (only the public "
    "stance is on that side: accommodating, in the target's rows) plus off record only "
    "(only the other is: reversing). Public shift against baseline = conversion (off "
    "the record too) + audience effect. Off the record is a contrast under the same "
    "condition, not a belief."
)

NOTHING: Final = (
    "Nothing to compare: the transcript has no rows, or no turn has a second channel."
)

Rows = Sequence[Row[RateFigures]]

_COLUMNS: Final[Mapping[str, Callable[[RateFigures], str]]] = {
    "runs": lambda of: str(of.runs),
    "turns": lambda of: str(of.turns),
    "missing": lambda of: str(of.missing),
    "public": lambda of: points(of.public),
    "off\nrecord": lambda of: points(of.off_record),
    "gap": lambda of: points(of.gap),
    "divergence": lambda of: points(of.divergence) + interval(of.ci_low, of.ci_high),
    "public\nonly": lambda of: points(of.public_only),
    "off record\nonly": lambda of: points(of.off_record_only),
    "public\nshift": lambda of: points(of.split.public_shift),
    "conversion": lambda of: points(of.split.conversion),
    "audience\neffect": lambda of: points(of.split.audience_effect),
}
_FIRST: Final = 7  # columns of the first of two tables, where one is too wide
_NARROWEST: Final = 8  # characters of a key before it folds
_ANY_WIDTH: Final = 1000


def bare_table(title: Text | None = None, apart: int = 0) -> Table:
    """An empty table with a line below its head and none around it.

    Args:
        title: Stands over it on the left.
        apart: Blanks behind each column, beside the one that all have.
    """
    return Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, apart, 0, 0),
    )


def summary_table(rows: Rows, columns: Sequence[str] = tuple(_COLUMNS)) -> Table:
    """The estimates as a table; a key with a single value stands in its title.

    Args:
        rows: Rows as `estimate_table` gives them.
        columns: Which of the figures.
    """
    keys = list(rows[0].group) if rows else []
    fixed = [key for key in keys if len({row[key] for row in rows}) == 1]
    varying = [key for key in keys if key not in fixed]
    table = bare_table(
        Text(", ").join(visible(f"{key} {rows[0][key]}") for key in fixed)
    )
    for key in varying:
        table.add_column(visible(key), overflow="fold", min_width=_NARROWEST)
    for name in columns:
        # With several channels beside the spoken one, a row says which it is about.
        several = "right_channel" in keys
        shown = name.replace("off\nrecord", "other\nchannel") if several else name
        table.add_column(Text(shown), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            *(visible(str(row[key])) for key in varying),
            *(_COLUMNS[name](row.of) for name in columns),
        )
    return table


def print_summary(rows: Rows, console: Console | None = None) -> None:
    """Print the estimates as one table, or as two where the terminal is too narrow.

    Args:
        rows: Rows as `estimate_table` gives them.
        console: Where to; standard output unless given.
    """
    console = console or Console()
    if not rows:
        console.print(NOTHING)
        return
    whole, names = summary_table(rows), list(_COLUMNS)
    narrow = console.is_terminal and _needs(console, whole) > console.width
    parts = (names[:_FIRST], names[_FIRST:])
    for table in [summary_table(rows, part) for part in parts] if narrow else [whole]:
        print_whole(console, table)
    scope = rows[0].of.scope if rows else Scope.RUNS
    console.print(Text(CAPTION.format(scope=scope), style="dim italic"))


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
