"""Opening a model through Inspect, with one line where it cannot be opened."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import dotenv
from inspect_ai.model import Model, get_model
from rich.errors import MarkupError
from rich.text import Text

from offrecord.content.boundary.secrets import redacted
from offrecord.protocol.shield import shielded
from offrecord.records import SCRIPTED, OffrecordError


class UnopenedError(OffrecordError):
    """A model that was named cannot be opened, for want of its client or key, say."""


def open_model(
    name: str,
    what: str = "model",
    **arguments: Any,  # noqa: ANN401
) -> Model:
    """Open a model; it is not called.

    Args:
        name: The model, as Inspect names it.
        what: What it is to be, as the error calls it.
        arguments: What else Inspect gives to its provider.

    Raises:
        UnopenedError: If it cannot be opened, and why.
        OffrecordError: The same of a provider of ours.
    """
    dotenv.load_dotenv(dotenv.find_dotenv(usecwd=True))  # as Inspect does
    try:
        return shielded(get_model(name, **arguments))
    except OffrecordError:
        raise
    except Exception as error:  # each provider has its own
        raise UnopenedError(f"{what} {name}: {plain_error(error)}") from None


def served_as(name: str) -> str:
    """The model that Inspect opens for a role: written lines have a provider too."""
    return f"{SCRIPTED}/lines" if name == SCRIPTED else name


def plain_error(error: Exception | str) -> str:
    """An error as one line, without the markup that Inspect's messages have."""
    text = str(error) or type(error).__name__
    with suppress(MarkupError):
        text = Text.from_markup(text).plain
    return redacted(" ".join(text.split()))
