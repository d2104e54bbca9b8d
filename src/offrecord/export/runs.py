"""What is known of one attempt at a run: as scorers and a live sample have it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from offrecord.protocol.arms import WITHOUT
from offrecord.protocol.dataset import COUNTERPART, METADATA_KEY
from offrecord.records import (
    ARM,
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
from offrecord.transcript.planned import INTERRUPTED, plan_of

Row = Mapping[str, Any]
"""One row of a transcript, as a dict."""

NO_INSTRUMENT: Final[Mapping[str, Any]] = {"items": [], "low": 0, "high": 0}


class Attempt(NamedTuple):
    """The rows of one attempt at a run, in the order of its turns."""

    rows: Sequence[Row]
    facts: Mapping[str, Any]
    """The content of study.json."""

    @property
    def first(self) -> Row:
        """A row to read from what all of them share."""
        return self.rows[0]

    @property
    def ended(self) -> str | None:
        """Why it ended by itself; nothing if it was interrupted."""
        return self.first["ended"]  # type: ignore[no-any-return]

    def instrument(self, row: Row) -> Mapping[str, Any]:
        """The items and the scale of a row's survey."""
        known: Mapping[str, Any] = self.facts.get("instruments", {})
        found: Mapping[str, Any] = known.get(row["instrument"] or "", NO_INSTRUMENT)
        return found

    @property
    def seats(self) -> Mapping[str, str]:
        """Who speaks in a round: agent to role, as study.json says, or who is there."""
        rows = (row for row in self.rows if row["form"] != Form.INTERVIEW)
        there = {row["agent"]: row["role"] for row in rows}
        stated: Mapping[str, Mapping[str, str]] = self.facts.get("seats", {})
        return stated.get(self.first["scenario"], there)

    @property
    def survey(self) -> Row | None:
        """A survey row, if there is one."""
        return next((row for row in self.rows if row["instrument"]), None)

    def record(self) -> dict[str, Any]:
        """What a live debate leaves for its scorers.

        An interrupted attempt left nothing, so all of its pairs are missing.
        """
        rounds, channels = plan_of(self.facts)
        elicited = Asked(**self.facts.get("ask", {})).of(Role.TARGET)
        compared = channels if elicited else channels[:1]
        first = self.first
        asked = self.instrument(self.survey) if self.survey else NO_INSTRUMENT
        silent = [name for name in compared[1:] if self._has_no_audience(name)]
        target = (who for who, role in self.seats.items() if role == Role.TARGET)
        return {
            "run": first["run"],
            "scenario": first["scenario"],
            "condition": first["condition"],
            "language": first["language"],
            "ended": self.ended or INTERRUPTED,
            "rounds": rounds,
            "order": list(self.seats),
            "target": next(target, ""),
            "labels": list(first["labels"] or ()),
            "pressed_side": first["pressed_side"] or "",
            "channels": channels,
            "compared": [channels[0], *(silent or compared[1:])[:1]],
            "items": asked["items"],
            COUNTERPART: asked.get(COUNTERPART, []),
            "scale": [asked["low"], asked["high"]],
            "outputs": [_output(row) for row in self.rows] if self.ended else [],
        }

    def _has_no_audience(self, channel: str) -> bool:
        return all(not r["audience"] for r in self.rows if r["channel"] == channel)


def _output(row: Row) -> dict[str, Any]:
    names = ("turn", "agent", "channel", "form", "draw", "status")
    return {**{name: row[name] for name in names}, "text": row["text"] or ""}


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
    keying, factors = {}, json.loads(first["factors"])
    if survey is not None:
        content[f"instrument of {first['scenario']}"] = survey["instrument"]
        asked = attempt.instrument(survey)
        names = ("categories", "reverse", COUNTERPART)
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
            "factors": factors,
            "arm": facts.get("arms", {}).get(factors.get(ARM), asdict(WITHOUT)),
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
