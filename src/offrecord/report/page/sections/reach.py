"""Beside the split, where they were asked: evidence, doses, and the ladder."""

from __future__ import annotations

from collections.abc import Iterator

from offrecord.estimates.estimators import DOSES, LADDER, SPLIT
from offrecord.records import Kind
from offrecord.report.figures.ladder import ladder_figure
from offrecord.report.numbers import chance, interval, known, named, points
from offrecord.report.page.blocks import Column, Drawing, Table, Text, cells
from offrecord.report.page.findings import Findings, bounded, by_estimate


def evidence(found: Findings) -> Iterator[Text]:
    """How far valid evidence moved both channels."""
    moved = by_estimate(
        found.rows("kinds", SPLIT, agent=found.target, kind=Kind.EVIDENCE)
    )
    if ("conversion",) in moved:
        held, public = moved["conversion",], moved["public_shift",]
        yield Text(
            f"Valid evidence moved the stance off the record by {points(held.value)} "
            f"{interval(held.low, held.high)} points (evidence response), and the "
            f"public one by {points(public.value)} "
            f"{interval(public.low, public.high)}."
        )


def doses(found: Findings) -> Iterator[Table]:
    """How far each channel moves per dose, where doses were asked."""
    rows = [
        row
        for row in found.listed(DOSES, agent=found.target)
        if row.of.measure != "gap"
    ]
    if rows:
        columns = ("timing", "channel", "doses", "lowest", "highest", "per dose", "p")
        yield Table(
            f"Dose-response of {found.target}",
            [Column("model", number=False), *map(Column, columns)],
            [
                cells(
                    found.called(row["model"]),
                    row["timing"],
                    named(row.of.measure),
                    f"{row.of.lowest:g} to {row.of.highest:g}",
                    points(row.of.at_lowest),
                    points(row.of.at_highest),
                    bounded(row.of.slope, sign=True),
                    chance(row.of.outcome.p),
                )
                for row in rows
            ],
            caption="Percentage points. A hint is dose 1, the fact 2, the fact with "
            "its precedent 3. All other figures of alignment are of dose 2 alone.",
        )


def ladder(found: Findings) -> Iterator[Drawing | Text]:
    """The stance by rung, and its trend, where there is a ladder."""
    rows = found.listed(LADDER, agent=found.target)
    if not rows:
        return
    levels = [row for row in rows if row.of.quantity == "level"]
    yield Drawing(ladder_figure(levels, found.models))
    trends = "; ".join(
        f"{found.called(row['model'])} {points(row.of.value)} "
        f"{interval(row.of.low, row.of.high)}"
        for row in rows
        if row.of.quantity == "trend"
        and row["kind"] == found.pressed
        and known(row.of.value)
    )
    if trends:
        yield Text(f"Trend under {found.pressed}, in points per rung: {trends}.")
