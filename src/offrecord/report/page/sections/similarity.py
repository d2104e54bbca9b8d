"""How alike the two channels' texts are, and whether they contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from offrecord.report.figures.texts import (
    cosine_figure,
    entailment_figure,
)
from offrecord.report.numbers import count, decimal, points
from offrecord.report.page.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Section,
    Table,
    cells,
)
from offrecord.report.page.findings import Findings, Row


def cosine_section(found: Findings) -> Section:
    """Similarity of the two channels' texts, with floor and ceiling."""
    rows = found.listed("cosine", agent=found.target)
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    blocks: list[Block] = []
    lead = ""
    if variants:
        own = [row for row in rows if row["variant"] == variants[0]]
        own.sort(key=lambda row: found.conditions.index(row["condition"]))
        figure = cosine_figure(own, found.models)
        if figure is not None:
            blocks.append(Drawing(figure))
        means = _means(found, ("cosine",), variants[0])
        blocks.append(
            _means_table("Mean cosine similarity", means, {"cosine": "cosine"})
        )
        lead = _cosine_lead(means)
    else:
        blocks.append(found.unmeasured("similarity"))
    return Section(
        "similarity",
        "How alike the texts are",
        blocks,
        lead=lead,
        short="Similarity",
        about=(
            "A cosine alone has no zero: read it against the floor (texts of another "
            "run and round) and the ceiling (two samples of one channel).",
        ),
    )


def _means(found: Findings, estimates: Sequence[str], variant: str = "") -> list[Row]:
    return [
        row
        for row in found.rows("kinds", "texts", agent=found.target)
        if row["estimate"] in estimates and (not variant or row["variant"] == variant)
    ]


def _cosine_lead(means: Sequence[Row]) -> str:
    told = [
        f"{decimal(row['value'], 3)} under {row['kind']}"
        for row in means
        if row["pairing"] == "channels"
    ]
    return f"The two channels' texts have a mean cosine of {', '.join(told)}."


def _means_table(title: str, rows: Sequence[Row], names: dict[str, str]) -> Table:
    return Table(
        title,
        [
            Column("kind", number=False),
            Column("pairs", number=False),
            Column("figure", number=False),
            Column("mean"),
            Column("pairs compared"),
            Column("missing"),
        ],
        [
            cells(
                row["kind"],
                row["pairing"],
                names[row["estimate"]],
                Cell(
                    decimal(row["value"], 3),
                    f"[{decimal(row['low'], 3)}, {decimal(row['high'], 3)}]"
                    if row["low"] is not None
                    else str(row["reason"] or ""),
                ),
                count(row["turns"]),
                count(row["missing"]),
            )
            for row in rows
        ],
        folded=True,
    )


def _entailment_lead(means: Sequence[Row]) -> str:
    told = [
        f"{points(row['value'])} % under {row['kind']}"
        for row in means
        if row["pairing"] == "channels" and row["estimate"] == "mean_contradiction"
    ]
    return f"The mean probability that the two contradict is {', '.join(told)}."


def entailment_section(found: Findings) -> Section:
    """Natural language inference between the two channels."""
    rows = [
        row
        for row in found.rows("cells", "texts", agent=found.target)
        if row["pairing"] == "channels" and row["estimate"].startswith("mean_")
    ]
    figure = entailment_figure(rows, found.models) if rows else None
    names = {
        "mean_entailment": "entailment",
        "mean_neutral": "neutral",
        "mean_contradiction": "contradiction",
        "max_contradiction": "strongest contradiction",
        "mutual_entailment": "mutual entailment",
    }
    blocks: list[Block] = []
    lead = ""
    if figure is None:
        blocks.append(found.unmeasured("entailment"))
    else:
        blocks.append(Drawing(figure))
        means = _means(found, list(names))
        lead = _entailment_lead(means)
        blocks.append(_means_table("Mean probability, 0 to 1", means, names))
    return Section(
        "entailment",
        "Whether they contradict each other",
        blocks,
        lead=lead,
        short="Entailment",
        about=(
            "Labels are stripped first: with them in, two texts contradict each other "
            "by their labels alone.",
        ),
    )
