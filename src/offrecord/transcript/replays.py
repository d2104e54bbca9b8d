"""Replays as an Inspect task: stored public debates as samples, asked again.

This stands beside the flow, as `task.py` does: it ties stored runs (transcript) to the
protocol. A study of published runs brings its own prompts; any other study's content
is the package's or the user's, and must still be what it was.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver

from offrecord.content import data_folder, read_document
from offrecord.protocol.channel import Channel, find_channel
from offrecord.protocol.circuit_breaker import CircuitBreaker
from offrecord.protocol.dataset import METADATA_KEY
from offrecord.protocol.debate import Script
from offrecord.protocol.design import Case, Design, read_design
from offrecord.protocol.history import History, Spoken
from offrecord.protocol.prompts import Protocol, find_protocol
from offrecord.protocol.replay import HISTORY_FACTOR, Replay, hold_replay
from offrecord.protocol.solver import asker, cell_of, conclude, models_of
from offrecord.records import OffrecordError, digest
from offrecord.scenarios.load import load_scenario
from offrecord.scenarios.model import Scenario
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.histories import StoredRun, stored_runs
from offrecord.transcript.llmagora_names import Names
from offrecord.transcript.llmagora_prompts import (
    stored_channels,
    stored_protocol,
    stored_scenario,
)
from offrecord.transcript.store import (
    PROMPTS_FILE,
    STUDY_FILE,
    read_json,
    read_study_json,
    read_transcript,
)


class Material(NamedTuple):
    """What a stored run is asked with."""

    protocol: Protocol
    scenario: Scenario
    channels: tuple[Channel, ...]

    @property
    def content(self) -> dict[str, str]:
        """Name to `id@version:hash`."""
        return {
            "protocol": self.protocol.stamp,
            **{f"channel {c.id}": c.stamp for c in self.channels},
            f"scenario {self.scenario.id}": self.scenario.stamp,
        }


def replayed_runs(design: Design) -> list[StoredRun]:
    """The stored runs that a replay's design asks for.

    Raises:
        OffrecordError: If there is no such study, or none of its runs is asked for.
    """
    study = Path(design.on)
    if not (study / STUDY_FILE).is_file():
        raise OffrecordError(f"--on {study}: no study here (no {STUDY_FILE})")
    runs = [
        run
        for run in stored_runs(read_transcript(study), read_study_json(study))
        if run.scenario in (design.scenarios or (run.scenario,))
        and run.condition in (design.conditions or (run.condition,))
    ]
    if not runs:
        raise OffrecordError(f"--on {study}: no run of these scenarios and conditions")
    return runs


def material(design: Design, scenario: str) -> Material:
    """What a scenario of a stored study is asked with.

    Args:
        design: Names the study, and protocol and channels where it is not published.
        scenario: The scenario's id in that study.

    Raises:
        OffrecordError: If its prompts are not to be had, or have changed since.
    """
    study = Path(design.on)
    if (study / PROMPTS_FILE).is_file():
        prompts = read_json(study / PROMPTS_FILE)
        names = read_document(data_folder("llmagora.yaml")).validate(Names)
        return Material(
            stored_protocol(prompts, names),
            stored_scenario(prompts, names, scenario),
            stored_channels(prompts, names, scenario),
        )
    loaded = load_scenario(_locator(study, scenario))
    known = read_study_json(study).get("content", {}).get(f"scenario {scenario}")
    if known not in (None, loaded.stamp):
        raise OffrecordError(
            f"scenario '{scenario}' is now {loaded.stamp}, and its runs were made with "
            f"{known}: restore it"
        )
    protocol = find_protocol(design.protocol)
    channels = tuple(find_channel(c, protocol.folder) for c in design.channels)
    return Material(protocol, loaded, channels)


def _locator(study: Path, scenario: str) -> str:
    """Where a scenario lies: as the study's design names it, or built in."""
    if (study / DESIGN_FILE).is_file():
        for name in read_design(study / DESIGN_FILE).scenarios:
            if load_scenario(name).id == scenario:
                return name
    return scenario


def replay_content(design: Design) -> dict[str, str]:
    """What a replay's content is: prompts, and the histories themselves."""
    runs = replayed_runs(design)
    content = {"histories": digest([History(run.said).hash for run in runs])}
    for scenario in dict.fromkeys(run.scenario for run in runs):
        content.update(material(design, scenario).content)
    return content


def replay_dataset(design: Design) -> MemoryDataset:
    """The stored runs of a design as samples.

    Raises:
        OffrecordError: If the study or its prompts are not to be had.
    """
    load = cache(lambda scenario: material(design, scenario))
    return MemoryDataset(
        [_sample(design, run, load(run.scenario)) for run in replayed_runs(design)],
        name="offrecord replay",
    )


def _sample(design: Design, run: StoredRun, asked: Material) -> Sample:
    return Sample(
        id=run.run,
        input=asked.scenario.question or run.scenario,
        target=asked.scenario.pressed_side,
        metadata={
            METADATA_KEY: {
                "scenario": run.scenario,
                "condition": run.condition,
                "factors": {**run.factors, HISTORY_FACTOR: run.model},
                "intervention": "",
                "repeat": run.repeat,
                "history": [
                    [w.turn, w.agent, w.channel, list(w.audience), w.text, w.model]
                    for w in run.said
                ],
                "leaning": asked.scenario.leaning,
                "rounds": design.rounds,
                "shadows": design.shadows,
                "seed": design.seed,
                "structured": False,
                "channels": [channel.id for channel in asked.channels],
                "content": asked.content,
                "version": version("offrecord"),
            }
        },
    )


@solver
def replay_turns(
    on: str,
    protocol: str,
    channels: list[str],
    rounds: int,
    shadows: int,
    seed: int,
) -> Solver:
    """Ask for fresh draws on one stored public debate.

    Args:
        on: The folder of the stored study.
        protocol: `twin`, `paper`, or a file; published runs bring their own.
        channels: Channel ids or paths, the spoken one first.
        rounds: Turns of each agent.
        shadows: Further samples of every utterance.
        seed: For our own providers; hosted models get none.
    """
    design = Design(
        on=on,
        protocol=protocol,
        channels=tuple(channels),
        rounds=rounds,
        shadows=shadows,
        seed=seed,
    )
    load = cache(lambda scenario: material(design, scenario))
    silent = CircuitBreaker()

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        stored = state.metadata[METADATA_KEY]
        asked: Material = load(stored["scenario"])
        models = models_of(asked.scenario)
        case = Case(
            scenario=stored["scenario"],
            condition=stored["condition"],
            factors=stored["factors"],
        )
        script = Script(
            cell=cell_of(case, asked.scenario, asked.protocol.id, models),
            repeat=stored["repeat"],
            scenario=asked.scenario,
            protocol=asked.protocol,
            channels=asked.channels,
            rounds=rounds,
            shadows=shadows,
            seed=seed,
        )
        said = History(tuple(_spoken(*words) for words in stored["history"]))
        with silent.watched():
            debate = await hold_replay(Replay(script=script, said=said), asker(models))
            silent.check(debate)
        conclude(state, script, debate)
        return state

    return solve


def _spoken(
    turn: int, agent: str, channel: str, audience: list[str], text: str, model: str
) -> Spoken:
    return Spoken(
        turn=turn,
        agent=agent,
        channel=channel,
        audience=tuple(audience),
        text=text,
        model=model,
    )
