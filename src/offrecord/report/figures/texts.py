"""Figures of texts: similarity, entailment, markers of wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from offrecord.measures.declare import Quantity
from offrecord.report.figures.grammar import (
    OTHER,
    PUBLIC,
    Chart,
    Figure,
    Panel,
    charted,
    counted,
    layers,
    names_axis,
    percent,
    plain_legend,
    share_axis,
    short_names,
    tips,
)
from offrecord.report.numbers import known, named

Row = Mapping[str, Any]
Rows = Sequence[Row]


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
            n = f"n = {pairs:,} pairs of channels"
            panels.append(
                Panel(condition, n, _spread(values, [*short.values()], domain))
            )
    if not panels:
        return None
    return Figure(
        "cosine",
        "How alike the two channels' texts are",
        "Cosine similarity of label-stripped texts: the dot is the median, the thick "
        "line the middle half, the thin one the middle nine tenths.",
        panels,
    )


def _named(row: Row) -> str:
    """What a pair is called; one within a channel names it."""
    called = _PAIRINGS[row["pairing"]]
    if row["pairing"] in {"channels", "shuffled"}:
        return called
    return f"{called}, {named(row['channel'])}"


def _spread(values: Rows, order: Sequence[str], domain: list[float]) -> Chart:
    named = dict.fromkeys(row["pair"] for row in values)
    scale = alt.Scale(domain=domain, zero=False)
    pairs = [
        pair for one in _PAIRINGS.values() for pair in named if pair.startswith(one)
    ]
    base = charted(values).encode(
        y=alt.Y("model:N", sort=list(order), axis=names_axis()),
        yOffset=alt.YOffset("pair:N", sort=pairs),
        color=alt.Color("pair:N", sort=pairs, legend=plain_legend(columns=1)),
    )
    x = alt.X(
        "q50:Q",
        scale=scale,
        axis=alt.Axis(title="cosine similarity", tickCount=5),
    )
    return layers(
        base.mark_rule(strokeWidth=1).encode(x=alt.X("q05:Q", scale=scale), x2="q95:Q"),
        base.mark_rule(strokeWidth=4).encode(x=alt.X("q25:Q", scale=scale), x2="q75:Q"),
        base.mark_point(filled=True, size=40, opacity=1, shape="circle").encode(
            x=x, tooltip=tips("model", "pair", "value", digits=3)
        ),
    ).properties(height=46 * len(order))


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
        chart = (
            charted(values)
            .mark_bar(height=13, clip=True)
            .encode(
                y=alt.Y("model:N", sort=[*short.values()], axis=names_axis()),
                x=alt.X(
                    "points:Q",
                    stack="zero",
                    scale=alt.Scale(domain=[0, 100]),
                    axis=share_axis("mean probability, %"),
                ),
                # Neutral comes third, where the palette has its grey.
                color=alt.Color(
                    "relation:N", sort=["entailment", "contradiction", "neutral"]
                ),
                order=alt.Order("place:Q"),
                tooltip=tips("model", "relation", "points"),
            )
            .properties(height=22 * len(short))
        )
        one = [row for row in own if row["quantity"] == own[0]["quantity"]]
        n = counted(sum(r["runs"] for r in one), sum(r["turns"] for r in one))
        panels.append(Panel(condition, n, chart))
    if not panels:
        return None
    return Figure(
        "entailment",
        "What the public text and the other one say of each other",
        "Mean class probability of natural language inference, both directions "
        "averaged, on label-stripped texts.",
        panels,
    )


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
    if not panels:
        return None
    return Figure(
        name,
        title,
        "Means of both channels with 95 % intervals for new runs of the same cells.",
        panels,
        columns=3,
    )


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
    base = charted(values).encode(
        y=alt.Y("kind:N", sort=None, axis=names_axis()),
        yOffset=alt.YOffset("channel:N", sort=[PUBLIC, OTHER]),
        color=alt.Color("channel:N", sort=[PUBLIC, OTHER], legend=plain_legend()),
    )
    chart = layers(
        base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q"),
        base.mark_point(filled=True, size=50, opacity=1).encode(
            x=alt.X(
                "value:Q",
                scale=alt.Scale(zero=False),
                axis=alt.Axis(title=label, tickCount=4),
            ),
            shape=alt.Shape("channel:N", sort=[PUBLIC, OTHER], legend=None),
            tooltip=tips("kind", "channel", "value", "low", "high", digits=2),
        ),
    ).properties(height=36 * len({v["kind"] for v in values}))
    n = f"n = {sum(row['turns'] for row in rows):,} texts"
    return Panel(label, n, chart)
