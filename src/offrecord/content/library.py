"""The one finder of content: what ships, what packages give, what lies in a folder.

A bare id is looked up among what ships with offrecord, then among what installed
packages give under the entry point group `offrecord.content`; anything else is a path.
The value of an entry point names a package or module whose folder has subfolders as in
`SHELVES`. Nothing of it is run, and it is looked at when content is listed or an id is
named that does not ship. An id that is taken is not given away again.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Final, NamedTuple

from offrecord.content.document import data_folder, read_document
from offrecord.content.writing import made_whole
from offrecord.records import OffrecordError, first_line

GROUP: Final = "offrecord.content"
BUILT_IN: Final = "built in"

_ID: Final = re.compile(r"[\w-]+")


class Shelf(NamedTuple):
    """Where content of one kind stands, and what it is made of."""

    folder: str
    """The subfolder of its kind, in a package or any folder."""
    file: str
    """The file with its front matter; `*` where that file is all there is."""

    @property
    def whole(self) -> bool:
        """Whether a folder is the unit, and not a file."""
        return not self.file.startswith("*")

    @property
    def own(self) -> str:
        """How content of one's own is named."""
        if self.file == "scenario.md":
            return "the path of a folder, as ./NAME"
        return f"the path of a {Path(self.file).suffix} file"


SHELVES: Final = {
    "scenario": Shelf("scenarios", "scenario.md"),
    "channel": Shelf("channels", "*.md"),
    "protocol": Shelf("protocols", "protocol.md"),
    "arm": Shelf("arms", "*.md"),
    "instrument": Shelf("instruments", "*.yaml"),
}


class Listed(NamedTuple):
    """One piece of content that can be named by its id."""

    kind: str
    id: str
    source: str
    """`built in`, the name of a package, or a folder."""
    path: Path
    """Its folder where a folder is the unit, its file otherwise."""


def entries(folder: Path | None = None) -> tuple[list[Listed], list[str]]:
    """All content there is, sorted by kind, what ships first.

    Args:
        folder: A further folder with subfolders as in `SHELVES`.

    Returns:
        The content, and one line for each package or file that is passed over.

    Raises:
        OffrecordError: If the folder has no such subfolder.
    """
    ships, (given, faults) = _built_in()[0], _given()
    own = [] if folder is None else _inside(str(folder), folder)
    kinds = list(SHELVES)
    every = sorted([*ships, *given, *own], key=lambda entry: kinds.index(entry.kind))
    return every, faults


def built_in(kind: str) -> tuple[str, ...]:
    """The ids of a kind that ship with the package, sorted."""
    return tuple(entry.id for entry in _built_in()[0] if entry.kind == kind)


def is_id(name: str | Path) -> bool:
    """Whether a name is an id, and no path."""
    return isinstance(name, str) and bool(_ID.fullmatch(name))


def find(kind: str, name: str | Path) -> Path:
    """Where content stands.

    Args:
        kind: A key of `SHELVES`.
        name: An id, or a path: a folder in the working directory is `./name`, so that
            it never hides what ships.

    Returns:
        Its folder where a folder is the unit, its file otherwise; what a path names
        need not be there.

    Raises:
        OffrecordError: If nothing has that id, listing what there is.
    """
    if not is_id(name):
        return Path(name)
    for look in (_built_in, _given):  # at packages only where it does not ship
        for entry in look()[0]:
            if (entry.kind, entry.id) == (kind, name):
                return entry.path
    every, faults = entries()
    known = ", ".join(entry.id for entry in every if entry.kind == kind)
    lines = [f"no {kind} '{name}': use {known or 'none'}, or {SHELVES[kind].own}"]
    raise OffrecordError("; ".join([*lines, *faults]))


def name_from(kind: str, name: str, where: Path) -> str:
    """What content is called from anywhere: an id as it is, a path in full.

    Args:
        kind: A key of `SHELVES`.
        name: An id, with or without its kind before it, or a path. A folder's bare name
            is a path where nothing else has that id.
        where: The folder from which relative paths go.
    """
    of, _, own = name.partition("/")
    if of == kind and is_id(own):
        return own
    path = "/" in name or os.sep in name or name.endswith(".md")
    shelf = SHELVES[kind]
    if shelf.whole and is_id(name) and (where / name / shelf.file).is_file():
        path = name not in {e.id for e in entries()[0] if e.kind == kind}
    return str((where / name).resolve()) if path else name


