"""What is taken out of texts before they are stored: secrets, and personal data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from offrecord.content.boundary.secrets import planted, redacted
from offrecord.content.document import data_folder, read_document
from offrecord.records import OffrecordError
from offrecord.transcript.deployed.mapping import Map, Remove, parsed, steps

Cleaner = Callable[[str], str]

EMAIL: Final = "[email]"
PHONE: Final = "[phone]"
REMOVED: Final = "[removed]"


def cleaner(remove: Remove) -> Cleaner:
    """What takes secrets out of a text, and the personal data that a map names.

    Args:
        remove: Which.

    Raises:
        OffrecordError: If telephone numbers are asked for without what finds them, or
            in a region that there is none of.
    """
    secrets = planted()
    cleaners: list[Cleaner] = [lambda text: redacted(text, secrets)]
    if remove.email:
        front = read_document(data_folder("personal.yaml")).front
        email = re.compile(front["email"])
        cleaners.append(lambda text: email.sub(EMAIL, text))
    if remove.phone:
        cleaners.append(_phones(remove.phone))

    def clean(text: str) -> str:
        for one in cleaners:
            text = one(text)
        return text

    return clean


def without_fields(value: Any, how: Map) -> Any:  # noqa: ANN401 - any JSON
    """An entry in which the fields that a map removes are replaced.

    A field is looked for as any other path of a map is: in the entry and in each of its
    messages, through texts that hold JSON, and in every element of a list.
    """
    places = ("", *how.messages, *how.heard, *how.said, *how.system)
    for field in how.remove.fields:
        for place in places:
            for way in dict.fromkeys((place, f"{place}/messages" if place else "")):
                value = _without(value, (*steps(way), *steps(field)))
    return value


def _without(value: Any, way: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON
    if not way:
        return REMOVED
    key, *rest = way
    if isinstance(value, str):
        held = parsed(value)
        clean = held if held is value else _without(held, way)
        return value if clean == held else json.dumps(clean)
    if isinstance(value, dict) and key in value:
        return {**value, key: _without(value[key], rest)}
    if isinstance(value, list):
        if key.lstrip("-").isdigit():
            place = range(len(value))[int(key) : int(key) + 1 or None]
            return [
                _without(one, rest) if n in place else one
                for n, one in enumerate(value)
            ]
        return [_without(one, way) for one in value]
    return value


def _phones(region: str) -> Cleaner:
    try:
        import phonenumbers
    except ImportError:
        raise OffrecordError(
            "remove.phone needs the extra 'personal': pip install 'offrecord[personal]'"
        ) from None
    if region not in phonenumbers.SUPPORTED_REGIONS:
        raise OffrecordError(f"remove.phone: no region '{region}' (as DE, US)")

    def clean(text: str) -> str:
        found = [*phonenumbers.PhoneNumberMatcher(text, region)]
        for match in reversed(found):
            text = text[: match.start] + PHONE + text[match.end :]
        return text

    return clean
