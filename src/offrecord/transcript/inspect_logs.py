"""The log adapter: Inspect logs of our task, made anywhere, as raw records.

A log of ours is read with Inspect's own reader. Outputs are known by the stamp that
their request carried; every other model call in a log (a judge's, say) has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl
from inspect_ai.event import InfoEvent, ModelEvent
from inspect_ai.log import (
    EvalSample,
    read_eval_log_samples,
)

from offrecord.protocol.dataset import METADATA_KEY
from offrecord.protocol.solver import ENDED_KEY, SOURCE
from offrecord.records import (
    ARM,
    Ended,
    Form,
    Frame,
    OffrecordError,
    Stamp,
    digest,
)
from offrecord.transcript.inspect_calls import Call, read_call
from offrecord.transcript.inspect_evals import (
    Origin,
    announced,
    origin_of,
    varied_settings,
    withdrawal,
)
from offrecord.transcript.inspect_files import TASK, LogFile, find_logs, line_of
from offrecord.transcript.inspect_gathered import Gathering
from offrecord.transcript.schema import SAMPLED_SCHEMA, TRANSCRIPT_SCHEMA
from offrecord.transcript.store import Imported

_ASKED: Final = (
    *("rounds", "shadows", "ask", "seed"),
    *("structured", "channels", "spoken"),
)
_PROBE: Final = frozenset({"probe"})


def import_inspect(source: Path | str, study: str, *, split: bool = False) -> Imported:
    """Read Inspect logs of our task.

    Args:
        source: A log, or a folder of logs, read recursively; a text is the address of
            such a folder in a store of objects.
        study: The name of the study that they become.
        split: Whether settings that differ between logs of one model become factors.

    Returns:
        The transcript, the study's facts, and one line for each log or sample that
        could not be used.

    Raises:
        OffrecordError: If nothing there can be read, or settings differ and are not
            to be split.
    """
    gathering = Gathering(study)
    logs = find_logs(source, gathering.left_out)
    origins = {log.name: origin_of(log.head) for log in logs}
    gathering.naming.varied = varied_settings(origins, split=split)
    for log in logs:
        _read_log(gathering, log, origins[log.name])
    if not gathering.frames:
        why = f" ({gathering.left_out[0]})" if gathering.left_out else ""
        raise OffrecordError(f"{source}: holds no debate of {TASK} to import{why}")
    return Imported(
        transcript=gathering.frame(),
        facts=gathering.facts(),
        left_out=tuple(gathering.left_out),
        sampled=gathering.sample(),
    )


def _read_log(gathering: Gathering, log: LogFile, origin: Origin) -> None:
    rows = list[dict[str, Any]]()
    gathering.logs += 1
    gathering.announced[log.head.eval.task_id].append(announced(log.head.eval))
    try:
        for some in _samples(gathering, log, origin):
            rows += some
    except Exception as error:  # a foreign file can fail in any way
        gathering.left_out.append(f"{log.name}: cannot be read ({line_of(error)})")
    try:
        if rows:
            gathering.frames.append(pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA))
    except (pl.exceptions.PolarsError, OverflowError, TypeError) as error:
        fault = f"holds what no run has ({line_of(error)})"
        gathering.left_out.append(f"{log.name}: {fault}")


def _samples(
    gathering: Gathering, log: LogFile, origin: Origin
) -> Iterator[list[dict[str, Any]]]:
    """The rows of each sample of a log; what cannot be used is noted."""
    samples = read_eval_log_samples(
        str(log.path), all_samples_required=False, resolve_attachments=True
    )
    tell, sample, edited = gathering.left_out.append, None, 0
    for sample in samples:
        where = f"{log.name}: sample {sample.id} repeat {sample.epoch}"
        if sample.invalidation:
            tell(f"{where}: {withdrawal(sample.invalidation)}")
        try:
            rows = _read_sample(gathering, sample, log.name, origin)
        except (OffrecordError, KeyError, TypeError, ValueError) as error:
            tell(f"{where}: {line_of(error)}")
            continue
        scores = (sample.scores or {}).values() if rows else ()
        edited += any(score.history for score in scores)
        yield rows
    if sample is None:
        tell(f"{log.name}: no samples (log is {log.head.status})")
    if edited:
        tell(
            f"{log.name}: samples with edited scores: {edited}; edits are not used, "
            "since measures are taken of the replies"
        )


def _read_sample(
    gathering: Gathering, sample: EvalSample, log: str, origin: Origin
) -> list[dict[str, Any]]:
    """The rows of one sample; none if an earlier log held it already."""
    uuid = sample.uuid or digest([log, sample.id, sample.epoch])
    if sample.invalidation:
        gathering.withdrawn.add(uuid)
    if uuid in gathering.seen:
        return []
    meta = sample.metadata.get(METADATA_KEY)
    if not isinstance(meta, Mapping):
        raise OffrecordError("not a debate")
    _check_asked(gathering, meta)
    rows = list(_rows(gathering, sample, meta, origin))
    if not rows:
        return []
    gathering.seen.add(uuid)
    ended = _ended(sample)
    for row in rows:
        row.update(ended=ended, uuid=uuid, log=log)
    started = str(sample.started_at or "")
    gathering.attempts.add(rows[0]["run"], uuid, started, sample.metadata)
    gathering.leaning[rows[0]["scenario"]] = str(meta.get("leaning", ""))
    gathering.seats[rows[0]["scenario"]] = dict(meta["seats"])
    for turn in meta.get("turns", ()):
        one = {**turn, "run": rows[0]["run"], "source": meta["source"]}
        gathering.sampled[one["run"], one["turn"], one["agent"]] = {
            name: one[name] for name in SAMPLED_SCHEMA
        }
    if level := meta["factors"].get(ARM):
        gathering.arms[level] = dict(meta["arm"])
    return rows


def _ended(sample: EvalSample) -> str | None:
    """Why a debate ended by itself; nothing if it was interrupted.

    Inspect never holds a run again that a limit has stopped: it is what it is.
    """
    for event in reversed(sample.events):
        if isinstance(event, InfoEvent) and event.source == SOURCE:
            data: Any = event.data
            return str(Ended(data[ENDED_KEY]))
    limit = f"{sample.limit.type}_limit" if sample.limit else None
    return limit if limit in set(Ended) else None


def _check_asked(gathering: Gathering, meta: Mapping[str, Any]) -> None:
    """Refuse a sample that was not asked what the others were asked."""
    asked = {name: meta[name] for name in (*_ASKED, *(_PROBE & meta.keys()))}
    gathering.asked = gathering.asked or asked
    for name, value in asked.items():
        if gathering.asked[name] != value:
            raise OffrecordError(
                f"{name} {value}, where the study has {gathering.asked[name]}"
            )
    known = gathering.content
    for name, stamp in meta["content"].items():
        if known.get(name, stamp) != stamp:
            raise OffrecordError(
                f"{name} is {stamp}, where the study has {known[name]}"
            )
    known.update(meta["content"])


def _rows(
    gathering: Gathering, sample: EvalSample, meta: Mapping[str, Any], origin: Origin
) -> Iterator[dict[str, Any]]:
    """One row per request of a sample.

    Inspect leaves one model call in the log for each of its own tries, and notes in it
    how often the provider's client sent the request again within that try: the last
    call is what came back, and all that was sent before it are its transport retries.
    """
    calls = defaultdict[str, list[Call]](list)
    name = partial(gathering.naming.stamp, origin=origin)
    for event in sample.events:
        if isinstance(event, ModelEvent) and (call := read_call(event, name)):
            calls[digest(call.stamp.as_dict())].append(call)
    for tries in calls.values():
        last = tries[-1]
        within = sum(call.row["transport_retries"] for call in tries)
        for call in tries:
            gathering.bills.add(call.row["agent_model"], call.written, call.cost)
        yield {
            **last.row,
            "study": gathering.study,
            "instrument": _instrument(gathering, last.stamp, last.frame, meta),
            "transport_retries": within + len(tries) - 1,
            "started": min(call.row["started"] for call in tries),
            **last.record,
        }


def _instrument(
    gathering: Gathering, stamp: Stamp, frame: Frame, meta: Mapping[str, Any]
) -> str | None:
    """The stamp of a survey's instrument, whose items and scale are noted once."""
    if stamp.form is not Form.SURVEY:
        return None
    instrument = str(meta["content"][f"instrument of {stamp.cell.scenario}"])
    if instrument not in gathering.instruments:
        items = sorted(frame.items, key=_item_order)
        scale = {"low": frame.low, "high": frame.high}
        keying = meta.get("keying", {})  # absent in logs of earlier versions
        gathering.instruments[instrument] = {"items": items, **scale, **keying}
    return instrument


def _item_order(item: str) -> tuple[int, str]:
    digits = "".join(character for character in item if character.isdigit())
    return (int(digits) if digits else 0, item)
