"""What `estimate` prints: the summary, then the split, the floor and the contrasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from rich.console import Console
from rich.text import Text

from offrecord.estimates.arrays.bounds import Bounds, Range
from offrecord.estimates.estimator import Estimator, MissingFigures
from offrecord.estimates.estimators import (
    AGAINST,
    CONTRASTS,
    DOSES,
    EFFECT_TEST,
    EVIDENCE,
    FLOOR,
    LADDER,
    MISSING,
    OBSERVED,
    PROBE,
    RATES,
    SPLIT,
)
from offrecord.estimates.file import Estimates
from offrecord.estimates.frames.contrasts import ContrastFigures
from offrecord.estimates.frames.doses import DoseFigures
from offrecord.estimates.frames.floors import FloorFigures
from offrecord.estimates.frames.noninferiority import AgainstFigures
from offrecord.estimates.frames.row import Row
from offrecord.report.headline import model_headlines, study_headline
from offrecord.report.numbers import between, chance, interval, known, points
from offrecord.report.probe import print_probe
from offrecord.report.remarks import remarks
from offrecord.report.terminal import (
    bare_table,
    print_summary,
    print_whole,
    visible,
)
from offrecord.transcript.record import Record

F = TypeVar("F")
_Columns = Mapping[str, Callable[[F], str]]

_PARTS: Final = ("public_shift", "conversion", "audience_effect")
_TOLD: Final = ("public", "public_shift")  # that stand for the others of their cells
_MOST: Final = 6  # lines of a kind that are printed


def print_estimates(estimates: Estimates, study: Record | None = None) -> None:
    """Print the main tables of a study's estimates to standard output.

    Args:
        estimates: As `estimate_study` gives them.
        study: The study, for what is told of it first.
    """
    console, estimates = Console(), estimates.shown
    rates = estimates.of(RATES)
    print_probe(estimates.of(PROBE), console)
    if rates or not any(estimates.parts[one.name] for one in (OBSERVED, PROBE)):
        print_summary(rates, console)
    keys = list(rates[0].group if rates else estimates.head.by)
    _print(
        console,
        f"The split against baseline, with 95 % intervals for {estimates.head.scope}",
        [row for row in _side_by_side(estimates) if set(_PARTS) <= row.of.parts.keys()],
        keys,
        _SPLIT,
    )
    _print(
        console,
        "The split over all planned turns, if missing stances could be anything",
        [
            row
            for row in estimates.of(MISSING)
            if row.of.missingness.missing and known(row.of.split.public_shift.low)
        ],
        keys,
        _POSSIBLE,
    )
    _print(
        console,
        "The noise floor: how often two samples differ, across and within channels",
        [row for row in estimates.of(FLOOR) if known(row.of.floor.cross)],
        keys,
        _FLOOR,
    )
    _print_asked(console, estimates, keys)
    contrasts = estimates.of(CONTRASTS)
    told = [key for key in keys if contrasts and key in contrasts[0]]
    _print(
        console,
        "Contrasts, A minus B",
        contrasts,
        ["contrast", "measure", *told],
        _CONTRAST,
    )
    _print(
        console,
        "Against the earlier study, new minus old",
        estimates.of(AGAINST),
        [key for key in keys if any(key in row for row in estimates.of(AGAINST))],
        _AGAINST,
    )
    for words in _in_words(study, estimates) if study else ():
        console.print(Text(f"{words}\n"))
    for line in remarks(estimates):
        console.print(Text(line, style="dim italic"))


def _in_words(study: Record, estimates: Estimates) -> Iterator[str]:
    of_kinds = estimates.view("kinds", RATES), estimates.view("kinds", SPLIT)
    of_models = estimates.view("models", RATES), estimates.view("models", SPLIT)
    if first := study_headline(study, *of_kinds):
        yield str(first)
        yield from model_headlines(study, *of_models)


def _print_asked(console: Console, estimates: Estimates, keys: Sequence[str]) -> None:
    """Print what only some studies have, by what they asked or where they come from."""
    for estimator, title, first, columns in _ASKED:
        rows = estimates.of(estimator)
        given = rows[0].group if rows else {}
        own = [key for key in keys if key in given] or given
        _print(console, title, rows, [*first, *own], columns)


class _Split(NamedTuple):
    """The estimates of a group by name, and the p-value of its audience effect."""

    parts: dict[str, Bounds]
    p: float


def _side_by_side(estimates: Estimates) -> list[Row[_Split]]:
    """One row per group."""
    tests = {
        tuple(row.group.values()): row.of.outcome.p for row in estimates.of(EFFECT_TEST)
    }
    found: dict[tuple[Any, ...], Row[_Split]] = {}
    for row in estimates.of(SPLIT):
        key = tuple(row.group.values())
        one = _Split({}, tests.get(key, math.nan))
        group = found.setdefault(key, Row(row.group, one))
        group.of.parts[row.of.estimate] = row.of.bounds
    return list(found.values())


def _bounded(bounds: Bounds) -> str:
    return points(bounds.value) + interval(bounds.low, bounds.high)


def _adjusted(figures: ContrastFigures) -> str:
    return chance(getattr(figures, "p_adjusted", None))


_SPLIT: Final[_Columns[_Split]] = {
    "public shift": lambda of: _bounded(of.parts["public_shift"]),
    "conversion": lambda of: _bounded(of.parts["conversion"]),
    "audience effect": lambda of: _bounded(of.parts["audience_effect"]),
    "p": lambda of: chance(of.p),
}
_POSSIBLE: Final[_Columns[MissingFigures]] = {
    "public shift": lambda of: between(of.split.public_shift),
    "conversion": lambda of: between(of.split.conversion),
    "audience effect": lambda of: between(of.split.audience_effect),
}
_DOSES: Final[_Columns[DoseFigures]] = {
    "doses": lambda of: f"{of.lowest:g} to {of.highest:g}",
    "at the lowest": lambda of: points(of.at_lowest),
    "at the highest": lambda of: points(of.at_highest),
    "per dose": lambda of: _bounded(of.slope),
    "p": lambda of: chance(of.outcome.p),
}
_POINTS: Final[_Columns[Any]] = {"points": lambda of: _bounded(of.bounds)}
_ASKED: Final[tuple[tuple[Estimator[Any], str, list[str], _Columns[Any]], ...]] = (
    (
        EVIDENCE,
        "Evidence response: how far valid evidence moved the stance off the record",
        ["estimate"],
        _POINTS,
    ),
    (
        DOSES,
        "Dose-response: points per dose, from a hint to the fact with its precedent",
        ["measure", "timing"],
        _DOSES,
    ),
    (
        LADDER,
        "The ladder of audiences: share on the pressed side, steps and trend per rung",
        ["quantity", "rung"],
        _POINTS,
    ),
    (
        OBSERVED,
        "Observed aloud, where nobody was asked off the record: no audience effect",
        ["quantity", "agent"],
        {**_POINTS, "runs": lambda of: str(of.runs), "turns": lambda of: str(of.turns)},
    ),
)
_FLOOR: Final[_Columns[FloorFigures]] = {
    "from": lambda of: of.source,
    "across": lambda of: points(of.floor.cross),
    "within public": lambda of: points(of.floor.within_public),
    "within other": lambda of: points(of.floor.within_other),
    "D*": lambda of: _bounded(of.bounds),
    "p": lambda of: chance(of.outcome.p),
    "audience changes": lambda of: between(
        Range(of.floor.changed_low, of.floor.changed_high)
    ),
}
_CONTRAST: Final[_Columns[ContrastFigures]] = {
    "A - B": lambda of: _bounded(of.bounds),
    "p": lambda of: chance(of.outcome.p),
    "p adjusted": _adjusted,
}
_AGAINST: Final[_Columns[AgainstFigures]] = {
    "new - old": lambda of: _bounded(of.bounds),
    "margin": lambda of: points(of.margin),
    "verdict": lambda of: of.verdict,
}


def _print(
    console: Console,
    title: str,
    rows: Sequence[Row[F]],
    keys: Sequence[str],
    columns: _Columns[F],
) -> None:
    if not rows:
        return
    table = bare_table(Text(title))
    for key in keys:
        table.add_column(visible(key), overflow="fold")
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            *(visible(str(row.get(key, ""))) for key in keys),
            *(Text(show(row.of)) for show in columns.values()),
        )
    print_whole(console, table)
