"""`python -m tests.traced SPANS guard serve ...`: `offrecord` with spans in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentelemetry import trace

from offrecord.cli import main


class Tracer(trace.NoOpTracer):
    """Writes the name and the attributes of each span as a line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def start_as_current_span(self, name: str, **how: Any) -> Iterator[Any]:  # type: ignore[override]
        span = Span(name, how)
        yield span
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(span)) + "\n")


class Span:
    """What is said of one check."""

    def __init__(self, name: str, how: dict[str, Any]) -> None:
        self.name, self.how, self.attributes = name, how, dict[str, Any]()

    def set_attribute(self, name: str, value: Any) -> None:
        self.attributes[name] = value


class Provider(trace.NoOpTracerProvider):
    """Gives that tracer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get_tracer(self, *names: Any, **more: Any) -> Tracer:  # noqa: ARG002
        return Tracer(self._path)


if __name__ == "__main__":
    trace.set_tracer_provider(Provider(Path(sys.argv.pop(1))))
    main()
