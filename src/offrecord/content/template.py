"""Filling a template's `{placeholders}`: plain substitution, nothing evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping

from offrecord.records import OffrecordError

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def placeholders(template: str) -> frozenset[str]:
    """The names that a template asks for."""
    return frozenset(_PLACEHOLDER.findall(template))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into a template, once: braces inside a value stay as they are.

    A paragraph that is nothing but one placeholder disappears where its value is
    empty, so that what is absent leaves no gap.

    Raises:
        OffrecordError: If the template asks for a name that is not given.
    """
    unknown = sorted(placeholders(template) - values.keys())
    if unknown:
        raise OffrecordError(f"template asks for unknown {{{unknown[0]}}}")
    paragraphs = []
    for paragraph in template.split("\n\n"):
        whole = _PLACEHOLDER.fullmatch(paragraph.strip())
        if whole is None or values[whole.group(1)]:
            paragraphs.append(_PLACEHOLDER.sub(lambda m: values[m.group(1)], paragraph))
    return "\n\n".join(paragraphs)
