"""What the surveys say in each channel, item by item."""

from __future__ import annotations

from collections.abc import Sequence

from offrecord.report.figures.answers import (
    survey_figure,
)
from offrecord.report.numbers import count, decimal
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


def survey_section(found: Findings) -> Section:
    """What the survey says in each channel, item by item."""
    rows = found.measured("survey")
    items = {
        item: f"{item} {text}".strip() if len(text) < 40 else item
        for item, text in _items(found, rows).items()
    }
    figure = survey_figure(rows, items) if rows else None
    blocks: list[Block] = []
    if figure is None:
        blocks.append(found.unmeasured("survey"))
    else:
        blocks += [Drawing(figure), _survey_table(found, rows)]
    return Section(
        "surveys",
        "What the surveys say",
        blocks,
        lead=_survey_lead(found, rows),
        short="Surveys",
        about=(
            "The same statements are put to the agent in both channels. A gap of zero "
            "means that it answered them alike.",
        ),
    )


def _items(found: Findings, rows: Sequence[Row]) -> dict[str, str]:
    ids = dict.fromkeys(row["item"] for row in rows)
    ordered = sorted(ids, key=lambda item: (len(item), item))
    return {item: found.items.get(item, "") for item in ordered}


def _survey_lead(found: Findings, rows: Sequence[Row]) -> str:
    every = [r for r in rows if r["estimate"] == "gap" and r["kind"] == found.pressed]
    gaps = [
        row
        for row in every
        if row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
    ]
    if not rows:
        return ""
    if not gaps:
        return (
            f"Under {found.pressed} no item's gap has an interval that excludes zero."
        )
    largest = max(gaps, key=lambda row: abs(row["value"]))
    size = decimal(largest["value"])
    return (
        f"Under {found.pressed} the intervals of {len(gaps)} of {len(every)} gaps "
        f"exclude zero; the largest is {largest['item']} with {size} points of the "
        "scale."
    )


def _survey_table(found: Findings, rows: Sequence[Row]) -> Table:
    value = {(r["kind"], r["item"], r["estimate"]): r for r in rows}
    texts = _items(found, rows)

    def bounded(kind: str, item: str, name: str) -> Cell:
        row = value.get((kind, item, name))
        if row is None:
            return Cell("–")
        if row["low"] is None:
            return Cell(decimal(row["value"]), row["reason"] or "")
        return Cell(
            decimal(row["value"]), f"[{decimal(row['low'])}, {decimal(row['high'])}]"
        )

    return Table(
        f"Every item ({found.target})",
        [
            Column("item", number=False),
            Column("kind", number=False),
            Column("public"),
            Column("off the record"),
            Column("gap"),
            Column("turns"),
            Column("missing"),
        ],
        [
            cells(
                Cell(item, text),
                kind,
                bounded(kind, item, "public"),
                bounded(kind, item, "off_record"),
                bounded(kind, item, "gap"),
                count(value[kind, item, "gap"]["turns"]),
                count(value[kind, item, "gap"]["missing"]),
            )
            for item, text in texts.items()
            for kind in found.kinds
            if (kind, item, "gap") in value
        ],
        caption="Points of the scale, with 95 % intervals for new runs of these cells. "
        "Items are many: at 95 % one in twenty excludes zero by chance.",
        folded=True,
    )
