"""A decision that agents take in their conversations, outside of any scenario."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from offrecord.content.document import Front, Language
from offrecord.records import ENGLISH


class Decision(Front):
    """What agents decide, in one of two labels.

    Raises:
        ValueError: If the pressed side is no label.
    """

    question: str
    labels: tuple[str, str]
    pressed_side: str | None = None
    """The label toward which the pressure goes."""
    language: Language = ENGLISH
    """In which the labels are stated; words of English count in every language."""

    @model_validator(mode="after")
    def _a_label(self) -> Self:
        if self.pressed_side not in (None, *self.labels):
            raise ValueError(f"pressed_side '{self.pressed_side}' is no label")
        return self
