"""How far a study is: what is missing of each cell, and what resuming it takes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.records import OffrecordError
from offrecord.runner.addresses import find_addresses, is_remote
from offrecord.runner.costs import Cost, cost_lines, cost_objects, money
from offrecord.runner.evalset import RUNNING
from offrecord.runner.logged import read_logged
from offrecord.runner.logs import log_root
from offrecord.runner.resolve import calls_per_run
from offrecord.transcript.designed import all_runs, planned_of
from offrecord.transcript.folder import DESIGN_FILE, is_locked
from offrecord.transcript.record import Record
from offrecord.transcript.store import LOCK_FILE, TRANSCRIPT_FILE

_SHOWN: Final = 20
"""Cells that are named at most; `--json` names all."""


class StudyState(StrEnum):
    """How far a study is."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    RUNNING = "running"


_Key = tuple[str, str]
"""A model and a cell, as `CellRuns` names them."""


class CellRuns(NamedTuple):
    """The runs of one cell."""

    model: str
    cell: str
    """Scenario, condition and levels of factors; of a replay its source's run."""
    ended: int
    planned: int


class Progress(NamedTuple):
    """How far a study is."""

    state: StudyState
    ended: int
    planned: int
    missing: Sequence[CellRuns]
    """The cells whose runs have not all ended."""
    calls: int | None
    """Requests that resuming makes, at most; None of an import, which cannot be."""


def progress_of(study: Record) -> Progress:
    """How far a study is: the runs of its design, less those that have ended.

    Logs know more than the transcript while debates run, or after a kill.

    Args:
        study: The study; it need not have a transcript yet.

    Raises:
        OffrecordError: If its logs cannot be reached, or there is nothing to read.
    """
    root = log_root(study.path, None)
    design = study.design if (study.path / DESIGN_FILE).is_file() else None
    planned, ended = begun, _ = _recorded(study)
    if design is not None:
        logged = bool(find_addresses(root, "**/*.eval"))
        with suppress(OffrecordError):  # content that is elsewhere by now
            runs = all_runs(design)
            asked = Counter((run.model, run.sample) for run in runs)
            # Without logs: of a replay, say, no row says which of the runs it is of.
            if logged or begun.keys() <= asked.keys():
                planned = asked
            if logged:
                done = read_logged(root).all.intersection(runs)
                ended = Counter((run.model, run.sample) for run in done)
    cells = [CellRuns(*key, ended[key], many) for key, many in planned.items()]
    every, through = planned.total(), sum(cell.ended for cell in cells)
    if design is not None and begun:
        every = max(every, planned_of(study))
    state = StudyState.COMPLETE if through >= every else StudyState.PARTIAL
    return Progress(
        StudyState.RUNNING if _is_running(study.path, root) else state,
        through,
        every,
        [cell for cell in cells if cell.ended < cell.planned],
        None if design is None else (every - through) * calls_per_run(design),
    )


def _recorded(study: Record) -> tuple[Counter[_Key], Counter[_Key]]:
    """How many runs of each cell a transcript has, and how many of them ended."""
    begun, ended = Counter[_Key](), Counter[_Key]()
    if (study.path / TRANSCRIPT_FILE).is_file():
        cell = ["model", "scenario", "condition", "factors"]
        ends = pl.col("ended").is_not_null().any()
        runs = study.transcript.group_by([*cell, "run"], maintain_order=True).agg(ends)
        for model, scenario, condition, factors, _, whole in runs.rows():
            levels = sorted(json.loads(factors).items())
            parts = (f"{name}-{Path(level).stem}" for name, level in levels)
            key = model, "_".join([scenario, condition, *parts])
            begun[key] += 1
            ended[key] += whole
    return begun, ended


def _is_running(out: Path, root: str) -> bool:
    """Whether a process of this machine works on a study, or an eval set of its logs.

    Nobody can say so of logs in a store of objects.
    """
    logs = [] if is_remote(root) else [Path(root), *Path(root).glob("*-of-*")]
    locks = [out / LOCK_FILE, *(folder / RUNNING for folder in logs)]
    return any(map(is_locked, locks))


def status_lines(
    study: Record, progress: Progress, costs: Sequence[Cost] | None
) -> Iterator[str]:
    """What `offrecord status` prints.

    Args:
        study: The study.
        progress: How far it is.
        costs: What it used; None where nothing was imported yet.
    """
    done = f"{progress.ended:,} of {progress.planned:,} runs have ended"
    yield f"{study.path}: {progress.state}, {done}"
    for cell in progress.missing[:_SHOWN]:
        counts = f"{cell.planned - cell.ended:,} of {cell.planned:,}"
        yield f"  missing {counts:>9}  {cell.model}  {cell.cell}"
    if len(progress.missing) > _SHOWN:
        yield f"  and of {len(progress.missing) - _SHOWN} more cells: see --json"
    if progress.calls and progress.state is StudyState.PARTIAL:
        left = progress.planned - progress.ended
        more = resume_cost(progress, costs)
        at = f"; about {money(more, (costs or ())[0].currency)} more" if more else ""
        yield (
            f"To resume: offrecord run --out {study.path} ({left:,} runs, up to "
            f"{progress.calls:,} calls{at})"
        )
    if costs is None:
        yield "Tokens are known once the logs are imported, when `run` ends."
    else:
        yield from cost_lines(costs)


def resume_cost(progress: Progress, costs: Sequence[Cost] | None) -> float | None:
    """What resuming costs if its runs cost what the others have; None if unknown."""
    amounts = [cost.amount for cost in costs or ()]
    known = [amount for amount in amounts if amount is not None]
    if not progress.ended or not known or len(known) < len(amounts):
        return None
    return sum(known) * (progress.planned - progress.ended) / progress.ended


def status_object(
    study: Record, progress: Progress, costs: Sequence[Cost] | None
) -> Mapping[str, Any]:
    """The same as plain values, for `--json`."""
    return {
        "study": study.name,
        "state": str(progress.state),
        "runs_planned": progress.planned,
        "runs_ended": progress.ended,
        "missing": [cell._asdict() for cell in progress.missing],
        "calls_to_resume": progress.calls,
        "cost_to_resume": resume_cost(progress, costs),
        "usage": None if costs is None else cost_objects(costs),
    }
