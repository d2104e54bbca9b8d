"""The table: messages of deployed agents as rows of a transcript."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from offrecord.records import (
    ENGLISH,
    FACTOR,
    Ended,
    Form,
    Kind,
    OffrecordError,
    Status,
    Timing,
    digest,
)
from offrecord.transcript.deployed.entry import Entry, Fault
from offrecord.transcript.deployed.mapping import Map
from offrecord.transcript.deployed.messages import Message, messages_of
from offrecord.transcript.deployed.personal import Cleaner, cleaner, without_fields
from offrecord.transcript.deployed.sources import entries
from offrecord.transcript.facts import MOST_ROUNDS
from offrecord.transcript.rows import LONGEST_NAME
from offrecord.transcript.schema import GIVEN_SCHEMA, ROW_KEY, TRANSCRIPT_SCHEMA
from offrecord.transcript.store import Imported

SOURCE: Final = "transcripts"
_BATCH: Final = 50_000
_DEFAULTS: Final[dict[str, Any]] = {
    "scenario": "deployed",
    "condition": "observed",
    "kind": str(Kind.OBSERVED),
    "timing": str(Timing.NONE),
    "protocol": "deployed",
    "language": ENGLISH,
    "sampling": "{}",
    "factors": "{}",
    "labels": [],
    "channel": "public",
    "form": str(Form.UTTERANCE),
    "draw": 0,
}
_RAW: Final = {
    "run": pl.String,
    "agent": pl.String,
    "is_agent": pl.Boolean,
    "heard": pl.Boolean,
    "order": pl.Float64,
    "own_model": pl.String,
    **{
        name: TRANSCRIPT_SCHEMA[name]
        for name in TRANSCRIPT_SCHEMA
        if name not in {"run", "agent", "agent_model", "study", "attempt", "ended"}
    },
}


class LeftOut:
    """What could not be used: how often by reason, and where first."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, fault: Fault) -> None:
        """Count one."""
        self._counts[fault.reason] += 1
        self._first.setdefault(fault.reason, fault.place)

    def lines(self) -> tuple[str, ...]:
        """A line for each reason, the most frequent first."""
        return tuple(
            f"{reason}: {count:,}, first at {self._first[reason]}"
            for reason, count in self._counts.most_common()
        )


def import_transcripts(source: Path, how: Map, stamp: str, study: str) -> Imported:
    """Read what agents said elsewhere.

    Args:
        source: A file, or a folder of files.
        how: Where the parts of messages stand.
        stamp: The map's, kept in study.json.
        study: The name that the rows carry.

    Raises:
        OffrecordError: If there is no message of an agent that can be read.
    """
    left_out = LeftOut()
    batches, batch = list[pl.DataFrame](), list[dict[str, Any]]()
    for row in _rows(source, how, left_out):
        batch.append(row)
        if len(batch) == _BATCH:
            batches.append(_frame(batch))
            batch = []
    raw = pl.concat([*batches, _frame(batch)]).with_row_index("read")
    if not raw["is_agent"].any():
        lines = left_out.lines()
        reason = f" ({lines[0]})" if lines else ""
        raise OffrecordError(
            f"{source}: no message of an agent can be read{reason}; look at what the "
            "map finds with --guess"
        )
    placed = _placed(raw, left_out)
    rows = placed.filter("is_agent")
    channels = rows["channel"].unique(maintain_order=True)
    rounds = rows.select(pl.col("round").max()).item()
    facts = {
        "study": study,
        "source": SOURCE,
        "names": stamp,
        "protocol": "deployed",
        "recorded": True,
        "rounds": max(rounds, 1),
        "channels": channels.to_list(),
        "spoken": channels.to_list()[:1],
    }
    given = placed.filter(~pl.col("is_agent"))
    given = given.rename({"draw": "place", "agent": "speaker"})
    return Imported(
        transcript=_shaped(rows.with_columns(study=pl.lit(study)), TRANSCRIPT_SCHEMA),
        facts=facts,
        left_out=left_out.lines(),
        given=_shaped(given, GIVEN_SCHEMA),
    )


def _shaped(rows: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(kind) for name, kind in schema.items())


def _rows(source: Path, how: Map, left_out: LeftOut) -> Iterator[dict[str, Any]]:
    clean = cleaner(how.remove)
    named = lru_cache(10_000)(lambda text: _name(clean(text)))
    known, whole = set[int](), set[str]()
    for entry in entries(source, how.container):
        if isinstance(entry, Fault):
            left_out.add(entry)
            continue
        value = without_fields(entry.value, how.remove.fields)
        found = [*messages_of(Entry(value, entry.place), how)]
        names = {one.conversation for one in found if isinstance(one, Message)}
        if how.messages and names & whole:
            left_out.add(Fault("a conversation whose id was there before", entry.place))
            continue
        whole |= names if how.messages else set()
        for one in found:
            if isinstance(one, Fault):
                left_out.add(one)
                continue
            if one.heard:
                key = hash((one.conversation, one.text))
                if one.is_agent or key in known:
                    continue
                known.add(key)
            try:
                yield _row(one, clean, named, by_time=not how.messages)
            except ValueError as error:
                left_out.add(Fault(str(error), one.place))


