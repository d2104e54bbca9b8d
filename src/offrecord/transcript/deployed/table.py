"""The table: messages of deployed agents as rows of a transcript."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from offrecord.content.reply import is_error_page
from offrecord.records import (
    ENGLISH,
    FACTOR,
    Form,
    Kind,
    OffrecordError,
    Status,
    Timing,
    digest,
)
from offrecord.transcript.deployed.around import told
from offrecord.transcript.deployed.asked import with_prompts
from offrecord.transcript.deployed.entry import Entry, Fault, LeftOut
from offrecord.transcript.deployed.mapping import Map
from offrecord.transcript.deployed.messages import Message, doubt_of, messages_of
from offrecord.transcript.deployed.personal import Cleaner, cleaner, without_fields
from offrecord.transcript.deployed.placing import placed
from offrecord.transcript.rows import LONGEST_NAME
from offrecord.transcript.schema import (
    ASKED_SCHEMA,
    GIVEN_SCHEMA,
    TRANSCRIPT_SCHEMA,
    text_key,
)
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
    "sender": pl.String,
    **{name: ASKED_SCHEMA[name] for name in ("whole", "senders", "texts")},
    **{
        name: TRANSCRIPT_SCHEMA[name]
        for name in TRANSCRIPT_SCHEMA
        if name not in {"run", "agent", "agent_model", "study", "attempt", "ended"}
    },
}


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
    speakers = set[str]()
    batches, batch = list[pl.DataFrame](), list[dict[str, Any]]()
    for row in _rows(source, how, left_out):
        batch.append(row)
        speakers.add(row["agent"])
        if len(batch) == _BATCH:
            batches.append(_frame(batch))
            batch = []
    raw = pl.concat([*batches, _frame(batch)]).with_row_index("read")
    for pattern in how.agents:
        if not any(fnmatchcase(name, pattern) for name in speakers):
            left_out.add(Fault(f"no speaker is '{pattern}', as 'agents' has it", "map"))
    if not raw["is_agent"].any():
        lines = left_out.lines()
        reason = f" ({'; '.join(lines[:3])})" if lines else ""
        raise OffrecordError(
            f"{source}: no message of an agent can be read{reason}; look at what the "
            "map finds with --guess"
        )
    every = placed(raw, left_out)
    rows = every.filter("is_agent")
    channels = rows["channel"].unique(maintain_order=True)
    rounds = rows.select(pl.col("round").max()).item()
    facts = {
        "study": study,
        "source": SOURCE,
        "imported": source.resolve().name,
        "names": stamp,
        "protocol": "deployed",
        "recorded": True,
        "rounds": max(rounds, 1),
        "channels": channels.to_list(),
        "spoken": channels.to_list()[:1],
    }
    given = every.filter(~pl.col("is_agent"))
    given = given.rename({"draw": "place", "agent": "speaker"})
    return Imported(
        transcript=_shaped(rows.with_columns(study=pl.lit(study)), TRANSCRIPT_SCHEMA),
        facts=facts,
        left_out=left_out.lines(),
        given=_shaped(given, GIVEN_SCHEMA),
        asked=_shaped(rows.filter(draw=0), ASKED_SCHEMA),
    )


def _shaped(rows: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(kind) for name, kind in schema.items())


def _rows(source: Path, how: Map, left_out: LeftOut) -> Iterator[dict[str, Any]]:
    clean = cleaner(how.remove)
    named = lru_cache(10_000)(lambda text: _name(clean(text)))
    key_of = lru_cache(10_000)(lambda text: text_key(clean(text)))
    whole = set[str]()
    known = set[tuple[str, int]]()
    for entry in told(source, how):
        if isinstance(entry, Fault):
            left_out.add(entry)
            continue
        value = without_fields(entry.value, how)
        found = [*messages_of(Entry(value, entry.place), how)]
        names = {one.conversation for one in found if isinstance(one, Message)}
        if how.messages and names & whole:
            left_out.add(Fault("a conversation whose id was there before", entry.place))
            continue
        whole |= names if how.messages else set()
        for one, asked in with_prompts(found, how, key_of):
            if isinstance(one, Fault):
                left_out.add(one)
                continue
            key = one.conversation, hash(one.text)
            if one.heard and key in known:
                continue
            try:
                row = _row(one, clean, named, by_time=not how.messages)
            except ValueError as error:
                left_out.add(Fault(str(error), one.place))
                continue
            if one.heard:
                known.add(key)
            if doubt := doubt_of(one, how):
                left_out.add(doubt)
            yield {**row, **asked}


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
        "status": str(_status(text)),
        **{name: _fitting(name, value) for name, value in stated.items()},
        "run": named(one.conversation),
        "agent": named(one.speaker),
        "is_agent": one.is_agent and not one.heard,
        "sender": one.sender,
        "heard": one.heard,
        "order": order,
        "own_model": named(one.model) or None,
        "audience": [named(who) for who in one.audience] or None,
        "text": text,
        "started": one.time,
        "uuid": one.place,
        "log": one.place.rpartition(":")[0],
    }


def _status(text: str) -> Status:
    if is_error_page(text):
        return Status.ERROR
    return Status.OK if text.strip() else Status.EMPTY


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
