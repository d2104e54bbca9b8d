"""Divergence and gap over the rounds, pooled and per scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offrecord.estimates.estimators import PERSISTENCE, RATES, SPLIT
from offrecord.report.figures.stances import round_figure
from offrecord.report.numbers import count, known, points
from offrecord.report.page.blocks import (
    Block,
    Column,
    Drawing,
    Section,
    Table,
    cells,
)
from offrecord.report.page.findings import Findings, bounded

_ABOUT: Final = (
    "In round 1 the target speaks before it has heard anything, so what differs there "
    "comes from the prompt alone; later rounds carry the debate as well.",
)

_STATES: Final = {
    "accommodating": "accommodating",
    "reversing": "reversing",
    "both": "both on the pressed side",
    "neither": "neither",
}


def rounds_section(found: Findings) -> Section:
    """How the two channels part over a debate."""
    return Section(
        "rounds",
        "Over the rounds",
        list(_blocks(found)),
        lead=_lead(found),
        about=_ABOUT,
    )


def _lead(found: Findings) -> str:
    rates = found.rows("rounds", RATES, agent=found.target, kind=found.pressed)
    shown = [row for row in rates if known(row.of.divergence)]
    if len(shown) < 2:
        return ""
    first, last = shown[0], shown[-1]
    return (
        f"Under {found.pressed} the divergence of {found.target} is "
        f"{points(first.of.divergence)} % in round {first['round']} and "
        f"{points(last.of.divergence)} % in round {last['round']}; the gap goes from "
        f"{points(first.of.gap)} to {points(last.of.gap)} points."
    )


def _blocks(found: Findings) -> Iterator[Block]:
    split = found.rows("rounds", SPLIT)
    if not split:
        return
    yield Drawing(round_figure(split, found.rows("rounds", RATES)))
    scenarios = {row["scenario"] for row in found.rows("scenario_rounds", RATES)}
    if len(scenarios) > 1:
        figure = round_figure(
            found.rows("scenario_rounds", SPLIT),
            found.rows("scenario_rounds", RATES),
            by_scenario=True,
        )
        yield Drawing(figure, folded=True)
    yield _persistence(found)


def _persistence(found: Findings) -> Table:
    rows = found.rows("first", PERSISTENCE, agent=found.target)
    return Table(
        f"Does a stance last? The next turn of {found.target} is in the same state",
        [
            Column("kind", number=False),
            Column("state", number=False),
            Column("turns"),
            Column("stays, %"),
        ],
        [
            cells(
                row["kind"],
                _STATES.get(row.of.state, row.of.state),
                count(row.of.turns),
                bounded(row.of.bounds),
            )
            for row in rows
            if row.of.turns
        ],
        caption="Of turns whose next one is known.",
        folded=True,
    )
