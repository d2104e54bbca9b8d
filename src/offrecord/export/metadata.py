"""What an exported sample and its requests carry, as those of a live log do."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from offrecord.export.runs import NO_INSTRUMENT, Attempt, Row
from offrecord.protocol.dataset import METADATA_KEY
from offrecord.records import (
    FRAME_KEY,
    STAMP_KEY,
    Asked,
    Cell,
    Form,
    Frame,
    OffrecordError,
    Role,
    Stamp,
)
from offrecord.transcript.attempts import ATTEMPT_KEY, ATTEMPTS_KEY
from offrecord.transcript.planned import plan_of


def stamp_of(attempt: Attempt, row: Row) -> dict[str, Any]:
    """The metadata of a request's last message.

    Raises:
        OffrecordError: If a value of the row is none of the vocabulary.
    """
    survey = row["form"] == Form.SURVEY
    asked = attempt.instrument(row) if survey else NO_INSTRUMENT
    labels = tuple(row["labels"] or ())
    try:
        stamp = Stamp(
            cell=Cell.from_row(row),
            repeat=row["repeat"],
            round=row["round"],
            turn=row["turn"],
            agent=row["agent"],
            channel=row["channel"],
            form=Form(row["form"]),
            draw=row["draw"],
        )
        frame = Frame(
            labels=(labels[0], labels[1]) if len(labels) == 2 else ("", ""),
            side=row["side"] or "",
            pressed_side=row["pressed_side"] or "",
            role=Role(row["role"]),
            items=tuple(asked["items"]),
            low=asked["low"],
            high=asked["high"],
            seed=attempt.facts.get("seed") or 0,
        )
    except ValueError as error:
        raise OffrecordError(f"run {row['run']}: {error}") from None
    hashes = {name: row[name] for name in ("prompt_hash", "history_hash") if row[name]}
    return {
        STAMP_KEY: stamp.as_dict(),
        FRAME_KEY: frame.as_dict(),
        "audience": list(row["audience"] or ()),
        **hashes,
    }


def sample_metadata(attempt: Attempt) -> dict[str, Any]:
    """The cell, the attempt, and what was asked, under the keys of a live sample."""
    first, facts, survey = attempt.first, attempt.facts, attempt.survey
    rounds, channels = plan_of(facts)
    content = dict(facts.get("content", {}))
    keying = {}
    if survey is not None:
        content[f"instrument of {first['scenario']}"] = survey["instrument"]
        asked = attempt.instrument(survey)
        names = ("categories", "reverse")
        keying = {name: asked[name] for name in names if name in asked}
    return {
        **Cell.from_row(first).as_dict(),
        "run": first["run"],
        "repeat": first["repeat"],
        ATTEMPT_KEY: first["attempt"],
        ATTEMPTS_KEY: facts.get("attempts", {}).get(first["run"], first["attempt"]),
        "ended": attempt.ended,
        "study": first["study"],
        "source_log": first["log"],
        METADATA_KEY: {
            "scenario": first["scenario"],
            "condition": first["condition"],
            "factors": json.loads(first["factors"]),
            "intervention": "",
            "leaning": facts.get("leaning", {}).get(first["scenario"], ""),
            "keying": keying,
            "rounds": rounds,
            "shadows": facts.get("shadows", 0),
            "ask": asdict(Asked(**facts.get("ask", {}))),
            "seed": facts.get("seed", 0),
            "structured": facts.get("structured", False),
            "channels": channels,
            "spoken": facts.get("spoken") or channels[:1],
            "seats": attempt.seats,
            "content": content,
            "version": version("offrecord"),
        },
    }
