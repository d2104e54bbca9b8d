"""The Inspect logs of a folder or an address, and the headers of those of our tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from offrecord.content.boundary.archives import fault_of, passed_over
from offrecord.records import OffrecordError, first_line

TASK: Final = "offrecord/debate"
"""The task whose cells are named by hand."""

STUDY_TASK: Final = "offrecord/study"
"""The task that has its cells from a study's design."""

TASKS: Final = (TASK, STUDY_TASK)


class LogFile(NamedTuple):
    """A log of one of our tasks."""

    name: str
    """Relative to where logs are looked for."""
    path: Path | str
    head: EvalLog
    """Its header alone."""


def find_logs(source: Path | str, left_out: list[str]) -> list[LogFile]:
    """The logs of our tasks under a source, by name.

    Args:
        source: A log, or a folder of logs, read recursively; a text is the address of
            such a folder in a store of objects.
        left_out: Is given one line for each log that is none of ours or unreadable.

    Raises:
        OffrecordError: If there is no such file, or the folder cannot be listed.
    """
    root = source
    if isinstance(source, Path) and not source.is_dir():
        root = source.parent
    left_out += passed_over(source)
    found = list[LogFile]()
    for path in _log_files(source):
        name = _relative(root, path)
        fault = fault_of(path) if name and isinstance(path, Path) else None
        if name is None:
            name, fault = Path(path).name, "a link that leaves the folder"
        if not fault:
            try:
                head = read_eval_log(str(path), header_only=True)
            except Exception as error:  # a foreign file can fail in any way
                fault = f"cannot be read ({line_of(error)})"
            else:
                if head.eval.task in TASKS:
                    found.append(LogFile(name, path, head))
                    continue
                fault = f"a log of task '{head.eval.task}'"
        left_out.append(f"{name}: {fault}")
    return found


def _log_files(source: Path | str) -> list[Path | str]:
    if isinstance(source, str):
        return sorted(str(info.name) for info in _listed(source))
    if not source.exists():
        raise OffrecordError(f"{source}: no such file or folder")
    if source.is_file():
        return [source]
    names = [Path(info.name.removeprefix("file://")) for info in _listed(source)]
    return sorted(names)


def _listed(source: Path | str) -> list[Any]:
    folder = str(source.resolve()) if isinstance(source, Path) else source
    try:
        return list(list_eval_logs(folder, recursive=True))
    except Exception as error:
        raise OffrecordError(f"{source}: cannot be listed ({line_of(error)})") from None


def _relative(root: Path | str, path: Path | str) -> str | None:
    """The name of a log under its root; nothing if it lies outside, as links may."""
    if isinstance(path, str):
        return path.removeprefix(f"{root}/")
    root = Path(root).resolve()
    if not path.resolve().is_relative_to(root):
        return None
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def line_of(error: Exception) -> str:
    """An error as part of a line of what was left out."""
    return first_line(error)[:200]
