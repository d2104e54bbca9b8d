"""Content is data: Markdown or YAML files with an id, a version and a hash."""

from offrecord.content.document import (
    Document,
    data_folder,
    every_fault,
    fill,
    placeholders,
    read_document,
    unwrap,
)

__all__ = [
    "Document",
    "data_folder",
    "every_fault",
    "fill",
    "placeholders",
    "read_document",
    "unwrap",
]
