"""Probes as an Inspect task: turns of recorded conversations as samples, asked again.

This stands beside the flow, as replays do: it ties stored conversations (transcript) to
the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from offrecord.protocol.cases import design_channels
from offrecord.protocol.circuit_breaker import CircuitBreaker
from offrecord.protocol.dataset import METADATA_KEY
from offrecord.protocol.debate import Ask, Debate, Reply, Request
from offrecord.protocol.design import Design, make_design
from offrecord.protocol.history import History
from offrecord.protocol.models import served_as
from offrecord.protocol.probe import STORED, Asking, Probed, probe_requests
from offrecord.protocol.replay import HISTORY_FACTOR, ask_all
from offrecord.protocol.shield import shielded
from offrecord.protocol.solver import ENDED_KEY, SOURCE, asker
from offrecord.records import (
    CELL,
    FACTOR,
    SCRIPTED,
    Cell,
    Ended,
    OffrecordError,
    digest,
    factor_names,
)
from offrecord.transcript.deployed.prompts import (
    LOST,
    Conversation,
    given_of,
    said,
    turns_of,
)
from offrecord.transcript.planned import with_factors
from offrecord.transcript.record import open_record
from offrecord.transcript.sampling import drawn
from offrecord.transcript.store import TRANSCRIPT_FILE

TRANSCRIPTS: Final = "transcripts"
"""The source of a study whose turns a probe can ask."""

_WHERE: Final = ("agent", "model", "scenario", "condition", "run", "round", "turn")


class Asked(NamedTuple):
    """The chosen turns of one conversation that one model is asked."""

    run: str
    """The conversation."""
    model: str
    cell: Mapping[str, Any]
    """Its cell as `Cell.as_dict` spells it out."""
    repeat: int
    turns: tuple[Probed, ...]


class Probe(NamedTuple):
    """What a design of a probe comes to."""

    asked: tuple[Asked, ...]
    turns: int
    """Turns that could be asked, of which those are drawn."""
    left_out: Mapping[str, int]
    """Turns that cannot be, by reason."""


def probe_of(design: Design) -> Probe:
    """What a probe asks.

    Raises:
        OffrecordError: If there is no such study, nothing can be asked, or a speaker's
            model is none that can be called.
    """
    written = (Path(design.on) / TRANSCRIPT_FILE).stat().st_mtime_ns
    how = design.sample, design.where, design.models, design.seed
    return _probe(design.on, written, *how)


@lru_cache(4)
def _probe(
    on: str,
    written: int,  # noqa: ARG001 - another import is another probe
    sample: int,
    where: tuple[str, ...],
    models: tuple[str, ...],
    seed: int,
) -> Probe:
    study = open_record(on)
    turns, left_out = turns_of(study)
    turns = _wanted(with_factors(turns), where)
    if turns.is_empty():
        raise _nothing(on, left_out)
    chosen = drawn(turns.sort("run", "nth"), sample, seed)
    runs = chosen["run"].unique().implode()
    words = said(study).filter(pl.col("run").is_in(runs))
    given = given_of(study).filter(pl.col("run").is_in(runs))
    numbers = _numbers(study.transcript)
    asked = list[Asked]()
    for (run,), own in chosen.group_by("run", maintain_order=True):
        name = str(run)
        whole = Conversation.of(words.filter(run=name), given.filter(run=name))
        by_model = dict[str, list[Probed]]()
        for row in own.iter_rows(named=True):
            messages = whole.prompt(row)
            if messages is None:
                left_out[LOST] += 1
                continue
            model = _model_of(row, models)
            by_model.setdefault(model, []).append(_probed(row, messages))
        for model, some in by_model.items():
            cell = _cell(own.row(0, named=True), model)
            asked.append(Asked(name, model, cell, numbers[name], tuple(some)))
    if not asked:
        raise _nothing(on, left_out)
    return Probe(tuple(asked), turns.height, dict(left_out))


def _nothing(on: str, left_out: Mapping[str, int]) -> OffrecordError:
    why = "; ".join(f"{n} times {reason}" for reason, n in left_out.items())
    return OffrecordError(
        f"--on {on}: no turn to ask{f' ({why})' if why else ''}; look at "
        "--where, and at what the import left out"
    )


def _wanted(turns: pl.DataFrame, where: tuple[str, ...]) -> pl.DataFrame:
    """The turns that conditions leave; several of one name hold if one of them does."""
    turns = turns.with_columns(model=pl.coalesce("agent_model", "model"))
    wanted: dict[str, list[str]] = {}
    for text in where:
        name, equals, value = text.partition("=")
        column = next((n for n in (name, FACTOR + name) if n in turns.columns), "")
        if not equals or column not in (*_WHERE, *factor_names(turns.columns)):
            names = [n.removeprefix(FACTOR) for n in factor_names(turns.columns)]
            known = ", ".join((*_WHERE, *names))
            raise OffrecordError(f"--where {text}: write NAME=VALUE, of {known}")
        wanted.setdefault(column, []).append(value)
    for column, values in wanted.items():
        turns = turns.filter(pl.col(column).cast(pl.String).is_in(values))
    return turns


def _model_of(row: Mapping[str, Any], models: tuple[str, ...]) -> str:
    """The model that a turn is asked of: the only one, or its speaker's."""
    if len(models) == 1:
        return models[0]
    spoke = row["model"]
    same = [m for m in models if spoke in {m, m.rpartition("/")[2]}]
    if len(same) == 1 or (not models and "/" in spoke):
        return same[0] if same else str(spoke)
    raise OffrecordError(
        f"turns of {row['agent']} are by '{spoke}': name its model as Inspect does, "
        f"as --model PROVIDER/{spoke}, or one --model for all"
    )


