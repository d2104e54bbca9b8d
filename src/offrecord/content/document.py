"""The one loader for content: scenarios, channels, protocols, instruments.

A document is a UTF-8 file. Markdown has YAML front matter between two `---` lines and
then sections, each under a `## name` heading; plain YAML is all front matter. The file
stem is the id unless the front matter names one. Nothing in a document is executed.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offrecord.content.boundary.files import read_text
from offrecord.content.boundary.yaml import parse_yaml
from offrecord.records import OffrecordError

Model = TypeVar("Model", bound=BaseModel)


class Front(BaseModel):
    """What every front matter has in common: no unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
"""The language of a text: `de`, `zh-Hant`."""

_HEADING = re.compile(r"^##[ \t]+(?P<name>\S.*?)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# The one field that only sorts content: no prompt reads it, so no stamp changes by it.
_SORTING = re.compile(r"\A(---[ \t]*\n(?:(?!---).*\n)*?)domain:.*\n")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_ITEM = re.compile(r"[ \t]*(?:[-*]|\d+[.)])[ \t]+\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One content file, read and split, not yet validated."""

    path: Path
    id: str
    version: int
    hash: str
    """SHA-256 of the file's text (line ends normalised, `domain` left out), 16
    hexadecimal characters."""
    front: Mapping[str, Any]
    """The front matter without id and version."""
    sections: Mapping[str, str]
    """Section name to text, comments and outer blank lines removed."""

    @property
    def stamp(self) -> str:
        """`id@version:hash`, as it goes into logs."""
        return f"{self.id}@{self.version}:{self.hash}"

    def section(self, name: str) -> str:
        """The text of a section.

        Raises:
            OffrecordError: If the document has no such section, or an empty one.
        """
        text = self.sections.get(name, "")
        if not text:
            raise OffrecordError(
                f"{self.path}: section '## {name}' is missing or empty"
            )
        return text

    def only_sections(self, *allowed: str) -> None:
        """Refuse sections that nobody would read.

        Raises:
            OffrecordError: If a section is not among those allowed.
        """
        for name in self.sections:
            if name not in allowed:
                known = ", ".join(allowed) or "none"
                raise OffrecordError(
                    f"{self.path}: unknown section '## {name}' (known: {known})"
                )

    def validate(self, model: type[Model]) -> Model:
        """The front matter as a strict model.

        Raises:
            OffrecordError: Naming the file and the first field that is wrong.
        """
        try:
            return model.model_validate(dict(self.front))
        except ValidationError as error:
            raise OffrecordError(f"{self.path}: {first_fault(error)}") from None


def every_fault(error: ValidationError) -> list[str]:
    """Every fault of a validation, each as one line: where and what."""
    lines = []
    for fault in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in fault["loc"]) or "file"
        message = fault["msg"].removeprefix("Value error, ")
        lines.append(f"field '{where}': {message}".replace("\n", " "))
    return lines


def first_fault(error: ValidationError) -> str:
    """The first fault of a validation as one line: where and what."""
    return every_fault(error)[0]


def unwrap(text: str) -> str:
    """Undo the wrapping of prose: a file's line ends mean nothing inside a paragraph.

    Blank lines still part paragraphs, and what begins a list item (`- `, `* `, `1. `)
    stays a line of its own. In scripts without blanks between words, lines are joined
    without one.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        goes_on = bool(lines and lines[-1] and line.strip()) and not _ITEM.match(line)
        if goes_on:
            edge = lines[-1][-1] + line.strip()[0]
            gap = "" if all(map(_is_wide, edge)) else " "
            lines[-1] = lines[-1].rstrip() + gap + line.strip()
        else:
            lines.append(line.rstrip())
    return "\n".join(lines)


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in {"W", "F"}


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


def data_folder(name: str) -> Path:
    """The folder of content that ships with the package, e.g. `channels`."""
    return Path(str(resources.files("offrecord.content") / "data" / name))


def read_document(path: Path) -> Document:
    """Read one content file.

    Args:
        path: A `.md`, `.yaml` or `.yml` file.

    Raises:
        OffrecordError: If it cannot be read, naming file and reason.
    """
    text = read_text(path)
    if path.suffix == ".md":
        front, body = _split_front_matter(path, text)
    elif path.suffix in {".yaml", ".yml"}:
        front, body = parse_yaml(path, text), ""
    else:
        raise OffrecordError(f"{path}: content files end in .md or .yaml")
    identity = front.pop("id", path.stem)
    version = front.pop("version", 1)
    if not isinstance(identity, str) or not re.fullmatch(r"[a-z0-9][\w-]*", identity):
        raise OffrecordError(
            f"{path}: field 'id': use lower-case letters, digits, _ and -"
        )
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise OffrecordError(f"{path}: field 'version': use a whole number from 1")
    return Document(
        path=path,
        id=identity,
        version=version,
        hash=hashlib.sha256(_SORTING.sub(r"\1", text).encode()).hexdigest()[:16],
        front=front,
        sections=_sections(path, body),
    )


def _split_front_matter(path: Path, text: str) -> tuple[dict[str, Any], str]:
    match = re.match(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", text, re.DOTALL | re.M)
    if match is None:
        raise OffrecordError(f"{path}: no front matter (YAML between two '---' lines)")
    return parse_yaml(path, match.group(1)), text[match.end() :]


def _sections(path: Path, body: str) -> dict[str, str]:
    body = _COMMENT.sub("", body)
    if "<!--" in body:
        raise OffrecordError(f"{path}: a comment '<!--' has no end '-->'")
    headings = list(_HEADING.finditer(body))
    lead = body[: headings[0].start()] if headings else body
    if lead.strip():
        raise OffrecordError(f"{path}: text before the first '## section' heading")
    sections: dict[str, str] = {}
    for index, heading in enumerate(headings):
        following = headings[index + 1 :]
        end = following[0].start() if following else len(body)
        name = heading.group("name")
        if name in sections:
            raise OffrecordError(f"{path}: section '## {name}' stands twice")
        sections[name] = body[heading.end() : end].strip()
    return sections
