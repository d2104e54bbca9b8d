"""The measures there are: ours, one line each, and those of other packages.

Another package names its own under the entry point `offrecord.measures`. These are
loaded when they are named, or when all there are are taken, and never before; one that
cannot be loaded is said in a line and takes no other down.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Final

from offrecord.measures.declare import Measure, Table
from offrecord.records import OffrecordError, first_line

GROUP: Final = "offrecord.measures"
"""The entry point under which other packages name their measures."""

_LOG: Final = logging.getLogger(__name__)

_OURS: Final = (
    "offrecord.measures.codes.stance",
    "offrecord.measures.survey_gap",
    "offrecord.measures.texts.similarity",
    "offrecord.measures.texts.entailment",
    "offrecord.measures.codes.attribution",
    "offrecord.measures.texts.markers",
    "offrecord.measures.codes.awareness",
    "offrecord.measures.texts.length",
)
# Each module has a `MEASURE`.


@cache
def our_measures() -> Mapping[str, Measure]:
    """The measures of this package by name, in the order in which they are taken."""
    found = (import_module(name).MEASURE for name in _OURS)
    return MappingProxyType({one.name: one for one in found})


def other_measures() -> dict[str, EntryPoint]:
    """The measures of other packages, by the name of their entry point, not loaded."""
    found = sorted(entry_points(group=GROUP), key=lambda one: one.name)
    return {one.name: one for one in found if one.name not in our_measures()}


def find_measure(name: str) -> Measure:
    """A measure by its name.

    Raises:
        OffrecordError: If there is none, or that of another package cannot be loaded.
    """
    if name in our_measures():
        return our_measures()[name]
    others = other_measures()
    if name not in others:
        known = ", ".join([*our_measures(), *others])
        raise OffrecordError(f"no measure '{name}': use any of {known}")
    entry = others[name]
    try:
        found = entry.load()
    except Exception as error:  # anything, in another package's code
        said = f"{type(error).__name__}: {first_line(error)}"
        raise OffrecordError(f"{entry.value}: {said}") from None
    if not isinstance(found, Measure) or found.name != name:
        raise OffrecordError(f"{entry.value}: is no Measure of the name '{name}'")
    taken = {table.name for one in our_measures().values() for table in one.tables}
    if clash := sorted(taken & {table.name for table in found.tables}):
        raise OffrecordError(f"{entry.value}: the table '{clash[0]}' is offrecord's")
    return found


def known_measures(facts: Mapping[str, Any]) -> list[Measure]:
    """Ours, and those of other packages that were taken of a study.

    Args:
        facts: The content of study.json. A measure whose package is not installed any
            more, or cannot be loaded, is passed over with a line in the log.
    """
    found = list(our_measures().values())
    for name in facts.get("measured", {}):
        if name not in our_measures():
            try:
                found.append(find_measure(name))
            except OffrecordError as fault:
                _LOG.warning("measure '%s' is left out: %s", name, fault)
    return found


def known_tables(facts: Mapping[str, Any]) -> list[Table]:
    """The tables of the measures that `known_measures` gives."""
    return [table for one in known_measures(facts) for table in one.tables]
