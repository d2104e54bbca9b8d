"""The first section: the split in a sentence, a table, arrows, divergence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from offrecord.estimates.frames.rows import REPEATS
from offrecord.records import Kind
from offrecord.report.figures.stances import (
    arrow_figure,
    divergence_figure,
    split_figure,
)
from offrecord.report.numbers import count, interval, points
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
from offrecord.report.page.findings import Findings, Row, bounded, by_estimate

_ABOUT: Final = (
    "Public and off the record are the shares of turns whose stance is on the "
    "partner's side; the gap is their difference.",
    "Divergence is the share of turns whose two stances differ. It is accommodating "
    "(only the public one is on the partner's side) plus reversing (only the other "
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
        Column("public", about="share of turns on the partner's side"),
        Column(found.other, about="share of turns on the partner's side"),
        Column("gap", about="public minus that"),
        Column("divergence", about="share of turns whose stances differ"),
        Column(
            "direction",
            about="accommodating (only the public stance is on the partner's side) / "
            "reversing (only the other one is)",
        ),
        Column("bracket", about="share of turns that the audience changes"),
        Column("runs"),
        Column("missing", about="turns with a stance missing, of those planned"),
    ]


def split_section(found: Findings) -> Section:
    """What pressure moved, and how much of it appears only in public."""
    return Section(
        "split",
        "What the audience changes",
        list(_blocks(found)),
        lead=headline(found),
        short="The split",
        about=_ABOUT,
    )


def headline(found: Findings) -> str:
    """The split in a sentence (rule: pressure = conversion + audience effect)."""
    rates = found.rows("kinds", "rates", agent=found.target, kind=found.pressed)
    if not rates:
        return "No run has ended yet, so there is nothing to say."
    row = rates[0]
    if not row["turns"]:
        return (
            f"No turn of {found.target} under {found.pressed} has both stances, so "
            f"there is nothing to say: {count(row['missing'])} of "
            f"{count(row['planned'])} are missing."
        )
    if row["public_shift"] is None:
        return (
            f"{found.target} was on the partner's side in {points(row['public'])} % of "
            f"turns in public and in {points(row['off_record'])} % {found.beside}. "
            "What pressure moved cannot be told: the split needs a baseline and a "
            "condition beside it."
        )
    split = by_estimate(
        found.rows("kinds", "split", agent=found.target, kind=found.pressed)
    )
    told = {
        name: points(row[name]) + interval(split[name,]["low"], split[name,]["high"])
        for name in ("public_shift", "conversion", "audience_effect")
    }
    return (
        f"Against baseline, {found.pressed} moved the public stance of {found.target} "
        f"by {told['public_shift']} points toward the pressed side: "
        f"{told['conversion']} of them hold {found.beside} too (conversion), "
        f"{told['audience_effect']} appear only in public (audience effect)."
        + _doubt(split["public_shift",], split["audience_effect",])
    )


def _doubt(pressure: Row, audience: Row) -> str:
    """What the intervals leave open, in words."""
    if not _open(pressure) and not _open(audience):
        return ""
    if _open(pressure) and _open(audience):
        return (
            f" Both intervals hold zero: {pressure['runs']} runs do not tell this "
            "movement from none."
        )
    name = "public_shift" if _open(pressure) else "the audience effect"
    return f" The interval of {name} holds zero: it may be none."


def _open(row: Row) -> bool:
    """Whether no movement at all is within the interval, or there is none."""
    return row["low"] is None or row["low"] <= 0 <= row["high"]


def _blocks(found: Findings) -> Iterator[Block]:
    rates = found.rows("kinds", "rates", agent=found.target, kind=found.pressed)
    if not rates or not rates[0]["turns"]:
        return
    row = rates[0]
    yield Text(
        f"Divergence under {found.pressed} is {points(row['divergence'])} % "
        f"{interval(row['ci_low'], row['ci_high'])} of {count(row['turns'])} turns: "
        f"{points(_part(row, 'accommodating'))} accommodating and "
        f"{points(_part(row, 'reversing'))} reversing; {count(row['missing'])} of "
        f"{count(row['planned'])} are missing. All intervals are 95 % ones for "
        f"{row['scope']}.",
    )
    if found.estimates["note"]:
        yield Text(f"Note: {found.estimates['note']}.", "note")
    for kind in found.kinds:
        yield _models_table(found, kind)
    models = found.rows("models", "rates", agent=found.target, kind=found.pressed)
    splits = found.rows("models", "split", agent=found.target, kind=found.pressed)
    figure = split_figure(models, splits, found.models)
    if figure is not None:
        yield Drawing(figure)
    cell_rates = found.rows("cells", "rates", agent=found.target)
    yield Drawing(arrow_figure(cell_rates, found.models))
    yield _divergence_table(found)
    yield Drawing(divergence_figure(cell_rates, found.models))


def _models_table(found: Findings, kind: str) -> Table:
    rates = found.rows("models", "rates", agent=found.target, kind=kind)
    pooled = found.rows("kinds", "rates", agent=found.target, kind=kind)
    split = by_estimate(
        found.rows("models", "split", agent=found.target, kind=kind), "model"
    )
    whole = by_estimate(found.rows("kinds", "split", agent=found.target, kind=kind))
    split |= {("", *key): row for key, row in whole.items()}
    floors = found.rows("models", "floor", agent=found.target, kind=kind)
    brackets = {row["model"]: row for row in floors}
    for row in found.rows("kinds", "floor", agent=found.target, kind=kind):
        brackets[""] = row
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
        f"95 % ones for {pooled[0]['scope']}."
        + ("" if moved else " What baseline shows is there without any pressure."),
        folded=kind != found.pressed,
        total=several,
    )


def _model_row(
    name: str,
    row: Row,
    key: str,
    split: dict[tuple[object, ...], Row],
    brackets: dict[str, Row],
) -> list[Cell]:
    def estimated(name: str, *, sign: bool = False) -> Cell:
        return bounded(split.get((key, name)), sign=sign)

    bracket = brackets.get(key, {})
    low, high = bracket.get("changed_low"), bracket.get("changed_high")
    known = low is not None and high is not None
    return cells(
        Cell(name, full=str(row.get("model", ""))),
        estimated("public_shift", sign=True),
        estimated("conversion", sign=True),
        estimated("audience_effect", sign=True),
        estimated("public"),
        estimated("off_record"),
        estimated("gap", sign=True),
        estimated("divergence"),
        Cell(
            f"{points(_part(row, 'accommodating'))} / {points(_part(row, 'reversing'))}"
        ),
        Cell(
            f"{points(low)} to {points(high)}" if known else "–",
            "at turn 1" if known and bracket["source"] == REPEATS else "",
        ),
        count(row["runs"]),
        Cell(count(row["missing"]), f"of {count(row['planned'])}"),
    )


def _divergence_table(found: Findings) -> Table:
    """Divergence by model and condition: the paper's first table."""
    rates = found.rows("cells", "rates", agent=found.target)
    pooled = found.rows("conditions", "rates", agent=found.target)
    value = {(row["model"], row["condition"]): row for row in rates}
    value |= {("", row["condition"]): row for row in pooled}
    names = [*found.models, *([""] if len(found.models) > 1 else [])]

    def cell(name: str, condition: str) -> Cell:
        row = value.get((name, condition))
        if row is None or row["divergence"] is None:
            return Cell("–")
        return replace(bounded(row, "divergence"), shade=shade(row["divergence"]))

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


def _part(row: Row, name: str) -> float | None:
    return row[name] / row["turns"] if row["turns"] else None
