"""Replays as an Inspect task: stored public debates as samples, asked again.

This stands beside the flow, as `task.py` does: it ties stored runs (transcript) to the
protocol. A study of published runs brings its own prompts; any other study's content
is the package's or the user's, and must still be what it was.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.dataset import MemoryDataset
from inspect_ai.solver import Solver, solver

from offrecord.content import data_folder, read_document
from offrecord.protocol.arms import arm_of, refuse_arm
from offrecord.protocol.cases import Case, asked_of, design_holdout
from offrecord.protocol.dataset import sample_of
from offrecord.protocol.design import Design, make_design, read_design
from offrecord.protocol.factors import varied
from offrecord.protocol.history import History
from offrecord.protocol.replay import HISTORY_FACTOR, hold_replay
from offrecord.protocol.script import Material, material_of
from offrecord.protocol.solver import script_solver
from offrecord.records import ARM, NO_ARM, OffrecordError, digest
from offrecord.scenarios.load import load_scenario
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.histories import StoredRun, stored_runs
from offrecord.transcript.llmagora_names import TheirNames
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
        and (
            not design.conditions
            or run.condition in asked_of(run.scenario, design.conditions)
        )
    ]
    if not runs:
        raise OffrecordError(f"--on {study}: no run of these scenarios and conditions")
    return runs


class Replayed(NamedTuple):
    """One stored debate, asked again under one arm."""

    run: StoredRun
    case: Case

    @property
    def name(self) -> str:
        """A name that no two of a replay share."""
        level = self.case.factors.get(ARM)
        if level is None or level == self.run.factors.get(ARM):
            return self.run.run
        return f"{self.run.run}_arm-{Path(level).stem}"


def replays_of(design: Design) -> list[Replayed]:
    """Every stored debate of a replay's design, under each of its arms.

    Where the design names arms, the debates that were held without one are asked; else
    each is asked as it was held.

    Raises:
        OffrecordError: If there is no such study, an arm is not to be had, or none of
            its runs is asked for.
    """
    runs = replayed_runs(design)
    levels = design.factors.get(ARM, ())
    if levels:
        runs = [run for run in runs if ARM not in run.factors]
    if not runs:
        raise OffrecordError(f"--on {design.on}: no run without an arm to ask again")
    found = []
    for run in runs:
        for level in levels or (run.factors.get(ARM, NO_ARM),):
            factors = {**run.factors, ARM: level, HISTORY_FACTOR: run.model}
            case = Case(
                scenario=run.scenario,
                condition=run.condition,
                factors=varied(factors),
                arm=arm_of(level),
            )
            if case.arm.guard:
                raise OffrecordError(
                    f"arm '{level}': a guard acts on what is said next: run it fresh, "
                    "without --on"
                )
            found.append(Replayed(run, case))
    return found


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
        names = read_document(data_folder("llmagora.yaml")).validate(TheirNames)
        return Material(
            stored_protocol(prompts),
            stored_scenario(prompts, names, scenario),
            stored_channels(prompts, names, scenario),
            holdout=design_holdout(design),
        )
    asked = material_of(design, _locator(study, scenario))
    known, loaded = read_study_json(study).get("content", {}), asked.scenario
    stamps = {f"scenario {scenario}": loaded.stamp} | {
        f"condition {scenario}/{one.id}": one.stamp
        for one in loaded.conditions.values()
    }
    for name, stamp in stamps.items():
        if known.get(name, stamp) != stamp:
            raise OffrecordError(
                f"{name} is now {stamp}, and its runs were made with {known[name]}: "
                "restore it"
            )
    return asked


def _locator(study: Path, scenario: str) -> str:
    """Where a scenario lies: as the study's design names it, or built in."""
    if (study / DESIGN_FILE).is_file():
        for name in read_design(study / DESIGN_FILE).scenarios:
            if load_scenario(name).id == scenario:
                return name
    return scenario


def replay_content(design: Design) -> dict[str, str]:
    """What a replay's content is: prompts, and the histories themselves."""
    asked = replays_of(design)
    runs = {one.run.run: one.run for one in asked}.values()
    content = {"histories": digest([History(run.said).hash for run in runs])}
    load = cache(partial(material, design))
    for one in asked:
        used = load(one.run.scenario)
        refuse_arm(one.case.factors.get(ARM, NO_ARM), one.case.arm, used.scenario)
        content.update(used.stamps(one.case, surveys=False))
    return content


def replay_dataset(design: Design) -> MemoryDataset:
    """The stored runs of a design as samples.

    Raises:
        OffrecordError: If the study or its prompts are not to be had.
    """
    load = cache(partial(material, design))
    return MemoryDataset(
        [
            sample_of(
                design.model_copy(update={"survey_format": "free"}),
                case,
                asked := load(run.scenario),
                name=one.name,
                repeat=run.repeat,
                history=[
                    [w.turn, w.agent, w.channel, list(w.audience), w.text, w.model]
                    for w in run.said
                ],
                content=asked.stamps(case, surveys=False),
            )
            for one in replays_of(design)
            for run, case in [one]
        ],
        name="offrecord replay",
    )


@solver
def replay_turns(design: dict[str, Any]) -> Solver:
    """Ask for fresh draws on one stored public debate.

    Args:
        design: The fields of the design that every run shares.
    """
    asked = make_design(design, "solver")
    return script_solver(asked, partial(material, asked), hold_replay)
