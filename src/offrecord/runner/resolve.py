"""Which design a call asks for: the file, the flags over it, and the study there is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from offrecord.content.boundary.files import read_file
from offrecord.content.library import name_from
from offrecord.protocol.declared import check_contrasts, content_files
from offrecord.protocol.design import Design, read_design, write_design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.protocol.probe import CHANNELS
from offrecord.records import ARM, HOLDOUT, Form, OffrecordError, Role, due
from offrecord.runner.options import refuse_secret, refuse_secrets, split_options
from offrecord.transcript.folder import existing_design
from offrecord.transcript.probes import TRANSCRIPTS, probe_of
from offrecord.transcript.record import open_record


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
    return design_over(existing_design(out) if out else None, file, flags, options, out)


def design_over(
    old: Design | None,
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path | None,
) -> Design:
    """The design that a call asks for, over what was asked for before.

    Args:
        old: The design so far, if there is one.
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`.
        out: The study's folder, for messages.

    Raises:
        OffrecordError: If the design is wrong, or would change the study.
    """
    refuse_secrets(options)
    asking, _ = split_options(options)
    fields = _fields(file) if file else {}
    flags = with_full_paths(flags, Path.cwd())
    if "ask" in flags:  # a flag sets one field of it
        before = fields.get("ask") or (asdict(old.ask) if old else {})
        flags = {**flags, "ask": {**before, **flags["ask"]}}
    if asking:
        flags = {**flags, "options": asking}
    if old is not None:
        return _checked(grown_design(old, {**fields, **flags}))
    if out is not None and not (file or flags):
        raise OffrecordError(
            f"no study at {out}: to begin one, give --model and what to ask"
        )
    on = flags.get("on") or fields.get("on")
    if on:
        # A replay has its source's rounds, one run of each and no surveys.
        facts = open_record(on).facts
        if facts.get("probe"):
            raise OffrecordError(f"--on {on}: it is a probe itself: give the import")
        if facts.get("source") == TRANSCRIPTS:
            return _checked(_probe_design(fields, flags, facts))
        flags = {**flags, **_of_a_replay({**fields, **flags}, on, facts)}
    made = new_design(fields, flags)
    if made.sample or made.where:
        raise OffrecordError(
            "--sample and --where choose turns of recorded conversations: give --on "
            "and a study that 'offrecord import transcripts' made"
        )
    if out is not None and not made.models:
        raise OffrecordError("no model: give --model, or 'models:' in study.yaml")
    return _checked(made)


def _of_a_replay(
    given: Mapping[str, Any], on: str, facts: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The fields that a replay has from its source."""
    own = {"rounds": facts.get("rounds"), "runs": 1}
    for name, value in given.items():
        if (name in own and value != own[name]) or (
            name == "factors" and set(value) - {ARM}
        ):
            raise OffrecordError(
                f"--on: a replay has the rounds of {on}, one run of each of its "
                f"runs, and no factor of its own but {ARM}: leave {name} out"
            )
    return own


_OF_A_PROBE: Final = (
    *("models", "on", "channels", "spoken", "shadows", "seed", "sample", "where"),
    *("options",),
)
_TURNS: Final = 200
"""Turns that a probe asks where no one says how many."""


def _probe_design(
    fields: Mapping[str, Any], flags: Mapping[str, Any], facts: Mapping[str, Any]
) -> Design:
    """The design of a probe: turns of recorded conversations, asked again."""
    for name in {**fields, **flags}:
        if name not in _OF_A_PROBE:
            raise OffrecordError(
                f"--on: a probe asks turns as they were recorded: leave {name} out, "
                "and choose turns with --where"
            )
    asked = {"channels": CHANNELS, "sample": _TURNS, **fields, **flags}
    fixed = {"rounds": facts.get("rounds"), "runs": 1}
    made = new_design({}, {**asked, **fixed})
    if not made.channels[1:]:
        raise OffrecordError(
            "--channels: a probe compares channels, so give two or more, the public "
            "one first"
        )
    if made.models:
        return made
    models = dict.fromkeys(one.model for one in probe_of(made).asked)
    return made.model_copy(update={"models": tuple(models)})


def _checked(design: Design) -> Design:
    """A design whose recorded options are as harmless as those given after `--`."""
    refuse_secrets(design.options)
    refuse_secret("the design", write_design(design))
    for path in content_files(design):
        refuse_secret(str(path), read_file(path).decode(errors="replace"))
    if not design.on:
        check_contrasts(design)
    _, operating = split_options(design.options)
    if operating:
        raise OffrecordError(
            f"options: {operating[0]} changes nothing that is asked: give it after --"
        )
    return design


def _fields(file: Path) -> dict[str, Any]:
    fields = read_design(file).model_dump(exclude_unset=True)
    # Files and folders are named from where the file lies.
    return with_full_paths(fields, file.parent)


def with_full_paths(fields: Mapping[str, Any], where: Path) -> dict[str, Any]:
    """Design fields whose files and folders can be found from anywhere.

    Args:
        fields: Fields of a design.
        where: The folder from which relative paths go.
    """
    found = dict(fields)
    for field, kind in (("scenarios", "scenario"), ("channels", "channel")):
        if field in found:
            found[field] = tuple(name_from(kind, n, where) for n in found[field])
    if "spoken" in found:
        found["spoken"] = tuple(name_from("channel", n, where) for n in found["spoken"])
    if "protocol" in found:
        found["protocol"] = name_from("protocol", found["protocol"], where)
    if ARM in found.get("factors", {}):
        levels = found["factors"][ARM]
        named = tuple(name_from("arm", level, where) for level in levels)
        found["factors"] = {**found["factors"], ARM: named}
    return found


def turns_of_run(design: Design) -> int:
    """How many turns of one whole run take calls; written lines take none."""
    return design.rounds * len(seats_called(design))


def calls_per_run(design: Design) -> int:
    """How many requests one whole run makes; of a probe, one run on average."""
    if design.sample:
        asked = probe_of(design).asked
        return math.ceil(turn_calls(design) * _turns_asked(design) / len(asked))
    forms = map(design.ask.of, seats_called(design))
    holdout = HOLDOUT if design.ask.holdout else None
    outputs = (
        list(due(design.channels, design.shadows, each, holdout)) for each in forms
    )
    return design.rounds * sum(map(len, outputs))


def turn_calls(design: Design) -> int:
    """How many requests a turn of a probe makes."""
    return len(list(due(design.channels, design.shadows, (Form.UTTERANCE,))))


def _turns_asked(design: Design) -> int:
    return sum(len(one.turns) for one in probe_of(design).asked)


def seats_called(design: Design) -> list[Role]:
    """The seats of a run that models sit in."""
    return [one for one in (Role.TARGET, Role.PARTNER) if one not in design.scripted]
