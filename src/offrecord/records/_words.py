"""Words and columns that every stage shares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

CELL: Final = (
    "model",
    "partner",
    "cast",
    "scenario",
    "condition",
    "kind",
    "timing",
    "dose",
    "protocol",
    "language",
    "sampling",
    "factors",
)
"""The columns that name a cell: the stratum of every statistic."""

CELL_JSON: Final = ("cast", "sampling", "factors")
"""Those of them that hold a JSON object: no level that anyone would write down."""

ENGLISH: Final = "en"
"""The language of content that does not say another."""


def primary_language(tag: str) -> str:
    """The language of a tag without its region or script: `de` of `de-AT`."""
    return tag.partition("-")[0]


FACTOR: Final = "factor_"
"""What the column of a factor begins with, so that none collides with another."""


def factor_names(columns: Iterable[str]) -> list[str]:
    """The factors among some columns, sorted, as those columns are called."""
    return sorted(name for name in columns if name.startswith(FACTOR))


class OffrecordError(Exception):
    """A fault of input that the user can mend: one line that says what and how."""


def first_line(error: BaseException) -> str:
    """The first line of an error, or else its name."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def split_contrast(
    text: str, levels: Mapping[str, Collection[str]]
) -> tuple[str, str, str] | None:
    """The column and the two levels that `A:B` names; None where no column has both.

    Ids may hold colons. `levels` are the levels of each column.
    """
    parts = text.split(":")
    for place in range(1, len(parts)):
        a, b = ":".join(parts[:place]), ":".join(parts[place:])
        for name, known in levels.items():
            if a != b and a in known and b in known:
                return name, a, b
    return None


def contrastable(levels: Mapping[str, Collection[str]]) -> str:
    """The columns that a contrast can be of, with their levels; empty without any."""
    return "; ".join(
        f"{name}: {', '.join(sorted(found))}"
        for name, found in levels.items()
        if len(found) > 1
    )


class Kind(StrEnum):
    """What a condition's context does to the target agent.

    Evidence is no relation: a valid fact for the pressed side, known to everyone.
    """

    BASELINE = "baseline"
    ALIGNMENT = "alignment"
    PERSONA = "persona"
    EVIDENCE = "evidence"
    OBSERVED = "observed"
    """As it was recorded elsewhere, where no condition was set."""


STANDARD_DOSE: Final = 2
"""The dose of an alignment context that names none: neither a hint nor with its
precedent. Pooled figures are of this dose alone."""

ARM: Final = "arm"
"""The factor of what might help: a text beside the scenario, or a guard."""

NO_ARM: Final = "none"
"""The level of `ARM` without any. Pooled figures are of this level alone, where it is
among those that were asked."""

OBSERVE: Final = "observe"
"""What the guard of an arm does that asks and changes nothing."""


class Timing(StrEnum):
    """Whether the relation lies in the past, in the future, or nowhere."""

    NONE = "none"
    HISTORICAL = "historical"
    FUTURE = "future"


class Role(StrEnum):
    """The target feels the relational pressure, the partner is whom it concerns.

    A bystander sits at the table and is in no relation to the target.
    """

    TARGET = "target"
    PARTNER = "partner"
    BYSTANDER = "bystander"


SCRIPTED: Final = "scripted"
"""What sits in a seat that speaks written lines, and the provider that says them."""


HOLDOUT: Final = "holdout"
"""The channel of the hold-out: off the record, in words that nothing else uses. It is
none of a design's channels, and no table of channels has it."""


class Form(StrEnum):
    """What kind of output is asked for."""

    UTTERANCE = "utterance"
    SURVEY = "survey"
    INTERVIEW = "interview"
    DRAFT = "draft"
    """What a guarded agent was about to say: draw 0; a rewriting of it: draw 1."""
    GUARD = "guard"
    """A guard's own query. It is no draw of a channel."""


class Status(StrEnum):
    """What became of an elicitation; nothing but `ok` and `repaired` has a value.

    `ok`, `empty`, `truncated`, `filtered` and `error` can be told from the reply;
    `repaired`, `unclear` and `refusal` only from a parse of it.
    """

    OK = "ok"
    REPAIRED = "repaired"
    UNCLEAR = "unclear"
    REFUSAL = "refusal"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    ERROR = "error"

    @property
    def silent(self) -> bool:
        """Whether a spoken reply of this status says nothing, whatever its text."""
        return self in {Status.EMPTY, Status.FILTERED, Status.ERROR}


class Ended(StrEnum):
    """Why a run ended by itself. A run that was interrupted has none of these."""

    COMPLETED = "completed"
    NO_PUBLIC_TEXT = "no_public_text"
    CONTEXT_OVERFLOW = "context_overflow"
    COST_LIMIT = "cost_limit"
    TOKEN_LIMIT = "token_limit"
    MESSAGE_LIMIT = "message_limit"
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    WORKING_LIMIT = "working_limit"


def digest(value: object, length: int = 16) -> str:
    """Hash a JSON value: the same for the same content, whatever the key order.

    Args:
        value: Anything that JSON can hold.
        length: Number of hexadecimal characters kept.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:length]
