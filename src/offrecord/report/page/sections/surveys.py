"""What the surveys say in each channel, item by item."""

from __future__ import annotations

from collections.abc import Sequence

from offrecord.measures.survey_gap import MEASURE as SURVEY
from offrecord.report.figures.texts import survey_figure
from offrecord.report.numbers import decimal
from offrecord.report.page.blocks import Drawing, Section
from offrecord.report.page.findings import Findings, Row
from offrecord.report.page.sections.measures import quantity_table


def survey_section(found: Findings) -> Section | None:
    """What the survey says in each channel, item by item."""
    rows = found.measured("survey", quantity="answer")
    items = {
        item: f"{item} {text}".strip() if len(text) < 40 else item
        for item, text in _items(found, rows).items()
    }
    figure = survey_figure(rows, items) if rows else None
    if figure is None:
        return None
    table = quantity_table(found, SURVEY, _items(found, rows))
    return Section(
        "surveys",
        "What the surveys say",
        [Drawing(figure), table],
        lead=_survey_lead(found, rows),
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
