"""Figures of texts and answers: how alike, entailment, wording, surveys, causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from offrecord.measures.declare import Quantity
from offrecord.report.figures.grammar import (
    OTHER,
    PUBLIC,
    Figure,
    Panel,
    Rows,
    counted,
    drawn,
    figure,
    percent,
    short_names,
)
from offrecord.report.numbers import known, named

_PAIRINGS: Final = {
    "channels": "public with off the record",
    "shuffled": "floor: another run and round",
    "draws": "ceiling: two samples",
    "repeats": "same turn of two runs",
}
"""What a pairing is called in a figure: the channels, a floor, and ceilings."""


_CHANNELS: Final = {"public": PUBLIC, "off_record": OTHER}

_RELATIONS: Final = {
    "mean_entailment": "entailment",
    "mean_neutral": "neutral",
    "mean_contradiction": "contradiction",
}


def cosine_figure(rows: Rows, names: Sequence[str]) -> Figure | None:
    """The distribution of cosines by model and condition, with floor and ceiling.

    Args:
        rows: `cosine` of the views, of the target and of one variant.
        names: The models, in the order to show.
    """
    short = short_names(names)
    # Repeats had other histories, so they are a ceiling only where there is no better.
    absent = "repeats" if any(r["pairing"] == "draws" for r in rows) else "draws"
    shown = [pairing for pairing in _PAIRINGS if pairing != absent]
    ends = [r[q] for r in rows if r["pairing"] in shown for q in ("q05", "q95")]
    known_ends = [end for end in ends if end is not None]
    domain = [min(known_ends, default=0), max(known_ends, default=1)]
    panels = []
    for condition in dict.fromkeys(row["condition"] for row in rows):
        own = [r for r in rows if r["condition"] == condition and r["pairing"] in shown]
        values = [
            {
                "model": short[row["model"]],
                "pair": _named(row),
                **{name: row[name] for name in ("q05", "q25", "q50", "q75", "q95")},
                "value": row["mean"],
            }
            for row in own
            if known(row["q50"])
        ]
        if values:
            pairs = sum(r["pairs"] for r in own if r["pairing"] == "channels")
            there = dict.fromkeys(row["pair"] for row in values)
            order = [
                p for one in _PAIRINGS.values() for p in there if p.startswith(one)
            ]
            models = [*short.values()]
            chart = drawn(
                "cosine", values, len(short), models=models, pairs=order, domain=domain
            )
            panels.append(Panel(condition, f"n = {pairs:,} pairs of channels", chart))
    return figure("cosine", panels) if panels else None


def _named(row: Mapping[str, Any]) -> str:
    """What a pair is called; one within a channel names it."""
    called = _PAIRINGS[row["pairing"]]
    if row["pairing"] in {"channels", "shuffled"}:
        return called
    return f"{called}, {named(row['channel'])}"


def entailment_figure(rows: Rows, names: Sequence[str]) -> Figure | None:
    """Shares of entailment, neutral and contradiction by model, a panel per condition.

    Args:
        rows: `pairs` of the view `cells`, of the target, the two channels paired.
        names: The models, in the order to show.
    """
    short = short_names(names)
    panels = []
    for condition in dict.fromkeys(row["condition"] for row in rows):
        own = [
            row
            for row in rows
            if row["condition"] == condition
            and row["quantity"] in _RELATIONS
            and known(row["value"])
        ]
        if not own:
            continue
        values = [
            {
                "model": short[row["model"]],
                "relation": _RELATIONS[row["quantity"]],
                "points": 100 * row["value"],
                "place": list(_RELATIONS).index(row["quantity"]),
            }
            for row in own
        ]
        chart = drawn("entailment", values, len(short), models=[*short.values()])
        one = [row for row in own if row["quantity"] == own[0]["quantity"]]
        panels.append(Panel(condition, counted(one), chart))
    return figure("entailment", panels) if panels else None


def quantity_figure(
    name: str, title: str, rows: Rows, quantities: Sequence[Quantity]
) -> Figure | None:
    """Quantities in both channels with their intervals, a panel for each.

    Args:
        name: Of the measure: the figure's id.
        title: Its heading.
        rows: `measures` of the view `kinds`, of the target and this measure.
        quantities: What it declares, in the order to show.
    """
    known_of = {
        one: [
            row
            for row in rows
            if row["quantity"] == one.name
            and row["estimate"] in _CHANNELS
            and known(row["value"])
        ]
        for one in quantities
    }
    panels = [_quantity_panel(one, own) for one, own in known_of.items() if own]
    return figure("quantities", panels, rows, id=name, title=title) if panels else None


def _quantity_panel(one: Quantity, rows: Rows) -> Panel:
    """One quantity in both channels, by kind of condition."""
    share = one.kind == "share"
    values = [
        {
            "kind": row["kind"],
            "channel": _CHANNELS[row["estimate"]],
            **{
                part: percent(row[part]) if share else row[part]
                for part in ("value", "low", "high")
            },
        }
        for row in rows
    ]
    label = f"{one.title}, %" if share else one.title
    chart = drawn("quantities", values, len({v["kind"] for v in values}), label=label)
    return Panel(label, f"n = {sum(row['turns'] for row in rows):,} texts", chart)


def survey_figure(rows: Rows, items: Mapping[str, str]) -> Figure | None:
    """The survey gap of each item with its interval, a panel per kind.

    Args:
        rows: `surveys` of the views, of the target.
        items: What each item is called, in the order to show.
    """
    panels = []
    gaps = [r for r in rows if r["estimate"] == "gap" and known(r["value"])]
    bound = max([abs(r[end] or 0) for r in gaps for end in ("low", "high")], default=0)
    for kind in dict.fromkeys(row["kind"] for row in gaps):
        own = [row for row in gaps if row["kind"] == kind]
        values = [
            {
                "item": items.get(row["item"], row["item"]),
                **{name: row[name] for name in ("value", "low", "high")},
            }
            for row in own
        ]
        chart = drawn(
            "surveys",
            values,
            len(values),
            items=[*items.values()],
            domain=[-bound, bound],
            unit="points of the scale",
        )
        panels.append(Panel(kind, counted(own[:1]), chart))
    return figure("surveys", panels, rows) if panels else None


def attribution_figure(rows: Rows, names: Sequence[str]) -> Figure | None:
    """How often the other text names the pressure, by model and kind of turn.

    Args:
        rows: `attribution` of the views, of one coder and all rounds, by model.
        names: The models, in the order to show.
    """
    short = short_names(names)
    turns = {
        "accommodating": "accommodating turns",
        "consistent": "consistent turns",
        "baseline": "baseline turns",
    }
    panels = []
    for code in ("mention", "explicit"):
        own = [row for row in rows if row["code"] == code and "model" in row]
        values = [
            {
                "model": short[row["model"]],
                "turns": label,
                "points": 100 * row[f"{name}_share"],
                "of": f"{row[f'{name}_hits']} of {row[f'{name}_turns']}",
            }
            for row in own
            for name, label in turns.items()
            if known(row[f"{name}_share"])
        ]
        if not values:
            continue
        chart = drawn(
            "attribution",
            values,
            len(short),
            models=[*short.values()],
            turns=[*turns.values()],
        )
        size = sum(row[f"{name}_turns"] for row in own for name in turns)
        panels.append(Panel(code, f"n = {size:,} turns of {len(own)} models", chart))
    return figure("attribution", panels) if panels else None
