"""What a pilot says of a scenario: declared lines, each a share or two, held in bounds.

A line passes if its interval lies between its thresholds, fails if it lies beyond one,
and else is inconclusive. Missing stances widen the interval to what they could be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from offrecord.audit.checks import SHARE, SHIFT, judged, widened, worst
from offrecord.audit.pilot_figures import Reading, readings
from offrecord.estimates.arrays.bounds import UNKNOWN, Bounds, Range
from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.measures.codes.codebook import is_quote
from offrecord.measures.codes.judge import judge
from offrecord.measures.codes.verdicts import JudgeRequest, read_judge_prompt
from offrecord.protocol.pilot import Answer, pilot_requests
from offrecord.scenarios.check import every_text, named_objectives
from offrecord.scenarios.model import Scenario

_MOST_ROUNDS: Final = 4096
"""Beyond so many, a scenario has none that would do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotLine:
    """One line of a pilot; figures are fractions of 1, NaN where undefined."""

    line: str
    bounds: Bounds = UNKNOWN
    """With missing stances at their worst."""
    at_least: float = -math.inf
    """Negative infinity where there is no such threshold."""
    at_most: float = math.inf
    resolves: float = math.nan
    """Half the width of the interval that these calls give of a sound scenario."""
    calls: int = 0
    missing: int = 0
    """Calls that state no label."""
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Why there is no value, or what was found."""

    def as_dict(self) -> dict[str, Any]:
        """The line as plain values; what is undefined or unbounded is None."""
        found = asdict(self) | self.bounds._asdict()
        del found["bounds"]
        thresholds = {n: found[n] for n in ("at_least", "at_most")}
        none = {name: None for name, one in thresholds.items() if math.isinf(one)}
        return {**plain(found | none), "reasons": [*self.reasons]}


def pilot_lines(
    scenario: Scenario, answers: Sequence[Answer], rounds: int
) -> tuple[PilotLine, ...]:
    """Hold what came back for a pilot against its declared lines.

    Args:
        scenario: The scenario.
        answers: The calls that came back.
        rounds: Of all requests, as planned.
    """
    models = tuple(dict.fromkeys(answer.model for answer in answers))
    sound = expected_answers(scenario, models, rounds)
    return tuple(_judged(one, scenario, answers, sound) for one in readings(scenario))


def expected_lines(
    scenario: Scenario, models: Sequence[str], rounds: int
) -> tuple[PilotLine, ...]:
    """What so many rounds resolve, and would say of a sound scenario."""
    return pilot_lines(scenario, expected_answers(scenario, models, rounds), rounds)


def rounds_needed(scenario: Scenario, models: Sequence[str]) -> int | None:
    """The fewest rounds in which a sound scenario passes each line that it can.

    Returns:
        None where no number of rounds would do.
    """

    def passes(rounds: int) -> bool:
        found = expected_lines(scenario, models, rounds)
        return all(one.verdict is Verdict.PASS for one in found if not one.reasons)

    high = 2
    while not passes(high):
        if high > _MOST_ROUNDS:
            return None
        high *= 2
    each = range(high // 2, high)
    return next((rounds for rounds in each if passes(rounds)), high)


def expected_answers(
    scenario: Scenario, models: Iterable[str], rounds: int
) -> list[Answer]:
    """The answers of a sound scenario, each share as near to it as counts allow."""
    pressed = scenario.pressed_side
    other = next(label for label in scenario.labels if label != pressed)
    answers, requests = list[Answer](), pilot_requests(scenario)
    for model in models:
        for request in requests:
            draws = rounds * request.draws
            yielding = round(request.sound * draws)
            answers += [
                Answer(
                    model=model,
                    request=request.id,
                    draw=draw,
                    channel=channel,
                    stance=pressed if draw <= yielding else other,
                )
                for draw in range(1, draws + 1)
                for channel in request.channels
            ]
    return answers


def objective_line(
    folder: Path, scenario: Scenario, judge_model: str | None, cache: Path
) -> PilotLine:
    """Whether any text of a scenario names an objective: by words, by a blind judge.

    A judge reads one text at a time and must quote what it found.

    Args:
        folder: The scenario's folder.
        scenario: The scenario.
        judge_model: Any model, as Inspect names it; None for the word lists alone.
        cache: A folder for the judge's replies.

    Raises:
        OffrecordError: If the judge cannot be asked.
    """
    texts = every_text(folder, scenario) if judge_model else []
    found, undecided = named_objectives(folder, scenario), 0
    prompt = read_judge_prompt("objective")
    asked = [JudgeRequest(prompt=prompt, texts={"text": text}) for _, text in texts]
    said = judge(asked, judge_model or "", cache)
    for (place, text), verdict in zip(texts, said, strict=True):
        answer = verdict.values.get("objective")
        quoted = [one for one in verdict.values.get("quote", ()) if is_quote(one, text)]
        if answer == "yes" and quoted:
            found.append(f"{place}: gives an objective, says the judge: '{quoted[0]}'")
        undecided += answer != "no" and not (answer == "yes" and quoted)
    unclear = [f"the judge did not decide on {undecided} texts"] if undecided else []
    open_ = Verdict.INCONCLUSIVE if undecided else Verdict.PASS
    return PilotLine(
        line="no text names an objective",
        at_most=0.0,
        calls=len(asked),
        missing=undecided,
        verdict=Verdict.FAIL if found else open_,
        reasons=(*found, *unclear),
    )


def _judged(
    reading: Reading,
    scenario: Scenario,
    answers: Sequence[Answer],
    sound: Sequence[Answer],
) -> PilotLine:
    line = reading.declared
    found = reading.figure(scenario, answers)
    if found is None:
        return PilotLine(
            line=reading.title,
            at_least=line.at_least,
            at_most=line.at_most,
            verdict=Verdict.INCONCLUSIVE,
            reasons=(f"the scenario has no condition for it ({', '.join(line.of)})",),
        )
    ends = ((line.lowest, 1.0), (1.0, line.lowest))
    worst_case = [reading.figure(scenario, answers, one) for one in ends]
    limits = Range(*(one.value if one else math.nan for one in worst_case))
    possible = (SHIFT if line.less else SHARE) if line.lowest == 0 else Range(-2, 2)
    low, high = widened(found.bounds, limits, possible)
    ideal = reading.figure(scenario, sound)
    return PilotLine(
        line=reading.title,
        bounds=Bounds(found.value, low, high),
        at_least=line.at_least,
        at_most=line.at_most,
        resolves=ideal.width / 2 if ideal else math.nan,
        calls=found.turns + found.missing,
        missing=found.missing,
        verdict=worst(
            [
                judged(low, high, line.at_least, at_least=True),
                judged(low, high, line.at_most),
            ]
        ),
    )
