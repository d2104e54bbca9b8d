"""The files of a scenario's folder: which ones belong, and which must be refused.

A folder may come from anyone. Nothing outside it is read: links that lead out are
refused, names follow one pattern, and every file that nobody would read is named,
because a misspelt file name would otherwise drop a condition without a word.
Names that begin with a dot are the system's and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from offrecord.content import Document, every_fault, read_document, unwrap
from offrecord.content.boundary.files import leads_out
from offrecord.content.boundary.shown import hidden_character
from offrecord.content.document import Model
from offrecord.records import OffrecordError

SCENARIO = "scenario.md"
SURVEY = "survey.yaml"
AGENTS = "agents"
CONDITIONS = "conditions"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*", re.ASCII)


@dataclass(slots=True)
class Faults:
    """All that is wrong with a folder, one line each, in the order it was found."""

    lines: list[str] = field(default_factory=list)

    def add(self, path: Path, message: str) -> None:
        """Note one fault of one file."""
        self.lines.append(f"{path}: {message}")

    @contextmanager
    def gathered(self, where: str = "") -> Iterator[None]:
        """Turn an error of the content loader into a noted fault."""
        try:
            yield
        except OffrecordError as error:
            self.lines.append(f"{where}{error}")


@dataclass(slots=True)
class Files:
    """The content files of a scenario's folder, sorted, by their path inside it."""

    path: Path
    """The scenario's folder."""
    names: list[str] = field(default_factory=list)
    """Every file that belongs, `agents/alpha.md`, readable or not."""
    documents: dict[str, Document] = field(default_factory=dict)
    """The readable ones."""

    def ids(self, folder: str) -> tuple[str, ...]:
        """The ids that the files of a subfolder stand for, readable or not."""
        paths = map(PurePosixPath, self.names)
        return tuple(path.stem for path in paths if path.parent.name == folder)

    def inside(self, folder: str) -> list[Document]:
        """The readable documents of a subfolder; `""` is the folder itself."""
        found = self.documents.items()
        return [
            file for name, file in found if PurePosixPath(name).parent.name == folder
        ]


def read_files(folder: Path, faults: Faults) -> Files:
    """Read every content file; stray, linked and unreadable ones become faults."""
    files = Files(path=folder)
    for path in _entries(folder, folder, faults):
        if path.name in {AGENTS, CONDITIONS} and path.is_dir():
            for inner in _entries(path, folder, faults):
                _read(inner, ".md", files, faults)
        else:
            _read(path, ".md" if path.name == SCENARIO else ".yaml", files, faults)
    return files


def front(document: Document, model: type[Model], faults: Faults) -> Model | None:
    """A document's front matter, or None with every fault of it noted."""
    try:
        return model.model_validate(dict(document.front))
    except ValidationError as error:
        for line in every_fault(error):
            faults.add(document.path, line)
    return None


def sections(
    document: Document, names: tuple[str, ...], faults: Faults
) -> Mapping[str, str]:
    """The sections that a document must have, unwrapped; faults are noted."""
    known = ", ".join(names) or "none"
    for name in document.sections:
        if name not in names:
            faults.add(document.path, f"unknown section '## {name}' (known: {known})")
    texts: dict[str, str] = {}
    for name in names:
        with faults.gathered():
            texts[name] = unwrap(document.section(name))
            hidden = hidden_character(texts[name])
            if hidden:
                faults.add(
                    document.path,
                    f"section '## {name}' holds the invisible character {hidden};"
                    " remove it",
                )
    return texts


def _entries(folder: Path, root: Path, faults: Faults) -> list[Path]:
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        faults.add(folder, error.strerror or "cannot be read")
        return []
    kept = []
    for path in paths:
        if path.name.startswith("."):
            continue
        if leads_out(path, root):
            faults.add(path, "is a link that leaves the scenario's folder; copy it in")
        elif not _NAME.fullmatch(path.stem):
            faults.lines.append(
                f"{folder}: odd file name {path.name!a} (use lower-case letters,"
                " digits, _ and -)"
            )
        else:
            kept.append(path)
    return kept


def _read(path: Path, suffix: str, files: Files, faults: Faults) -> None:
    if not path.is_file() or path.suffix != suffix:
        faults.add(path, "does not belong into a scenario's folder; remove it")
        return
    name = path.relative_to(files.path).as_posix()
    files.names.append(name)
    with faults.gathered():
        document = read_document(path)
        files.documents[name] = document
        if path.name != SCENARIO and document.id != path.stem:
            faults.add(path, f"field 'id': must be the file's name, '{path.stem}'")
