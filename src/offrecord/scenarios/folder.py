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
SCRIPTS = "scripts"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*", re.ASCII)


@dataclass(slots=True)
class Files:
    """The content files of a scenario's folder, sorted, by their path inside it."""

    path: Path
    """The scenario's folder."""
    names: list[str] = field(default_factory=list)
    """Every file that belongs, `agents/alpha.md`, readable or not."""
    documents: dict[str, Document] = field(default_factory=dict)
    """The readable ones."""
    faults: list[str] = field(default_factory=list)
    """All that is wrong, one line each, in the order it was found."""

    def fault(self, path: Path, message: str) -> None:
        """Note one fault of one file."""
        self.faults.append(f"{path}: {message}")

    @contextmanager
    def gathered(self, where: str = "") -> Iterator[None]:
        """Turn an error of the content loader into a noted fault."""
        try:
            yield
        except OffrecordError as error:
            self.faults.append(f"{where}{error}")

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

    def front(self, document: Document, model: type[Model]) -> Model | None:
        """A document's front matter, or None with every fault of it noted."""
        try:
            return model.model_validate(dict(document.front))
        except ValidationError as error:
            for line in every_fault(error):
                self.fault(document.path, line)
        return None

    def sections(self, document: Document, names: tuple[str, ...]) -> Mapping[str, str]:
        """The sections that a document must have, unwrapped; faults are noted."""
        known = ", ".join(names) or "none"
        for name in document.sections:
            if name not in names:
                odd = f"unknown section '## {name}' (known: {known})"
                self.fault(document.path, odd)
        texts: dict[str, str] = {}
        for name in names:
            with self.gathered():
                texts[name] = unwrap(document.section(name))
                if hidden := hidden_character(texts[name]):
                    where = f"section '## {name}' holds the invisible character"
                    self.fault(document.path, f"{where} {hidden}; remove it")
        return texts


def read_files(folder: Path) -> Files:
    """Read every content file; stray, linked and unreadable ones become faults."""
    files = Files(path=folder)
    for path in _entries(folder, files):
        if path.name in {AGENTS, CONDITIONS, SCRIPTS} and path.is_dir():
            for inner in _entries(path, files):
                _read(inner, ".md", files)
        else:
            _read(path, ".md" if path.name == SCENARIO else ".yaml", files)
    return files


def _entries(folder: Path, files: Files) -> Iterator[Path]:
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        files.fault(folder, error.strerror or "cannot be read")
        return
    for path in paths:
        if path.name.startswith("."):
            continue
        if leads_out(path, files.path):
            files.fault(path, "is a link that leaves the scenario's folder; copy it in")
        elif not _NAME.fullmatch(path.stem):
            odd = f"odd file name {path.name!a} (use lower-case letters, digits, _"
            files.fault(folder, f"{odd} and -)")
        else:
            yield path


def _read(path: Path, suffix: str, files: Files) -> None:
    if not path.is_file() or path.suffix != suffix:
        files.fault(path, "does not belong into a scenario's folder; remove it")
        return
    name = path.relative_to(files.path).as_posix()
    files.names.append(name)
    with files.gathered():
        document = files.documents[name] = read_document(path)
        if path.name != SCENARIO and document.id != path.stem:
            files.fault(path, f"field 'id': must be the file's name, '{path.stem}'")
