"""What is taken out of texts before they are stored: secrets, and personal data."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from offrecord.content.boundary.secrets import planted, redacted
from offrecord.content.document import data_folder, read_document
from offrecord.records import OffrecordError
from offrecord.transcript.deployed.mapping import Remove, steps

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


def without_fields(value: Any, paths: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON
    """An entry in which what stands at some paths is replaced."""
    for path in paths:
        *way, last = steps(path)
        inner = value
        for step in way:
            inner = inner.get(step) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and last in inner:
            inner[last] = REMOVED
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
