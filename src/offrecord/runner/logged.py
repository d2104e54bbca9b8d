"""Which runs the logs of a study have already, whichever machine wrote them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from inspect_ai.log import (
    EvalLog,
    EvalLogInfo,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
    read_eval_log_samples,
)

from offrecord.protocol.part import Run, held_runs, same_plan
from offrecord.records import OffrecordError, first_line
from offrecord.runner.addresses import find_addresses
from offrecord.transcript.inspect_files import TASKS


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
    heads, withdrawn = list[tuple[EvalLogInfo, EvalLog, str]](), set[str]()
    for log in _logs(root):
        with suppress(Exception):  # what cannot be read has no runs: the import says so
            head = read_eval_log(log, header_only=True)
            theirs = str(head.eval.task_args.get("part") or "")
            of_another = theirs != plan and same_plan(theirs, plan)
            if head.eval.task in TASKS and not of_another:
                heads.append((log, head, theirs))
                withdrawn.update(_withdrawn(log) if head.invalidated else ())
    for log, head, theirs in heads:
        with suppress(Exception):
            samples = list(_ended(log, withdrawn))
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


def _ended(log: EvalLogInfo, withdrawn: Collection[str]) -> Iterator[tuple[Any, int]]:
    """Id and epoch of each sample that came to its end and stands."""
    for sample in read_eval_log_sample_summaries(log):
        if sample.completed and not sample.error and sample.uuid not in withdrawn:
            yield sample.id, sample.epoch


def _withdrawn(log: EvalLogInfo) -> Iterator[str]:
    """The uuids of samples that were invalidated; a summary does not say so."""
    bulk = {"events", "messages", "store", "attachments"}
    for sample in read_eval_log_samples(
        log, all_samples_required=False, exclude_fields=bulk
    ):
        if sample.invalidation and sample.uuid:
            yield sample.uuid
