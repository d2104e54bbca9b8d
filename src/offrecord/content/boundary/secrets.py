"""Secrets: told by their value or by their shape, and taken out of what is written.

Keys stand in the environment alone. A provider may send one back in its error, a proxy
in its reply, a colleague may have put one into an address: nothing of ours shows it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final
from urllib.parse import quote

from offrecord.content.document import data_folder, read_document

REDACTED: Final = "[redacted]"
"""What stands in a secret's place."""

_SHORTEST: Final = 12
"""Characters; a shorter value of the environment would match by chance."""

_KEY_LIKE: Final = re.compile(r"(?=\S+\Z)(?:.*[0-9]|.*[a-z][A-Z]|.{24})")
"""No white space, and a digit, a capital right after a small letter, or 24 letters. A
plain word or phrase, such as a decision's label, stands in texts that hold no key."""

_ESCAPED: Final = re.compile("%[0-9A-F]{2}")


@cache
def _front() -> Mapping[str, Any]:
    return read_document(data_folder("secrets.yaml")).front


@cache
def _pattern(name: str) -> re.Pattern[str]:
    written = _front()[name]
    joined = "|".join(written) if isinstance(written, list) else written
    return re.compile(re.sub(r"\s+(?=\|)", "", joined), re.IGNORECASE)


def planted(shortest: int = _SHORTEST) -> tuple[str, ...]:
    """The secrets in the environment, longest first, each in the forms it may take.

    Args:
        shortest: Characters that a value has at least.
    """
    named = _pattern("environment")
    return _forms(
        tuple(
            sorted(
                value
                for name, value in os.environ.items()
                if len(value) >= shortest
                and _KEY_LIKE.match(value)
                and named.search(name)
                and not (value.startswith(os.sep) and os.path.exists(value))  # noqa: PTH110
            )
        )
    )


@lru_cache(maxsize=64)
def _forms(values: tuple[str, ...]) -> tuple[str, ...]:
    """Each value as it is, and as JSON and addresses write it."""
    quoted = {form for value in values for form in (quote(value), quote(value, ""))}
    small = {_ESCAPED.sub(lambda found: found[0].lower(), form) for form in quoted}
    forms = {*values, *(json.dumps(value)[1:-1] for value in values), *quoted, *small}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def without_planted(text: str, secrets: tuple[str, ...] | None = None) -> str:
    """The text without the environment's own secrets: evidence otherwise untouched.

    Args:
        text: Any text.
        secrets: As `planted` gives them, for whoever has many texts.
    """
    for secret in planted() if secrets is None else secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


def redacted(text: str, secrets: tuple[str, ...] | None = None) -> str:
    """A text of ours or a provider's, without anything that looks like a secret.

    Args:
        text: Any text.
        secrets: As `planted` gives them, for whoever has many texts.
    """
    text = without_planted(text, secrets)
    text = _pattern("values").sub(REDACTED, text)
    text = _pattern("urls").sub(REDACTED, text)
    return _pattern("named").sub(rf"\1{REDACTED}", text)


def all_redacted(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """A JSON value with every text in it redacted, names of fields included."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {all_redacted(key): all_redacted(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [all_redacted(one) for one in value]
    return value


def is_secret_name(text: str) -> bool:
    """Whether a text names a secret, as `api_key` does."""
    return bool(_pattern("names").search(text))


def is_secret_value(text: str) -> bool:
    """Whether a text holds a secret, whatever it is called."""
    shortest = 8  # an option that holds a short one is no chance
    return bool(
        _pattern("values").search(text)
        or _pattern("urls").search(text)
        or any(secret in text for secret in planted(shortest))
    )
