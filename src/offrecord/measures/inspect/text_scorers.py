"""Measures as Inspect scorers: `inspect score LOG --scorer offrecord/NAME`.

A scorer follows from a measure's declaration, where a row of it is a text or a pair. It
takes the measure of one debate and scores the target's committed utterances; NaN, never
0, where there are none. Another package names its own in its `inspect_ai` entry point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import anyio.to_thread
import platformdirs
import polars as pl
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from offrecord.measures.codes.coded_texts import SAID
from offrecord.measures.declare import Measure, Rows, Table
from offrecord.measures.inspect.scorers import (
    compared,
    defined_mean,
    language_of,
    target_turns,
    texts_of,
)
from offrecord.measures.options import Options
from offrecord.measures.pairings import DEFAULT_PAIRING, PAIR_SCHEMA
from offrecord.protocol.solver import STORE_KEY
from offrecord.records import Ended, Form, Status
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

_CACHE: Final = Path(platformdirs.user_cache_dir("offrecord")) / "scorers"
_SIDES: Final = ("public", "off_record")


def scorer_of(measure: Measure) -> Any:  # noqa: ANN401  (Inspect names the type)
    """The scorer of a measure, to be registered in an `inspect_ai` entry point.

    It takes the measure's options by name (`-S embedder=...`). Of a pair's quantity it
    scores the mean; of a text's the means in both channels, `NAME_public` and
    `NAME_off_record`, and `NAME_gap` over the turns with both.

    Args:
        measure: One with a table of texts or pairs that has quantities.
    """
    names = [name for table in _scored(measure) for name in _names(table)]

    def make(**options: Any) -> Scorer:  # noqa: ANN401
        given = Options(**{name: _given(name, v) for name, v in options.items()})

        async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
            values = await anyio.to_thread.run_sync(
                debate_values, measure, state, given
            )
            missing = [name for name in names if name not in values]
            return Score(
                value={**values, **dict.fromkeys(missing, math.nan)},
                explanation=f"{len(values)} of {len(names)} have a value",
            )

        return score

    make.__doc__ = f"{measure.about[0].upper()}{measure.about[1:]}, of the target."
    make.__name__ = make.__qualname__ = measure.name
    metrics: Any = {name: [defined_mean()] for name in names}
    return scorer(metrics=metrics, name=measure.name)(make)


def _given(name: str, value: object) -> Any:  # noqa: ANN401
    """An option as `Options` has it, from what `-S NAME=VALUE` gives."""
    many = isinstance(getattr(Options(), name, None), tuple)
    return tuple(value.split(",")) if many and isinstance(value, str) else value


def debate_values(
    measure: Measure, state: TaskState, options: Options
) -> dict[str, float]:
    """What a measure says of one debate: each score's name to its value."""
    record = state.store.get(STORE_KEY)
    if not isinstance(record, Mapping):
        return {}
    rows = Rows(_texts(record), lambda: _pairs(record), _CACHE)
    values = dict[str, float]()
    for made in measure.take(rows, options):
        if not isinstance(made, str) and made[0] in _scored(measure):
            values |= dict(_values(*made, compared(record)))
    return values


def _scored(measure: Measure) -> list[Table]:
    return [t for t in measure.tables if t.row in {"text", "pair"} and t.estimated]


def _names(table: Table) -> list[str]:
    names = [one.name for one in table.estimated]
    if table.row == "pair":
        return names
    return [f"{name}_{part}" for name in names for part in (*_SIDES, "gap")]


def _values(
    table: Table, frame: pl.DataFrame, channels: tuple[str, str]
) -> Iterator[tuple[str, float]]:
    if "source" in table.extra_key:
        frame = frame.filter(source=SAID)
    for one in table.estimated:
        if table.row == "pair":
            means = {one.name: frame.select(one.value.mean()).item()}
        else:
            sides = [
                frame.filter(channel=channel).select("turn", one.value.alias(side))
                for channel, side in zip(channels, _SIDES, strict=True)
            ]
            gap = (
                sides[0]
                .join(sides[1], on="turn")
                .select(_gap=pl.col(_SIDES[0]) - pl.col(_SIDES[1]))
            )
            values = [*(side.to_series(1) for side in sides), gap.to_series()]
            parts = zip((*_SIDES, "gap"), values, strict=True)
            means = {f"{one.name}_{part}": value.mean() for part, value in parts}
        for name, mean in means.items():
            if mean is not None:
                yield name, float(cast("float", mean))


def _texts(record: Mapping[str, Any]) -> pl.DataFrame:
    """The target's committed utterances, as the text measures take them."""
    same = {
        "run": record.get("run"),
        "attempt": 1,
        "agent": record["target"],
        "form": str(Form.UTTERANCE),
        "draw": 0,
        "scenario": record.get("scenario"),
        "labels": record["labels"],
        "language": language_of(record),
        "pressed_side": record["pressed_side"],
        "status": str(Status.OK),
        "ended": str(Ended.COMPLETED),
    }
    planned = set(target_turns(record))
    rows = [
        {**same, "turn": turn, "channel": channel, "text": text}
        for (turn, channel), text in texts_of(record, Form.UTTERANCE).items()
        if turn in planned and channel in compared(record)
    ]
    return pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)


def _pairs(record: Mapping[str, Any]) -> pl.DataFrame:
    """The target's planned pairs, as the pair measures take them."""
    texts, channels = texts_of(record, Form.UTTERANCE), compared(record)
    rows = []
    for turn in target_turns(record):
        row: dict[str, Any] = {
            "pairing": DEFAULT_PAIRING,
            "labels": record["labels"],
            "language": language_of(record),
        }
        for side, channel in zip(("left", "right"), channels, strict=True):
            text = texts.get((turn, channel))
            row |= {
                f"{side}_text": text,
                f"{side}_status": str(Status.EMPTY if text is None else Status.OK),
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=PAIR_SCHEMA)
