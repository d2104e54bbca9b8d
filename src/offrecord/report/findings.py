"""What `estimate` prints: the summary, then the split, the floor and the contrasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from offrecord.report.numbers import chance, interval, points
from offrecord.report.terminal import print_summary, print_whole, visible

Row = Mapping[str, Any]
_Columns = Mapping[str, Callable[[Row], str]]

_SPLIT: Final = ("public_shift", "conversion", "audience_effect")


def print_estimates(estimates: Mapping[str, Any]) -> None:
    """Print the main of a study's estimates to standard output.

    Args:
        estimates: As `estimate_study` gives them.
    """
    console = Console()
    print_summary(estimates["rates"], console)
    keys = [*estimates["by"], "agent"]
    if any("right_channel" in row for row in estimates["rates"]):
        keys.insert(-1, "right_channel")
    split = _by_estimate(estimates["split"], keys)
    _print(
        console,
        f"The split against baseline, with 95 % intervals for {estimates['scope']}",
        [row for row in split if all(name in row for name in _SPLIT)],
        keys,
        {name: _bounded(name) for name in _SPLIT},
    )
    _print(
        console,
        "The noise floor: how often two samples differ, across and within channels",
        [row for row in estimates["floor"] if not math.isnan(row["cross"])],
        [key for key in keys if key != "round"],
        _FLOOR,
    )
    _print(
        console,
        "Contrasts, A minus B",
        estimates["contrasts"],
        ["contrast", "measure", *(k for k in keys if k in _first(estimates))],
        _CONTRAST,
    )
    _print(
        console,
        "Against the earlier study, new minus old",
        estimates["against"],
        [key for key in keys if key != "model"],
        _AGAINST,
    )
    for line in _remarks(estimates):
        console.print(Text(line, style="dim italic"))


def _first(estimates: Mapping[str, Any]) -> Row:
    rows: Sequence[Row] = estimates["contrasts"]
    return rows[0] if rows else {}


def _by_estimate(rows: Sequence[Row], keys: Sequence[str]) -> list[dict[str, Any]]:
    """One row per group, its estimates side by side."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        group = tuple(row[key] for key in keys)
        named = found.setdefault(group, dict(zip(keys, group, strict=True)))
        named[row["estimate"]] = row
    return list(found.values())


def _bounded(name: str) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        one = row[name]
        return points(one["value"]) + interval(one["low"], one["high"])

    return show


def _difference(row: Row) -> str:
    return points(row["value"]) + interval(row["low"], row["high"])


_FLOOR: Final[_Columns] = {
    "from": lambda row: str(row["source"]),
    "across": lambda row: points(row["cross"]),
    "within public": lambda row: points(row["within_public"]),
    "within other": lambda row: points(row["within_other"]),
    "D*": lambda row: points(row["d_star"]) + interval(row["low"], row["high"]),
    "p": lambda row: chance(row["p"]),
    "audience changes": lambda row: (
        f"{points(row['changed_low'])} to {points(row['changed_high'])}"
    ),
}
_CONTRAST: Final[_Columns] = {
    "A - B": _difference,
    "p": lambda row: chance(row["p"]),
    "p adjusted": lambda row: chance(row.get("p_adjusted", math.nan)),
}
_AGAINST: Final[_Columns] = {
    "new - old": _difference,
    "margin": lambda row: points(row["margin"]),
    "verdict": lambda row: str(row["verdict"]),
}


def _print(
    console: Console,
    title: str,
    rows: Sequence[Row],
    keys: Sequence[str],
    columns: _Columns,
) -> None:
    if not rows:
        return
    table = Table(
        title=Text(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,
    )
    for key in keys:
        table.add_column(visible(key), overflow="fold")
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            *(visible(str(row.get(key, ""))) for key in keys),
            *(Text(show(row)) for show in columns.values()),
        )
    print_whole(console, table)


def _remarks(estimates: Mapping[str, Any]) -> list[str]:
    lines = [f"Note: {estimates['note']}."] if estimates["note"] else []
    kinds = {row["kind"] for row in estimates["views"]["kinds"]["rates"]}
    if len(kinds) > 1 and not {"condition", "kind", "timing"} & set(estimates["by"]):
        lines.append(
            f"Note: {', '.join(sorted(kinds))} are pooled here; --by kind tells them "
            "apart, and gives the split."
        )
    if estimates["without_aware"]:
        lines.append(
            f"Without {estimates['pairs_left_out']} pairs that show awareness."
        )
    lines += [
        f"Note: the declared contrast {contrast} has no runs of both levels yet."
        for contrast in estimates["contrasts_to_come"]
    ]
    flags = dict.fromkeys(flag for row in estimates["missing"] for flag in row["flags"])
    lines += [f"Flag: {flag}" for flag in list(flags)[:6]]
    if len(flags) > 6:
        lines.append(f"Flag: {len(flags) - 6} more in estimates.json")
    unmeasured = [
        name for name, of in estimates["measured"].items() if not of["measured"]
    ]
    if unmeasured:
        lines.append(f"Not measured: {', '.join(unmeasured)} (study.json says why)")
    return lines
