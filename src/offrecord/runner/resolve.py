"""Which design a call asks for: the file, the flags over it, and the study there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from offrecord.protocol.design import Design, cases, read_design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.records import OffrecordError
from offrecord.replays import replay_content, replayed_runs
from offrecord.runner.options import refuse_secrets, split_options
from offrecord.study import load_study
from offrecord.transcript.folder import design_content, existing_design
from offrecord.transcript.store import TRANSCRIPT_FILE


def resolve_design(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path | None,
) -> Design:
    """The design that a call asks for: file, flags, and the study there is.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`.
        out: The study's folder, if there is one.

    Raises:
        OffrecordError: If the design is wrong, or would change the study.
    """
    refuse_secrets(options)
    asking, _ = split_options(options)
    fields = _fields(file) if file else {}
    if asking:
        flags = {**flags, "options": asking}
    old = existing_design(out) if out else None
    if old is not None:
        return grown_design(old, {**fields, **flags})
    if out is not None and not (file or flags):
        raise OffrecordError(
            f"no study at {out}: to begin one, give --model and what it is to hold"
        )
    on = flags.get("on") or fields.get("on")
    if on:
        # A replay has its source's rounds, one run of each and no surveys.
        facts = load_study(on).facts
        flags = {**flags, "rounds": facts.get("rounds"), "runs": 1}
    return new_design(fields, flags)


def planned_runs(design: Design) -> int:
    """How many runs a design has, over all its models.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    if design.on:
        return len(replayed_runs(design)) * len(design.models)
    return len(cases(design)) * design.runs * len(design.models)


def announcement(design: Design, out: Path | None, planned: int) -> str:
    """How much a design asks for, and how much of it is already in.

    Args:
        design: The design.
        out: The study's folder, if there is one.
        planned: The runs of the design.
    """
    held = 0
    if out is not None and (out / TRANSCRIPT_FILE).is_file():
        held = load_study(out).ended_runs
    left = max(planned - held, 0)
    return (
        f"offrecord: {planned} runs, {held} of them in, {left} to go: up to "
        f"{left * calls_per_run(design):,} calls"
    )


def content_of(design: Design) -> dict[str, str]:
    """What a design's content is: name to `id@version:hash`."""
    return replay_content(design) if design.on else design_content(design)


def _fields(file: Path) -> dict[str, Any]:
    fields = read_design(file).model_dump(exclude_unset=True)
    if "scenarios" in fields:
        # Folders are named from where the file lies.
        fields["scenarios"] = tuple(
            str((file.parent / name).resolve()) if "/" in name else name
            for name in fields["scenarios"]
        )
    return fields


def calls_per_run(design: Design, agents: int = 2) -> int:
    """How many requests one whole run makes; a replay has no surveys."""
    outputs = 1 + design.shadows + (not design.on)
    return design.rounds * agents * len(design.channels) * outputs
