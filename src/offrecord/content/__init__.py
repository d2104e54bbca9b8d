"""Content is data: Markdown or YAML files with an id, a version and a hash."""

from offrecord.content.document import Document, data_folder, read_document
from offrecord.content.template import fill, placeholders

__all__ = ["Document", "data_folder", "fill", "placeholders", "read_document"]
