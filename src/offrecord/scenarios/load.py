"""Loading scenarios: by id, or anyone's by the path of a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from offrecord.content.library import built_in, find
from offrecord.records import OffrecordError
from offrecord.scenarios.model import Scenario
from offrecord.scenarios.reading import read_folder


def builtin_ids() -> tuple[str, ...]:
    """The ids of the scenarios that ship with the package, sorted."""
    return built_in("scenario")


def scenario_folder(name: str | Path) -> Path:
    """Where a scenario stands.

    Args:
        name: An id, or the path of any folder; a folder in the working directory is
            `./name`, so that it never hides a built-in one.

    Raises:
        OffrecordError: If there is no such scenario.
    """
    folder = find("scenario", name)
    if not str(name).strip() or not folder.is_dir():
        raise OffrecordError(f"{name}: no such scenario folder")
    return folder


def load_scenario(name: str | Path) -> Scenario:
    """Load one scenario.

    Args:
        name: An id or the path of a folder, as for `scenario_folder`.

    Raises:
        OffrecordError: Naming the first file and field at fault, and how many more
            there are.
    """
    folder = scenario_folder(name)
    scenario, faults = read_folder(folder)
    if scenario is None:
        first, *rest = faults
        more = f" (and {len(rest)} more: offrecord content check {folder})"
        raise OffrecordError(first + (more if rest else ""))
    return scenario


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
