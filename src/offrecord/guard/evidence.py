"""Evidence of conflicts: kept on request alone, for the eyes of its owner."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from offrecord.guard.types import Case, Private
from offrecord.records import OffrecordError

_OWNER: Final = 0o600
_OTHERS: Final = 0o077


class Evidence:
    """One JSON object a line, in a file that its owner alone can read.

    Raises:
        OffrecordError: If the file cannot be written, or others can read it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            os.close(self._opened())
        except OSError as error:
            raise OffrecordError(f"{path}: {error.strerror}") from None

    def keep(self, case: Case, action: str, private: Sequence[Private]) -> bool:
        """Add a conflict; whether it could be written."""
        line = json.dumps(
            {
                "time": datetime.now(UTC).isoformat(),
                "action": action,
                "score": case.score,
                "draft": case.draft,
                "off_record": [one.text for one in private],
            }
        )
        try:
            with os.fdopen(self._opened(), "a", encoding="ascii") as file:
                file.write(f"{line}\n")
        except (OSError, OffrecordError):
            return False
        return True

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        # A link could lead to a file that others read, and a pipe would wait.
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        file = os.open(self._path, flags, _OWNER)
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode) or mode & _OTHERS:
            os.close(file)
            raise OffrecordError(
                f"{self._path}: evidence goes into a plain file that its owner alone "
                "can read (chmod 600)"
            )
        return file
