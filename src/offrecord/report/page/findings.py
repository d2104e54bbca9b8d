"""What a page is drawn from, and how its sections find their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from offrecord.records import Kind
from offrecord.report.figures.grammar import short_names
from offrecord.report.numbers import UNDEFINED, interval, named, points, signed
from offrecord.report.page.blocks import Cell, Quote, Text

Row = Mapping[str, Any]

OFF_RECORD: Final = "off_record"


@dataclass(frozen=True)
class Findings:
    """One study's results, as `estimates.json` and `study.json` hold them."""

    name: str
    estimates: Mapping[str, Any]
    facts: Mapping[str, Any]
    target: str
    """The agent under relational pressure."""
    spoken: str
    """The channel that the others hear."""
    channel: str
    """The channel that this page sets beside it."""
    planned_runs: int
    replay_of: str
    """The study whose histories were answered; empty for debates of its own."""
    ended_runs: int
    attempts: int
    """How often a run was begun, all runs together."""
    quotes: Sequence[Quote] = ()
    prompts: Sequence[tuple[str, str]] = ()
    """What was asked: a title and the text."""
    items: Mapping[str, str] = field(default_factory=dict)
    """The survey items by id, in words where they are known."""
    design: Sequence[tuple[str, str]] = ()
    """What was asked for: a name and its value."""

    @property
    def other(self) -> str:
        """The channel that this page sets beside the spoken one, in words."""
        return "off the record" if self.channel == OFF_RECORD else named(self.channel)

    @property
    def beside(self) -> str:
        """Where it was said, in a sentence."""
        if self.channel == OFF_RECORD:
            return self.other
        return f"in the channel {self.other}"

    def rows(self, view: str, part: str, **where: object) -> list[Row]:
        """Rows of a view, of the page's channel.

        Args:
            view: Its name in `estimates["views"]`.
            part: Which of its estimates.
            where: Columns that have to have these values.
        """
        return self.chosen(self.estimates["views"][view].get(part, []), **where)

    def listed(self, name: str, **where: object) -> list[Row]:
        """Rows that stand in the views by themselves (surveys, cosine, ...)."""
        return self.chosen(self.estimates["views"].get(name, []), **where)

    def chosen(self, rows: Sequence[Row], **where: object) -> list[Row]:
        """Those rows that are of the page's channel, where they name one, and fit."""
        return [
            row
            for row in rows
            if row.get("right_channel", row.get("channel", self.channel))
            in {self.channel, self.spoken}
            and all(row.get(key) == value for key, value in where.items())
        ]

    def measured(self, measure: str, view: str = "kinds", **where: object) -> list[Row]:
        """Estimates of a measure, of the target.

        Args:
            measure: Its name.
            view: `kinds`, or `cells` for measures of pairs.
            where: Columns that have to have these values.
        """
        part = "measures" if view == "kinds" else "pairs"
        return self.rows(view, part, measure=measure, agent=self.target, **where)

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of condition there are, alignment first, baseline last."""
        order = [Kind.ALIGNMENT, Kind.PERSONA, Kind.BASELINE]
        found = {row["kind"] for row in self.rows("kinds", "rates")}
        return [str(kind) for kind in order if kind in found]

    @cached_property
    def pressed(self) -> str:
        """The kind that the first table is about: alignment where there is any."""
        return self.kinds[0] if self.kinds else str(Kind.BASELINE)

    @cached_property
    def models(self) -> list[str]:
        """The models, the one with the largest audience effect first."""
        rates = self.rows("models", "rates", agent=self.target, kind=self.pressed)
        known = [row for row in rates if row["audience_effect"] is not None]
        known.sort(key=lambda row: (-row["audience_effect"], row["model"]))
        rest = self.rows("models", "rates", agent=self.target)
        return list(dict.fromkeys(row["model"] for row in [*known, *rest]))

    def called(self, model: object) -> str:
        """A model's short name; all of them where none is named."""
        return self._short.get(str(model), str(model)) if model else "all models"

    @cached_property
    def _short(self) -> dict[str, str]:
        return short_names(self.models)

    @cached_property
    def conditions(self) -> list[str]:
        """The conditions, baseline first."""
        rates = self.rows("conditions", "rates", agent=self.target)
        return [row["condition"] for row in rates]

    def was_measured(self, name: str) -> tuple[bool, list[str]]:
        """Whether a measure was taken, and what was said of it."""
        stated = self.estimates.get("measured", {}).get(name)
        if stated is None:
            return False, []
        return bool(stated["measured"]), list(stated["lines"])

    def unmeasured(self, measure: str) -> Text:
        """That a measure was not taken, why, and what takes it."""
        _, lines = self.was_measured(measure)
        why = f" ({'; '.join(lines)})" if lines else ""
        return Text(
            f"Not measured{why}. 'offrecord measure {self.name} --measures {measure}' "
            "does it, without calling the debating models.",
            "note",
        )


def by_estimate(rows: Sequence[Row], *keys: str) -> dict[tuple[Any, ...], Row]:
    """Rows of a split by their keys and the name of the estimate."""
    return {(*(row[key] for key in keys), row["estimate"]): row for row in rows}


def bounded(row: Row | None, name: str = "value", *, sign: bool = False) -> Cell:
    """A figure in percentage points over its interval.

    Args:
        row: An estimate, or a row of rates; None where there is none.
        name: Which of its figures.
        sign: Whether it is a difference.
    """
    if row is None:
        return Cell(UNDEFINED)
    low, high = (row.get(end, row.get(f"ci_{end}")) for end in ("low", "high"))
    return Cell((signed if sign else points)(row[name]), interval(low, high).strip())


def _channel(row: Row, default: str) -> str:
    """The channel that a row is of: its own, or that beside the spoken one."""
    return str(row.get("right_channel", row.get("channel", default)))
