"""`estimates.json`: every estimate of a study, as typed rows and as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar

from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.estimator import Estimator
from offrecord.estimates.estimators import ESTIMATORS
from offrecord.estimates.frames.row import Row, read_row, shown
from offrecord.estimates.views import LISTS, NAMED
from offrecord.records import OffrecordError
from offrecord.transcript.record import Record
from offrecord.transcript.store import read_json, write_text

ESTIMATES_FILE: Final = "estimates.json"

F = TypeVar("F")
Rows = Sequence[Row[Any]]


@dataclass(frozen=True, kw_only=True)
class Head:
    """What was asked for, and of what."""

    version: str
    """Of offrecord."""
    by: tuple[str, ...]
    scope: str
    weights: str
    """`cells` or `turns`: what weighs alike."""
    seed: int
    runs: int
    """Runs that ended by themselves."""
    without_aware: bool
    pairs_left_out: int
    note: str
    """What else a reader must know: unlike partners, mixed answers, copies."""
    measured: Mapping[str, Any]
    """Of each measure whether it was taken, and what it said."""
    contrasts_to_come: tuple[str, ...]
    """Declared contrasts that lack runs of a level as yet."""


@dataclass(frozen=True)
class Estimates:
    """Every estimate of a study."""

    head: Head
    parts: Mapping[str, Rows]
    """By the names of `ESTIMATORS`, grouped as asked for."""
    views: Mapping[str, Mapping[str, Rows]]
    """By the names of views and of their parts: what a report shows."""
    lists: Mapping[str, Rows]
    """What stands beside the views (`LISTS`)."""
    keys: Mapping[str, Sequence[str]]
    """What each view is grouped by."""

    def of(self, estimator: Estimator[F]) -> Sequence[Row[F]]:
        """The rows of an estimator, grouped as asked for."""
        return self.parts[estimator.name]

    def view(self, name: str, estimator: Estimator[F]) -> Sequence[Row[F]]:
        """The rows of one part of a view."""
        return self.views[name][estimator.name]

    @property
    def shown(self) -> Estimates:
        """The same as they are shown: without intervals that are refused."""
        views = {
            name: {part: [*map(shown, rows)] for part, rows in view.items()}
            for name, view in self.views.items()
        }
        parts, lists = (
            {name: [*map(shown, rows)] for name, rows in of.items()}
            for of in (self.parts, self.lists)
        )
        return replace(self, parts=parts, views=views, lists=lists)

    def as_dict(self) -> dict[str, Any]:
        """What the file holds, as plain values; what is undefined is None."""
        views = {
            name: {"by": self.keys[name], **parts} for name, parts in self.views.items()
        }
        head = {one.name: getattr(self.head, one.name) for one in fields(self.head)}
        whole: dict[str, Any] = plain(
            {**head, **self.parts, "views": {**views, **self.lists}}
        )
        return whole

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Estimates:
        """The estimates that a file holds.

        Raises:
            ValueError: If something that is declared is absent or of another type.
        """
        beside = {one.name: one for view in LISTS for one in view.parts}
        whole = _mapping("views", stored.get("views"))
        views = {
            name: _mapping(name, view)
            for name, view in whole.items()
            if name not in beside
        }
        return cls(
            head=_head(stored),
            parts={one.name: _rows(one, stored.get(one.name)) for one in ESTIMATORS},
            views={
                name: {
                    part: _rows(NAMED[part], view[part])
                    for part in view
                    if part in NAMED
                }
                for name, view in views.items()
            },
            lists={
                name: _rows(one, whole.get(name))
                for name, one in beside.items()
                if views
            },
            keys={name: view.get("by", ()) for name, view in views.items()},
        )


def _head(stored: Mapping[str, Any]) -> Head:
    try:
        return read_row(stored, Head).of
    except KeyError as fault:
        raise ValueError(f"{fault} is absent") from None


def _mapping(name: str, stored: object) -> Mapping[str, Any]:
    if not isinstance(stored, Mapping):
        raise ValueError(f"{name}: {stored!r:.40} is no object")
    return stored


def _rows(estimator: Estimator[F], stored: object) -> list[Row[F]]:
    name = estimator.name
    if not isinstance(stored, list):
        raise ValueError(f"{name}: {stored!r:.40} is no list")
    try:
        return [estimator.read(_mapping(name, row)) for row in stored]
    except KeyError as fault:
        raise ValueError(f"{name}: {fault} is absent") from None
    except TypeError as fault:
        raise ValueError(f"{name}: {fault}") from None


def write_estimates(study: Record, estimates: Estimates) -> None:
    """Write `estimates.json` whole: what is undefined is null.

    Raises:
        OffrecordError: If the study's folder cannot be written.
    """
    text = json.dumps(estimates.as_dict(), indent=1, allow_nan=False)
    write_text(study.path / ESTIMATES_FILE, text + "\n")


def read_estimates(path: Path) -> Estimates:
    """The estimates that a file holds.

    Raises:
        OffrecordError: If it is not what this version writes.
    """
    stored = read_json(path)
    try:
        if stored.get("version") != version("offrecord"):
            raise ValueError(f"version: {stored.get('version')!r}")
        return Estimates.from_dict(stored)
    except (TypeError, ValueError) as fault:
        raise OffrecordError(
            f"{path}: not what this version writes ({fault}); call 'offrecord estimate "
            f"{path.parent}' again, with the options that you want"
        ) from None
