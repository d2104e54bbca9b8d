"""The declared lines of a pilot, and the figure of each from what came back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import numpy as np
from pydantic import Field, model_validator

from offrecord.content import data_folder, read_document
from offrecord.content.document import Front
from offrecord.estimates.arrays.differences import stratified_difference
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.sample import Sample, Side
from offrecord.estimates.arrays.signed import stratified_gaps
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.protocol.pilot import Answer, PilotRequest, pilot_requests
from offrecord.scenarios.model import Scenario

UNKNOWN: Final = (math.nan, math.nan)


class Line(Front):
    """One line of `pilot/lines.yaml`, which says what its fields mean."""

    line: str
    share: Literal["pressed", "own", "parsed", "gap"]
    of: tuple[str, ...] = Field(min_length=1)
    less: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    at_least: float = -math.inf
    at_most: float = math.inf

    @model_validator(mode="after")
    def _gap_is_compared(self) -> Line:
        if self.share == "gap" and not self.less:
            raise ValueError("a gap is compared: name 'less'")
        return self

    @property
    def lowest(self) -> float:
        """The lowest value of one draw."""
        return -1.0 if self.share == "gap" else 0.0


class _Lines(Front):
    level: float = Field(gt=0, lt=1)
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A declared line with the requests of a scenario that it reads."""

    declared: Line
    title: str
    of: tuple[PilotRequest, ...]
    """Nothing where the scenario has no such condition."""
    less: tuple[PilotRequest, ...]

    def figure(
        self,
        scenario: Scenario,
        answers: Sequence[Answer],
        unknown: tuple[float, float] = UNKNOWN,
    ) -> Estimate | None:
        """The figure of the line; None where it has nothing to read.

        Args:
            scenario: The scenario.
            answers: What came back.
            unknown: What a missing value counts as, of what is added and of what is
                subtracted; NaN leaves it out.
        """
        of, less = (
            _sample(self.declared, requests, scenario, answers, fill)
            for requests, fill in zip((self.of, self.less), unknown, strict=True)
        )
        level = _declared().level
        if not of.values.size or (self.declared.less and not less.values.size):
            return None
        if self.declared.share == "gap":
            return stratified_gaps([Side(of), Side(less, -1)], level=level)
        if self.declared.less:
            return stratified_difference(of, less, level=level)
        return stratified_rate(of, level=level)


@cache
def _declared() -> _Lines:
    return read_document(data_folder("pilot") / "lines.yaml").validate(_Lines)


def readings(scenario: Scenario) -> Iterator[Reading]:
    """The lines of a scenario, one for each condition that a line's request has."""
    requests = pilot_requests(scenario)
    for line in _declared().lines:
        pooled = tuple(one for one in requests if one.name in line.of)
        # One condition could hide behind another.
        apart = len(line.of) == 1 and len(pooled) > 1
        for of in [(one,) for one in pooled] if apart else [pooled]:
            yield Reading(
                declared=line,
                title=f"{line.line}, {of[0].condition}" if apart else line.line,
                of=of,
                less=tuple(one for one in requests if one.name in line.less),
            )


def _sample(
    line: Line,
    requests: Iterable[PilotRequest],
    scenario: Scenario,
    answers: Iterable[Answer],
    unknown: float,
) -> Sample:
    """The values of some requests: draws are clusters, model x request their strata."""
    sides = {one.id: scenario.seat(one.seat).side for one in requests}
    label = (
        sides if line.share == "own" else dict.fromkeys(sides, scenario.pressed_side)
    )
    pairs: dict[tuple[str, str, int], list[float]] = {}
    for answer in answers:
        heard = not line.channels or answer.channel in line.channels
        if heard and answer.request in sides:
            stance = answer.stance
            if line.share == "parsed":
                value = float(stance is not None)
            else:
                value = float(stance == label[answer.request]) if stance else math.nan
            pairs.setdefault((*answer[:2], answer.draw), []).append(value)
    if line.share == "gap":
        pairs = {key: [public - other] for key, (public, other) in pairs.items()}
    rows = [(key, value) for key, values in pairs.items() for value in values]
    values = np.array([value for _, value in rows], dtype=np.float64)
    draws = np.array([str(key) for key, _ in rows])
    cells = np.array([str(key[:2]) for key, _ in rows])
    return Sample(np.where(np.isnan(values), unknown, values), draws, draws, cells)
