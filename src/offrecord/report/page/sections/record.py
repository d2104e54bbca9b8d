"""What is missing, what was asked, and what the figures cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from offrecord.estimates.estimator import MissingFigures
from offrecord.estimates.estimators import MISSING, STATUSES
from offrecord.report.numbers import UNDEFINED, between, count, decimal, named
from offrecord.report.page.blocks import (
    Block,
    Code,
    Column,
    Fold,
    Section,
    Table,
    Text,
    cells,
)
from offrecord.report.page.findings import Findings

LIMITS: Final = (
    "Off the record is a contrast, not a belief: it is what the same model writes "
    "under the same condition when it is told that nobody will read it. It is no "
    "access to what a model holds true, and a model may suspect that someone reads "
    "along.",
    "The figures are about these scenarios, roles and wordings. Intervals for new runs "
    "of the same cells say nothing of other scenarios or models.",
    "Models that each debated themselves met unlike partners: a difference between two "
    "of them is one between two pairs of agents.",
    "A model too small to keep the format or to follow the case shows that the "
    "instrument runs, and means nothing else. The same holds for simulated agents.",
    "Word lists and judges are coders with errors of their own. What was left out, "
    "refused or cut off is missing, not zero, and may hide either answer.",
)
"""What a reader has to bear in mind, whatever the study."""


def missing_section(found: Findings) -> Section:
    """What is missing, what came back, and how often it was tried."""
    rows = found.rows("kinds", MISSING)
    missing = sum(row.of.missingness.missing for row in rows)
    planned = sum(row.of.missingness.planned for row in rows)
    return Section(
        "missing",
        "What is missing",
        list(_missing_blocks(found)),
        lead=f"{count(missing)} of {count(planned)} planned pairs of stances are "
        f"missing; {count(found.ended_runs)} runs took {count(found.attempts)} "
        "attempts.",
        about=(
            "Missing is never counted as agreement. The worst case is the range that a "
            "rate could have, were every missing stance known.",
        ),
    )


_RANGED: Final = ("divergence", "public shift", "conversion", "audience effect")


def _missing_blocks(found: Findings) -> Iterator[Block]:
    models = found.rows("models", MISSING)
    flags = dict.fromkeys(
        f"{row['model']}, {row['kind']}, {row['agent']}: {flag}"
        for row in models
        for flag in row.of.missingness.flags
    )
    for flag in flags:
        yield Text(flag, "warn")
    yield Table(
        "By model, kind and agent",
        [
            Column("model", number=False),
            Column("kind", number=False),
            Column("agent", number=False),
            Column("planned"),
            Column("missing"),
            Column("why", number=False),
            *map(Column, _RANGED),
            Column("attempts a run"),
        ],
        [
            cells(
                found.called(row["model"]),
                row["kind"],
                row["agent"],
                count(row.of.missingness.planned),
                count(row.of.missingness.missing),
                _reasons(row.of, found),
                between(row.of.ranges.divergence),
                *(between(limits) for limits in row.of.split),
                decimal(row.of.missingness.attempts_per_run),
            )
            for row in models
        ],
        caption="Percentage points: what each figure can be over all planned turns, "
        "if missing stances could be anything.",
        folded=not any(row.of.missingness.missing for row in models),
    )
    yield Table(
        "What came back",
        [
            Column("form", number=False),
            Column("channel", number=False),
            Column("status", number=False),
            Column("outputs"),
        ],
        [
            cells(
                row["form"],
                named(row["channel"]),
                row.of.status,
                count(row.of.outputs),
            )
            for row in found.estimates.lists[STATUSES.name]
        ],
        caption="Of the attempts that are measured. Repaired replies were damaged in a "
        "way that leaves exactly one reading.",
        folded=True,
    )


def _reasons(row: MissingFigures, found: Findings) -> str:
    sides = ((found.spoken, row.public_reasons), (found.channel, row.other_reasons))
    return ", ".join(
        f"{named(channel)}: {number} {status}"
        for channel, reasons in sides
        for status, number in reasons.items()
    )


def unmeasured_section(found: Findings, measures: Sequence[str]) -> Section:
    """Which measures were not taken, why, and what takes them."""
    command = f"offrecord measure {found.name} --measures"
    return Section(
        "unmeasured",
        "What was not measured",
        [
            Table(
                "Not measured",
                [
                    Column("measure", number=False),
                    Column("why", number=False),
                    Column("what measures it", number=False),
                ],
                [
                    cells(
                        named(name),
                        found.why_unmeasured(name),
                        UNDEFINED if found.unread(name) else f"{command} {name}",
                    )
                    for name in measures
                ],
            )
        ],
        lead="Each command reads the stored texts and calls no debating model.",
    )


def design_section(found: Findings) -> Section:
    """The design, the versions and the prompts."""
    blocks: list[Block] = [
        Table(
            "Design",
            [Column("what", number=False), Column("value", number=False)],
            [cells(name, value) for name, value in found.design],
        )
    ]
    versions = _versions(found)
    if versions:
        blocks.append(
            Table(
                "Versions and hashes",
                [Column("what", number=False), Column("version", number=False)],
                [cells(name, value) for name, value in versions],
                folded=True,
            )
        )
    prompts: dict[str, list[Code]] = {}
    for scenario, title, text in found.prompts:
        prompts.setdefault(scenario, []).append(Code(title, text))
    if len(prompts) == 1:
        blocks += next(iter(prompts.values()))
    else:
        blocks += [Fold(f"Prompts of {name}", codes) for name, codes in prompts.items()]
    return Section("design", "What was asked", blocks)


def _versions(found: Findings) -> list[tuple[str, str]]:
    facts = found.facts
    named = [
        *facts.get("content", {}).items(),
        *facts.get("versions", {}).items(),
        *((key, facts[key]) for key in ("design", "names") if key in facts),
    ]
    return [(str(name), str(value)) for name, value in named]


def limits_section(found: Findings) -> Section:
    """The limits, in plain words."""
    del found
    blocks = [Text(text) for text in LIMITS]
    return Section("limits", "What this cannot say", blocks)
