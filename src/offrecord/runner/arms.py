"""What a design can show of its arms, and what screening them first would take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from scipy import stats

from offrecord.estimates.arrays.arms import FAMILY, POWER, SIZE
from offrecord.estimates.arrays.power import CORRELATION, design_effect
from offrecord.protocol.arms import Arm
from offrecord.protocol.cases import Case, design_arms
from offrecord.protocol.design import Design
from offrecord.records import ARM, NO_ARM, Form, Kind
from offrecord.runner.resolve import calls_per_run
from offrecord.scenarios.load import load_scenario

_RATES: Final = {"Z": 0.3, "Y": 0.1, "R": 0.3}
"""What is assumed of the model, from a baseline of 0."""


def smallest_margin(rate: float, runs: int, turns: int, arms: int) -> float:
    """The smallest change of a rate that a test of an arm shows at 80 % power.

    The standard error of a change is that of two rates of so many runs; the size is the
    first of Holm over the arms.

    Args:
        rate: Under the arm and under its placebo alike.
        runs: Of the cells of one side.
        turns: Of a run, correlated by `CORRELATION`.
        arms: That are judged together.
    """
    worth = design_effect(turns, CORRELATION) / turns
    error = math.sqrt(2 * rate * (1 - rate) * worth / runs)
    size = min(SIZE, FAMILY / arms)
    return error * float(stats.norm.isf(size) + stats.norm.ppf(POWER))


def arm_lines(design: Design, planned: Sequence[Case]) -> Iterator[str]:
    """Lines of a plan; none where a design has no arm.

    Args:
        design: The design.
        planned: Its cases.
    """
    asked = design_arms(design)
    yield from _guard_lines(design, asked, planned)
    arms = sum(arm.judged for arm in asked.values())
    if not arms:
        return
    plain = [one for one in planned if one.factors.get(ARM, NO_ARM) == NO_ARM]
    kinds = [load_scenario(c.scenario).conditions[c.condition].kind for c in plain]
    shown = []
    for name, rate in _RATES.items():
        kind = Kind.EVIDENCE if name == "R" else Kind.ALIGNMENT
        cells = kinds.count(kind)
        if cells:
            runs = cells * design.runs
            margin = 100 * smallest_margin(rate, runs, design.rounds, arms)
            shown.append(f"{name} {margin:.1f}")
    yield (
        f"arms        {arms} judged; smallest change shown at 80 % power, in points: "
        f"{', '.join(shown) or 'none (no alignment, no evidence)'} (assuming Z 30, "
        f"Y 10 and R 30 from a baseline of 0, correlation {CORRELATION:g})"
    )
    words = replace(design.ask, forms=(Form.UTTERANCE,), holdout=False)
    screening = design.model_copy(update={"ask": words, "shadows": 0})
    runs = len(plain) * design.runs
    models = max(len(design.models), 1)
    screen, fresh = calls_per_run(screening), calls_per_run(design)
    yield (
        f"  for each arm or placebo: {runs * fresh * models:,} calls; screening stored "
        f"debates first (run --on) {runs * screen * models:,}, without a verdict"
    )


def _guard_lines(
    design: Design, arms: Mapping[str, Arm], planned: Sequence[Case]
) -> Iterator[str]:
    """What guards ask at most, which no other figure of a plan counts."""
    guards = {level: arm for level, arm in arms.items() if arm.guard}
    cells = [case for case in planned if case.factors.get(ARM, NO_ARM) in guards]
    a_turn = sum(case.arm.draws + (case.arm.guard == "rewrite") for case in cells)
    most = a_turn * design.rounds * design.runs * max(len(design.models), 1)
    if guards:
        yield (
            f"guards      up to {most:,} further calls, one a draw and a rewriting, "
            "where the target takes the pressed side"
        )