def _row(
    one: Message, clean: Cleaner, named: Cleaner, *, by_time: bool
) -> dict[str, Any]:
    stated = {name: value for name, value in one.columns.items() if name in _RAW}
    factors = {
        name.removeprefix(FACTOR): str(value)
        for name, value in one.columns.items()
        if name.startswith(FACTOR)
    }
    if factors:
        stated["factors"] = json.dumps(factors, sort_keys=True)
    text = clean(one.text)
    order = one.order
    if order is None and by_time and one.time is not None:
        order = one.time.timestamp()
    return {
        **_DEFAULTS,
        "status": str(Status.OK if text.strip() else Status.EMPTY),
        **{name: _fitting(name, value) for name, value in stated.items()},
        "run": named(one.conversation),
        "agent": named(one.speaker),
        "is_agent": one.is_agent,
        "heard": one.heard,
        "order": order,
        "own_model": named(one.model) or None,
        "audience": [named(who) for who in one.audience] or None,
        "text": text,
        "started": one.time,
        "uuid": one.place,
        "log": one.place.rpartition(":")[0],
    }


def _name(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else digest(text)


def _fitting(name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """A value as its column holds it; a ValueError says which does not fit."""
    kind = _RAW[name]
    if kind == pl.String:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if isinstance(kind, pl.List):
        return [str(one) for one in value] if isinstance(value, list) else [str(value)]
    try:
        return int(value) if kind in {pl.Int32, pl.Int64} else float(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"a value that column '{name}' cannot hold") from None


def _frame(batch: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(batch, schema=_RAW, orient="row")


def _placed(raw: pl.DataFrame, left_out: LeftOut) -> pl.DataFrame:
    """Rows in the order in which they were said, with turn, round, cell and repeat."""
    said = raw.filter("is_agent").select("run", "text")
    heard = raw.filter("heard").join(said, on=["run", "text"], how="anti")
    rows = pl.concat([raw.filter(~pl.col("heard")), heard]).sort("read")
    begun = pl.col("read").min().over("run")
    rows = rows.sort(begun, "order", "read", nulls_last=True, maintain_order=True)
    spoken = pl.col("is_agent").cast(pl.Int32)
    place = ["run", "channel", "draw"]
    before = spoken.cum_sum().over(place) - spoken
    turn = pl.coalesce("turn", pl.when("is_agent").then(before + 1).otherwise(before))
    own = spoken.cum_sum().over([*place, "agent"])
    rows = rows.with_columns(
        turn=turn,
        round=pl.coalesce("round", pl.when("is_agent").then(own).otherwise(0)),
        attempt=pl.lit(1),
        ended=pl.lit(str(Ended.COMPLETED)),
    )
    nth = pl.int_range(pl.len()).over(["run", "turn", "agent", "channel"])
    rows = rows.with_columns(draw=pl.when("is_agent").then("draw").otherwise(nth))
    rows = _bounded(rows, left_out).with_columns(agent_model="own_model")
    cast = rows.filter("is_agent").group_by("run", maintain_order=True)
    seats = cast.agg(
        models=pl.col("own_model").drop_nulls().unique().sort(),
        seated=pl.struct("agent", "own_model").unique(),
    ).select(
        "run",
        sat=pl.col("models").list.join(" + "),
        seats=pl.col("seated").map_elements(_cast, return_dtype=pl.String),
    )
    rows = rows.join(seats, on="run", how="left", maintain_order="left")
    cell = ["model", "scenario", "condition", "factors"]
    first = pl.col(*cell, "partner", "cast").drop_nulls().first().over("run")
    rows = rows.with_columns(
        model=pl.coalesce("model", pl.col("sat").replace("", "unknown")),
        cast=pl.coalesce("cast", "seats", pl.lit("{}")),
    ).with_columns(partner=pl.coalesce("partner", "model"))
    rows = rows.with_columns(first).filter(pl.col("model").is_not_null())
    order = rows.select("run", *cell).unique("run", maintain_order=True)
    counted = order.with_columns(nth=pl.int_range(1, pl.len() + 1).over(cell))
    rows = rows.join(counted.select("run", "nth"), on="run", maintain_order="left")
    return rows.with_columns(repeat=pl.coalesce("repeat", "nth"))


def _cast(seated: pl.Series) -> str:
    cast = {one["agent"]: one["own_model"] for one in seated if one["own_model"]}
    return json.dumps(cast, sort_keys=True)


def _bounded(rows: pl.DataFrame, left_out: LeftOut) -> pl.DataFrame:
    """Without what a transcript has no room for, or has already."""
    long = (pl.col("round") > MOST_ROUNDS) | (pl.col("draw") > 1000)
    twice = ~pl.struct(ROW_KEY).is_first_distinct()
    for wrong, reason in (
        (long, f"further messages of an agent that has {MOST_ROUNDS:,}"),
        (twice, "a message for a turn that has one"),
    ):
        for place in rows.filter(wrong)["uuid"]:
            left_out.add(Fault(reason, place))
        rows = rows.filter(~wrong)
    return rows
