"""A pilot as people read it: what its calls resolve, then what each line says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from offrecord.report.numbers import interval, points
from offrecord.report.terminal import bare_table, print_whole, visible

Row = Mapping[str, Any]
"""A line as `PilotLine.as_dict` gives it."""

_Shown = Mapping[str, Callable[[Row], str]]


def _threshold(line: Row) -> str:
    low, high = (points(line[name], 0) for name in ("at_least", "at_most"))
    if line["at_most"] is None:
        return f"at least {low}"
    return f"at most {high}" if line["at_least"] is None else f"{low} to {high}"


_CALLS: Final[_Shown] = {
    "pass": _threshold,
    "calls": lambda line: str(line["calls"]),
    "resolves": lambda line: points(line["resolves"]),
}
_PLANNED: Final[_Shown] = {
    **_CALLS,
    "if sound": lambda line: str(line["verdict"]),
}
_FOUND: Final[_Shown] = {
    "found": lambda of: points(of["value"]) + interval(of["low"], of["high"]),
    **_CALLS,
    "missing": lambda line: str(line["missing"]),
    "verdict": lambda line: str(line["verdict"]),
}


def print_plan(lines: Sequence[Row]) -> None:
    """Print what a number of calls can resolve, before any is made."""
    _print(lines, _PLANNED)


def print_found(lines: Sequence[Row]) -> None:
    """Print what each line says, and what was found in texts."""
    console = _print(lines, _FOUND)
    for line in lines:
        for reason in line["reasons"]:
            console.print(visible(f"{line['line']}: {reason}"), soft_wrap=True)


def _print(lines: Sequence[Row], columns: _Shown) -> Console:
    console = Console()
    table = bare_table()
    table.add_column(Text("percentage points"), overflow="fold")
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for line in lines:
        shown = (Text(show(line)) for show in columns.values())
        table.add_row(visible(line["line"]), *shown)
    print_whole(console, table)
    return console
