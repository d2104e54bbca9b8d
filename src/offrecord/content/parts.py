"""The words of a message whose content may come in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 20


def text_of(value: Any, depth: int = 0) -> str:  # noqa: ANN401 - any JSON
    """The words of a content: a text, or the parts of it that are text.

    Args:
        value: A text, a part (`text` or `content`), or a list of parts.
        depth: How deep it lies.
    """
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return ""
    if isinstance(value, list):
        texts = (text_of(one, depth + 1) for one in value)
        return "\n".join(text for text in texts if text)
    if isinstance(value, Mapping):
        if str(value.get("type", "text")) not in {"text", "output_text", "input_text"}:
            return ""
        return text_of(value.get("text") or value.get("content"), depth + 1)
    return ""
