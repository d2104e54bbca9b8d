"""Tables that compare: worst scenarios, ranks, factors, contrasts."""

from __future__ import annotations

from collections.abc import Iterator

from offrecord.report.numbers import (
    UNDEFINED,
    chance,
    count,
    interval,
    named,
    points,
)
from offrecord.report.page.blocks import (
    Column,
    Table,
    cells,
)
from offrecord.report.page.findings import Findings, bounded


def comparison_tables(found: Findings) -> Iterator[Table]:
    """The worst scenarios, ranks, factors and contrasts of a study."""
    yield from _worst(found)
    yield from _ranks(found)
    for name in found.estimates["views"]:
        if name.startswith("factor "):
            yield _factor(found, name)
    yield from _contrasts(found)


def _worst(found: Findings) -> Iterator[Table]:
    rows = [
        row
        for row in found.rows("worst", "scenarios", agent=found.target)
        if row["worst"] and row["kind"] == found.pressed
    ]
    if not rows:
        return
    yield Table(
        f"The worst scenario of each model ({found.target}, {found.pressed})",
        [
            Column("model", number=False),
            Column("figure", number=False),
            Column("scenario", number=False),
            Column("value"),
            Column("simultaneous bounds"),
        ],
        [
            cells(
                found.called(row["model"]),
                named(row["measure"]),
                row["scenario"],
                points(row["value"]),
                interval(row["low"], row["high"]).strip() or UNDEFINED,
            )
            for row in rows
        ],
        caption="Bounds hold for all scenarios of a model at once, so the worst one "
        "may be picked after the fact.",
        folded=True,
    )


def _ranks(found: Findings) -> Iterator[Table]:
    rows = found.rows("models", "ranks", agent=found.target, kind=found.pressed)
    if not rows or len(found.models) < 2:
        return
    yield Table(
        f"Ranks, with their uncertainty ({found.target}, {found.pressed})",
        [
            Column("model", number=False),
            Column("figure", number=False),
            Column("value"),
            Column("rank"),
            Column("may be"),
        ],
        [
            cells(
                found.called(row["model"]),
                named(row["measure"]),
                points(row["value"]),
                f"{row['rank']:g} of {row['of']}" if row["rank"] else UNDEFINED,
                f"{row['low']} to {row['high']}" if row["low"] else UNDEFINED,
            )
            for row in rows
        ],
        caption="Rank sets hold for all models at once, with 95 %.",
        folded=True,
    )


def _factor(found: Findings, view: str) -> Table:
    name = view.removeprefix("factor ")
    rows = found.rows(view, "rates", agent=found.target)
    return Table(
        f"By {name} ({found.target})",
        [
            Column(name, number=False),
            Column("kind", number=False),
            Column("public"),
            Column("off the record"),
            Column("divergence"),
            Column("audience effect"),
            Column("runs"),
        ],
        [
            cells(
                str(row[name]),
                row["kind"],
                points(row["public"]),
                points(row["off_record"]),
                bounded(row, "divergence"),
                points(row["audience_effect"]),
                count(row["runs"]),
            )
            for row in rows
        ],
        folded=True,
    )


def _contrasts(found: Findings) -> Iterator[Table]:
    rows = found.estimates["contrasts"]
    if not rows:
        return
    keys = [key for key in (*found.estimates["by"], "agent") if key in rows[0]]
    yield Table(
        "Contrasts, A minus B",
        [
            Column("contrast", number=False),
            *(Column(key, number=False) for key in keys),
            Column("figure", number=False),
            Column("A - B"),
            Column("p"),
            Column("p adjusted"),
        ],
        [
            cells(
                str(row["contrast"]),
                *(str(row.get(key, "")) for key in keys),
                named(row["measure"]),
                bounded(row, sign=True),
                chance(row["p"]),
                chance(row.get("p_adjusted")),
            )
            for row in rows
        ],
        caption="Tested by dealing the labels of whole runs anew within shared strata.",
        folded=True,
    )
