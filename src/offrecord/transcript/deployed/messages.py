"""Messages: what a map finds in an entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from offrecord.content.decision import Decision
from offrecord.content.parts import text_of
from offrecord.transcript.deployed.entry import Entry, Fault
from offrecord.transcript.deployed.mapping import Map, at, first_at, parsed

LONGEST_TEXT: Final = 2_000_000
"""Characters of one message."""
_SYSTEM: Final = frozenset({"system", "developer"})
_TOOLS: Final = frozenset({"tool", "function"})
_PEOPLE: Final = frozenset({"user", "human"})
TOOL: Final = "tool"
"""The sender of a tool's result, which no prompt can hold as it was."""
_SECONDS: Final = 1e11  # a count of seconds since 1970; what is larger is finer


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What someone said in a conversation."""

    conversation: str
    speaker: str
    role: str
    """As the record has it, empty where it has none."""
    sender: str
    """Who speaks to a model: `system`, `user`, `assistant`, or `tool`."""
    is_agent: bool
    text: str
    model: str
    time: datetime | None
    order: float | None
    audience: list[str]
    columns: dict[str, Any]
    place: str
    heard: bool = False
    """Whether a call of a model was given it: an earlier one may have been too, and an
    agent's words count where they were said."""


def messages_of(entry: Entry, how: Map) -> Iterator[Message | Fault]:
    """The messages of an entry, in the order in which they were said.

    Args:
        entry: A JSON object.
        how: Where they stand.
    """
    value, place = entry
    for path, wanted in how.skip.items():
        if str(at(value, path)) in wanted:
            return
    calls, decision = bool(how.said or how.heard), how.decision_of(value)
    message = partial(_message, entry=value, how=how, place=place, decision=decision)
    groups = [(how.system, "system"), (how.messages or how.heard, ""), (how.said, "")]
    if not calls and not how.messages:
        yield message(value, role="", heard=False)
        return
    found = False
    for paths, role in groups:
        said = first_at(paths, value)
        if not said:
            continue
        found = True
        if paths is how.messages and not isinstance(said, list | Mapping):
            yield Fault("messages that are no list", place)
            continue
        given = calls and paths is not how.said
        for one in _listed(said, "assistant" if paths is how.said else role or "user"):
            if isinstance(one, Mapping):
                yield message(one, role=role, heard=given)
            else:
                yield Fault("a message that is no object", place)
    if not found:
        yield Fault("no messages where the map says", place)


def _listed(said: Any, role: str) -> list[Any]:  # noqa: ANN401 - any JSON
    """Messages as a list: one, several, those under `messages`, or a bare text."""
    if isinstance(said, str):
        said = parsed(said)
    if isinstance(said, Mapping) and isinstance(said.get("messages"), list):
        said = said["messages"]
    if isinstance(said, list) and said and all(isinstance(one, str) for one in said):
        said = "\n".join(said)
    if isinstance(said, str):
        return [{"role": role, "content": said}]
    if isinstance(said, list):
        parts = said and all(_is_part(one) for one in said)
        return [{"role": role, "content": said}] if parts else said
    return [said]


def _is_part(value: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(value, Mapping) and "type" in value and "role" not in value


def _message(
    one: Mapping[str, Any],
    *,
    entry: Mapping[str, Any],
    how: Map,
    place: str,
    decision: Decision | None,
    role: str,
    heard: bool,
) -> Message | Fault:
    role = str(first_at(how.role, one) or role)
    speaker = first_at(how.speaker, one)
    if speaker is None and role in how.agent_roles:
        speaker = first_at(how.speaker, entry)
    speaker = str(speaker or role)
    if not speaker:
        return Fault("a message without a speaker", place)
    text = text_of(first_at(how.text, one))
    tools = first_at(how.tools, one)
    if not text.strip() and (tools or role == "tool" or _calls(one)):
        return Fault("calls of tools without words", place)
    if len(text) > LONGEST_TEXT:
        return Fault(f"a text of more than {LONGEST_TEXT:,} characters", place)
    conversation = first_at(how.conversation, one, entry)
    if how.conversation and conversation is None:
        return Fault("a message of no conversation", place)
    time = first_at(how.time, one, entry)
    order = first_at(how.order, one, entry)
    to = first_at(how.to, one, entry)
    return Message(
        conversation=str(place if conversation is None else conversation),
        speaker=speaker,
        role=role,
        sender=_sender(role, how),
        is_agent=role not in _SYSTEM and how.is_agent(speaker, role),
        text=text,
        model=str(first_at(how.model, one, entry) or ""),
        time=time_of(time),
        order=float(order) if isinstance(order, int | float) else None,
        audience=[str(who) for who in (to if isinstance(to, list) else [to]) if who],
        columns=_columns(one, entry, how, decision),
        place=place,
        heard=heard,
    )


def doubt_of(one: Message, how: Map) -> Fault | None:
    """Why a message that is kept as heard may be one of an agent all the same."""
    if one.is_agent or one.heard:
        return None
    if how.agents and one.role in how.agent_roles:
        return Fault("a message of an agent's role, by none of 'agents'", one.place)
    strange = one.role not in {*_SYSTEM, *_TOOLS, *_PEOPLE, *how.agent_roles}
    if strange and not how.agents:
        return Fault("a message of no known role, taken for a user's", one.place)
    return None


def _sender(role: str, how: Map) -> str:
    if role in _SYSTEM:
        return "system"
    if role in _TOOLS:
        return TOOL
    return "assistant" if role in how.agent_roles else "user"


def _columns(
    one: Mapping[str, Any],
    entry: Mapping[str, Any],
    how: Map,
    decision: Decision | None,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if decision is not None:
        found = {"labels": [*decision.labels], "pressed_side": decision.pressed_side}
    for name, paths in how.columns.items():
        value = first_at(paths, one, entry)
        if value is not None:
            found[name] = value
    return found


def _calls(one: Mapping[str, Any]) -> bool:
    parts = one.get("parts") or one.get("content")
    return isinstance(parts, list) and any(
        isinstance(part, Mapping) and "tool" in str(part.get("type", ""))
        for part in parts
    )


def time_of(value: Any) -> datetime | None:  # noqa: ANN401 - any JSON
    """A time: ISO 8601, or a count of seconds or a finer unit since 1970; else None."""
    try:
        if isinstance(value, str) and not value.isdigit():
            found = datetime.fromisoformat(value)
            return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        if value is None or isinstance(value, bool):
            return None
        seconds = float(value)
        while seconds > _SECONDS:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
