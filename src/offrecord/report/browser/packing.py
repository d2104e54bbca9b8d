"""Packing: JSON values as compressed text that is safe inside a script element.

Base64 holds no `<`, so no reply can end the element or open a comment in it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

CHUNK: Final = 256_000
"""Characters of JSON after which a chunk is closed: some 30 runs of the usual size."""


def packed(text: str) -> str:
    """A JSON string with a text's zlib stream, in base64.

    Args:
        text: Anything, JSON for one.
    """
    return f'"{base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")}"'


def in_chunks(records: Iterable[object], size: int = CHUNK) -> Iterator[list[str]]:
    """The JSON of records, in lists of about equal length.

    Args:
        records: Anything that JSON can hold.
        size: Characters after which a list is closed; it has at least one record.
    """
    chunk: list[str] = []
    length = 0
    for record in records:
        chunk.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))
        length += len(chunk[-1])
        if length >= size:
            yield chunk
            chunk, length = [], 0
    if chunk:
        yield chunk
