"""The logs that a study goes on from: where they lie, all there, all readable."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import click
from inspect_ai.log import read_eval_log

from offrecord.content.boundary.files import refuse_leaving
from offrecord.records import OffrecordError
from offrecord.runner.addresses import find_addresses, local_root
from offrecord.transcript.folder import DESIGN_FILE, LOGS_FOLDER
from offrecord.transcript.store import (
    STUDY_FILE,
    TRANSCRIPT_FILE,
    read_json,
    read_transcript,
)

ROOT_KEY: Final = "log_root"
"""Where in study.json it says that logs lie elsewhere than in the study's folder."""

_ASIDE: Final = ".unreadable"


def log_root(out: Path, given: str | None) -> str:
    """Where the logs of a study lie: as given, as the study says, or in its folder.

    Raises:
        OffrecordError: If the study has its logs elsewhere.
    """
    known = None
    if (out / STUDY_FILE).is_file():
        known = read_json(out / STUDY_FILE).get(ROOT_KEY)
    root = local_root(given or known or str(out / LOGS_FOLDER))
    if known and root != known:
        raise OffrecordError(f"--log-root {given}: this study has its logs in {known}")
    return root


def shard_designs(root: str) -> list[str]:
    """The addresses of the designs that stand in the folders of shards.

    Args:
        root: The folder or address under which they lie.
    """
    return find_addresses(root, f"*-of-*/{DESIGN_FILE}")


def is_sharded(out: Path, root: str) -> bool:
    """Whether the logs of a study lie in folders of shards, or outside its folder."""
    return root != local_root(str(out / LOGS_FOLDER)) or bool(shard_designs(root))


def refuse_lost_logs(out: Path) -> None:
    """Refuse a study whose logs are gone: its runs would be asked and paid for again.

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
                f"{path}: {why}, so its runs would be paid for again and their record "
                "lost: restore it, or make a new study"
            )


def forget_begun(out: Path) -> None:
    """Leave nothing of a study whose first call asked nothing, so it can begin anew.

    Args:
        out: The study's folder. Logs that were set aside in it keep it as it is.
    """
    logs = out / LOGS_FOLDER
    if not [*logs.rglob("*.eval"), *logs.rglob(f"*.eval{_ASIDE}")]:
        shutil.rmtree(logs, ignore_errors=True)  # Inspect's notes on its eval set
        for name in (DESIGN_FILE, STUDY_FILE):
            (out / name).unlink(missing_ok=True)


def set_aside_torn(logs: Path) -> None:
    """Set aside the logs that cannot be read, with which no eval set goes on.

    A full disk or a loss of power leaves such. Their runs restart.

    Args:
        logs: The folder of one eval set's logs; need not be there yet.
    """
    for path in sorted(logs.glob("*.eval")):
        if not _readable(path):
            path.rename(path.with_name(path.name + _ASIDE))
            click.echo(
                f"offrecord: {path}: cannot be read, as after a full disk: set aside "
                f"as {path.name}{_ASIDE}, its runs restart",
                err=True,
            )


def _readable(path: Path) -> bool:
    try:
        read_eval_log(str(path), header_only=True)
    except Exception:  # a torn file can fail in any way
        return False
    return True