def new(kind: str, target: Path) -> Path:
    """Write a commented piece of content that passes its check, whole or not at all.

    Its id is made from the target's name.

    Args:
        kind: A key of `SHELVES`.
        target: A folder or file that does not exist yet; a folder may be empty.

    Returns:
        The target.

    Raises:
        OffrecordError: If it is in use, or cannot be written.
    """
    shelf = SHELVES[kind]
    suffix = "" if shelf.whole else Path(shelf.file).suffix
    if not target.name or (suffix and target.suffix != suffix):
        raise OffrecordError(
            f"{str(target)!r}: name the new {kind}, a {suffix or 'folder'}"
            + (" file" if suffix else "")
        )
    source = data_folder("skeletons") / f"{kind}{suffix}"
    if kind == "protocol":
        source = find(kind, "twin")
    stem = target.stem if suffix else target.absolute().name
    slug = re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-_") or f"my-{kind}"
    return _write(source, target, slug, shelf)


def copy(kind: str, name: str, folder: Path) -> Path:
    """Copy content into a folder, under its own name and whole or not at all.

    Raises:
        OffrecordError: If there is none of that id, or its place is in use.
    """
    source = find(kind, name)
    return _write(source, folder / source.name, None, SHELVES[kind])


def _write(source: Path, target: Path, slug: str | None, shelf: Shelf) -> Path:
    place = target.absolute()
    is_folder = shelf.whole and place.is_dir() and not place.is_symlink()
    try:
        if is_folder and any(place.iterdir()):
            raise OffrecordError(f"{target}: is not empty; choose another folder")
        if not is_folder and (place.is_symlink() or place.exists()):
            raise OffrecordError(f"{target}: is in the way; choose another name")
        with made_whole(target) as whole:
            hidden = shutil.ignore_patterns(".*", "__pycache__")
            if shelf.whole:
                shutil.copytree(source, whole, ignore=hidden)
            else:
                shutil.copyfile(source, whole)
            main = whole / shelf.file if shelf.whole else whole
            if slug:
                text = main.read_text(encoding="utf-8")
                text = re.sub(r"(?m)^id: .*$", f"id: {slug}", text, count=1)
                main.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OffrecordError(f"{target}: cannot be written: {error.strerror}") from None
    return target


@cache
def _built_in() -> tuple[list[Listed], list[str]]:
    return _inside(BUILT_IN, data_folder("")), []


@cache
def _given() -> tuple[list[Listed], list[str]]:
    """What other packages give, and one line for each fault."""
    found: dict[tuple[str, str], Listed] = {}
    faults: list[str] = []
    taken = {(entry.kind, entry.id): entry for entry in _built_in()[0]}
    for point in sorted(metadata.entry_points(group=GROUP)):
        name = point.name
        try:
            name = point.dist.name if point.dist else name
            for entry in _inside(name, _folder(point)):
                key = (entry.kind, entry.id)
                other = taken.get(key) or found.get(key)
                fault = f"the id is taken ({other.source})" if other else _fault(entry)
                if fault:
                    faults.append(f"package {name}: {entry.kind} '{entry.id}': {fault}")
                else:
                    found[key] = entry
        except (Exception, SystemExit) as error:  # of a package that is not ours
            faults.append(f"package {name}: gives no content: {first_line(error)}")
    return list(found.values()), faults


def _folder(point: metadata.EntryPoint) -> Path:
    first, *inner = point.value.strip().split(".")
    spec = util.find_spec(first)  # of "a.b" it would import a
    if spec is None:
        raise OffrecordError(f"'{point.value}' is no package or module")
    folders = spec.submodule_search_locations or [str(Path(spec.origin or "").parent)]
    place = Path(next(iter(folders)), *inner)
    return place.parent if place.with_suffix(".py").is_file() else place


def _inside(source: str, folder: Path) -> list[Listed]:
    if not any((folder / shelf.folder).is_dir() for shelf in SHELVES.values()):
        names = ", ".join(shelf.folder for shelf in SHELVES.values())
        raise OffrecordError(f"{folder}: holds none of the folders {names}")
    found = []
    for kind, shelf in SHELVES.items():
        inner = f"*/{shelf.file}" if shelf.whole else shelf.file
        for path in sorted((folder / shelf.folder).glob(inner)):
            unit = path.parent if shelf.whole else path
            name = unit.name if shelf.whole else unit.stem
            if not name.startswith("."):
                found.append(Listed(kind, name, source, unit))
    return found


def _fault(entry: Listed) -> str:
    """Why content of a package cannot be named by its id, empty where it can."""
    shelf = SHELVES[entry.kind]
    try:
        document = read_document(entry.path / shelf.file if shelf.whole else entry.path)
    except OffrecordError as error:
        return str(error)
    return "" if document.id == entry.id else f"its file gives the id '{document.id}'"
