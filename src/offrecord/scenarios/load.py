"""Loading scenarios: the built-in ones by id, anyone's by the path of a folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from offrecord.content import data_folder
from offrecord.records import OffrecordError
from offrecord.scenarios.model import Scenario
from offrecord.scenarios.reading import read_folder

_ID = re.compile(r"[\w-]+")


def builtin_ids() -> tuple[str, ...]:
    """The ids of the scenarios that ship with the package, sorted."""
    folders = data_folder("scenarios").iterdir()
    return tuple(sorted(folder.name for folder in folders if folder.is_dir()))


def scenario_folder(name: str | Path) -> Path:
    """Where a scenario stands.

    Args:
        name: A bare id (a built-in scenario) or the path of any folder; a folder in
            the working directory is `./name`, so that it never hides a built-in one.

    Raises:
        OffrecordError: If there is no such built-in scenario or folder.
    """
    if isinstance(name, str) and _ID.fullmatch(name):
        if name not in builtin_ids():
            known = ", ".join(builtin_ids())
            raise OffrecordError(
                f"no built-in scenario '{name}' (known: {known}); write a folder as"
                f" ./{name}"
            )
        return data_folder("scenarios") / name
    folder = Path(name)
    if not str(name).strip() or not folder.is_dir():
        raise OffrecordError(f"{name}: no such scenario folder")
    return folder


def load_scenario(name: str | Path) -> Scenario:
    """Load one scenario.

    Args:
        name: A built-in id or the path of a folder, as for `scenario_folder`.

    Raises:
        OffrecordError: Naming the first file and field at fault, and how many more
            there are.
    """
    folder = scenario_folder(name)
    reading = read_folder(folder)
    if reading.scenario is None:
        first, *rest = reading.faults
        more = f" (and {len(rest)} more: offrecord scenarios check {folder})"
        raise OffrecordError(first + (more if rest else ""))
    return reading.scenario


def load_scenarios(names: Iterable[str | Path]) -> tuple[Scenario, ...]:
    """Load several scenarios, in the order given.

    Raises:
        OffrecordError: If one is at fault, or two have the same id: their cells could
            not be told apart.
    """
    scenarios: dict[str, Scenario] = {}
    for name in names:
        scenario = load_scenario(name)
        if scenario.id in scenarios:
            raise OffrecordError(f"scenario '{scenario.id}' is named twice")
        scenarios[scenario.id] = scenario
    return tuple(scenarios.values())
