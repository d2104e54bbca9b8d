"""What a design takes if less is asked of it, and what a verdict then costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from offrecord.estimates.arrays.expected import (
    POWER,
    POWERED,
    STUDIES,
    Assumed,
    Expected,
)
from offrecord.protocol.cases import Case
from offrecord.protocol.design import Design
from offrecord.records import Asked, Form, Role
from offrecord.runner.costs import money
from offrecord.runner.prices import Prices
from offrecord.runner.resolve import calls_per_run, seats_called
from offrecord.runner.volumes import Volume, amount_of, volumes

_WORDS: Final = (Form.UTTERANCE,)
_TARGET: Final = (Role.TARGET,)
_ASKING: Final = {
    "everything": Asked(),
    "--forms utterance": Asked(forms=_WORDS),
    "--elicit target": Asked(elicit=_TARGET),
    "both of them": Asked(forms=_WORDS, elicit=_TARGET),
}
"""What can be left out, and how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """A gate at whose verdict the runs are to stop."""

    name: str
    assumed: Assumed
    verdicts: Callable[[Design], tuple[Expected, Expected]]
    """What it takes of a design, with all figures below their thresholds, and above."""


class Goal(NamedTuple):
    """What so many runs of each cell are for."""

    words: str
    least: float
    """Runs of each cell."""
    most: float


def until_goals(found: Sequence[Expected]) -> list[Goal]:
    """The runs to a verdict of a gate, and those of a fixed design."""
    blocks, fixed = [e.blocks for e in found], [e.fixed for e in found]
    return [
        Goal("to a verdict", min(blocks), max(blocks)),
        Goal("if fixed beforehand", min(fixed), max(fixed)),
    ]


def until_lines(until: Until, found: Sequence[Expected], turns: int) -> Iterator[str]:
    """The runs to a verdict, and what that rests on."""
    given = until.assumed
    yield (
        f"until       a verdict of {until.name}: runs of each cell, in {STUDIES} "
        f"simulated studies with every figure {100 * given.off:g} points from its "
        "threshold"
    )
    for words, one in zip(("below: pass", "above: fail"), found, strict=True):
        least = "" if one.decided > 0.99 else "at least "
        yield (
            f"  {words} after {least}{one.blocks:.0f} on average, {least}"
            f"{one.most:.0f} in 9 of 10 studies; if fixed beforehand, {one.fixed:.0f} "
            f"for {100 * POWER:.0f} % power at {100 * POWERED:g} points, "
            f"{one.sized:.0f} at {100 * given.off:g}"
        )
    yield (
        f"  assumed: no figure below 0, {turns} turns a run with correlation "
        f"{given.correlation:g}, none missing; at baseline {100 * given.divergent:g} % "
        f"divergence, {100 * given.pressed:g} % off the record on the pressed side"
    )


def ask_lines(
    design: Design,
    planned: Sequence[Case],
    prices: Prices | None,
    goals: Sequence[Goal],
) -> Iterator[str]:
    """What the study takes if less is asked, and what its goals then cost."""
    runs = len(planned) * max(len(design.models), 1)
    yield "asking"
    shown, seats = set[Sequence[object]](), seats_called(design)
    for words, ask in _ASKING.items():
        what = tuple(map(ask.of, seats))
        if what in shown:  # written lines are asked for nothing
            continue
        shown.add(what)
        held = replace(ask, holdout=design.ask.holdout)
        asked = design.model_copy(update={"ask": held})
        calls = calls_per_run(asked)
        told = [f"{calls} calls a run", f"{runs * design.runs * calls:,} in all"]
        taken = volumes(asked, planned) if prices else {}
        told += _money(taken, prices, 1, 1)
        for goal in goals:
            ends = goal.least, goal.most
            many = _between(*(f"{runs * n * calls:,.0f}" for n in ends))
            told += [f"{goal.words} {many} calls"]
            told += _money(taken, prices, *(n / design.runs for n in ends))
        own = " (this design)" if what == tuple(map(design.ask.of, seats)) else ""
        yield f"  {words + ':':<19} {', '.join(told)}{own}"


def _money(
    taken: Mapping[str, Volume], prices: Prices | None, least: float, most: float
) -> Iterator[str]:
    if prices and taken.keys() <= prices.models.keys():
        amount = amount_of(taken, prices).without
        ends = (money(amount * times, prices.currency) for times in (least, most))
        yield f"about {_between(*ends)}"


def _between(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
