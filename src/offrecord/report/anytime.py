"""An audit by blocks as people and pipelines read it: tables, and a paragraph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from offrecord.report.numbers import known, points, threshold
from offrecord.report.terminal import print_whole
from offrecord.report.verdict import (
    group_keys,
    group_of,
    grouped_table,
    keyed,
    measure_of,
    verdict_counts,
)

Row = Mapping[str, Any]

_SHOWN: Final = 8
"""Blocks of a path that are printed; JSON has all."""
_SIDES: Final = {"below": "e_below", "above": "e_above"}


def paragraph(audit: Row) -> str:
    """The verdict, what it rests on, and how often it may be wrong.

    Args:
        audit: As `BlockAudit.as_dict` gives it.
    """
    return " ".join(_sentences(audit))


def _sentences(audit: Row) -> Iterator[str]:
    checks: Sequence[Row] = audit["checks"]
    blocks = sorted({check["blocks"] for check in checks})
    spread = f"{blocks[0]} to {blocks[-1]}" if len(blocks) > 1 else f"{blocks[0]}"
    yield (
        f"Verdict: {audit['verdict']} (checks: {verdict_counts(checks)}), after "
        f"{spread} {'block' if blocks == [1] else 'blocks'} of one run of each cell."
    )
    if audit["doubt"]:
        yield f"Whatever the checks say, nothing is decided: {audit['doubt']}."
    elif audit["verdict"] == "inconclusive":
        yield (
            "Inconclusive: add blocks with 'offrecord run --out STUDY --until GATE "
            "--max-runs N'."
        )
    rate, gates = 100 * audit["alpha"] * audit["gates"], audit["gates"]
    yield (
        "A figure is shown to be below its threshold once the e-value for that is "
        f"{audit['pass_at']:g}, above it at {audit['fail_at']:g}. So a gate that "
        f"should fail passes in at most {rate:g} % of studies, and one that should "
        f"pass fails in at most {rate:g} %, however often they are audited by blocks"
        f"{f' under any of the {gates} gates that were tried' if gates > 1 else ''}."
    )


def found_of(check: Row) -> str:
    """One check in words."""
    return (
        f"{measure_of(check)}{group_of(check)} is {_value(check)} after "
        f"{check['blocks']} blocks, at most {threshold(check['threshold'])}"
    )


def _value(check: Row) -> str:
    """The figure; what it is at least and at most where turns are missing."""
    low, high = points(check["value_low"]), points(check["value_high"])
    return low if low == high else f"{low} to {high}"


def print_blocks(audit: Row, console: Console | None = None) -> None:
    """Print the checks, the path of their e-values, and the paragraph.

    Args:
        audit: As `BlockAudit.as_dict` gives it.
        console: Where to; standard output unless given.
    """
    console = console or Console()
    checks: Sequence[Row] = audit["checks"]
    keys = group_keys(checks)
    print_whole(console, _checks(checks, keys))
    if any(check["blocks"] for check in checks):
        print_whole(console, _path(checks, keys))
    console.print(Text(paragraph(audit)))


def _checks(checks: Sequence[Row], keys: Sequence[str]) -> Table:
    table = grouped_table(keys)
    for name in ("found", "at most", "blocks", "runs", "decided at"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for check in checks:
        table.add_row(
            *keyed(check, keys),
            _value(check),
            threshold(check["threshold"]),
            *(str(check[name] or "") for name in ("blocks", "runs", "decided")),
            check["verdict"],
        )
    return table


def _path(checks: Sequence[Row], keys: Sequence[str]) -> Table:
    """The e-values after some of the blocks, the first and the last included."""
    last = max(check["blocks"] for check in checks)
    count = min(_SHOWN, last)
    steps = [1 + round(n * (last - 1) / max(count - 1, 1)) for n in range(count)]
    table = grouped_table(keys, "E-values after each number of blocks")
    table.add_column("shows")
    for step in steps:
        table.add_column(str(step), justify="right", no_wrap=True)
    for check in checks:
        for side, name in _SIDES.items():
            path: Sequence[float] = check[name]
            table.add_row(
                *keyed(check, keys),
                side,
                *(e_value(path[n - 1] if n <= len(path) else None) for n in steps),
            )
    return table


def e_value(value: float | None) -> str:
    """An e-value with two digits."""
    return f"{value:.2g}" if value is not None and known(value) else ""
