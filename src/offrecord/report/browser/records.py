"""Runs as JSON records: every output of one run, with its parse and its measures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import polars as pl

from offrecord.content.reply import said_and_thought
from offrecord.measures.texts.preparation import Variant, prepare
from offrecord.records import ENGLISH, Form
from offrecord.report.browser.values import Tables, Values, shown_values
from offrecord.transcript.planned import plan_of
from offrecord.transcript.schema import ROW_KEY

Record = dict[str, Any]

_TURN: Final = ("turn", "round", "agent", "role", "side", "pressed_side")
_META: Final = ("model_answered", "stop_reason", "output_tokens", "transport_retries")
_KEPT: Final = ("channel", "form", "draw", "text", "reasoning")


def run_records(
    rows: pl.DataFrame,
    attempts: pl.DataFrame,
    stances: pl.DataFrame,
    surveys: pl.DataFrame,
    facts: Mapping[str, Any],
    measures: Tables,
) -> Iterator[Record]:
    """Each run as the page reads it, in the order of the rows.

    Args:
        rows: Of the transcript: those of the attempt shown of each run.
        attempts: Per run and `attempt`: `ended` and `outputs`, how many came back.
        stances: Rows in `STANCE_SCHEMA`.
        surveys: Rows in `SURVEY_SCHEMA`.
        facts: The content of study.json.
        measures: Further tables of measures.
    """
    runs = rows["run"].unique(maintain_order=True).to_list()
    measured = shown_values(measures, runs)
    tried: dict[str, list[Record]] = defaultdict(list)
    for run, number, ended, outputs in attempts.iter_rows():
        tried[run].append({"attempt": number, "ended": ended, "outputs": outputs})
    parsed = _in_order(_with_parses(rows, stances, surveys), plan_of(facts)[1])
    for run, members in groupby(parsed.iter_rows(named=True), key=lambda r: r["run"]):
        outputs = list(members)
        shown = outputs[0]["attempt"]
        turns = [
            _turn(list(group), measured)
            for _, group in groupby(
                outputs, key=lambda row: (row["turn"], row["agent"])
            )
        ]
        yield _filled(
            id=run,
            shown=shown,
            attempts=tried[run],
            labels=outputs[0]["labels"],
            protocol=outputs[0]["protocol"],
            log=outputs[0]["log"],
            uuid=outputs[0]["uuid"],
            turns=turns,
        )


def _with_parses(
    rows: pl.DataFrame, stances: pl.DataFrame, surveys: pl.DataFrame
) -> pl.DataFrame:
    key = list(ROW_KEY)
    stance = stances.select(
        *key, "label", "rule", stance_status="status", stance_repairs="repairs"
    )
    survey = surveys.select(
        *key, "items", "answers", survey_status="status", survey_repairs="repairs"
    )
    return rows.join(stance, on=key, how="left", maintain_order="left").join(
        survey, on=key, how="left", maintain_order="left"
    )


def _in_order(rows: pl.DataFrame, channels: Sequence[str]) -> pl.DataFrame:
    """By run as they stand, then turn, the channels as planned, and draw."""
    first = rows.select(pl.col("run").unique(maintain_order=True)).with_row_index(
        "place"
    )
    planned = {channel: place for place, channel in enumerate(channels)}
    return rows.join(first, on="run", how="left", maintain_order="left").sort(
        "place",
        "turn",
        "agent",
        pl.col("channel").replace_strict(
            planned, default=len(channels), return_dtype=pl.Int64
        ),
        "form",
        "draw",
        maintain_order=True,
    )


def _turn(outputs: list[Record], measured: Mapping[tuple[Any, ...], Values]) -> Record:
    first = outputs[0]
    key = tuple(first[name] for name in ("run", "attempt", "turn", "agent"))
    channels = dict.fromkeys(row["channel"] for row in outputs)
    pairs = {c: measured[(*key, c)] for c in channels if (*key, c) in measured}
    return _filled(
        **{name: first[name] for name in _TURN},
        outputs=[
            _output(row, measured.get(tuple(row[name] for name in ROW_KEY)))
            for row in outputs
        ],
        pairs=pairs,
    )


def _thought(row: Record) -> str | None:
    if not row["text"]:
        return None
    labels = row["labels"] if row["form"] == Form.UTTERANCE else None
    return said_and_thought(row["text"], labels or ()).reasoning


def _output(row: Record, values: Values | None) -> Record:
    output = _filled(
        **{name: row[name] for name in _KEPT},
        came_back=row["status"],
        status=row["stance_status"] or row["survey_status"],
        repairs=row["stance_repairs"] or row["survey_repairs"],
        label=row["label"],
        rule=row["rule"],
        thought=_thought(row),
        body=_body(row),
        items=row["items"],
        answers=row["answers"],
        values=values,
        meta={name: row[name] for name in _META if row[name] is not None},
    )
    if row["audience"] is not None:  # no one is an answer, too
        output["audience"] = row["audience"]
    return output


def _body(row: Record) -> str | int | None:
    """An utterance without reasoning and label, as the semantic measures read it.

    Where it ends the reply, which it nearly always does, how many of its last UTF-16
    units it takes: the page cuts it out of the reply instead of unpacking it twice.
    """
    text = row["text"]
    if row["form"] != Form.UTTERANCE or not text:
        return None
    labels, language = tuple(row["labels"] or ()), row["language"] or ENGLISH
    body = prepare(text, labels, Variant.CLEAN, language).text
    if body and text.endswith(body):
        return len(body.encode("utf-16-le")) // 2
    return body


def _filled(**values: object) -> Record:
    """The values that there are."""
    return {k: v for k, v in values.items() if v is not None and v not in ([], {}, "")}
