"""Samples of Inspect logs of any task, as entries that a map reads."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from inspect_ai.log import read_eval_log_sample, read_eval_log_sample_summaries

from offrecord.content.boundary.archives import fault_of
from offrecord.transcript.deployed.entry import Entry, Fault


def inspect_samples(file: IO[bytes], name: str) -> Iterator[Entry | Fault]:
    """Read the samples of an Inspect log of any task, each one an entry.

    Args:
        file: The open log.
        name: What it is called in places.
    """
    path = Path(file.name)
    fault = fault_of(path)
    if fault:
        yield Fault(fault, name)
        return
    try:
        for one in read_eval_log_sample_summaries(str(path)):
            sample = read_eval_log_sample(str(path), one.id, one.epoch)
            place = f"{name}:{one.id}/{one.epoch}"
            yield Entry(sample.model_dump(mode="json", exclude={"events"}), place)
    except (ValueError, OSError, KeyError, zlib.error) as error:
        yield Fault(f"no log to be read ({type(error).__name__})", name)
