"""Tables that compare: worst scenarios, ranks, factors, contrasts."""

from __future__ import annotations

from collections.abc import Iterator

from offrecord.estimates.estimators import CONTRASTS, RANKS, RATES, SCENARIOS
from offrecord.records import FACTOR
from offrecord.report.numbers import (
    UNDEFINED,
    chance,
    count,
    interval,
    known,
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
    for name in found.estimates.views:
        if name.startswith("factor "):
            yield _factor(found, name)
    yield from _contrasts(found)


def _worst(found: Findings) -> Iterator[Table]:
    rows = [
        row
        for row in found.rows("worst", SCENARIOS, agent=found.target)
        if row.of.worst and row["kind"] == found.pressed
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
                named(row.of.measure),
                row.of.scenario,
                points(row.of.bounds.value),
                interval(row.of.bounds.low, row.of.bounds.high).strip() or UNDEFINED,
            )
            for row in rows
        ],
        caption="Bounds hold for all scenarios of a model at once, so the worst one "
        "may be picked after the fact.",
        folded=True,
    )


def _ranks(found: Findings) -> Iterator[Table]:
    rows = found.rows("models", RANKS, agent=found.target, kind=found.pressed)
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
                found.called(row.of.model),
                named(row.of.measure),
                points(row.of.rank.value),
                f"{row.of.rank.rank:g} of {row.of.of}"
                if known(row.of.rank.rank)
                else UNDEFINED,
                f"{row.of.rank.low} to {row.of.rank.high}",
            )
            for row in rows
        ],
        caption="Rank sets hold for all models at once, with 95 %.",
        folded=True,
    )


def _factor(found: Findings, view: str) -> Table:
    name = view.removeprefix("factor ")
    title = name.removeprefix(FACTOR)
    rows = found.rows(view, RATES, agent=found.target)
    return Table(
        f"By {title} ({found.target})",
        [
            Column(title, number=False),
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
                points(row.of.public),
                points(row.of.off_record),
                bounded(row.of.bounds),
                points(row.of.split.audience_effect),
                count(row.of.runs),
            )
            for row in rows
        ],
        folded=True,
    )


def _contrasts(found: Findings) -> Iterator[Table]:
    rows = found.estimates.of(CONTRASTS)
    if not rows:
        return
    keys = [key for key in (*found.estimates.head.by, "agent") if key in rows[0]]
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
                row.of.contrast.contrast,
                *(str(row.get(key, "")) for key in keys),
                named(row.of.measure),
                bounded(row.of.bounds, sign=True),
                chance(row.of.outcome.p),
                chance(row.get("p_adjusted")),
            )
            for row in rows
        ],
        caption="Tested by permutation of whole runs within shared strata.",
        folded=True,
    )
