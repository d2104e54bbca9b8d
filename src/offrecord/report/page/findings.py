"""What a page is drawn from, and how its sections find their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import Any, TypeVar, overload

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.estimator import Estimator
from offrecord.estimates.estimators import RATES
from offrecord.estimates.file import Estimates
from offrecord.estimates.frames.row import Row as Estimated
from offrecord.estimates.frames.splits import SplitFigures
from offrecord.measures.english import said_unread
from offrecord.records import Kind
from offrecord.report.figures.grammar import short_names
from offrecord.report.headline import KINDS, OFF_RECORD, beside
from offrecord.report.numbers import UNDEFINED, interval, named, points, signed
from offrecord.report.page.blocks import Cell, Column, Quote, Text
from offrecord.transcript.audits import Anytime

F = TypeVar("F")
M = TypeVar("M", bound=Mapping[str, Any])

Row = Mapping[str, Any]
"""A row of plain values; what is undefined is None."""


@dataclass(frozen=True)
class Findings:
    """One study's results, as `estimates.json` and `study.json` hold them."""

    name: str
    estimates: Estimates
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
    prompts: Sequence[tuple[str, str, str]] = ()
    """What was asked: the scenario, a title, and the text of each."""
    items: Mapping[str, str] = field(default_factory=dict)
    """The survey items by id, in words where they are known."""
    design: Sequence[tuple[str, str]] = ()
    """What was asked for: a name and its value."""
    reading: Sequence[Row] = ()
    """The turns of recorded conversations that a person should read first."""
    judged: Anytime | None = None
    """What the last audit by blocks found."""

    @property
    def other(self) -> str:
        """The channel that this page sets beside the spoken one, in words."""
        return "off the record" if self.channel == OFF_RECORD else named(self.channel)

    @property
    def beside(self) -> str:
        """Where it was said, in a sentence."""
        return beside(self.channel)

    @overload
    def rows(
        self, view: str, part: Estimator[F], **where: object
    ) -> list[Estimated[F]]: ...
    @overload
    def rows(self, view: str, part: str, **where: object) -> list[Row]: ...
    def rows(
        self, view: str, part: Estimator[F] | str, **where: object
    ) -> list[Estimated[F]] | list[Row]:
        """Rows of a view, of the page's channel.

        Args:
            view: Its name.
            part: Which of its estimates; by its name alone, rows are plain values.
            where: Columns that have to have these values.
        """
        if isinstance(part, str):
            found = self.estimates.views[view].get(part, [])
            return self._chosen([plain(row) for row in found], where)
        return self._chosen(self.estimates.view(view, part), where)

    @overload
    def listed(self, part: Estimator[F], **where: object) -> list[Estimated[F]]: ...
    @overload
    def listed(self, part: str, **where: object) -> list[Row]: ...
    def listed(
        self, part: Estimator[F] | str, **where: object
    ) -> list[Estimated[F]] | list[Row]:
        """Rows that stand beside the views (surveys, cosine, ...), as `rows` gives."""
        if isinstance(part, str):
            found = self.estimates.lists.get(part, [])
            return self._chosen([plain(row) for row in found], where)
        return self._chosen(self.estimates.lists[part.name], where)

    def _chosen(self, rows: Sequence[M], where: Mapping[str, object]) -> list[M]:
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

        Returns:
            Nothing where it knows the language of no text.
        """
        part = "measures" if view == "kinds" else "pairs"
        rows = self.rows(view, part, measure=measure, agent=self.target, **where)
        unread = self.unread(measure) and not any(row["turns"] for row in rows)
        return [] if unread else rows

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of condition there are, alignment first, baseline last."""
        found = {row["kind"] for row in self.rows("kinds", RATES)}
        return [str(kind) for kind in KINDS if kind in found]

    @cached_property
    def pressed(self) -> str:
        """The kind that the first table is about: alignment where there is any."""
        return self.kinds[0] if self.kinds else str(Kind.BASELINE)

    @cached_property
    def models(self) -> list[str]:
        """The models, the one with the largest audience effect first."""
        rates = self.rows("models", RATES, agent=self.target, kind=self.pressed)
        known = [row for row in rates if not isnan(row.of.split.audience_effect)]
        known.sort(key=lambda row: (-row.of.split.audience_effect, row["model"]))
        rest = self.rows("models", RATES, agent=self.target)
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
        rates = self.rows("conditions", RATES, agent=self.target)
        return [row["condition"] for row in rates]

    def why_unmeasured(self, name: str) -> str:
        """Why a measure has no value."""
        unread, stated = self.unread(name), self.estimates.head.measured.get(name)
        lines = [unread.text] if unread else stated["lines"] if stated else []
        return "; ".join(lines) or "not asked for"

    def unread(self, measure: str) -> Text | None:
        """That texts are missing since they are in a language it does not know."""
        said = said_unread({"measured": self.estimates.head.measured}, measure)
        return Text(f"{said}.", "note") if said else None

    def model_column(self) -> Column:
        """The column of the models, which says what their names are short for."""
        short = [f"{self.called(one)} for {one}" for one in self.models]
        told = [text for text in short if len({*text.split(" for ")}) > 1]
        about = f"short names: {'; '.join(told)}" if told else ""
        return Column("model", number=False, about=about)


def by_estimate(
    rows: Sequence[Estimated[SplitFigures]], *keys: str
) -> dict[tuple[Any, ...], SplitFigures]:
    """The figures of a split by their keys and the name of the estimate."""
    return {(*(row[key] for key in keys), row.of.estimate): row.of for row in rows}


def bounded(bounds: Bounds | None, *, sign: bool = False) -> Cell:
    """A figure in percentage points over its interval.

    Args:
        bounds: The figure; None where there is none.
        sign: Whether it is a difference.
    """
    if bounds is None:
        return Cell(UNDEFINED)
    shown = (signed if sign else points)(bounds.value)
    return Cell(shown, interval(bounds.low, bounds.high).strip())
