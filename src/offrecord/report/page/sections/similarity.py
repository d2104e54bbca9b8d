"""How alike the two channels' texts are, and whether they contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from offrecord.measures.texts.entailment import MEASURE as ENTAILMENT
from offrecord.measures.texts.similarity import MEASURE as SIMILARITY
from offrecord.report.figures.texts import cosine_figure, entailment_figure
from offrecord.report.numbers import decimal, points
from offrecord.report.page.blocks import Block, Drawing, Section
from offrecord.report.page.findings import Findings, Row
from offrecord.report.page.sections.measures import quantity_table


def cosine_section(found: Findings) -> Section | None:
    """Similarity of the two channels' texts, with floor and ceiling."""
    rows = found.listed("cosine", agent=found.target)
    known = found.measured("similarity")
    variants = list(dict.fromkeys(row["variant"] for row in rows if known))
    if not variants:
        return None
    own = [row for row in rows if row["variant"] == variants[0]]
    own.sort(key=lambda row: found.conditions.index(row["condition"]))
    figure = cosine_figure(own, found.models)
    means = found.measured("similarity", variant=variants[0], estimate="level")
    blocks: list[Block] = [] if figure is None else [Drawing(figure)]
    blocks.append(quantity_table(found, SIMILARITY))
    return Section(
        "similarity",
        "How alike the texts are",
        blocks,
        lead=_cosine_lead(means),
        about=(
            "A cosine alone has no zero: read it against the floor (texts of another "
            "run and round) and the ceiling (two samples of one channel).",
        ),
    )


def _cosine_lead(means: Sequence[Row]) -> str:
    told = [
        f"{decimal(row['value'], 3)} under {row['kind']}"
        for row in means
        if row["pairing"] == "channels"
    ]
    return f"The two channels' texts have a mean cosine of {', '.join(told)}."


def _entailment_lead(means: Sequence[Row]) -> str:
    told = [
        f"{points(row['value'])} % under {row['kind']}"
        for row in means
        if row["pairing"] == "channels" and row["quantity"] == "mean_contradiction"
    ]
    return f"The mean probability that the two contradict is {', '.join(told)}."


def entailment_section(found: Findings) -> Section | None:
    """Natural language inference between the two channels."""
    rows = [
        row
        for row in found.measured("entailment", "cells", pairing="channels")
        if row["estimate"] == "level"
    ]
    figure = entailment_figure(rows, found.models) if rows else None
    if figure is None:
        return None
    return Section(
        "entailment",
        "Whether they contradict each other",
        [Drawing(figure), quantity_table(found, ENTAILMENT)],
        lead=_entailment_lead(found.measured("entailment", estimate="level")),
        about=(
            "Labels are stripped first: with them in, two texts contradict each other "
            "by their labels alone.",
        ),
    )
