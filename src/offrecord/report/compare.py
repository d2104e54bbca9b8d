"""Studies side by side as one page: what differs first, then what is not alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from offrecord.estimates.frames.contrasts import UnpairedFigures
from offrecord.estimates.frames.row import Row
from offrecord.estimates.side_by_side import Beside, side_by_side
from offrecord.report.figures.grammar import Figure, Panel, drawn, figure, percent
from offrecord.report.numbers import chance, count, interval, known, named, points
from offrecord.report.numbers import signed as signed_points
from offrecord.report.page import render
from offrecord.report.page.blocks import (
    Block,
    Column,
    Drawing,
    Section,
    Table,
    Text,
    cells,
)
from offrecord.report.page.findings import bounded
from offrecord.report.page.sections.record import LIMITS
from offrecord.transcript.record import Record
from offrecord.transcript.store import write_text

Difference = Row[UnpairedFigures]


def compare_studies(studies: Sequence[Record], out: Path | None) -> Path:
    """Write a page that sets every later study beside the first.

    Args:
        studies: Two or more.
        out: The page; named by the studies, in this folder, unless given.

    Returns:
        The page.

    Raises:
        OffrecordError: If they cannot be set side by side, or nothing can be written.
    """
    found = side_by_side(studies)
    names = [found[0].first, *(one.name for one in found)]
    path = out or Path(f"{'-vs-'.join(Path(name).name for name in names)}.html")
    shown = [
        *(_differs(one, place) for place, one in enumerate(found)),
        *(_unlike(one, place) for place, one in enumerate(found)),
    ]
    limits = Section("limits", "What this cannot say", [Text(one) for one in LIMITS])
    title = " and ".join(names)
    page = render(title, shown, [limits], None, version("offrecord"), [])
    write_text(path, page)
    return path


def _differs(one: Beside, place: int) -> Section:
    """A study's differences from the first, those that are shown before others."""
    rows = sorted(one.rows, key=_first)
    blocks: list[Block] = [_table(one, rows)]
    drawing = _figure(rows, place)
    if drawing is not None:
        blocks.append(Drawing(drawing))
    return Section(
        f"differs-{place}",
        f"What differs: {one.name} less {one.first}",
        blocks,
        lead=_lead(one, rows),
        about=(
            "Cells that both studies have are compared, each with its counterpart, and "
            "count the same. The audience effect is against each study's own baseline.",
            "Of many differences, one in twenty has an interval that excludes zero by "
            "chance alone: the adjusted p allows for that.",
        ),
    )


def _first(row: Difference) -> tuple[bool, bool, float]:
    """Differences that are shown come first, the largest of them before all."""
    value = row.of.bounds.value
    return not _shown(row), not known(value), -abs(value) if known(value) else 0


def _shown(row: Difference) -> bool:
    """Whether the interval excludes zero."""
    return row.of.bounds.low > 0 or row.of.bounds.high < 0


def _lead(one: Beside, rows: Sequence[Difference]) -> str:
    there = [row for row in rows if known(row.of.bounds.value)]
    if not there:
        return f"{one.name} and {one.first} have no cell in common to compare."
    shown = [row for row in there if _shown(row)]
    if not shown:
        return (
            f"No difference is shown: all {len(there)} intervals include zero, which "
            "does not show that the studies are alike."
        )
    top = shown[0]
    size = signed_points(top.of.bounds.value)
    bounds = interval(top.of.bounds.low, top.of.bounds.high)
    return (
        f"Intervals of differences that exclude zero: {len(shown)} of {len(there)}. "
        f"The largest of these is {_what(top)}: {size}{bounds} points."
    )


def _what(row: Difference) -> str:
    return ", ".join([named(row.of.measure), *_group(row).values()])


def _group(row: Difference) -> Mapping[str, str]:
    return {k: str(v) for k, v in row.group.items() if k != "agent" and v is not None}


def _table(one: Beside, rows: Sequence[Difference]) -> Table:
    keys = list(_group(rows[0])) if rows else []
    return Table(
        f"{one.name} less {one.first}",
        [
            Column("figure", number=False),
            *(Column(named(key), number=False) for key in keys),
            Column(one.first),
            Column(one.name),
            Column("difference", about=f"{one.name} less {one.first}"),
            Column("p adjusted", about="for all differences of this figure"),
            Column("runs", about=f"of {one.first}, and of {one.name}"),
            Column("missing turns", about=f"of {one.first}, and of {one.name}"),
        ],
        [
            cells(
                named(row.of.measure),
                *_group(row).values(),
                points(row.of.value_b),
                points(row.of.value_a),
                bounded(row.of.bounds, sign=True),
                chance(row.of.p_adjusted),
                f"{count(row.of.runs_b)}, {count(row.of.runs_a)}",
                f"{count(row.of.missing_b)}, {count(row.of.missing_a)}",
            )
            for row in rows
        ],
        caption="Percentage points, on the cells that both studies have. Intervals are "
        f"95 % ones for {rows[0].of.scope if rows else 'new runs of the same cells'}.",
    )


def _figure(rows: Sequence[Difference], place: int) -> Figure | None:
    panels = list(_panels([row for row in rows if known(row.of.bounds.value)]))
    if not panels:
        return None
    scope = [{"scope": rows[0].of.scope}]
    return figure("differences", panels, scope, id=f"differences-{place}")


def _panels(rows: Sequence[Difference]) -> Iterator[Panel]:
    ends = [abs(end) for row in rows for end in row.of.bounds if known(end)]
    bound = 100 * max(ends, default=0)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        values = [
            {
                "item": ", ".join(
                    [
                        named(row.of.measure),
                        *(v for k, v in _group(row).items() if k != "kind"),
                    ]
                ),
                "value": percent(row.of.bounds.value),
                "low": percent(row.of.bounds.low),
                "high": percent(row.of.bounds.high),
            }
            for row in own
        ]
        chart = drawn(
            "differences",
            values,
            len(values),
            items=[value["item"] for value in values],
            domain=[-bound, bound],
            unit="points",
        )
        runs = own[0].of.runs_a + own[0].of.runs_b
        yield Panel(str(kind), f"n = {count(runs)} runs", chart)


def _unlike(one: Beside, place: int) -> Section:
    """What the two studies do not share, and what was left out."""
    told = [one.found.note, *(row.of.note for row in one.rows)]
    notes = [text for text in dict.fromkeys(told) if text]
    reasons = dict.fromkeys(row.of.reason for row in one.rows if row.of.reason)
    if one.found.unlike:
        lead = (
            "The studies are not alike, so a difference may come from this: "
            f"{one.found.unlike}."
        )
    else:
        lead = (
            "The two studies are alike in design, prompts and versions, and complete."
        )
    return Section(
        f"unlike-{place}",
        f"Where {one.name} and {one.first} are not alike",
        [
            *(Text(f"{text}.") for text in notes),
            *(Text(f"Note: {text}.", "note") for text in reasons),
        ],
        lead=lead,
    )
