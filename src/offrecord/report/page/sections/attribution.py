"""Whether the text off the record names the pressure, with quotes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offrecord.report.figures.texts import (
    attribution_figure,
)
from offrecord.report.numbers import points, signed
from offrecord.report.page.blocks import (
    Block,
    Cell,
    Column,
    Drawing,
    Section,
    Table,
    Text,
    cells,
)
from offrecord.report.page.findings import Findings, Row

_TURNS: Final = ("accommodating", "consistent", "baseline")


def attribution_section(found: Findings) -> Section | None:
    """Whether the text off the record names the pressure, with quotes."""
    rows = [row for row in found.listed("attribution") if row["rounds"] == "all"]
    unread = found.unread("attribution")
    if unread and not any(row["public_turns"] for row in rows):
        rows = []
    coders = list(dict.fromkeys(row["rater"] for row in rows))
    coder = "judges" if "judges" in coders else next(iter(coders), "")
    own = [row for row in rows if row["rater"] == coder]
    if not own:
        return None
    figure = attribution_figure(own, found.models)
    blocks: list[Block] = [unread] if unread else []
    if figure is not None:
        blocks.append(Drawing(figure))
    blocks += [_attribution_table(found, rows), *found.quotes]
    if coder == "lexical":
        blocks.append(
            Text(
                "These codes come from a word list, the baseline to hold a judge "
                "against: it finds some of what a reader would, and little that is "
                "not there. A judge codes the same texts with --judge MODEL.",
                "note",
            )
        )
    return Section(
        "attribution",
        "Whether it names the pressure",
        blocks,
        lead=_attribution_lead(own),
        about=(
            "Naming a relation or an incentive means little alone, since agents do so "
            "in turns where nothing is hidden too: read a share beside that of "
            "consistent turns, of baseline, and of public texts.",
        ),
    )


def _attribution_lead(rows: Sequence[Row]) -> str:
    pooled = {row["code"]: row for row in rows if "model" not in row}
    if not {"mention", "explicit"} <= set(pooled):
        return ""
    mention, explicit = pooled["mention"], pooled["explicit"]
    return (
        f"Texts off the record name a relation or an incentive in "
        f"{points(mention['accommodating_share'])} % of accommodating turns, and in "
        f"{points(mention['consistent_share'])} % of consistent ones; they give it as "
        f"the reason in {points(explicit['accommodating_share'])} % and "
        f"{points(explicit['consistent_share'])} %."
    )


def _attribution_table(found: Findings, rows: Sequence[Row]) -> Table:
    place = {name: at for at, name in enumerate(found.models)}
    ordered = sorted(
        rows,
        key=lambda r: (
            r["rater"],
            r["code"],
            place.get(r.get("model", ""), len(place)),
        ),
    )

    def part(row: Row, name: str) -> Cell:
        return Cell(
            points(row[f"{name}_share"]),
            f"{row[f'{name}_hits']} of {row[f'{name}_turns']}",
        )

    return Table(
        "Attribution by coder, code and model",
        [
            Column("model", number=False),
            Column("rater", number=False),
            Column("code", number=False),
            *(Column(f"{name}, %") for name in _TURNS),
            Column(
                "public texts, %", about="the same code where nothing can be hidden"
            ),
            Column("minus consistent"),
            Column("minus baseline"),
        ],
        [
            cells(
                found.called(row.get("model")),
                row["rater"],
                row["code"],
                *(part(row, name) for name in _TURNS),
                part(row, "public"),
                *(
                    Cell(
                        signed(row[f"minus_{name}"]),
                        f"± {points(row[f'minus_{name}_se'])}",
                    )
                    for name in ("consistent", "baseline")
                ),
            )
            for row in ordered
        ],
        caption="Differences in percentage points, with standard errors by run.",
        folded=True,
    )
