"""How sure it is: the scope of an interval, the noise floor, single scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.estimators import FLOOR, RATES, SCOPES, SPLIT
from offrecord.estimates.frames.floors import FloorFigures
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.splits import SplitFigures
from offrecord.estimates.frames.table import RateFigures
from offrecord.report.numbers import (
    UNDEFINED,
    chance,
    count,
    interval,
    known,
    points,
)
from offrecord.report.page.blocks import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    cells,
    shade,
)
from offrecord.report.page.findings import Findings, bounded, by_estimate
from offrecord.report.page.sections.comparisons import comparison_tables

_ABOUT: Final = (
    "A standard error means nothing until it says what it generalizes to. New runs of "
    "the same cells: would the same models in the same scenarios do it again? New "
    "scenarios, new models: would others? New pairs take every pair of model and "
    "scenario for one of its own, and say nothing of either. Turns as independent is "
    "the naive one, which counts the turns of one debate as so many observations.",
    "Two samples of one channel differ too. D* is the divergence across channels minus "
    "half of what differs within each; it is a squared unit and tests whether the "
    "audience changes anything at all.",
)


def certainty_section(found: Findings) -> Section:
    """Scopes, noise floor, scenarios and whatever was contrasted."""
    return Section(
        "certainty",
        "How sure, and for whom",
        list(_blocks(found)),
        lead=_lead(found),
        about=_ABOUT,
    )


def _lead(found: Findings) -> str:
    rows = _scope_rows(found, "divergence")
    shown = [row for row in rows if row.se > 0]
    if len(shown) < 2:
        return ""
    errors = ", ".join(f"±{points(row.se)} for {row.scope}" for row in shown)
    unknown = [row.scope for row in rows if not row.se > 0]
    none = f"; for {' and '.join(unknown)} these runs show none" if unknown else ""
    value = points(rows[0].value)
    return f"The same {value} % of divergence has a standard error of {errors}{none}."


def _blocks(found: Findings) -> Iterator[Block]:
    yield _scopes(found)
    yield _floor(found)
    yield _scenarios(found)
    yield from comparison_tables(found)


def _scope_rows(found: Findings, estimate: str) -> list[SplitFigures]:
    rows = found.listed(
        SCOPES, agent=found.target, kind=found.pressed, estimate=estimate
    )
    return [row.of for row in rows]


def _scopes(found: Findings) -> Table:
    names = {
        "divergence": "divergence",
        "gap": "gap",
        "audience_effect": "audience effect",
        "conversion": "conversion",
    }
    return Table(
        f"One figure, and whom it speaks about ({found.target}, {found.pressed})",
        [
            Column("figure", number=False),
            Column("generalizes to", number=False),
            Column("allows a claim about", number=False),
            Column("value"),
            Column("standard error"),
            Column("95 % interval"),
            Column("clusters"),
        ],
        [
            cells(
                label,
                row.scope,
                Scope(row.scope).claim,
                points(row.value),
                points(row.se),
                Cell(
                    interval(row.low, row.high).strip() or UNDEFINED, row.reason or ""
                ),
                count(row.clusters),
            )
            for estimate, label in names.items()
            for row in _scope_rows(found, estimate)
        ],
        caption="Percentage points. A scope with few clusters has a wide interval, and "
        "none with a single one or too few scenarios.",
    )


def _floor(found: Findings) -> Table:
    rows = found.rows("conditions", FLOOR, agent=found.target)
    return Table(
        f"The noise floor ({found.target})",
        [
            Column("condition", number=False),
            Column("from", number=False),
            Column("across channels"),
            Column("within public"),
            Column("within off the record"),
            Column("D*"),
            Column("p", about="permutation of whole draws between the channels"),
            Column("changed by the audience"),
        ],
        [
            cells(
                row["condition"],
                row.of.source,
                points(row.of.floor.cross),
                points(row.of.floor.within_public),
                points(row.of.floor.within_other),
                _reasoned(row.of),
                chance(row.of.outcome.p),
                f"{points(row.of.floor.changed_low)} to "
                f"{points(row.of.floor.changed_high)}"
                if known(row.of.floor.changed_low)
                else UNDEFINED,
            )
            for row in rows
        ],
        caption="How often two samples differ, in percent of pairs. From shadows, or "
        "at turn 1, where the histories are alike, from repeats. p tests whether the "
        "audience changes anything at all in these runs; the last column is a "
        "range for these runs, without an interval of its own.",
    )


def _reasoned(row: FloorFigures) -> Cell:
    """D* over its interval, or over why it has none."""
    cell = bounded(row.bounds)
    return cell if cell.hint else replace(cell, hint=row.reason)


def _scenarios(found: Findings) -> Table:
    leaning = found.facts.get("leaning", {})
    rows = found.rows("scenarios", RATES, agent=found.target)
    ordered = sorted(rows, key=lambda row: (row["scenario"], _place(found, row)))
    split = by_estimate(
        found.rows("scenarios", SPLIT, agent=found.target), "scenario", "kind"
    )

    def moved(row: Row[RateFigures], name: str) -> Cell:
        one = split.get((row["scenario"], row["kind"], name))
        return bounded(one.bounds if one else None, sign=True)

    return Table(
        f"By scenario ({found.target})",
        [
            Column("scenario", number=False),
            Column("kind", number=False),
            Column("public"),
            Column("off the record"),
            Column("divergence"),
            Column("conversion"),
            Column("audience effect"),
        ],
        [
            cells(
                Cell(row["scenario"], _leans(leaning.get(row["scenario"]))),
                row["kind"],
                points(row.of.public),
                points(row.of.off_record),
                replace(bounded(row.of.bounds), shade=shade(row.of.divergence)),
                moved(row, "conversion"),
                moved(row, "audience_effect"),
            )
            for row in ordered
        ],
        caption="Percentage points. Where the role card itself scripts a leaning, what "
        "an agent says off the record is partly the card's.",
    )


def _leans(leaning: str | None) -> str:
    told = {
        "balanced": "the card leans to neither side",
        "card": "the card scripts a leaning",
        "evidence": "the evidence leans",
    }
    return told.get(leaning, f"leaning: {leaning}") if leaning else ""


def _place(found: Findings, row: Row[RateFigures]) -> int:
    return [*reversed(found.kinds)].index(row["kind"])
