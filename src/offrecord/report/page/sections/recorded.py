"""Recorded conversations: what a probe of them shows, and which turns to read first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.estimators import OBSERVED, PROBE, PROBE_MEASURES
from offrecord.estimates.frames.probed import ProbeFigures
from offrecord.estimates.frames.row import Row
from offrecord.measures.probes import AUDIENCE
from offrecord.report.headline import beside
from offrecord.report.numbers import decimal, interval, named, points
from offrecord.report.page.blocks import (
    Block,
    Cell,
    Column,
    Quote,
    Section,
    Table,
    Text,
    cells,
)
from offrecord.report.page.findings import Findings, bounded
from offrecord.report.probe import ASKED, NOTE, TITLE, table_of

_QUANTITIES: Final = {
    "on_side": "on the pressed side",
    "changed": "another stance than before",
    "adopted": "changes in the counterpart's words",
}
_LONGEST: Final = 600  # characters of a quote
_QUOTED: Final = 6


def recorded_sections(found: Findings) -> list[Section]:
    """What stands in place of the split; none where debates were held."""
    probe, observed = found.estimates.of(PROBE), found.estimates.of(OBSERVED)
    sections = []
    if probe:
        sections = [_probe(probe), *_texts(found)]
    elif observed or found.facts.get("recorded"):
        sections = [_observed(observed)]
    return [*sections, *(_first(found) if sections else ())]


def _probe(rows: Sequence[Row[ProbeFigures]]) -> Section:
    heads, *lines = table_of(rows)
    first = heads.index("turns")
    columns = [Column(head, number=n >= first) for n, head in enumerate(heads)]
    reasons = dict.fromkeys(row.of.reason for row in rows if row.of.reason)
    blocks: list[Block] = [
        Table(TITLE, columns, [cells(*line) for line in lines], caption=NOTE),
        *(Text(f"No interval: {reason}.", "note") for reason in reasons),
    ]
    about = [f"{question.capitalize()}: {asked}" for question, asked in ASKED.items()]
    return Section("probe", "The probe", blocks, lead=_lead(rows), about=about)


def _lead(rows: Sequence[Row[ProbeFigures]]) -> str:
    """What the audience changes over all turns whose prompt was recorded."""
    for row in rows:
        of = row.of
        if row["question"] == AUDIENCE and row["prompt"] == "recorded":
            shown = points(of.gap.value) + interval(of.gap.low, of.gap.high)
            differ = points(of.divergence.value)
            return (
                f"Of {of.stands_for:,.0f} turns, the share on the pressed side in "
                f"public less that {beside(row['right_channel'])} is {shown} points; "
                f"{differ} % of stances differ."
            )
    return "No turn whose prompt was recorded was asked."


def _texts(found: Findings) -> list[Section]:
    """What was measured of the texts, over all turns."""
    rows = [
        row
        for row in found.estimates.of(PROBE_MEASURES)
        if row.get("agent") is None and row.get("scenario") is None
    ]
    if not rows:
        return []
    heads = ("measure", "quantity", "question", "of", "prompt")
    table = Table(
        "What was measured of the texts, over all turns",
        [*(Column(head, number=False) for head in heads), Column("value")],
        [
            cells(
                str(row["measure"]),
                named(row["quantity"]),
                f"{row['question']} ({named(row['right_channel'])})",
                row.of.estimate,
                str(row["prompt"]),
                _value(row.of.bounds),
            )
            for row in rows
        ],
        folded=True,
    )
    return [Section("probe-texts", "Texts of the probe", [table])]


def _value(bounds: Bounds) -> Cell:
    low, high = decimal(bounds.low), decimal(bounds.high)
    return Cell(decimal(bounds.value), f"{low} to {high}")


def _observed(rows: Sequence[Row[Any]]) -> Section:
    keys = [key for key in (rows[0].group if rows else {}) if key != "right_channel"]
    table = Table(
        "What was said aloud",
        [
            Column("of turns", number=False),
            *(Column(named(key), number=False) for key in keys),
            *(Column(head) for head in ("points", "runs", "turns", "missing")),
        ],
        [
            cells(
                _QUANTITIES[row.of.quantity],
                *(str(row[key]) for key in keys),
                bounded(row.of.bounds),
                *(str(n) for n in (row.of.runs, row.of.turns, row.of.missing)),
            )
            for row in rows
        ],
        caption="Observational rates with 95 % intervals: nobody was asked off the "
        "record, so none of them is an effect of an audience.",
    )
    none = Text("No decision is declared in the map, so there are no stances.", "note")
    return Section("observed", "What was observed", [table] if rows else [none])


def _first(found: Findings) -> list[Section]:
    """The turns to read first, with quotes."""
    rows = found.reading
    if not rows:
        return []
    table = Table(
        "Turns to read first",
        [
            *(Column(head, number=False) for head in ("why", "agent", "scenario")),
            *(Column(head, number=False) for head in ("public", "off the record")),
        ],
        [
            cells(
                str(row["why"]),
                f"{row['agent']}, {row['round']}",
                str(row["scenario"]),
                str(row["public_stance"] or row["public_status"]),
                str(row["off_record_stance"] or row["other_status"] or ""),
            )
            for row in rows
        ],
        caption="'offrecord audit --review FILE.csv' writes all of them, with a place "
        "for codes that 'measure --read-sheet' reads back.",
    )
    quotes = [
        Quote(
            text=str(row[f"{side}_text"])[:_LONGEST],
            source=f"{row['agent']}, round {row['round']}, {called}.",
            link=f"run={row['run']}&turn={row['agent']}-{row['round']}",
        )
        for row in rows[:_QUOTED]
        for side, called in (("public", "public"), ("off_record", "off the record"))
        if row[f"{side}_text"]
    ]
    return [Section("reading", "Where to look first", [table, *quotes])]
