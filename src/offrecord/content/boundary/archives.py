"""Inspect's logs are archives: looked at before anything in them is unpacked.

A log may come from anyone, and an archive can say that it holds far more than it has
bytes, or files of other names. Only what Inspect writes is let through.
"""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MEMBERS: Final = re.compile(
    r"(?:header|summaries|reductions)\.json"
    r"|samples/[^/\\\x00]+\.json"
    r"|_journal/(?:start\.json|summaries/\d+\.json)"
)
_SMALL: Final = 100_000_000
"""Bytes that a member may unpack to, whatever it is packed in."""
_SWELLING: Final = 200
"""How many times larger than it is packed a larger member may be."""
_LARGEST: Final = 20_000_000_000


def fault_of(path: Path) -> str | None:
    """Why a file is no log to be read, or nothing.

    Args:
        path: A file that is called `.eval`, or `.json`, which is no archive.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        return "not a plain file"
    if found.st_size > _LARGEST:
        return f"larger than {_LARGEST:,} bytes"
    if path.suffix != ".eval":
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "not a whole archive"
    return _fault_of(members, found.st_size)


def passed_over(source: Path | str) -> Iterator[str]:
    """A line for each log that is a link or no file, which no listing names.

    Args:
        source: A folder of logs; of anything else there is nothing to say.
    """
    if isinstance(source, Path) and source.is_dir():
        for path in sorted(source.rglob("*.eval")):
            if path.is_symlink():
                yield f"{path.relative_to(source)}: a link, not followed"
            elif not path.is_file():
                yield f"{path.relative_to(source)}: not a plain file"


def _fault_of(members: list[zipfile.ZipInfo], size: int) -> str | None:
    names = [member.filename for member in members]
    for member in members:
        name = member.filename
        if not _MEMBERS.fullmatch(name) or ".." in name.split("/"):
            return f"holds '{name[:80]}', which no Inspect log does"
        most = max(_SMALL, _SWELLING * member.compress_size)
        if member.file_size > most:
            return f"'{name[:80]}' would unpack to {member.file_size:,} bytes"
    if sum(member.compress_size for member in members) > size:
        return "its files lie over each other"
    if not {"header.json", "_journal/start.json"} & set(names):
        return "an archive, but no Inspect log"
    return None
