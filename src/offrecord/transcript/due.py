"""The runs that are due: one row each, whether or not it came back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import polars as pl

from offrecord.protocol.cases import cases
from offrecord.protocol.design import Design
from offrecord.protocol.part import Run
from offrecord.protocol.script import cast_of, cell_of, material_of
from offrecord.records import CELL, Cell, OffrecordError, Role
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.planned import with_factors
from offrecord.transcript.record import Record
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

_KEY: Final = ("run", *CELL, "repeat", "agent")


def designed_runs(design: Design) -> pl.DataFrame:
    """Every run of a design.

    Args:
        design: The design of debates; no replay.

    Returns:
        `sample` (its case, as Inspect calls it), `run`, the cell, `repeat`, `agent`
        (the target) and the factors.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    return _table(
        {
            **cell.as_row(),
            "sample": run.sample,
            "run": cell.run(run.repeat),
            "repeat": run.repeat,
            "agent": target,
        }
        for run, cell, target in _runs(design)
    )


def due_runs(study: Record) -> pl.DataFrame:
    """The runs of a study: those of its design, or else all that were begun.

    Args:
        study: The study.

    Returns:
        As `designed_runs`; without a design `sample` is empty.
    """
    if (study.path / DESIGN_FILE).is_file() and not study.design.on:
        try:
            return designed_runs(study.design)
        except OffrecordError:  # its scenarios are elsewhere by now
            pass
    begun = (
        study.transcript.filter(role=Role.TARGET)
        .select(_KEY)
        .unique("run", maintain_order=True)
    )
    return _table({"sample": "", **row} for row in begun.iter_rows(named=True))


def _runs(design: Design) -> Iterator[tuple[Run, Cell, str]]:
    for case in cases(design):
        material = material_of(design, case.scenario)
        for model in design.models:
            cast = cast_of(material.scenario, model, design.roles)
            cell = cell_of(case, material, cast, design.sampling)
            target = material.scenario.seat(Role.TARGET).id
            for repeat in range(1, design.runs + 1):
                yield Run(model, case.id, repeat), cell, target


def _table(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    schema = {"sample": pl.String, **{name: TRANSCRIPT_SCHEMA[name] for name in _KEY}}
    return with_factors(pl.DataFrame(list(rows), schema=schema))
