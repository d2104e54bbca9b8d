"""Reading files that may come from anyone: plain files only, of a bounded size.

A pipe or a device would hang its reader or never end, and a file of any size would fill
the memory. One function refuses both for every reader of the package.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from offrecord.records import OffrecordError


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a plain file.

    Args:
        path: The file; a link to one is followed.
        most: The largest size that is read, in bytes.

    Raises:
        FileNotFoundError: If there is none, so that callers can say what to do.
        OffrecordError: If it cannot be read, is no plain file, or is larger.
    """
    try:
        # Opening a pipe without its writer would wait for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise OffrecordError(f"{path}: not a plain file")
            if found.st_size > most:
                raise OffrecordError(f"{path}: larger than {most:,} bytes")
            # Not `read(most)`, which sets that much memory aside first.
            return file.read(found.st_size)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OffrecordError(f"{path}: {error.strerror}") from None
    except ValueError:  # a NUL in the name, which no file can have
        raise OffrecordError(f"{str(path)!a}: no name of a file") from None


_BINARY = getattr(os, "O_BINARY", 0)
