"""The logs that a study goes on from: all of them there, all of them readable."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import click
from inspect_ai.log import read_eval_log

from offrecord.content.boundary.files import refuse_leaving
from offrecord.records import OffrecordError
from offrecord.transcript.folder import DESIGN_FILE, LOGS_FOLDER
from offrecord.transcript.store import STUDY_FILE, TRANSCRIPT_FILE, read_transcript

_ASIDE: Final = ".unreadable"


def refuse_lost_logs(out: Path) -> None:
    """Refuse a study whose logs are gone: its runs would be held and paid for again.

    Args:
        out: The study's folder.

    Raises:
        OffrecordError: Naming the first log that is missing or cannot be read.
    """
    refuse_leaving(out / LOGS_FOLDER)
    if not (out / TRANSCRIPT_FILE).is_file():
        return
    for log in read_transcript(out)["log"].unique().drop_nulls().sort():
        path = out / LOGS_FOLDER / log
        why = "is gone" if not path.exists() else "cannot be read"
        if why == "is gone" or not _readable(path):
            raise OffrecordError(
                f"{path}: {why}, and its runs would be held again and their record "
                "lost: restore it, or make a new study"
            )


def forget_begun(out: Path) -> None:
    """Leave nothing of a study whose first call asked nothing, so it can begin anew.

    Args:
        out: The study's folder. Logs that were set aside in it keep it as it is.
    """
    logs = out / LOGS_FOLDER
    held = [*logs.rglob("*.eval"), *logs.rglob(f"*.eval{_ASIDE}")]
    if not held:
        shutil.rmtree(logs, ignore_errors=True)  # Inspect's notes on its eval set
        for name in (DESIGN_FILE, STUDY_FILE):
            (out / name).unlink(missing_ok=True)


def set_aside_torn(logs: Path) -> None:
    """Set aside the logs that cannot be read, with which no eval set goes on.

    A full disk or a loss of power leaves such. What they held is held again.

    Args:
        logs: The folder of one eval set's logs; need not be there yet.
    """
    for path in sorted(logs.glob("*.eval")):
        if not _readable(path):
            path.rename(path.with_name(path.name + _ASIDE))
            click.echo(
                f"offrecord: {path}: cannot be read, as after a full disk: set aside "
                f"as {path.name}{_ASIDE}, its runs are held again",
                err=True,
            )


def _readable(path: Path) -> bool:
    try:
        read_eval_log(str(path), header_only=True)
    except Exception:  # a torn file can fail in any way
        return False
    return True
