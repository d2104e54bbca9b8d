"""A study as Inspect logs, which Inspect View and Scout open like live ones.

One log for each model and partner, in parts of `PART` runs, since a log is written as
a whole and only one is in memory at a time, beside the record. A log holds one attempt
at a run; further ones are in logs of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalSample,
    EvalSpec,
    EvalStats,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.model import ModelConfig

from offrecord.export.folder import claim, finish, placing
from offrecord.export.runs import Attempt
from offrecord.export.samples import sample_of
from offrecord.measures.inspect.scorers import (
    SHARES,
    debate_summary,
    stance_divergence,
    survey_gap,
)
from offrecord.measures.inspect.viewer import viewer_config
from offrecord.protocol.cases import Case
from offrecord.records import Form, OffrecordError, digest
from offrecord.transcript.inspect_files import TASK
from offrecord.transcript.planned import plan_of
from offrecord.transcript.record import Record

KIND: Final = "inspect"

PART: Final = 200
"""Runs in one log at most."""

_MEAN: Final = [{"name": "offrecord/defined_mean"}]
_SCORERS: Final = [
    {"name": stance_divergence.__name__, "metrics": _MEAN},
    {"name": survey_gap.__name__, "metrics": _MEAN},
    {"name": debate_summary.__name__, "metrics": dict.fromkeys(SHARES, _MEAN)},
]

_ALIKE: Final = ("model", "partner", "protocol", "place")
_CELL: Final = ("scenario", "condition", "factors", "repeat", "run")


class _Part(NamedTuple):
    """The attempts that go into one log, no two of them at one run."""

    alike: Mapping[str, Any]
    """What they share, out of `_ALIKE`."""
    attempts: pl.DataFrame
    """The columns `run` and `attempt`."""
    number: int
    """Which part of those alike, from 1."""

    @property
    def id(self) -> str:
        return digest([*self.alike.values(), self.number], 12)

    def file(self, created: datetime) -> str:
        """A file name in Inspect's manner, fit for any system."""
        alike = self.alike
        shown = str(alike["model"])[:80]
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in shown)
        at = created.strftime("%Y-%m-%dT%H-%M-%S-00-00")
        return f"{at}_debate_{slug}-{self.id}.eval"


class Exported(NamedTuple):
    """What was written."""

    logs: int
    runs: int
    attempts: int
    size: int
    """In bytes."""


def export_inspect(study: Record, out: Path) -> Exported:
    """Write a study as Inspect logs.

    Args:
        study: The study.
        out: The folder for the logs: new, empty, or an earlier such export.

    Returns:
        How much was written.

    Raises:
        OffrecordError: If the folder holds anything else, the study cannot be told by
            stamps, or a log cannot be written.
    """
    parts = list(_parts(study))
    created = datetime.now(UTC).replace(microsecond=0)
    names = [part.file(created) for part in parts]
    claim(out, KIND, names)
    runs, attempts = set[str](), 0
    for part, name in zip(parts, names, strict=True):
        log = _log(study, part, created)
        with placing() as put:
            put(out / name, partial(write_eval_log, log))
        runs |= set(part.attempts["run"])
        attempts += len(log.samples or ())
    finish(out, KIND, names)
    size = sum((out / name).stat().st_size for name in names)
    return Exported(len(parts), len(runs), attempts, size)


def _parts(study: Record) -> Iterator[_Part]:
    """The attempts of a study, put together as they go into logs."""
    attempts = (
        study.transcript.lazy()
        .select("model", "partner", "protocol", *_CELL, "attempt")
        .unique()
        # Which of the recorded attempts at its run this is, whatever their numbers.
        .with_columns(place=pl.col("attempt").rank("ordinal").over("run"))
        .sort(*_ALIKE, *_CELL)
        .collect()
    )
    if attempts.is_empty():
        raise OffrecordError(f"{study.path}: holds no run to export")
    for alike in attempts.partition_by(list(_ALIKE), maintain_order=True):
        shared = dict(alike.select(_ALIKE).row(0, named=True))
        for number, first in enumerate(range(0, alike.height, PART), start=1):
            part = alike.slice(first, PART).select("run", "attempt")
            yield _Part(shared, part, number)


def _log(study: Record, part: _Part, created: datetime) -> EvalLog:
    samples = list(_samples(study, part))
    alike, ids = part.alike, sorted({str(sample.id) for sample in samples})
    model, partner = alike["model"], alike["partner"]
    # Of the log itself: a debate's own times stand in its sample, where they are known.
    written = created.isoformat()
    source = study.facts.get("source", "")
    log = EvalLog(
        status="success",
        eval=EvalSpec.model_validate(
            {
                "eval_id": part.id,
                "run_id": digest(study.path.name),
                "task_id": part.id,
                "created": written,
                "task": TASK,
                "task_version": 1,
                "model": model,
                "model_roles": {"partner": ModelConfig(model=partner)}
                if partner != model
                else None,
                "dataset": EvalDataset(
                    name="offrecord", samples=len(ids), sample_ids=list(ids)
                ),
                "config": EvalConfig(
                    epochs=max(sample.epoch for sample in samples), epochs_reducer=[]
                ),
                "packages": {"offrecord": version("offrecord")},
                "tags": ["exported"],
                "metadata": {"study": study.path.name, "source": source, **alike},
                "viewer": viewer_config(),
                "scorers": _SCORERS,
            }
        ),
        stats=EvalStats(started_at=written, completed_at=written),
        samples=samples,
    )
    recompute_metrics(log)
    return log


def _samples(study: Record, part: _Part) -> Iterator[EvalSample]:
    rows = study.transcript.join(part.attempts, on=["run", "attempt"], how="semi")
    spoken = pl.col("channel") == plan_of(study.facts)[1][0]
    # As a turn is asked: both utterances, both surveys, then the shadows.
    survey = pl.col("form") != Form.UTTERANCE
    taken = set[tuple[str, int]]()
    ordered = rows.sort(
        *_CELL, "turn", "agent", "draw", survey, ~spoken, maintain_order=True
    )
    for run in ordered.partition_by("run", maintain_order=True):
        attempt = Attempt(run.to_dicts(), study.facts)
        first = attempt.first
        case = Case(
            scenario=first["scenario"],
            condition=first["condition"],
            factors=json.loads(first["factors"]),
        )
        name = case.id.replace("/", "-")  # it becomes a file name within the log
        if (name, first["repeat"]) in taken:
            name = f"{name}_{first['run']}"
        taken.add((name, first["repeat"]))
        yield sample_of(attempt, name)
