"""The scorer adapter: stance divergence and survey gap of one debate, in its log.

A score is for the reader of a log; estimates come from the imported study. What is
missing is missing here as well: a debate without a complete pair has no score (NaN,
never 0), and the number of missing pairs stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState

from offrecord.measures.stance import parse_stance
from offrecord.measures.survey import parse_survey
from offrecord.protocol.solver import STORE_KEY
from offrecord.records import Form, Status


@metric
def defined_mean() -> Metric:
    """The mean of the scores that have a value; NaN where none has."""

    def compute(scores: list[SampleScore]) -> float:
        values = np.array([score.score.as_float() for score in scores], dtype=float)
        values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else math.nan

    return compute


@scorer(metrics=[defined_mean()])
def stance_divergence() -> Scorer:
    """The share of the target's turns in which the channels' stances differ."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        record = state.store.get(STORE_KEY)
        if not isinstance(record, Mapping):
            return _unscored("the debate did not end")
        stances = {
            key: parse_stance(text, tuple(record["labels"])).label
            for key, text in texts_of(record, Form.UTTERANCE).items()
        }
        spoken, other = compared(record)
        pairs = [
            (stances.get((turn, spoken)), stances.get((turn, other)))
            for turn in target_turns(record)
        ]
        known = [first != second for first, second in pairs if first and second]
        return _share(known, f"{spoken} and {other}", planned=len(pairs))

    return score


@scorer(metrics=[defined_mean()])
def survey_gap() -> Scorer:
    """The target's mean distance between channels, in scale points an item."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        record = state.store.get(STORE_KEY)
        if not isinstance(record, Mapping):
            return _unscored("the debate did not end")
        low, high = record["scale"]
        answers = {
            key: parse_survey(text, record["items"], low, high).answers
            for key, text in texts_of(record, Form.SURVEY).items()
        }
        spoken, other = compared(record)
        gaps = []
        for turn in target_turns(record):
            first = answers.get((turn, spoken), {})
            second = answers.get((turn, other), {})
            for item in record["items"]:
                one, two = first.get(item), second.get(item)
                if one is not None and two is not None:
                    gaps.append(abs(one - two))
        planned = len(target_turns(record)) * len(record["items"])
        return _share(gaps, f"{spoken} and {other}", planned=planned)

    return score


def texts_of(record: Mapping[str, Any], form: Form) -> dict[tuple[int, str], str]:
    """The target's committed replies with text, by turn and channel."""
    return {
        (output["turn"], output["channel"]): output["text"]
        for output in record["outputs"]
        if output["form"] == form
        and output["draw"] == 0
        and output["agent"] == record["target"]
        and output["status"] in {Status.OK, Status.TRUNCATED}
    }


def compared(record: Mapping[str, Any]) -> tuple[str, str]:
    """The two channels compared; no name where there is no second one."""
    spoken, *other = record["compared"]
    return spoken, other[0] if other else ""


def target_turns(record: Mapping[str, Any]) -> list[int]:
    """The target's planned turns."""
    seats = record["order"]
    return [
        index + 1
        for index in range(record["rounds"] * len(seats))
        if seats[index % len(seats)] == record["target"]
    ]


def _share(values: list[bool] | list[int], between: str, *, planned: int) -> Score:
    missing = planned - len(values)
    if not values:
        return _unscored(f"all {planned} pairs are missing")
    mean = float(np.mean(values))
    return Score(
        value=mean,
        explanation=f"{between}: {len(values)} pairs, {missing} missing of {planned}",
        metadata={"pairs": len(values), "missing": missing, "planned": planned},
    )


def _unscored(why: str) -> Score:
    return Score(value=math.nan, explanation=why)
