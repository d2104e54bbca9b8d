"""Generating scenarios: a model drafts them through Inspect, folders are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from inspect_ai.log import list_eval_logs, read_eval_log

from offrecord.content.writing import made_whole, write_files
from offrecord.protocol.generate import DROPPED, FOLDERS, read_brief
from offrecord.records import OffrecordError, digest
from offrecord.runner.evalset import nothing_ran, task_set
from offrecord.runner.options import split_options
from offrecord.runner.preflight import open_models
from offrecord.runner.todo import ToDo
from offrecord.scenarios.drafts import check_files
from offrecord.transcript.folder import LOGS_FOLDER
from offrecord.transcript.store import make_folder

TASK: Final = "offrecord/generate"


class Generated(NamedTuple):
    """What came of a brief."""

    written: tuple[str, ...]
    """A line for each folder."""
    dropped: tuple[str, ...]
    """A line for each decision of which nothing came."""


def generate_scenarios(
    brief: Path, model: str, count: int, out: Path, options: Sequence[str]
) -> Generated:
    """Have a model draft scenarios from a brief.

    Args:
        brief: The file of the brief.
        model: Who drafts.
        count: How many are wanted.
        out: The folder in which scenarios and logs are written; what is there stays.
        options: For `inspect eval-set`.

    Raises:
        OffrecordError: If the brief cannot be read, the model cannot be opened, or no
            draft passes its check.
    """
    text = read_brief(brief)
    asked, others = split_options(options)
    open_models((model,), (model,), options)
    stamp = digest([text, count, model])
    logs = out / LOGS_FOLDER / stamp
    make_folder(logs)
    found = _drafted(logs)
    if found is None:
        code = task_set(
            TASK,
            (f"brief={brief.resolve()}", f"count={count}", f"stamp={stamp}"),
            (model,),
            (*asked, *others),
            logs=str(logs),
            todo=ToDo(1, 0, 0),
            watched=logs,
        )
        found = _drafted(logs)
        if found is None:
            raise nothing_ran(code)
    folders, dropped = found
    written = [_written(out, id_, files) for id_, files in folders.items()]
    if not written:
        why = dropped[0] if dropped else "it drafted nothing"
        raise OffrecordError(f"{model}: no scenario passes its check: {why}")
    return Generated(tuple(written), tuple(dropped))


def _drafted(logs: Path) -> tuple[dict[str, dict[str, str]], list[str]] | None:
    """What a finished sample keeps; None where there is none."""
    for info in list_eval_logs(str(logs)):
        for sample in read_eval_log(info).samples or ():
            store: dict[str, Any] = sample.store
            if FOLDERS in store and sample.error is None:
                return store[FOLDERS], store[DROPPED]
    return None


def _written(out: Path, id_: str, files: dict[str, str]) -> str:
    """Write one folder, whole or not at all; a line about it."""
    place = out / id_
    finding, _ = check_files(files, id_)
    if place.exists():
        return f"{place}: is there already, left as it is"
    with made_whole(place) as whole:
        write_files(files, whole)
    warned = f", {len(finding.warnings)} warnings" if finding.warnings else ""
    return f"{place}: {finding.summary}{warned}"
