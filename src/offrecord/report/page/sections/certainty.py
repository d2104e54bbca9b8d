"""How sure it is: the scope of an interval, the noise floor, single scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from offrecord.report.numbers import (
    UNDEFINED,
    chance,
    count,
    interval,
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
from offrecord.report.page.findings import Findings, Row, bounded, by_estimate
from offrecord.report.page.sections.comparisons import comparison_tables

_ABOUT: Final = (
    "A standard error means nothing until it says whom it speaks about. New runs of "
    "these cells: would the same models in the same scenarios do it again? New "
    "scenarios, new models: would others? Turns as independent is the naive one, which "
    "counts the turns of one debate as so many observations.",
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
        short="Certainty",
        about=_ABOUT,
    )


def _lead(found: Findings) -> str:
    rows = _scope_rows(found, "divergence")
    known = [row for row in rows if row["se"]]
    if len(known) < 2:
        return ""
    errors = ", ".join(f"±{points(row['se'])} for {row['scope']}" for row in known)
    unknown = [row["scope"] for row in rows if not row["se"]]
    none = f"; for {' and '.join(unknown)} these runs show none" if unknown else ""
    value = points(rows[0]["value"])
    return f"The same {value} % of divergence has a standard error of {errors}{none}."


def _blocks(found: Findings) -> Iterator[Block]:
    yield _scopes(found)
    yield _floor(found)
    yield _scenarios(found)
    yield from comparison_tables(found)


def _scope_rows(found: Findings, estimate: str) -> list[Row]:
    return found.listed(
        "scopes", agent=found.target, kind=found.pressed, estimate=estimate
    )


def _scopes(found: Findings) -> Table:
    names = {
        "divergence": "divergence",
        "gap": "gap",
        "audience_effect": "audience effect",
        "conversion": "conversion",
    }
    return Table(
        f"One figure, four scopes ({found.target}, {found.pressed})",
        [
            Column("figure", number=False),
            Column("for", number=False),
            Column("value"),
            Column("standard error"),
            Column("95 % interval"),
            Column("clusters"),
        ],
        [
            cells(
                "" if at else label,
                row["scope"],
                points(row["value"]),
                points(row["se"]),
                Cell(
                    interval(row["low"], row["high"]).strip() or UNDEFINED,
                    row["reason"] or "",
                ),
                count(row["clusters"]),
            )
            for estimate, label in names.items()
            for at, row in enumerate(_scope_rows(found, estimate))
        ],
        caption="Percentage points. A scope with few clusters has a wide interval, and "
        "none with a single one.",
    )


def _floor(found: Findings) -> Table:
    rows = found.rows("conditions", "floor", agent=found.target)
    return Table(
        f"The noise floor ({found.target})",
        [
            Column("condition", number=False),
            Column("from", number=False),
            Column("across channels"),
            Column("within public"),
            Column("within off the record"),
            Column("D*"),
            Column("p", about="dealing whole draws anew between the channels"),
            Column("changed by the audience"),
        ],
        [
            cells(
                row["condition"],
                row["source"],
                points(row["cross"]),
                points(row["within_public"]),
                points(row["within_other"]),
                _reasoned(row),
                chance(row["p"]),
                f"{points(row['changed_low'])} to {points(row['changed_high'])}"
                if row["changed_low"] is not None
                else UNDEFINED,
            )
            for row in rows
        ],
        caption="How often two samples differ, in percent of pairs. From shadows, or "
        "at turn 1, where the histories are alike, from repeats. p tests whether the "
        "audience changes anything at all in these very runs; the last column is a "
        "range for these runs, without an interval of its own.",
    )


def _reasoned(row: Row) -> Cell:
    """D* over its interval, or over why it has none."""
    cell = bounded(row, "d_star")
    return cell if cell.hint else replace(cell, hint=row["reason"] or "")


def _scenarios(found: Findings) -> Table:
    leaning = found.facts.get("leaning", {})
    rows = found.rows("scenarios", "rates", agent=found.target)
    ordered = sorted(rows, key=lambda row: (row["scenario"], _place(found, row)))
    split = by_estimate(
        found.rows("scenarios", "split", agent=found.target), "scenario", "kind"
    )

    def moved(row: Row, name: str) -> Cell:
        return bounded(split.get((row["scenario"], row["kind"], name)), sign=True)

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
                points(row["public"]),
                points(row["off_record"]),
                replace(bounded(row, "divergence"), shade=shade(row["divergence"])),
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


def _place(found: Findings, row: Row) -> int:
    return [*reversed(found.kinds)].index(row["kind"])
