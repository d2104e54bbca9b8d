"""What is known of one attempt at a run, in the form that scorers of a log read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from offrecord.records import Asked, Form, Role
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
            "ended": self.ended or INTERRUPTED,
            "rounds": rounds,
            "order": list(self.seats),
            "target": next(target, ""),
            "labels": list(first["labels"] or ()),
            "pressed_side": first["pressed_side"] or "",
            "channels": channels,
            "compared": [channels[0], *(silent or compared[1:])[:1]],
            "items": asked["items"],
            "scale": [asked["low"], asked["high"]],
            "outputs": [_output(row) for row in self.rows] if self.ended else [],
        }

    def _has_no_audience(self, channel: str) -> bool:
        return all(not r["audience"] for r in self.rows if r["channel"] == channel)


def _output(row: Row) -> dict[str, Any]:
    names = ("turn", "agent", "channel", "form", "draw", "status")
    return {**{name: row[name] for name in names}, "text": row["text"] or ""}
