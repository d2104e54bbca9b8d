"""The section of a measure that has none of its own: what it declares, by channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from offrecord.measures.declare import Measure, Quantity
from offrecord.report.figures.grammar import scope_of
from offrecord.report.figures.texts import quantity_figure
from offrecord.report.numbers import UNDEFINED, count, decimal, named, points
from offrecord.report.page.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Section,
    Table,
    cells,
)
from offrecord.report.page.findings import Findings, Row

_CHANNELS: Final = {
    "public": "public",
    "off_record": "off the record",
    "gap": "gap",
    "public_shift": "public shift",
    "conversion": "conversion",
    "audience_effect": "audience effect",
}
_LEVELS: Final = {"level": "mean", "change": "minus baseline"}
_EXTRA: Final = (
    *("item", "category", "keying"),
    *("pairing", "form", "source", "variant", "rater"),
)
"""What may tell rows of one quantity apart; named where there are several."""


def default_section(found: Findings, measure: Measure) -> Section | None:
    """What a measure found; nothing where it was not taken.

    Args:
        found: What was found.
        measure: The measure.
    """
    rows = found.measured(measure.name)
    if not rows:
        return None
    title = measure.title or named(measure.name).capitalize()
    quantities = [one for table in measure.tables for one in table.estimated]
    said = [row for row in rows if row.get("form", "utterance") == "utterance"]
    spoken = [row for row in said if row.get("source", "text") == "text"]
    figure = quantity_figure(measure.name, title, spoken, quantities)
    unread = found.unread(measure.name)
    blocks: list[Block] = [unread] if unread else []
    if figure is not None:
        blocks.append(Drawing(figure))
    blocks.append(quantity_table(found, measure))
    return Section(
        measure.name,
        title,
        blocks,
        about=[
            one for one in (f"{measure.about.capitalize()}.", measure.reading) if one
        ],
    )


def quantity_table(
    found: Findings, measure: Measure, items: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """Every quantity of a measure by kind, with its intervals.

    Args:
        found: What was found.
        measure: The measure.
        items: What survey items say, in the order to show.
    """
    rows = found.measured(measure.name)
    if items:
        order = {item: place for place, item in enumerate(items)}
        last = len(order)  # categories, behind their items
        rows.sort(
            key=lambda row: (
                order.get(str(row.get("item")), last),
                row.get("category") or "",
                row["kind"] == "baseline",
            )
        )
    quantities = {o.name: o for table in measure.tables for o in table.estimated}
    parts = {
        name: title
        for name, title in {**_CHANNELS, **_LEVELS}.items()
        if any(row["estimate"] == name for row in rows)
    }
    extra = [name for name in _EXTRA if len({row.get(name) for row in rows}) > 1]
    groups: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        key = (row["quantity"], row["kind"], *(row.get(name) or "" for name in extra))
        groups.setdefault(key, {})[row["estimate"]] = row
    return Table(
        f"{measure.title or named(measure.name).capitalize()} ({found.target})",
        [
            Column("quantity", number=False),
            Column("kind", number=False),
            *(Column(named(name), number=False) for name in extra),
            *(Column(title) for title in parts.values()),
            *(Column(name) for name in ("turns", "missing")),
        ],
        [
            cells(
                quantities[quantity].title,
                *(Cell(name, items.get(name, "")) for name in rest),
                *(_cell(of.get(name), quantities[quantity]) for name in parts),
                *_counts(of),
            )
            for (quantity, *rest), of in groups.items()
        ],
        caption=_caption(quantities, scope_of(rows)),
        folded=True,
    )


def _caption(quantities: Mapping[str, Quantity], scope: str) -> str:
    shares = [one.kind == "share" for one in quantities.values()]
    unit = "Percentage points, with" if all(shares) else "With"
    return (
        f"{unit} 95 % intervals for {scope}. Of many rows, one in twenty has an "
        "interval that excludes its true value by chance."
    )


def _counts(of: Mapping[str, Row]) -> Sequence[str]:
    row = of.get("gap") or of.get("level") or next(iter(of.values()))
    return count(row["turns"]), count(row["missing"])


def _cell(row: Row | None, one: Quantity) -> Cell:
    if row is None:
        return Cell(UNDEFINED)
    shown = points if one.kind == "share" else decimal
    digits = 3 if one.kind == "mean" and max(abs(one.low), abs(one.high)) <= 1 else 2
    value, low, high = (shown(row[part], digits) for part in ("value", "low", "high"))
    bounds = f"[{low}, {high}]" if row["low"] is not None else str(row["reason"] or "")
    return Cell(value, bounds)
