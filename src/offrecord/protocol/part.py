"""A part of a design: what one of several machines holds of it.

Parts are disjoint, together they are the design, and every cell is spread over them as
evenly as it can be. They follow from the design alone, so that no machine asks another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from offrecord.content.boundary.files import read_file
from offrecord.records import OffrecordError, digest

PART_FILE: Final = "part.json"
"""Beside the design that a task is given: the runs of each model that it holds."""


class Part(NamedTuple):
    """One of several parts, the first being 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        """The name of the one folder that its logs go to."""
        return f"{self.number}-of-{self.of}"


class Run(NamedTuple):
    """A run before it is held, as Inspect tells it."""

    model: str
    sample: str
    """A case's id, or of a replay the stored run's."""
    repeat: int


WHOLE: Final = Part(1, 1)


def parse_part(text: str) -> Part:
    """Read `i/n`.

    Raises:
        OffrecordError: If that is no part.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    part = Part(int(found[1]), int(found[2])) if found else None
    if part is None or not 1 <= part.number <= part.of:
        raise OffrecordError(
            f"--shard {text}: write i/n, such as 1/4 for the first of four"
        )
    return part


def runs_of(models: Sequence[str], samples: Sequence[str], repeats: int) -> list[Run]:
    """Every run of a design, those of one cell next to each other."""
    return [
        Run(model, sample, repeat)
        for model in models
        for sample in samples
        for repeat in range(1, repeats + 1)
    ]


def share_of(part: Part, runs: Sequence[Run]) -> list[Run]:
    """The runs of a part, first repeats first.

    Going round in turns over runs that are sorted by cell spreads each cell, each
    model and the whole evenly: no two parts differ by more than one run of any.
    """
    return sorted(runs[part.number - 1 :: part.of], key=lambda run: run.repeat)


def plan_of(runs: Sequence[Run], part: Part) -> str:
    """What a task calls a part of these very runs, as its one argument.

    Inspect tells by it which logs are the task's own: with the same plan the other
    parts are known to be disjoint, with any other one they may not be.
    """
    return f"{part}:{digest([part.of, runs], 12)}"


def same_plan(one: str, other: str) -> bool:
    """Whether two arguments name parts of one plan."""
    return one.partition(":")[2] == other.partition(":")[2]


def write_part(runs: Iterable[Run]) -> str:
    """The text of a `PART_FILE`: of each model, sample and repeat of its runs."""
    by_model: dict[str, list[tuple[str, int]]] = {}
    for run in runs:
        by_model.setdefault(run.model, []).append((run.sample, run.repeat))
    return json.dumps(by_model)


def runs_of_model(design_file: Path, model: str) -> Sequence[tuple[str, int]]:
    """The runs that stand beside a design for one model: sample and repeat of each.

    Raises:
        OffrecordError: If there are none.
    """
    path = design_file.with_name(PART_FILE)
    try:
        value: dict[str, list[tuple[str, int]]] = json.loads(read_file(path))
    except (OSError, ValueError):
        raise OffrecordError(
            f"{path}: cannot be read: parts are held by 'offrecord run --shard i/n'"
        ) from None
    if model not in value:
        raise OffrecordError(
            f"model {model}: the design calls it {', '.join(value)}: name it as "
            "Inspect does"
        )
    return value[model]


def held_once(sample: str, repeat: int) -> str:
    """The id of a sample that is one repeat, where repeats are not epochs."""
    return f"{sample}.{repeat}"


def held_runs(
    model: str, samples: Iterable[tuple[str, int]], part: bool
) -> Iterator[Run]:
    """The runs that samples of a log are.

    Args:
        model: The log's model.
        samples: Id and epoch of each.
        part: Whether the log is one of a part.
    """
    for sample, epoch in samples:
        if part:
            name, _, repeat = sample.rpartition(".")
            yield Run(model, name, int(repeat))
        else:
            yield Run(model, sample, epoch)
