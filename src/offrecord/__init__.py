"""Measure what LLM agents say in public against what they say off the record.

Importing this is quick and silent: what is named here is loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offrecord.estimates.frames.table import estimate
    from offrecord.measures.replies.stance import parse_stance
    from offrecord.measures.replies.survey import parse_survey
    from offrecord.records import OffrecordError
    from offrecord.study import Study, load_study, plan, run

__all__ = [
    "OffrecordError",
    "Study",
    "estimate",
    "load_study",
    "parse_stance",
    "parse_survey",
    "plan",
    "run",
]

_HOMES = {
    "OffrecordError": "offrecord.records",
    "Study": "offrecord.study",
    "estimate": "offrecord.estimates.frames.table",
    "load_study": "offrecord.study",
    "parse_stance": "offrecord.measures.replies.stance",
    "parse_survey": "offrecord.measures.replies.survey",
    "plan": "offrecord.study",
    "run": "offrecord.study",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module 'offrecord' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
