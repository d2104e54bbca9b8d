"""Maps: where in an entry the parts of a message stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from pydantic import BeforeValidator, ValidationError, model_validator

from offrecord.content.decision import Decision
from offrecord.content.document import Front, data_folder, first_fault, read_document
from offrecord.records import FACTOR, OffrecordError
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

_OWN: Final = frozenset(
    {
        *("study", "run", "agent", "agent_model", "audience", "text", "attempt"),
        *("ended", "form", "instrument", "started", "uuid", "log"),
    }
)
"""Columns that other fields of a map say, or that follow from the messages."""
COLUMNS: Final = tuple(name for name in TRANSCRIPT_SCHEMA if name not in _OWN)


def _several(value: Any) -> Any:  # noqa: ANN401 - as a file has it
    return (value,) if isinstance(value, str) else value


Paths = Annotated[tuple[str, ...], BeforeValidator(_several)]
"""Where a value stands: the first of them that has one counts."""


class DecisionWhere(Decision):
    """What agents decide in some conversations."""

    where: Mapping[str, str] = {}
    """Path to the value that it has in these conversations."""


class Remove(Front):
    """Personal data that is taken out before anything is stored."""

    fields: Paths = ()
    email: bool = False
    phone: str = ""
    """The region whose numbers are found, as `DE`; empty for none."""


class Around(Front):
    """How entries that lie in others, as spans do, are found in them."""

    id: Paths
    """Where an entry's own id stands."""
    parent: Paths
    """Where the id of the entry stands that it lies in."""
    named: Mapping[str, Mapping[str, str]]
    """By name, path to the value that it has in an entry that others are told of: the
    nearest such around an entry stands in it under `around/NAME`."""


class Map(Front):
    """How entries are read. Without `messages`, `heard` or `said` each is a message."""

    container: str = "jsonl"
    around: Around | None = None
    conversation: Paths = ()
    messages: Paths = ()
    heard: Paths = ()
    said: Paths = ()
    system: Paths = ()
    speaker: Paths = ()
    role: Paths = ("role",)
    text: Paths = ("content",)
    time: Paths = ()
    order: Paths = ()
    model: Paths = ("model",)
    to: Paths = ()
    tools: Paths = ("tool_calls",)
    agent_roles: tuple[str, ...] = ("assistant", "ai", "model")
    agents: tuple[str, ...] = ()
    """Patterns of speakers (`planner*`); if there are any, no role makes an agent."""
    columns: Mapping[str, Paths] = {}
    decisions: tuple[DecisionWhere, ...] = ()
    remove: Remove = Remove()
    skip: Mapping[str, tuple[str, ...]] = {}
    """Path to values of entries that hold no messages, such as spans of tools."""

    @model_validator(mode="after")
    def _known_columns(self) -> Map:
        for name in self.columns:
            if name not in COLUMNS and not name.startswith(FACTOR):
                known = ", ".join(COLUMNS)
                raise ValueError(f"no column '{name}' (known: {known}, {FACTOR}NAME)")
        if self.said and self.messages:
            raise ValueError("give 'messages', or 'heard' and 'said', not both")
        return self

    def is_agent(self, speaker: str, role: str) -> bool:
        """Whether who speaks is one of the agents."""
        if self.agents:
            return any(fnmatchcase(speaker, one) for one in self.agents)
        return role in self.agent_roles

    def decision_of(self, entry: Mapping[str, Any]) -> DecisionWhere | None:
        """The first decision whose conditions an entry meets."""
        return next((one for one in self.decisions if meets(entry, one.where)), None)


def presets() -> list[str]:
    """The names of the maps that ship."""
    return sorted(path.stem for path in data_folder("maps").glob("*.yaml"))


def read_map(name: str | Path) -> tuple[Map, str]:
    """Read a map: the name of one that ships, or a file, which may begin with one.

    Returns:
        The map, and its stamp `id@version:hash`.

    Raises:
        OffrecordError: Naming the file and the first field that is wrong.
    """
    shipped = str(name) in presets()
    path = _preset(str(name)) if shipped else Path(name)
    document = read_document(path)
    fields = dict(document.front)
    begun = fields.pop("preset", None)
    if begun is not None:
        if begun not in presets():
            known = ", ".join(presets())
            raise OffrecordError(f"{path}: no preset '{begun}' (known: {known})")
        fields = {**read_document(_preset(begun)).front, **fields}
    try:
        return Map.model_validate(fields), document.stamp
    except ValidationError as error:
        raise OffrecordError(f"{path}: {first_fault(error)}") from None


def _preset(name: str) -> Path:
    return data_folder("maps") / f"{name}.yaml"


@cache
def steps(path: str) -> tuple[str, ...]:
    """The keys that a path goes by."""
    parts = path.split("/") if path else ()
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def at(value: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    """What stands at a JSON pointer without its first slash; None where nothing does.

    A text on the way that holds a JSON object or array is read.
    """
    for key in steps(path):
        if isinstance(value, str):
            value = parsed(value)
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.lstrip("-").isdigit():
            value = value[int(key)] if -len(value) <= int(key) < len(value) else None
        else:
            return None
    return value


def meets(value: Any, where: Mapping[str, str]) -> bool:  # noqa: ANN401 - any JSON
    """Whether a value has, at each path, what is wanted there."""
    return all(str(at(value, path)) == wanted for path, wanted in where.items())


def first_at(paths: Sequence[str], *values: Any) -> Any:  # noqa: ANN401 - any JSON
    """The first value that is there: each path in a message, then in its entry."""
    for value in values:
        for path in paths:
            found = at(value, path)
            if found is not None and found != "":
                return found
    return None


def parsed(text: str) -> Any:  # noqa: ANN401 - any JSON
    """A text that holds a JSON object or array as that; any other text as it is."""
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
