"""Which runs the logs of a study have already, whichever machine wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from inspect_ai.log import (
    EvalLogInfo,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)

from offrecord.protocol.part import Run, held_runs, same_plan
from offrecord.records import OffrecordError, first_line
from offrecord.runner.addresses import find_addresses
from offrecord.transcript.inspect_logs import TASK


class Logged(NamedTuple):
    """Runs that came to their end, as the logs of a study have them."""

    own: frozenset[Run]
    """Of the task itself, which goes on from them."""
    elsewhere: frozenset[Run]
    """Of another plan of the same design, such as another number of shards."""

    @property
    def all(self) -> frozenset[Run]:
        """Both."""
        return self.own | self.elsewhere


def read_logged(root: str, plan: str = "") -> Logged:
    """Read from all logs of a study which runs came to their end.

    Logs of the same plan's other shards are not read beyond their head: their runs are
    none of this shard's.

    Args:
        root: The folder or address under which all logs of the study lie.
        plan: The task's argument (see `plan_of`); empty where a study is no shard.

    Raises:
        OffrecordError: If the root cannot be reached.
    """
    own, elsewhere = set[Run](), set[Run]()
    for log in _logs(root):
        try:
            head = read_eval_log(log, header_only=True)
            theirs = str(head.eval.task_args.get("part") or "")
            if head.eval.task != TASK or (theirs != plan and same_plan(theirs, plan)):
                continue
            samples = list(_ended(log))
        except Exception:  # what cannot be read has no runs; the import names it
            continue
        runs = held_runs(head.eval.model, samples, part=bool(theirs))
        (own if theirs == plan else elsewhere).update(runs)
    return Logged(frozenset(own), frozenset(elsewhere - own))


def _logs(root: str) -> list[EvalLogInfo]:
    if not find_addresses(root, "*"):
        return []
    try:
        return list_eval_logs(root, recursive=True)
    except Exception as error:  # every file system has its own
        raise OffrecordError(
            f"{root}: cannot be listed ({first_line(error)})"
        ) from None


def _ended(log: EvalLogInfo) -> Iterator[tuple[Any, int]]:
    """Id and epoch of each sample that came to its end."""
    for sample in read_eval_log_sample_summaries(log):
        if sample.completed and not sample.error:
            yield sample.id, sample.epoch
