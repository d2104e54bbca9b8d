"""The JSON Schema of `estimates.json`, from the declarations of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin

from offrecord.estimates.estimator import Estimator
from offrecord.estimates.estimators import ESTIMATORS, RATES, SPLIT
from offrecord.estimates.file import Head
from offrecord.estimates.frames.row import declared
from offrecord.estimates.views import LISTS, NAMED, VIEWS

_PLAIN: Final = {str: "string", int: "integer", bool: "boolean", NoneType: "null"}
_KEY: Final = {"type": ["string", "number", "null"]}
"""A key of a group: a name, a round or a dose."""


def estimates_schema() -> dict[str, Any]:
    """What a file of estimates holds, as JSON Schema 2020-12."""
    listed = [one for view in LISTS for one in view.parts]
    views = {name: _view(view.parts) for name, view in VIEWS.items()}
    rows, beside = _named(ESTIMATORS), _named(listed)
    head = {name: _value(one.kind) for name, one in declared(Head).items()}
    shown = _object({**views, **beside}, {"^factor ": _view((RATES, SPLIT))})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "estimates.json",
        "description": "Rates and differences are fractions of 1; null is undefined.",
        **_object({**head, **rows, "views": {"anyOf": [_object({}), shown]}}),
        "$defs": {name: _rows(one) for name, one in NAMED.items()},
    }


def _named(estimators: Sequence[Estimator[Any]]) -> dict[str, Any]:
    return {one.name: {"$ref": f"#/$defs/{one.name}"} for one in estimators}


def _view(parts: Sequence[Estimator[Any]]) -> dict[str, Any]:
    return _object({"by": _value(tuple), **_named(parts)})


def _rows(estimator: Estimator[Any]) -> dict[str, Any]:
    kinds = [_row(figures) for figures in estimator.figures]
    return {"type": "array", "items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}


def _row(figures: type) -> dict[str, Any]:
    """A row: its figures, all of them there, and any keys beside them."""
    names = {name: _value(one.kind) for name, one in declared(figures).items()}
    return {**_object(names), "additionalProperties": _KEY}


def _object(
    properties: Mapping[str, Any], patterns: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
    return {**found, "patternProperties": dict(patterns)} if patterns else found


def _value(kind: Any) -> dict[str, Any]:  # noqa: ANN401
    origin = get_origin(kind) or kind
    if isinstance(kind, UnionType):
        return {"type": [_name(one) for one in get_args(kind)]}
    if origin is tuple:
        return {"type": "array", "items": {"type": "string"}}
    if origin is float:
        return {"type": ["number", "null"]}
    return {"type": _name(origin)}


def _name(kind: Any) -> str:  # noqa: ANN401
    return _PLAIN.get(kind, "object")
