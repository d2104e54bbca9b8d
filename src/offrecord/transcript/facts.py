"""What study.json may say: checked when it is read, since a study may come from anyone.

Later stages plan their rows by it. A damaged file, or one made to harm, is one line
that names the field, and never a table that fills the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offrecord.content.document import first_fault
from offrecord.records import Asked, Role

FORMAT: Final = 1
"""The format of a study's files; it changes when an older study cannot be read."""

MOST_ROUNDS: Final = 1000
"""Rounds of a run, in a design and in an import alike."""

_Count = Annotated[int, Field(ge=0, lt=2**31)]
_Sum = Annotated[float, Field(ge=0, lt=2**63, allow_inf_nan=False)]
_Name = Annotated[str, Field(max_length=300)]
_Names = Annotated[list[_Name], Field(max_length=10_000)]

_RoleName = Annotated[Role, Field(strict=False)]


class _Read(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Instrument(_Read):
    items: _Names
    low: Annotated[int, Field(ge=-1000, le=1000)]
    high: Annotated[int, Field(ge=-1000, le=1000)]
    categories: dict[_Name, _Names] = {}
    reverse: dict[_Name, _Names] = {}
    counterpart: _Names = []
    answers: dict[_Name, _Name] = {}


class _Stored(_Read):
    texts: str
    file: str


class _Taken(_Read):
    tables: dict[_Name, _Stored]
    stamp: str = ""


class _Arm(_Read):
    text: str
    others: str
    name: str
    placebo_of: str
    channel_words: _Names
    stamp: str
    guard: str = ""
    announced: bool = False
    draws: int = 1
    threshold: float = 1.0
    query: str = ""


class _Probe(_Read):
    turns: _Count
    left_out: dict[str, _Count] = {}


class _Facts(_Read):
    study: str = ""
    source: str = ""
    argument: str = ""
    design: str = ""
    names: str = ""
    protocol: str = ""
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = 1
    shadows: Annotated[int, Field(ge=0, le=1000)] = 0
    ask: Asked = Asked()
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    structured: bool = False
    recorded: bool = False
    probe: _Probe | None = None
    logs: _Count = 0
    channels: Annotated[_Names, Field(min_length=1, max_length=100)] = ["public"]
    spoken: Annotated[_Names, Field(max_length=100)] = []
    seats: dict[str, Annotated[dict[_Name, _RoleName], Field(max_length=100)]] = {}
    arms: dict[str, _Arm] = {}
    content: dict[str, str] = {}
    versions: dict[str, str] = {}
    leaning: dict[str, str] = {}
    attempts: dict[str, _Count] = {}
    instruments: dict[str, _Instrument] = {}
    left_out: list[str] = []
    measured: dict[str, Any] = {}
    taken: dict[_Name, _Taken] = {}
    announced: Annotated[int, Field(ge=0, lt=2**63)] = 0
    planned: Annotated[int, Field(ge=0, lt=2**63)] = 0
    usage: dict[str, dict[str, _Sum | None]] = {}


def fault_of(facts: Mapping[str, Any]) -> str | None:
    """The first field of a study's facts that is not what it must be, and why.

    Args:
        facts: The content of study.json. What it does not say is not asked for.
    """
    try:
        _Facts.model_validate(dict(facts))
    except ValidationError as error:
        return first_fault(error)
    return None
