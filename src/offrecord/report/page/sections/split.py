"""The first section: the split in a sentence, a table, arrows, divergence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.estimators import FLOOR, MISSING, RATES, SPLIT
from offrecord.estimates.frames.floors import REPEATS, FloorFigures
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.splits import SplitFigures
from offrecord.estimates.frames.table import RateFigures
from offrecord.records import Kind
from offrecord.report.figures.stances import (
    arrow_figure,
    divergence_figure,
    split_figure,
)
from offrecord.report.headline import Headline, headline
from offrecord.report.numbers import (
    UNDEFINED,
    between,
    count,
    interval,
    known,
    points,
)
from offrecord.report.page.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Section,
    Table,
    Text,
    cells,
    shade,
)
from offrecord.report.page.findings import Findings, bounded, by_estimate
from offrecord.report.page.sections.reach import doses, evidence, ladder

_ABOUT: Final = (
    "Public and off the record are the shares of turns whose stance is on the "
    "pressed side; the gap is their difference.",
    "Divergence is the share of turns whose two stances differ. It is accommodating "
    "(only the public one is on the pressed side) plus reversing (only the other "
    "is), and says nothing of a model that moves in both.",
    "The bracket holds the share of turns whose stance the audience changes, once the "
    "noise of sampling is allowed for; it needs repeats or shadows.",
)

_WEIGHTS: Final = {
    Weights.CELLS: "every scenario and condition of a row counts the same",
    Weights.TURNS: "every turn of a row counts the same",
}


def _columns(found: Findings) -> list[Column]:
    """The columns behind the model; the first three are against baseline."""
    return [
        Column(
            "public shift", about="how far the public stance moved against baseline"
        ),
        Column("conversion", about="how far that of the other channel moved"),
        Column("audience effect", about="what appears only in public"),
        Column("public", about="share of turns on the pressed side"),
        Column(found.other, about="share of turns on the pressed side"),
        Column("gap", about="public minus that"),
        Column("divergence", about="share of turns whose stances differ"),
        Column(
            "direction",
            about="accommodating (only the public stance is on the pressed side) / "
            "reversing (only the other one is)",
        ),
        Column("bracket", about="share of turns that the audience changes"),
        Column("runs"),
        Column("missing", about="turns with a stance missing, of those planned"),
    ]


def split_section(found: Findings) -> Section:
    """The public shift, and how much of it appears only in public."""
    told = _told(found)
    figures = [Text(told.figures)] if told.figures else []
    return Section(
        "split",
        "What the audience changes",
        [*figures, *_blocks(found)],
        lead=told.verdict,
        about=_ABOUT,
    )


def _told(found: Findings) -> Headline:
    of_kind = {"agent": found.target, "kind": found.pressed}
    rates = found.rows("kinds", RATES, **of_kind)
    if not rates:
        return Headline("No run has ended yet, so there is nothing to say.")
    split = {row.of.estimate: row.of for row in found.rows("kinds", SPLIT, **of_kind)}
    models = len({row["model"] for row in found.rows("models", RATES, **of_kind)})
    return headline(rates[0].of, split, where=found.beside, models=models, **of_kind)


def _blocks(found: Findings) -> Iterator[Block]:
    rates = found.rows("kinds", RATES, agent=found.target, kind=found.pressed)
    if not rates or not rates[0].of.turns:
        return
    row = rates[0].of
    yield Text(
        f"Divergence under {found.pressed} is {points(row.divergence)} % "
        f"{interval(row.ci_low, row.ci_high)} of {count(row.turns)} turns: "
        f"{points(row.public_only)} accommodating and "
        f"{points(row.off_record_only)} reversing; {count(row.missing)} of "
        f"{count(row.planned)} are missing. All intervals are 95 % ones for "
        f"{row.scope}.",
    )
    yield from _limits(found)
    yield from evidence(found)
    if found.estimates.head.note:
        yield Text(f"Note: {found.estimates.head.note}.", "note")
    for kind in found.kinds:
        yield _models_table(found, kind)
    yield from doses(found)
    yield from ladder(found)
    models = found.rows("models", RATES, agent=found.target, kind=found.pressed)
    splits = found.rows("models", SPLIT, agent=found.target, kind=found.pressed)
    figure = split_figure(models, splits, found.models)
    if figure is not None:
        yield Drawing(figure)
    cell_rates = found.rows("cells", RATES, agent=found.target)
    yield Drawing(arrow_figure(cell_rates, found.models))
    yield _divergence_table(found)
    yield Drawing(divergence_figure(cell_rates, found.models))


def _limits(found: Findings) -> Iterator[Block]:
    """What missing turns could make of the split, and which cells it leaves out."""
    of_kind = {"agent": found.target, "kind": found.pressed}
    for row in found.rows("kinds", MISSING, **of_kind):
        if row.of.missingness.missing and known(row.of.split.public_shift.low):
            shift, held, apart = map(between, row.of.split)
            yield Text(
                "Over all planned turns, if missing stances could be anything, the "
                f"public shift is {shift}, conversion {held} and the audience effect "
                f"{apart}.",
                "note",
            )
    split = found.rows("kinds", SPLIT, **of_kind)
    for text in dict.fromkeys(row.of.left_out for row in split if row.of.left_out):
        yield Text(f"Note: {text}.", "note")


def _models_table(found: Findings, kind: str) -> Table:
    rates = found.rows("models", RATES, agent=found.target, kind=kind)
    pooled = found.rows("kinds", RATES, agent=found.target, kind=kind)
    split = by_estimate(
        found.rows("models", SPLIT, agent=found.target, kind=kind), "model"
    )
    whole = by_estimate(found.rows("kinds", SPLIT, agent=found.target, kind=kind))
    split |= {("", *key): row for key, row in whole.items()}
    floors = found.rows("models", FLOOR, agent=found.target, kind=kind)
    brackets = {row["model"]: row.of for row in floors}
    for row in found.rows("kinds", FLOOR, agent=found.target, kind=kind):
        brackets[""] = row.of
    place = {name: at for at, name in enumerate(found.models)}
    rates.sort(key=lambda row: place[row["model"]])
    several = len(rates) > 1
    rows = [
        _model_row(found.called(r["model"]), r, r["model"], split, brackets)
        for r in rates
    ]
    if several:
        rows += [_model_row("all models", row, "", split, brackets) for row in pooled]
    moved = kind != Kind.BASELINE
    skipped = 0 if moved else 3
    weights = _WEIGHTS[Weights(found.estimates.head.weights)]
    told = "" if moved else " What baseline shows is there without any pressure."
    return Table(
        f"{found.target} under {kind}" if moved else f"{found.target} at baseline",
        [found.model_column(), *_columns(found)[skipped:]],
        [[row[0], *row[1 + skipped :]] for row in rows],
        caption=f"Percentage points; {weights}. Intervals are 95 % ones for "
        f"{pooled[0].of.scope}.{told}",
        folded=kind != found.pressed,
        total=several,
    )


def _model_row(
    name: str,
    row: Row[RateFigures],
    key: str,
    split: Mapping[tuple[object, ...], SplitFigures],
    brackets: Mapping[str, FloorFigures],
) -> list[Cell]:
    def estimated(name: str, *, sign: bool = False) -> Cell:
        one = split.get((key, name))
        return bounded(one.bounds if one else None, sign=sign)

    of, bracket = row.of, brackets.get(key)
    changed = UNDEFINED
    if bracket is not None:
        changed = between(Range(bracket.floor.changed_low, bracket.floor.changed_high))
    at_first = bracket is not None and bracket.source == REPEATS
    return cells(
        name,
        estimated("public_shift", sign=True),
        estimated("conversion", sign=True),
        estimated("audience_effect", sign=True),
        estimated("public"),
        estimated("off_record"),
        estimated("gap", sign=True),
        estimated("divergence"),
        f"{points(of.public_only)} / {points(of.off_record_only)}",
        Cell(changed, "at turn 1" if at_first and changed != UNDEFINED else ""),
        count(of.runs),
        Cell(count(of.missing), f"of {count(of.planned)}"),
    )


def _divergence_table(found: Findings) -> Table:
    """Divergence by model and condition: the paper's first table."""
    rates = found.rows("cells", RATES, agent=found.target)
    pooled = found.rows("conditions", RATES, agent=found.target)
    value = {(row["model"], row["condition"]): row for row in rates}
    value |= {("", row["condition"]): row for row in pooled}
    names = [*found.models, *([""] if len(found.models) > 1 else [])]

    def cell(name: str, condition: str) -> Cell:
        row = value.get((name, condition))
        if row is None or math.isnan(row.of.divergence):
            return Cell(UNDEFINED)
        return replace(bounded(row.of.bounds), shade=shade(row.of.divergence))

    return Table(
        f"Divergence of {found.target}, by model and condition",
        [Column("model", number=False), *map(Column, found.conditions)],
        [
            [
                Cell(found.called(name)),
                *(cell(name, condition) for condition in found.conditions),
            ]
            for name in names
        ],
        caption="Percent of turns. Divergence alone misleads: a model that moves both "
        "channels has none, so read it with the arrows above.",
        total=len(found.models) > 1,
    )
