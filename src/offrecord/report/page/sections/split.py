"""The first section: the split in a sentence, a table, arrows, divergence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.split import Split
from offrecord.estimates.estimators import FLOOR, RATES, SPLIT
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
from offrecord.report.numbers import UNDEFINED, count, interval, points
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

_ABOUT: Final = (
    "Public and off the record are the shares of turns whose stance is on the "
    "pressed side; the gap is their difference.",
    "Divergence is the share of turns whose two stances differ. It is accommodating "
    "(only the public one is on the pressed side) plus reversing (only the other "
    "is), and says nothing of a model that moves in both.",
    "The bracket holds the share of turns whose stance the audience changes, once the "
    "noise of sampling is allowed for; it needs repeats or shadows.",
)


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
    return Section(
        "split",
        "What the audience changes",
        list(_blocks(found)),
        lead=headline(found),
        short="The split",
        about=_ABOUT,
    )


def headline(found: Findings) -> str:
    """The split in a sentence: public shift = conversion + audience effect."""
    rates = found.rows("kinds", RATES, agent=found.target, kind=found.pressed)
    if not rates:
        return "No run has ended yet, so there is nothing to say."
    row = rates[0].of
    if not row.turns:
        return (
            f"No turn of {found.target} under {found.pressed} has both stances, so "
            f"there is nothing to say: {count(row.missing)} of "
            f"{count(row.planned)} are missing."
        )
    if math.isnan(row.split.public_shift):
        return (
            f"{found.target} was on the pressed side in {points(row.public)} % of "
            f"turns in public and in {points(row.off_record)} % {found.beside}. "
            "The public shift is unknown: the split needs a baseline and a "
            "condition beside it."
        )
    split = by_estimate(
        found.rows("kinds", SPLIT, agent=found.target, kind=found.pressed)
    )
    told = {
        name: points(value) + interval(split[name,].low, split[name,].high)
        for name, value in row.split._asdict().items()
    }
    return (
        f"Against baseline, {found.pressed} moved the public stance of {found.target} "
        f"by {told['public_shift']} points toward the pressed side: "
        f"{_parted(row.split, told, found.beside)}"
        + _doubt(split["public_shift",], split["audience_effect",])
    )


def _parted(split: Split, told: Mapping[str, str], beside: str) -> str:
    """The two parts in words; where their signs differ, the channels moved apart."""
    if split.conversion * split.audience_effect < 0:
        return (
            f"the channels moved apart, by {told['conversion']} points {beside} "
            f"(conversion) and {told['audience_effect']} more in public (audience "
            "effect)."
        )
    return (
        f"{told['conversion']} of them hold {beside} too (conversion), "
        f"{told['audience_effect']} appear only in public (audience effect)."
    )


def _doubt(shift: Estimate, audience: Estimate) -> str:
    """What the intervals leave open, in words."""
    if not _open(shift) and not _open(audience):
        return ""
    if _open(shift) and _open(audience):
        return (
            f" Both intervals include zero: {shift.runs} runs are too few to tell "
            "this shift from none."
        )
    name = "public shift" if _open(shift) else "audience effect"
    return f" The interval of the {name} includes zero: there may be none."


def _open(one: Estimate) -> bool:
    """Whether no shift at all is within the interval, or there is none."""
    return not one.defined or one.low <= 0 <= one.high


def _blocks(found: Findings) -> Iterator[Block]:
    rates = found.rows("kinds", RATES, agent=found.target, kind=found.pressed)
    if not rates or not rates[0].of.turns:
        return
    row = rates[0].of
    yield Text(
        f"Divergence under {found.pressed} is {points(row.divergence)} % "
        f"{interval(row.ci_low, row.ci_high)} of {count(row.turns)} turns: "
        f"{points(row.accommodating)} accommodating and "
        f"{points(row.reversing)} reversing; {count(row.missing)} of "
        f"{count(row.planned)} are missing. All intervals are 95 % ones for "
        f"{row.scope}.",
    )
    if found.estimates.head.note:
        yield Text(f"Note: {found.estimates.head.note}.", "note")
    for kind in found.kinds:
        yield _models_table(found, kind)
    models = found.rows("models", RATES, agent=found.target, kind=found.pressed)
    splits = found.rows("models", SPLIT, agent=found.target, kind=found.pressed)
    figure = split_figure(models, splits, found.models)
    if figure is not None:
        yield Drawing(figure)
    cell_rates = found.rows("cells", RATES, agent=found.target)
    yield Drawing(arrow_figure(cell_rates, found.models))
    yield _divergence_table(found)
    yield Drawing(divergence_figure(cell_rates, found.models))


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
    return Table(
        f"{found.target} under {kind}" if moved else f"{found.target} at baseline",
        [Column("model", number=False), *_columns(found)[skipped:]],
        [[row[0], *row[1 + skipped :]] for row in rows],
        caption="Percentage points over all turns of a row together. Intervals are "
        f"95 % ones for {pooled[0].of.scope}."
        + ("" if moved else " What baseline shows is there without any pressure."),
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
    known = bracket is not None and not math.isnan(bracket.floor.changed_low)
    return cells(
        Cell(name, full=str(row.get("model", ""))),
        estimated("public_shift", sign=True),
        estimated("conversion", sign=True),
        estimated("audience_effect", sign=True),
        estimated("public"),
        estimated("off_record"),
        estimated("gap", sign=True),
        estimated("divergence"),
        f"{points(of.accommodating)} / {points(of.reversing)}",
        Cell(
            f"{points(bracket.floor.changed_low)} to "
            f"{points(bracket.floor.changed_high)}"
            if bracket and known
            else UNDEFINED,
            "at turn 1" if bracket and known and bracket.source == REPEATS else "",
        ),
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
