"""How many connections a study has, and how many of its debates are open at once.

Inspect opens as many debates as connections allow, so all of them end late: whoever
stops a study half way has paid for runs of which none has ended. A debate keeps several
requests on their way; with just enough debates open to fill the connections, runs end
one after another and all of them as soon.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

from inspect_ai.util import AdaptiveConcurrency

from offrecord.protocol.design import EMBEDDED, Design
from offrecord.protocol.models import open_model
from offrecord.records import OffrecordError
from offrecord.runner.options import values_of
from offrecord.runner.resolve import calls_per_run, turns_of_run

MAX_SAMPLES: Final = "--max-samples"

_ELSEWHERE: Final = ("--generate-config", "--eval-config", "--model-config")
"""Options whose files may say how many, which only Inspect reads."""

_FEWEST: Final = 2


def connections_of(design: Design, options: Sequence[str]) -> int | None:
    """The most requests to one model that are under way at once.

    Args:
        design: Whose models.
        options: All options for `inspect eval-set`.

    Returns:
        None where Inspect alone knows it, or requests do not wait for connections: in
        batches, on the embedded engine, or by a configuration file.
    """
    models = (*design.models, *design.roles.values())
    if any(model.startswith(EMBEDDED) for model in models):
        return None
    if any(_given(name, options) is not None for name in (*_ELSEWHERE, "--batch")):
        return None
    fixed = _given("--max-connections", options)
    if fixed is not None:
        return int(fixed) if fixed.isdecimal() else None
    adaptive = _given("--adaptive-connections", options)
    if adaptive in (None, "", "true"):
        return AdaptiveConcurrency().max
    if adaptive == "false":
        return _own(design)
    bounds = re.fullmatch(r"(?:\d+-){0,2}(\d+)", str(adaptive))
    return int(bounds[1]) if bounds else None


def samples_options(design: Design, options: Sequence[str]) -> tuple[str, ...]:
    """The option that keeps just enough debates open; nothing where it is given.

    Args:
        design: What a debate asks for.
        options: All options for `inspect eval-set`.
    """
    connections = connections_of(design, options)
    if connections is None or _given(MAX_SAMPLES, options) is not None:
        return ()
    # A fifth more than fill the connections: some debates wait for a single reply.
    # At six outputs a turn that is a fifth of the connections.
    turns, calls = turns_of_run(design), calls_per_run(design)
    enough = -(-6 * connections * turns // (5 * calls))
    return (MAX_SAMPLES, str(max(_FEWEST, enough)))


def _own(design: Design) -> int | None:
    """What the providers of a design's models say themselves."""
    try:
        return min(open_model(m).api.max_connections() for m in design.models)
    except OffrecordError:  # it takes options of its own to open
        return None


def _given(name: str, options: Sequence[str]) -> str | None:
    variable = "INSPECT_EVAL_" + name.removeprefix("--").replace("-", "_").upper()
    stated = values_of(name, options)
    return stated[-1] if stated else os.environ.get(variable)
