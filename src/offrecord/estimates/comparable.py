"""Whether two studies can be compared: the models that both have, and what differs.

A difference of two studies is one of their models only if all else is the same. What
is not the same is named, and whoever judges the difference does not judge it then.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.records import CELL, FACTOR, factor_names
from offrecord.transcript.designed import shortfall
from offrecord.transcript.doubts import doubts
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.planned import with_factors
from offrecord.transcript.record import Record

_ITSELF: Final = "the model itself"
_CELLS: Final = {
    "scenario": "scenarios",
    "condition": "conditions",
    "protocol": "protocol",
    "language": "language",
    "partner": "partner",
    "cast": "seats",
    "sampling": "settings",
    "factors": "factors",
}
"""What tells the cells of one model apart, and what it is called."""

_VERSIONS: Final = "versions of prompts"


class Compared(NamedTuple):
    """What a comparison of two studies can say."""

    models: tuple[str, ...]
    """Those that both have; none where one model is compared with one other."""
    note: str
    """Which models are compared under two names, or are in one study alone."""
    unlike: str
    """What the studies do not share and would have to; empty where they are alike."""


def alike_factors(tables: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Pairs of several studies, each with a column for every factor of any of them.

    Args:
        tables: Pairs with the column `factors`; what one does not state is at its
            default there.
    """
    names = {name for table in tables for name in factor_names(table.columns)}
    short = {name.removeprefix(FACTOR) for name in names}
    return [with_factors(table.drop(names, strict=False), short) for table in tables]


_CALLED: Final = ("this study", "the earlier study")


def compared(
    new: Record, old: Record, *, called: tuple[str, str] = _CALLED
) -> Compared:
    """Hold the designs of two studies against each other.

    Args:
        new: The study that is judged.
        old: The earlier one.
        called: What the two are called in words.
    """
    now, before = _models(new), _models(old)
    shared = tuple(model for model in now if model in before)
    renamed = not shared and len(now) == len(before) == 1
    notes = []
    if renamed:
        notes.append(f"{now[0]} is compared with {before[0]}")
    elif shared:
        for where, models in zip(called, (now, before), strict=True):
            others = ", ".join(model for model in models if model not in shared)
            notes += [f"only in {where}, not compared: {others}"] if others else []
    faults = list(_differences(new, old, shared, called))
    if not (shared or renamed):
        faults.insert(0, _unlike("models", (now, before), called))
    return Compared(shared, "; ".join(notes), "; ".join(faults))


def unlike_facts(facts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Name what studies do not share of what they were asked.

    Args:
        facts: study.json of each, of at least one.
    """
    for what, said in (
        ("rounds", lambda one: str(one.get("rounds"))),
        ("channels", lambda one: ", ".join(one.get("channels", ()))),
        ("spoken channel", _spoken),
    ):
        found = list(dict.fromkeys(map(said, facts)))
        if len(found) > 1:
            yield f"{what} ({'; '.join(found)})"
    seats = _changed(one.get("seats", {}) for one in facts)
    if seats:
        yield f"seats or their order ({', '.join(seats)})"
    changed = _changed(one.get("content", {}) for one in facts)
    if changed:
        yield f"{_VERSIONS} ({', '.join(changed)})"
    elif len({not one.get("content") for one in facts}) > 1:
        yield f"{_VERSIONS} (known of some studies alone)"


def _spoken(facts: Mapping[str, Any]) -> str:
    return str((facts.get("spoken") or facts.get("channels") or [""])[0])


def _changed(stamps: Iterable[Mapping[str, object]]) -> list[str]:
    """The names that do not stand for the same everywhere."""
    every: dict[str, set[str]] = {}
    for one in stamps:
        for name, stamp in one.items():
            every.setdefault(name, set()).add(json.dumps(stamp))  # order counts
    return [name for name, found in every.items() if len(found) > 1]


def _differences(
    new: Record, old: Record, shared: Sequence[str], called: tuple[str, str]
) -> Iterator[str]:
    yield from unlike_facts([new.facts, old.facts])
    sides = _cells(new, shared), _cells(old, shared)
    yield from _unlike_cells(*sides, called)
    if all((study.path / DESIGN_FILE).is_file() for study in (new, old)):
        now, before = (" ".join(study.design.options) for study in (new, old))
        if now != before:
            yield f"options ({now or 'none'}; {before or 'none'})"
    for study, which in zip((new, old), called, strict=True):
        lacking = shortfall(study)
        if lacking:
            yield f"{which} is not complete ({lacking})"
        doubt = doubts(study.transcript, samples=False)
        if doubt:
            yield f"the replies of {which} ({doubt})"


def _models(study: Record) -> list[str]:
    return sorted(study.transcript["model"].unique())


def _cells(study: Record, shared: Sequence[str]) -> pl.DataFrame:
    """The cells of the models that are compared, each told apart from its model."""
    cells = study.transcript.select(CELL).unique()
    if shared:
        cells = cells.filter(pl.col("model").is_in(shared))
    rows = []
    for row in cells.iter_rows(named=True):
        own, seats = row["model"], json.loads(row["cast"])
        cast = {seat: _ITSELF if m == own else m for seat, m in seats.items()}
        rows.append(
            {
                **{name: row[name] for name in _CELLS},
                "model": own if shared else "",
                "partner": _ITSELF if row["partner"] == own else row["partner"],
                # Two seats are those of model and partner.
                "cast": json.dumps(cast, sort_keys=True) if len(cast) > 2 else "{}",
            }
        )
    schema = dict.fromkeys(("model", *_CELLS), pl.String)
    return pl.DataFrame(rows, schema=schema).unique()


def _unlike_cells(
    new: pl.DataFrame, old: pl.DataFrame, called: tuple[str, str]
) -> Iterator[str]:
    sides = [{n: set(cells[n]) for n in _CELLS} for cells in (new, old)]
    unlike = [name for name in _CELLS if sides[0][name] != sides[1][name]]
    for name in unlike:
        yield _unlike(_CELLS[name], (sides[0][name], sides[1][name]), called)
    if not unlike and set(new.rows()) != set(old.rows()):
        yield "cells (not every combination of these is in both)"


def _unlike(
    what: str, both: tuple[Collection[str], Collection[str]], called: tuple[str, str]
) -> str:
    """Two sets, each by what the other one has not."""
    told = (
        f"only in {where}: {', '.join(sorted(set(one) - set(other)))}"
        for where, one, other in zip(called, both, both[::-1], strict=True)
        if set(one) - set(other)
    )
    return f"{what} ({'; '.join(told)})"
