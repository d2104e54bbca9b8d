"""Formulas of the documentation: TeX in the source, MathML on the page, no script.

MkDocs calls `on_page_markdown` (see mkdocs.yml). The notation is GitHub's, which shows
the same source: a block of the language `math`, and `` $`...`$ `` within a line.
"""

from __future__ import annotations

import re
from typing import Final

from latex2mathml.converter import convert

_BLOCK: Final = re.compile(r"^```math\n(.+?)\n```$", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"\$`([^`]+)`\$")


def on_page_markdown(markdown: str, **_: object) -> str:
    """A page with its formulas typeset."""
    blocks = _BLOCK.sub(_block, markdown)
    # In a span, since Markdown takes a line that begins with <math> for a block.
    return _INLINE.sub(lambda found: f"<span>{convert(found[1])}</span>", blocks)


def _block(found: re.Match[str]) -> str:
    return f'<div class="formula">{convert(found[1], display="block")}</div>'
