"""Inspect's options: which are the study's own, which change what is asked.

Secrets are refused before the first call, since Inspect writes base URLs, headers and
model arguments into its logs. Keys belong into the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from offrecord.content import data_folder, read_document
from offrecord.records import OffrecordError

_SHORTEST_SECRET = 8  # characters; a shorter environment value would match by chance


@cache
def _known() -> Mapping[str, Any]:
    return read_document(data_folder("inspect_options.yaml")).front


def _groups(options: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each option with its value, as one or two words."""
    index = 0
    while index < len(options):
        word = options[index]
        if not word.startswith("-") or word in {"-", "--"}:
            raise OffrecordError(f"'{word}' after -- is no option of inspect eval-set")
        following = options[index + 1] if index + 1 < len(options) else None
        valued = (
            following is not None
            and "=" not in (word if word.startswith("--") else "")
            and (not following.startswith("-") or re.match(r"-\.?\d", following))
        )
        yield (word, str(following)) if valued else (word,)
        index += 2 if valued else 1


def _name(group: tuple[str, ...]) -> str:
    return group[0].partition("=")[0]


def split_options(options: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sort options into those that change what is asked, and the others.

    Args:
        options: Words for `inspect eval-set`.

    Returns:
        The words of the former, and the words of the latter.

    Raises:
        OffrecordError: If an option is one that the study sets itself.
    """
    known = _known()
    asking: list[str] = []
    operating: list[str] = []
    for group in _groups(options):
        name = _name(group)
        if name in known["own"]:
            raise OffrecordError(f"{name} after --: {known['own'][name]}")
        (operating if name in known["operating"] else asking).extend(group)
    return tuple(asking), tuple(operating)


def refuse_secrets(options: Sequence[str]) -> None:
    """Refuse options that hold what looks like a secret.

    Raises:
        OffrecordError: Naming the option, never the value.
    """
    patterns = {name: re.compile(text) for name, text in _known()["secrets"].items()}
    planted = [
        value
        for name, value in os.environ.items()
        if patterns["environment"].search(name) and len(value) >= _SHORTEST_SECRET
    ]
    for group in _groups(options):
        text = " ".join(group)
        value = text.removeprefix(_name(group)).lstrip("= ")
        if (
            patterns["names"].search(text)
            or patterns["values"].search(value)
            or any(
                patterns["urls"].search(part)
                for part in re.split(r"[\s,]|(?<=\w)=", value)
            )
            or any(secret in value for secret in planted)
        ):
            raise OffrecordError(
                f"{_name(group)} holds what looks like a secret, and Inspect would log "
                "it: put keys into the environment (such as OPENAI_API_KEY)"
            )
