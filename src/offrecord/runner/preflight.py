"""Opening every model of a design once, before anything is written or paid for.

A missing key, client or file then costs one line instead of a half-begun study.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import dotenv
from inspect_ai.model import get_model
from rich.errors import MarkupError
from rich.text import Text

from offrecord.protocol.design import Design
from offrecord.records import OffrecordError

_SHAPING: Final = ("-M", "--model-base-url", "--model-config")
"""Options without which a model may not open, and which only Inspect can read."""


def open_models(design: Design, options: Sequence[str]) -> None:
    """Open the models of a design, as Inspect will; none of them is called.

    Args:
        design: Whose models.
        options: All options for `inspect eval-set`. With those that shape a model the
            check is left to Inspect.

    Raises:
        OffrecordError: Naming the first model that cannot be opened, and why.
    """
    if any(option.partition("=")[0] in _SHAPING for option in options):
        return
    dotenv.load_dotenv(dotenv.find_dotenv(usecwd=True))  # as Inspect does
    for name in dict.fromkeys((*design.models, *design.roles.values())):
        try:
            get_model(name)
        except OffrecordError:
            raise
        except Exception as error:  # each provider has its own
            raise OffrecordError(f"model {name}: {_plain(error)}") from None


def _plain(error: Exception) -> str:
    """An error as one line, without the markup that Inspect's messages have."""
    text = str(error) or type(error).__name__
    with suppress(MarkupError):
        text = Text.from_markup(text).plain
    return " ".join(text.split())
