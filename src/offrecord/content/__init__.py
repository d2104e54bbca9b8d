"""Content is data: Markdown or YAML files with an id, a version and a hash."""

from offrecord.content.document import (
    Document,
    data_folder,
    every_fault,
    read_document,
    unwrap,
)
from offrecord.content.template import fill, placeholders

__all__ = [
    "Document",
    "data_folder",
    "every_fault",
    "fill",
    "placeholders",
    "read_document",
    "unwrap",
]
