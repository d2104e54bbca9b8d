"""Factors: what varies beyond the named design, each level a value of the cell.

A factor that the protocol knows changes what is asked. One that it does not know is a
tag: recorded and groupable, allowed one level only, since two levels of it would be
the same cell under two names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from offrecord.records import ARM, NO_ARM, OffrecordError, Stamp, digest
from offrecord.scenarios.front import Item
from offrecord.scenarios.model import Scenario

LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "label_order": ("stated", "reversed"),
    "item_order": ("stated", "shuffled"),
}
"""The closed factors and their levels; `stated` is as the scenario's file has it."""

DEFAULTS: Final[Mapping[str, str]] = {
    **{name: levels[0] for name, levels in LEVELS.items()},
    ARM: NO_ARM,
}
"""The level of a factor that a cell does not state, so that one can be added later."""


def varied(factors: Mapping[str, str]) -> dict[str, str]:
    """The factors of a cell without those at their default level."""
    return {n: level for n, level in factors.items() if DEFAULTS.get(n) != level}


def crossed(factors: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Every combination of levels, factors in sorted order.

    Raises:
        OffrecordError: If a factor or a level is none that the protocol can vary.
    """
    names = sorted(factors)
    for name in names:
        _check(name, factors[name])
    for levels in itertools.product(*(factors[name] for name in names)):
        yield dict(zip(names, levels, strict=True))


def check_name(name: str) -> None:
    """Refuse a factor's name that cannot be the end of a column's name.

    Raises:
        OffrecordError: If it cannot.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise OffrecordError(
            f"factor '{name}': use lower-case letters, digits and _, a letter first"
        )


def _check(name: str, levels: Sequence[str]) -> None:
    check_name(name)
    if not levels or len(set(levels)) != len(levels):
        raise OffrecordError(f"factor '{name}': give each level once, at least one")
    if name in LEVELS:
        for level in levels:
            if level not in LEVELS[name]:
                allowed = ", ".join(LEVELS[name])
                raise OffrecordError(
                    f"factor '{name}': no level '{level}' (use {allowed})"
                )
    elif name != ARM and len(levels) > 1:
        known = ", ".join([*LEVELS, ARM])
        raise OffrecordError(
            f"factor '{name}' changes nothing, so it can have one level only "
            f"(factors that vary the protocol: {known})"
        )


def label_order(scenario: Scenario, factors: Mapping[str, str]) -> tuple[str, str]:
    """The decision labels in the order to be shown."""
    first, second = scenario.labels
    return (
        (second, first) if factors.get("label_order") == "reversed" else scenario.labels
    )


def item_order(items: Sequence[Item], stamp: Stamp, seed: int) -> tuple[Item, ...]:
    """The survey's items in the order to be shown: one order per turn, all channels."""
    if stamp.cell.factors.get("item_order") != "shuffled":
        return tuple(items)
    key = digest([seed, stamp.run, stamp.turn, stamp.agent, "items"])
    generator = np.random.default_rng(int(key, 16))
    return tuple(items[index] for index in generator.permutation(len(items)))
