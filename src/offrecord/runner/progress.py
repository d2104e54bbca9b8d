"""What an eval set says while it runs, on a terminal or in a log file.

Imported by the process of an eval set alone: importing it subscribes to its events.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections import Counter
from typing import Final

import click
from inspect_ai.hooks import (
    Hooks,
    ModelRetry,
    ModelUsageData,
    RunEnd,
    SampleEnd,
    TaskEnd,
    hooks,
)

from offrecord.content.boundary.secrets import redacted
from offrecord.content.boundary.shown import escaped
from offrecord.runner.todo import PROGRESS, ToDo

_EVERY: Final = (1.0, 30.0)
"""Seconds between two lines: on a terminal, where one takes the other's place, and in a
file."""
_OWN: Final = re.compile(r"^OffrecordError\((['\"])(.*)\1\)$", re.DOTALL)
"""How Inspect tells a fault that we have put into words."""

_ENOUGH: Final = 20
"""Calls from which the time left can be told."""


def say(text: str) -> None:
    """Print one line to standard error, without keys or control characters."""
    line = escaped(redacted(" ".join(text.split())))
    click.echo(f"offrecord: {line}", err=True)


class Progress(Hooks):
    """Counts runs and calls of the whole eval set."""

    def __init__(self, todo: ToDo | None = None) -> None:
        self.todo = todo or ToDo(*map(int, os.environ[PROGRESS].split()))
        self.ended = self.todo.ended
        self.calls = 0
        self.again = Counter[str]()
        """Requests that were sent again, by what came instead of a reply."""
        self.faults = Counter[str]()
        self.begun = time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.said = self.begun - _EVERY[0]
        self.width = 0

    def line(self, passed: float) -> str:
        """How far it is, after so many seconds."""
        parts = [f"{self.ended:,} of {self.todo.planned:,} runs"]
        counts = {
            "calls": self.calls,
            f"requests sent again{self._why()}": self.again.total(),
            "runs failed": self.faults.total(),
        }
        parts += [f"{many:,} {what}" for what, many in counts.items() if many]
        if _ENOUGH <= self.calls < self.todo.calls:
            left = passed * (self.todo.calls - self.calls) / self.calls
            parts.append(f"about {duration(left)} left")
        return f"{', '.join(parts)} ({duration(passed)})"

    def show(self, *, last: bool = False) -> None:
        """Print a line if it is time for one."""
        now = time.monotonic()
        if not last and now - self.said < _EVERY[not self.terminal]:
            return
        self.said = now
        line = self.line(now - self.begun)
        if not self.terminal:
            say(line)
            return
        text = f"offrecord: {line}"
        self.width = max(self.width, len(text))
        click.echo(f"\r{text:<{self.width}}", err=True, nl=last)

    async def on_model_usage(self, data: ModelUsageData) -> None:  # noqa: ARG002
        """Count a call that came back."""
        self.calls += 1
        self.show()

    async def on_model_retry(self, data: ModelRetry) -> None:
        """Count a request that is sent again; older releases do not say why."""
        told = (getattr(data, name, None) for name in ("exception_type", "status_code"))
        self.again[" ".join(str(part) for part in told if part)] += 1
        self.show()

    def _why(self) -> str:
        most = self.again.most_common(1)
        return f" (most often {most[0][0]})" if most and most[0][0] else ""

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Count a run, or the fault that ended it; Ctrl-C is none."""
        fault = data.sample.error
        if fault is None:
            self.ended += 1
        elif not fault.message.startswith("CancelledError"):
            self.faults[_OWN.sub(r"\2", fault.message)] += 1
        self.show()

    async def on_task_end(self, data: TaskEnd) -> None:
        """Note the fault that ended all runs of a model."""
        if data.log.error is not None:
            self.faults[_OWN.sub(r"\2", data.log.error.message)] += 1

    async def on_run_end(self, data: RunEnd) -> None:  # noqa: ARG002
        """Say how far it came, and the commonest faults."""
        self.show(last=True)
        for fault, times in self.faults.most_common(3):
            say(f"{fault} ({times} times)")


class Warnings(logging.Handler):
    """Shows each warning once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.shown = set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a warning."""
        text = record.getMessage()
        if text not in self.shown:
            self.shown.add(text)
            say(f"{record.levelname.lower()}: {text}")


def duration(seconds: float) -> str:
    """A time in words: its two largest units."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def subscribe() -> None:
    """Say what an eval set of this process does, in place of Inspect's display."""
    hooks(name="progress", description="lines of progress")(Progress)
    logging.getLogger().addHandler(Warnings())
