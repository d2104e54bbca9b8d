"""What the design of a study comes to: its runs, and the content that it reads."""

from __future__ import annotations

from offrecord.protocol.cases import cases
from offrecord.protocol.design import Design
from offrecord.protocol.part import Run, runs_of
from offrecord.records import OffrecordError
from offrecord.transcript.folder import DESIGN_FILE, design_content
from offrecord.transcript.probes import probe_content, probe_of
from offrecord.transcript.record import Record
from offrecord.transcript.replays import replay_content, replays_of


def planned_runs(design: Design) -> int:
    """How many runs a design has, over all its models.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    if design.sample:
        return len(probe_of(design).asked)
    if design.on:
        return len(replays_of(design)) * len(design.models)
    return len(cases(design)) * design.runs * len(design.models)


def all_runs(design: Design) -> list[Run]:
    """Every run of a design, as its logs tell them.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    if design.sample:
        return [Run(one.model, one.run, 1) for one in probe_of(design).asked]
    if design.on:
        return runs_of(design.models, [one.name for one in replays_of(design)], 1)
    return runs_of(design.models, [case.id for case in cases(design)], design.runs)


def planned_of(study: Record) -> int:
    """How many runs a study is to have, by its design.

    An import without one is to have all that were begun, or that its logs announce.
    """
    begun = study.transcript["run"].n_unique()
    if not (study.path / DESIGN_FILE).is_file():
        return max(begun, int(study.facts.get("announced", begun)))
    try:
        return planned_runs(study.design)
    except OffrecordError:  # its scenarios are elsewhere by now: what was then planned
        return int(study.facts.get("planned", begun))


def shortfall(study: Record) -> str:
    """Why a study is not complete, in one clause; empty where it is."""
    ended, planned = study.ended_runs, planned_of(study)
    if not ended:
        return "no run has ended"
    if ended >= planned:
        return ""
    designed = (study.path / DESIGN_FILE).is_file()
    what = "designed runs" if designed else "runs that were begun or announced"
    return f"{planned - ended} of {planned} {what} have not ended"


def content_of(design: Design) -> dict[str, str]:
    """What a design's content is: name to `id@version:hash`."""
    if design.sample:
        return probe_content(design)
    return replay_content(design) if design.on else design_content(design)
