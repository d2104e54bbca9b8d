"""Inspect's options: which are the study's own, which change what is asked.

Secrets are refused before the first call, since Inspect writes base URLs, headers and
model arguments into its logs. Keys belong into the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import dotenv

from offrecord.content import data_folder, read_document
from offrecord.content.boundary.files import read_file
from offrecord.content.boundary.secrets import is_secret_name, is_secret_value
from offrecord.records import OffrecordError

_INSPECT: Final = "INSPECT_EVAL_"
_BASE: Final = re.compile(r"(?:BASE_?URL|API_?BASE|ENDPOINT)$")
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_LARGEST: Final = 1_000_000  # bytes of a file of options


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


def _value(group: tuple[str, ...]) -> str:
    return " ".join(group).removeprefix(_name(group)).lstrip("= ")


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


def values_of(name: str, options: Sequence[str]) -> list[str]:
    """What an option is given, each time that it is.

    Args:
        name: The option, such as `--max-connections`.
        options: Words for `inspect eval-set`.
    """
    return [_value(group) for group in _groups(options) if _name(group) == name]


def refuse_secrets(options: Sequence[str]) -> None:
    """Refuse options that hold what looks like a secret, also in files they name.

    Inspect's own variables of the environment (`INSPECT_EVAL_...`) are options too, and
    it logs the base URLs that it finds there.

    Raises:
        OffrecordError: Naming the option, never the value.
    """
    dotenv.load_dotenv(dotenv.find_dotenv(usecwd=True))  # as Inspect does
    for group in _groups(options):
        name = _name(group)
        value = _value(group)
        if name in _known()["files"]:
            if _is_secret("", _content(name, value)):
                raise _refused(f"the file of {name}")
        elif _is_secret(name, value):
            raise _refused(name)
    for name, value in sorted(os.environ.items()):
        if name.startswith(_INSPECT) and _is_secret("", value):
            raise _refused(f"the environment's {name}")
        if _BASE.search(name) and is_secret_value(value):
            raise _refused(f"the environment's {name}")


def refuse_secret(what: str, value: str) -> None:
    """Refuse a name or an address that holds what looks like a secret.

    Args:
        what: What it is, for the message.
        value: The name or the address.

    Raises:
        OffrecordError: Naming what it is, never the value.
    """
    if is_secret_value(value):
        raise _refused(what)


def _is_secret(name: str, value: str) -> bool:
    plain = unquote(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), value))
    return any(
        is_secret_name(one) or is_secret_value(one)
        for one in (f"{name.lstrip('-')}={value}", plain)
    )


def _content(name: str, path: str) -> str:
    """The text of a file that an option names, for the look at it alone."""
    try:
        return read_file(Path(path), _LARGEST).decode(errors="replace")
    except OSError:
        raise OffrecordError(f"{name} {path}: no such file") from None


def _refused(what: str) -> OffrecordError:
    return OffrecordError(
        f"{what} holds what looks like a secret, and Inspect would log it: put keys "
        "into the environment (such as OPENAI_API_KEY)"
    )
