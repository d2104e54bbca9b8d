"""One attempt at a run as a sample of an Inspect log, with the look of a live one.

The conversation is the public debate, and every output stands under the span of its
turn. A log says some things in its own way (a time for every event, a reason for every
stop): where that is not what the record says, the record stands beside the request, and
an import reads it back. The prompts are not part of the record, and no text is made up
for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final, get_args

from inspect_ai.event import (
    Event,
    InfoEvent,
    ModelEvent,
    SpanBeginEvent,
    SpanEndEvent,
)
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    StopReason,
)

from offrecord.content.reply import spoken_row
from offrecord.export.runs import Attempt, Row, sample_metadata, stamp_of
from offrecord.measures.inspect.scorers import (
    divergence_score,
    gap_score,
    summary_score,
)
from offrecord.protocol.solver import (
    ENDED_KEY,
    SOURCE,
    STORE_KEY,
    TURN_SPAN,
    turn_title,
)
from offrecord.records import RECORD_KEY, Form, OffrecordError, Role, Status
from offrecord.transcript.inspect_calls import RECORDED, read_call

_STOPS: Final[Mapping[str, StopReason]] = {
    Status.TRUNCATED: "max_tokens",
    Status.FILTERED: "content_filter",
}
_NOWHERE: Final = datetime.fromtimestamp(0, UTC)


def sample_of(attempt: Attempt, name: str) -> EvalSample:
    """One attempt as a sample.

    Args:
        attempt: Its rows and the study's facts.
        name: The sample's id; with the repeat as epoch it is unique in its log.

    Raises:
        OffrecordError: If the attempt cannot be told by the stamps of its requests.
    """
    record, first = attempt.record(), attempt.first
    times = [row["started"] for row in attempt.rows if row["started"]]
    messages = _conversation(attempt, record["channels"][0])
    last = messages[-1].text if len(messages) > 1 else ""
    sample = EvalSample(
        id=name,
        epoch=first["repeat"],
        input=f"{first['scenario']} under {first['condition']}",
        target="",
        messages=messages,
        output=ModelOutput.from_content(model="offrecord", content=last),
        scores={
            "stance_divergence": divergence_score(record),
            "survey_gap": gap_score(record),
            "debate_summary": summary_score(record),
        },
        metadata=sample_metadata(attempt),
        store={STORE_KEY: record} if attempt.ended else {},
        events=list(_events(attempt)),
        model_usage=_total_usage(attempt.rows),
        uuid=first["uuid"],
        started_at=min(times).isoformat() if times else None,
    )
    if not attempt.ended:
        why = "interrupted: this attempt did not end by itself"
        sample.error = EvalError(message=why, traceback="", traceback_ansi="")
    return sample


def _conversation(attempt: Attempt, spoken: str) -> list[ChatMessage]:
    """The public debate as a reader of the log sees it: the target as assistant."""
    first = attempt.first
    messages: list[ChatMessage] = [
        ChatMessageSystem(
            content=f"{first['scenario']} under {first['condition']}. The prompts are "
            "not part of the record from which this log was written."
        )
    ]
    for row in attempt.rows:
        words = spoken_row(row)
        public = row["channel"] == spoken and row["form"] == Form.UTTERANCE
        if public and row["draw"] == 0 and words:
            kind = (
                ChatMessageAssistant if row["role"] == Role.TARGET else ChatMessageUser
            )
            messages.append(kind(content=f"{row['agent']}: {words}"))
    return messages


def _events(attempt: Attempt) -> Iterator[Event]:
    """The outputs under their turns, then how the run ended."""
    at = attempt.first["started"] or _NOWHERE
    yield _begin("solvers", "solvers", None, at)
    yield _begin("solver", "offrecord/debate_turns", "solvers", at, "solver")
    by_turn = groupby(attempt.rows, key=lambda row: (row["turn"], row["agent"]))
    for (turn, agent), rows in by_turn:
        group = list(rows)
        at = group[0]["started"] or at
        inside = f"turn {turn}: {agent}"
        title = turn_title(group[0]["round"], agent)
        yield _begin(TURN_SPAN, title, "solver", at, inside)
        for row in group:
            title = _title(row)
            here = f"{inside}: {title}"
            yield _begin("elicitation", title, inside, row["started"] or at, here)
            yield _call(attempt, row, here, at)
            yield _end(here, at)
        yield _end(inside, at)
    if attempt.ended:
        yield InfoEvent(
            source=SOURCE,
            data={ENDED_KEY: attempt.ended},
            span_id="solver",
            timestamp=at,
            working_start=0,
        )
    yield _end("solver", at)
    yield _end("solvers", at)


def _title(row: Row) -> str:
    draw = f" draw {row['draw']}" if row["draw"] else ""
    return " ".join(dict.fromkeys((row["channel"], row["form"]))) + draw


def _begin(
    kind: str, name: str, inside: str | None, at: datetime, own: str | None = None
) -> SpanBeginEvent:
    own = own or name
    return SpanBeginEvent(
        id=own,
        span_id=own,
        parent_id=inside,
        type=kind,
        name=name,
        timestamp=at,
        working_start=0,
    )


def _end(own: str, at: datetime) -> SpanEndEvent:
    return SpanEndEvent(id=own, span_id=own, timestamp=at, working_start=0)


def _call(attempt: Attempt, row: Row, inside: str, at: datetime) -> ModelEvent:
    """One output as a model call, with what the call alone would say otherwise."""
    stamped = stamp_of(attempt, row)
    seconds = timedelta(seconds=row["seconds"] or 0)
    who = f"{row['agent']}, turn {row['turn']}: {_title(row)}"
    text = f"({who}; the prompt is not on record.)"
    event = ModelEvent(
        model=row["agent_model"] or row["model"],
        input=[ChatMessageUser(content=text, metadata=stamped)],
        tools=[],
        tool_choice="none",
        config=GenerateConfig(),
        output=_output(row),
        retries=row["transport_retries"] or None,
        timestamp=row["started"] or at,
        completed=row["started"] + seconds if row["started"] else None,
        span_id=inside,
        working_start=0,
    )
    call = read_call(event, lambda stamp: stamp)
    if call is None or call.row["run"] != row["run"]:
        raise OffrecordError(
            f"run {row['run']}: its id is not that of its cell and no import could "
            "know it again; import the study again"
        )
    told = {**call.row, "started": event.timestamp, "instrument": row["instrument"]}
    beside = {
        name: row[name] for name in sorted(RECORDED) if told.get(name) != row[name]
    }
    event.input[-1].metadata = {**stamped, RECORD_KEY: beside}
    return event


def _output(row: Row) -> ModelOutput:
    model = row["model_answered"] or row["agent_model"] or row["model"]
    error = (
        (row["stop_reason"] or "no reply") if row["status"] == Status.ERROR else None
    )
    if error and not row["text"]:
        return ModelOutput(model=model, choices=[], error=error)
    stop = row["stop_reason"]
    content: list[Content] = [ContentText(text=row["text"] or "")]
    if row["reasoning"]:
        content.insert(0, ContentReasoning(reasoning=row["reasoning"]))
    message = ChatMessageAssistant(
        content=content if row["reasoning"] else row["text"] or "", model=model
    )
    return ModelOutput(
        model=model,
        choices=[
            ChatCompletionChoice(
                message=message,
                stop_reason=stop
                if stop in get_args(StopReason)
                else _STOPS.get(row["status"], "stop"),
            )
        ],
        usage=_usage(row),
        error=error,
        metadata={"constrained": True} if row["constrained"] else None,
    )


def _usage(row: Row) -> ModelUsage | None:
    if row["input_tokens"] is None and row["output_tokens"] is None:
        return None
    read, written = row["cached_tokens"] or 0, row["output_tokens"] or 0
    return ModelUsage(
        input_tokens=(row["input_tokens"] or 0) - read,
        input_tokens_cache_read=row["cached_tokens"],
        output_tokens=written,
        total_tokens=(row["input_tokens"] or 0) + written,
    )


def _total_usage(rows: Sequence[Row]) -> dict[str, ModelUsage]:
    total = dict[str, Any]()
    for row in rows:
        usage, model = _usage(row), row["agent_model"] or row["model"]
        if usage is not None:
            total[model] = total[model] + usage if model in total else usage
    return total