def _probed(row: Mapping[str, Any], messages: list[tuple[str, str]]) -> Probed:
    labels = list(row["labels"])
    return Probed(
        turn=row["turn"],
        round=row["round"],
        agent=row["agent"],
        messages=messages,
        said=row["text"],
        said_by=row["model"],
        labels=labels,
        pressed_side=row["pressed_side"] or (labels[0] if labels else ""),
        stratum=row["stratum"],
        prompt=row["prompt"],
        weight=row["weight"],
    )


def _cell(row: Mapping[str, Any], model: str) -> dict[str, Any]:
    own = Cell.from_row({name: row[name] for name in CELL})
    spoke = {**own.factors, HISTORY_FACTOR: own.model}
    named = {"model": model, "partner": model, "cast": {}, "factors": spoke}
    return {**own.as_dict(), **named}


def _numbers(rows: pl.DataFrame) -> dict[str, int]:
    """Which conversation of its cell each one is, whatever is drawn."""
    cell = [name for name in CELL if name not in {"partner", "cast"}]
    runs = rows.select("run", *cell).unique("run", maintain_order=True)
    nth = pl.int_range(1, pl.len() + 1).over(cell)
    return dict(runs.select("run", nth).iter_rows())


def probe_content(design: Design) -> dict[str, str]:
    """What a probe's content is: its channels, and the turns themselves."""
    asked = probe_of(design).asked
    channels = {f"channel {one.id}": one.stamp for one in design_channels(design)}
    return {**channels, "turns": digest([[*one[:1], one.turns] for one in asked])}


def probe_dataset(design: Design, model: str) -> MemoryDataset:
    """The conversations of a probe that one model is asked in, as samples.

    Raises:
        OffrecordError: If there are none.
    """
    probe = probe_of(design)
    asked = [one for one in probe.asked if one.model == model]
    if not asked:
        raise OffrecordError(f"model {model}: no turn of the probe is asked of it")
    channels = design_channels(design)
    shared = {
        "factors": {},
        "rounds": design.rounds,
        "shadows": design.shadows,
        "ask": asdict(design.ask),
        "seed": design.seed,
        "structured": False,
        "channels": [*(channel.id for channel in channels), STORED],
        "spoken": [channels[0].id],
        "seats": {},
        "probe": {"turns": probe.turns, "left_out": dict(probe.left_out)},
        "content": probe_content(design),
        "version": version("offrecord"),
    }
    return MemoryDataset(
        [
            Sample(
                id=one.run,
                input=one.turns[0].messages[-1][1],
                metadata={
                    METADATA_KEY: {
                        **shared,
                        "source": one.run,
                        "cell": one.cell,
                        "repeat": one.repeat,
                        "turns": [turn._asdict() for turn in one.turns],
                    }
                },
            )
            for one in asked
        ],
        name="offrecord probe",
    )


@solver
def probe_turns(design: dict[str, Any]) -> Solver:
    """Ask for fresh samples at the chosen turns of one conversation.

    Args:
        design: The fields of the design that every run shares.
    """
    asked = make_design(design, "solver")
    how = Asking(design_channels(asked), asked.shadows, asked.seed)
    silent = CircuitBreaker()

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        held = state.metadata[METADATA_KEY]
        cell = Cell.from_dict({**held["cell"], "sampling": asked.sampling})
        requests = [
            request
            for turn in held["turns"]
            for request in probe_requests(Probed(**turn), cell, held["repeat"], how)
        ]
        with silent.watched():
            outputs = await ask_all(requests, _asker(requests))
            fresh = tuple(one for one in outputs if one.request.line is None)
            silent.check(
                Debate(history=History(), ended=Ended.COMPLETED, outputs=fresh)
            )
        transcript().info({ENDED_KEY: str(Ended.COMPLETED)}, source=SOURCE)
        return state

    return solve


def _asker(requests: list[Request]) -> Ask:
    """Whoever answers: a written line is said, everything else is asked."""
    agents = {request.stamp.agent for request in requests}
    ask = asker(dict.fromkeys(agents, shielded(get_model())))
    say = asker(dict.fromkeys(agents, get_model(served_as(SCRIPTED))))

    async def answer(request: Request) -> Reply:
        return await (ask if request.line is None else say)(request)

    return answer
