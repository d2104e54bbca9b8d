"""The compact index: what the page filters by, without a text.

A **slot** is one planned turn: round by round, agent by agent. Each has one mark per
other channel (its quadrant) and one set of statuses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from offrecord.measures.pairs import quadrant
from offrecord.records import Status, factor_names
from offrecord.transcript.planned import plan_of, with_factors
from offrecord.transcript.schema import ROW_KEY

NO_PAIR: Final = "-"
"""The mark of a turn of which no pair was planned."""

_SLOT: Final = ("run", "round", "agent")


_MARKS: Final = {
    "both": "B",
    "neither": "N",
    "public_only": "A",
    "other_only": "R",
    None: "M",
}
"""The mark of a pair by the quadrant of its two stances; M if one is missing."""


def browser_index(
    rows: pl.DataFrame,
    pairs: pl.DataFrame,
    parses: Sequence[pl.DataFrame],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """What the page filters by.

    Args:
        rows: Of the transcript: those of the attempt shown of each run.
        pairs: Rows as `stance_pairs` gives them, of these runs.
        parses: Tables keyed to the transcript with a `status`: stances, surveys.
        facts: The content of study.json.

    Returns:
        `agents`, `rounds`, `channels`, `facets` (name to its values), `cells` (each
        run's place in every facet), `ids`, `repeats`, `marks` (a string per run),
        `statuses`, `sets` (of statuses, as places) and `slots` (each run's sets).
    """
    rounds, channels = plan_of(facts)
    agents = rows["agent"].unique(maintain_order=True).sort().to_list()
    runs = rows.unique("run", maintain_order=True)
    levels = with_factors(runs)
    names = factor_names(levels.columns)
    facets = {
        name: levels[name].unique(maintain_order=True).to_list()
        for name in ["model", "scenario", "condition", *names]
    }
    places = {
        name: {v: i for i, v in enumerate(known)} for name, known in facets.items()
    }
    ids = runs["run"].to_list()
    slots = [(number, agent) for number in range(1, rounds + 1) for agent in agents]
    statuses, sets, of_run = _statuses(rows, pairs, parses, ids, slots)
    return {
        "agents": agents,
        "rounds": rounds,
        "channels": channels,
        "facets": facets,
        "cells": [
            [places[name][value] for name, value in zip(facets, cell, strict=True)]
            for cell in levels.select(*facets).iter_rows()
        ],
        "ids": ids,
        "repeats": runs["repeat"].to_list(),
        "marks": _marks(pairs, ids, slots, channels[1:]),
        "statuses": statuses,
        "sets": sets,
        "slots": of_run,
    }


def _marks(
    pairs: pl.DataFrame,
    ids: list[str],
    slots: list[tuple[int, str]],
    others: list[str],
) -> list[str]:
    marked = pairs.select(*_SLOT, "right_channel", quadrant()).iter_rows()
    known = {tuple(key): _MARKS[found] for *key, found in marked}
    return [
        "".join(
            known.get((run, *slot, other), NO_PAIR)
            for slot in slots
            for other in others
        )
        for run in ids
    ]


def _statuses(
    rows: pl.DataFrame,
    pairs: pl.DataFrame,
    parses: Sequence[pl.DataFrame],
    ids: list[str],
    slots: list[tuple[int, str]],
) -> tuple[list[str], list[list[int]], list[list[int]]]:
    """The statuses there are, the sets of them, and which set each run's slots have."""
    found: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    parsed = pl.concat([table.select(*ROW_KEY, parse="status") for table in parses])
    joined = rows.join(parsed, on=list(ROW_KEY), how="left")
    for *key, status in joined.select(
        *_SLOT, pl.coalesce("parse", "status")
    ).iter_rows():
        found[tuple(key)].add(status)
    for *key, public, other in pairs.select(
        *_SLOT, "left_status", "right_status"
    ).iter_rows():
        found[tuple(key)] |= {public, other}
    order = [*map(str, Status)]
    seen = set().union(*found.values()) if found else set()
    names = [s for s in order if s in seen] + sorted(seen - set(order))
    place = {name: i for i, name in enumerate(names)}
    sets: dict[tuple[int, ...], int] = {}
    of_run = [
        [
            sets.setdefault(
                tuple(sorted(place[s] for s in found.get((run, *slot), ()))), len(sets)
            )
            for slot in slots
        ]
        for run in ids
    ]
    return names, [list(one) for one in sets], of_run
