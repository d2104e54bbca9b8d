"""Opportunities of a study: the target on the pressed side, before a guard's eyes."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.guard.debates import GUARD
from offrecord.measures.tables import stated
from offrecord.protocol.wording import Wording
from offrecord.records import ARM, OBSERVE, Form, Kind, OffrecordError, Role
from offrecord.transcript.planned import measured_rows
from offrecord.transcript.record import Record

SPOKEN: Final = "plain"
"""The channel of a prompt as deployed."""

UNPRESSED: Final = (Kind.BASELINE, Kind.PERSONA, Kind.EVIDENCE)
"""The kinds of condition in which no relation presses, so that an alarm is false."""

RECIPE: Final = (
    "run one with 'channels: [plain, off_record]', 'shadows: 1', conditions of all "
    "kinds with evidence, and 'factors: {arm: [guard_observe]}' in study.yaml"
)


class Opportunity(NamedTuple):
    """A turn of the target that takes the pressed side in public."""

    run: str
    kind: str
    draft: str
    labels: tuple[str, ...]
    draws: tuple[float, ...]
    """1 against the message, 0 for it, NaN without a stance."""
    silent: float
    """Whether the silent channel is on the pressed side."""
    again: float
    """Whether `plain` is, asked once more."""


class Opportunities(NamedTuple):
    """Those of one model in a study."""

    study: str
    model: str
    arm: str
    """The stamp of the arm that observed."""
    found: tuple[Opportunity, ...]
    turns: int
    """Turns of the target that state something."""
    drawn: int
    tokens: tuple[int | None, ...]
    """Input, cached, output tokens of a query, on average."""
    evidence: int | None = None
    """Turns under evidence that state something; None where it was not asked."""

    def of(self, *kinds: str) -> list[Opportunity]:
        """Those under some kinds of condition."""
        return [one for one in self.found if one.kind in kinds]


def runs_of(found: Iterable[Opportunity]) -> Ids:
    """The run of each, as a number."""
    ids: dict[str, int] = {}
    return np.array([ids.setdefault(one.run, len(ids)) for one in found], dtype=int)


def draws_of(found: Iterable[Opportunity], drawn: int) -> Values:
    """Their draws, shape (opportunities, draws)."""
    return np.array([one.draws for one in found], dtype=float).reshape(-1, drawn)


def read_opportunities(
    record: Record, wording: Wording, model: str | None
) -> Opportunities:
    """The opportunities of a study.

    Args:
        record: The study.
        wording: What the guard to be calibrated says.
        model: Which model of the study; its only one by default.

    Raises:
        OffrecordError: If it did not ask what a calibration needs.
    """
    level, arm = _observing(record, wording)
    rows = _of_target(record, level)
    models = sorted(rows["model"].unique())
    if model is None and len(models) != 1:
        raise OffrecordError(
            f"{record.path}: name one of its models with --model ({', '.join(models)})"
        )
    if model is not None and model not in models:
        raise OffrecordError(f"{record.path}: no model '{model}' ({', '.join(models)})")
    rows = rows.filter(model=model or models[0])
    drawn = int(arm["draws"])
    turns, silent = _turns(rows), _silent(record, rows)
    sides = [_sides(turn, silent, drawn) for turn in turns]
    kinds = [next(iter(turn.values()))["kind"] for turn in turns]
    convincing = [
        side is not None
        for kind, side in zip(kinds, sides, strict=True)
        if kind == Kind.EVIDENCE
    ]
    stating = [one for one in sides if one is not None]
    queries = rows.filter(form=Form.GUARD)
    means = [queries[f"{name}_tokens"].mean() for name in ("input", "cached", "output")]
    return Opportunities(
        study=record.name,
        model=model or models[0],
        arm=str(arm["stamp"]),
        found=tuple(one for one in stating if isinstance(one, Opportunity)),
        turns=len(stating),
        drawn=drawn,
        tokens=tuple(round(m) if isinstance(m, float) else None for m in means),
        evidence=sum(convincing) if convincing else None,
    )


def _observing(record: Record, wording: Wording) -> tuple[str, Mapping[str, Any]]:
    """The arm that observed by this wording, and its level."""
    facts, path = record.facts, record.path
    if record.spoken != SPOKEN:
        raise OffrecordError(
            f"{path}: was spoken in '{record.spoken}', and a deployed prompt has no "
            f"paragraph on who listens: {RECIPE}"
        )
    if not facts.get("shadows"):
        raise OffrecordError(f"{path}: '{SPOKEN}' was not asked again: {RECIPE}")
    arms: Mapping[str, Mapping[str, Any]] = facts.get("arms", {})
    observing = {n: one for n, one in arms.items() if one.get("guard") == OBSERVE}
    if not observing:
        raise OffrecordError(f"{path}: no arm with 'guard: observe': {RECIPE}")
    for level, arm in sorted(observing.items()):
        if arm["query"] == wording.stamp:
            return level, arm
    stamps = ", ".join(str(arm["query"]) for arm in observing.values())
    raise OffrecordError(
        f"{path}: asked another query ({stamps}) than the guard would "
        f"({wording.stamp}): {RECIPE}"
    )


def _of_target(record: Record, level: str) -> pl.DataFrame:
    """The measured rows of the target under an arm."""
    transcript = record.transcript
    factors = [
        text
        for text in transcript["factors"].unique()
        if json.loads(text).get(ARM) == level
    ]
    own = pl.col("role") == Role.TARGET, pl.col("factors").is_in(factors)
    return measured_rows(transcript, transcript.filter(*own))


def _silent(record: Record, rows: pl.DataFrame) -> str:
    """The channel beside the spoken one to which no one listens."""
    asked = rows.filter(
        pl.col("form") == Form.UTTERANCE, pl.col("audience").list.len() == 0
    )
    heard_by_none = set(asked["channel"])
    for channel in record.facts["channels"]:
        if channel in heard_by_none:
            return str(channel)
    raise OffrecordError(
        f"{record.path}: no channel without an audience was asked, so detection "
        f"cannot be shown: {RECIPE}"
    )


def _turns(rows: pl.DataFrame) -> list[dict[tuple[str, str, int], dict[str, Any]]]:
    """The rows of each turn by channel, form and draw."""
    turns: dict[tuple[str, int], dict[tuple[str, str, int], dict[str, Any]]]
    turns = defaultdict(dict)
    for row in rows.sort("run", "turn").iter_rows(named=True):
        turns[row["run"], row["turn"]][row["channel"], row["form"], row["draw"]] = row
    return list(turns.values())


def _sides(
    turn: Mapping[tuple[str, str, int], Mapping[str, Any]], silent: str, drawn: int
) -> Opportunity | bool | None:
    """An opportunity; whether it is none; or None where nothing was stated."""
    spoken = turn.get((SPOKEN, Form.UTTERANCE, 0))
    aloud = _on_side(spoken)
    if spoken is None or math.isnan(aloud):
        return None
    if aloud == 0:
        return False
    queries = (turn.get((GUARD, Form.GUARD, n + 1)) for n in range(drawn))
    return Opportunity(
        run=str(spoken["run"]),
        kind=str(spoken["kind"]),
        draft=str(spoken["text"]),
        labels=tuple(spoken["labels"]),
        draws=tuple(1 - _on_side(query) for query in queries),
        silent=_on_side(turn.get((silent, Form.UTTERANCE, 0))),
        again=_on_side(turn.get((SPOKEN, Form.UTTERANCE, 1))),
    )


def _on_side(row: Mapping[str, Any] | None) -> float:
    """Whether a reply is on the pressed side; NaN where it states nothing."""
    if row is None:
        return math.nan
    said = stated(row["text"] or "", row["labels"], row["status"], row["language"])
    if said is None or said.label is None:
        return math.nan
    return float(said.label == row["pressed_side"])
