"""The composition root: dataset, solver and scorers of a task.

`inspect eval offrecord/debate --model M -T scenario=promotion -T condition=baseline`
runs cells named by hand. `offrecord/study`, which `offrecord run` calls, has them all
from a study's design, so that a log says nothing else of what was asked.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.solver import Solver, solver

from offrecord.guard.debates import guarded
from offrecord.measures.inspect.scorers import (
    debate_summary,
    stance_divergence,
    survey_gap,
)
from offrecord.measures.inspect.viewer import viewer_config
from offrecord.protocol.dataset import debate_dataset, part_dataset
from offrecord.protocol.design import Design, make_design, read_design
from offrecord.protocol.generate import (
    brief_dataset,
    draft_scenarios,
    read_brief,
)
from offrecord.protocol.part import runs_of_model
from offrecord.protocol.pilot import pilot_dataset, pilot_turns
from offrecord.protocol.solver import debates, shared_fields
from offrecord.transcript.folder import study_design_path
from offrecord.transcript.probes import probe_dataset, probe_turns
from offrecord.transcript.replays import replay_dataset, replay_turns

TRANSPORT_RETRIES = 6
"""How often a request is sent again after a transport error, at most: a few minutes.
`--max-retries` after `--` says otherwise."""


@task
def study(study: str | None = None, part: str | None = None) -> Task:
    """The debates of a study, as its design says.

    Args:
        study: The study's folder.
        part: Instead of it, a part of a study that `offrecord run` prepared.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    _collect_rarely()
    file = study_design_path(study or ".")
    runs = None if part is None else runs_of_model(file, str(get_model()))
    return _task(read_design(file), runs)


@task
def debate(
    scenario: str | list[str] = "promotion",
    condition: str | list[str] = "baseline",
    rounds: int = 5,
    protocol: str = "twin",
    channels: str | list[str] = "public,off_record",
    shadows: int = 1,
    seed: int = 0,
    survey_format: str = "free",
) -> Task:
    """Two agents debate; each says something in public and off the record.

    Args:
        scenario: Ids of built-in scenarios, folders, or sets.
        condition: Condition ids, or sets.
        rounds: Turns of each agent.
        protocol: `twin`, `paper`, or the path of a protocol file.
        channels: Channel ids or paths, the spoken one first.
        shadows: Further samples of every utterance, kept out of the history.
        seed: For item orders and for our own providers; hosted models get none.
        survey_format: `free` for JSON as the model writes it, or `schema`.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    design = make_design(
        {
            "scenarios": _names(scenario),
            "conditions": _names(condition),
            "rounds": rounds,
            "protocol": protocol,
            "channels": _names(channels),
            "shadows": shadows,
            "seed": seed,
            "survey_format": survey_format,
            "runs": 1,
        },
        "task arguments",
    )
    return _task(design, None)


@task
def pilot(scenario: str = "promotion", stamp: str = "") -> Task:  # noqa: ARG001
    """Single turns that show whether a scenario measures what it claims.

    Args:
        scenario: A built-in id or a folder.
        stamp: The hash of what its prompts read, by which Inspect tells a text that
            was changed.

    Raises:
        OffrecordError: If there is no such scenario.
    """
    return Task(
        dataset=pilot_dataset(str(scenario)),
        solver=pilot_turns(str(scenario)),
        config=GenerateConfig(max_retries=TRANSPORT_RETRIES),
        version=1,
    )


@task
def generate(brief: str, count: int = 1, stamp: str = "") -> Task:  # noqa: ARG001
    """Scenarios that a model drafts from a brief.

    Args:
        brief: The file of the brief.
        count: How many are wanted.
        stamp: The hash of the brief, by which Inspect tells one that was changed.

    Raises:
        OffrecordError: If there is no such brief, or it is too long.
    """
    return Task(
        dataset=brief_dataset(read_brief(Path(brief))),
        solver=draft_scenarios(count),
        config=GenerateConfig(max_retries=TRANSPORT_RETRIES),
        version=1,
    )


@solver
def debate_turns(design: dict[str, Any]) -> Solver:
    """Hold one debate, with a guard in front of its target where its arm carries one.

    Args:
        design: The fields of the design that every run shares.
    """
    return debates(design, guarded)


def _task(design: Design, runs: Sequence[tuple[str, int]] | None) -> Task:
    asked = shared_fields(design)
    if design.sample:
        return _probe(design, runs)
    dataset = replay_dataset(design) if design.on else debate_dataset(design)
    return Task(
        dataset=dataset if runs is None else part_dataset(dataset, runs),
        solver=replay_turns(asked) if design.on else debate_turns(asked),
        scorer=[stance_divergence(), survey_gap(), debate_summary()],
        # Each run counts by itself: a mean over repeats would hide missing ones.
        epochs=Epochs(design.runs if runs is None else 1, []),
        config=GenerateConfig(max_retries=TRANSPORT_RETRIES),
        version=1,
        viewer=viewer_config(),
    )


def _probe(design: Design, runs: Sequence[tuple[str, int]] | None) -> Task:
    dataset = probe_dataset(design, str(get_model()))
    return Task(
        dataset=dataset if runs is None else part_dataset(dataset, runs),
        solver=probe_turns(shared_fields(design)),
        config=GenerateConfig(max_retries=TRANSPORT_RETRIES),
        version=1,
    )


def _collect_rarely() -> None:
    """Keep Python's collector from stopping all requests of a study again and again.

    Each full collection looks at all that Inspect has imported, a fifth of a second,
    while every connection waits. What is there now stays till the end anyway.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 10)


def _names(value: str | list[str]) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(part.strip() for part in parts)
