"""Loading scenarios: by id, or anyone's by the path of a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from offrecord.content import data_folder, read_document
from offrecord.content.library import built_in, find
from offrecord.records import OffrecordError
from offrecord.scenarios.folder import SCENARIO
from offrecord.scenarios.model import Scenario
from offrecord.scenarios.reading import read_folder

CORE: Final = "core"
"""The set that is asked where a design names no scenario."""

_DOMAIN: Final = "domain:"


def builtin_ids() -> tuple[str, ...]:
    """The ids of the scenarios that ship with the package, sorted."""
    return built_in("scenario")


def scenario_names(asked: Iterable[str]) -> tuple[str, ...]:
    """Names of scenarios with every set of built-in ones written out, each once.

    Args:
        asked: Ids, folders, and sets: `core`, `all`, `domain:NAME`. Nothing at all
            stands for `core`.

    Raises:
        OffrecordError: If no scenario is of such a domain.
    """
    return tuple(dict.fromkeys(n for name in [*asked] or [CORE] for n in _set(name)))


def _set(name: str) -> tuple[str, ...]:
    if name == "all":
        return builtin_ids()
    if name == CORE:
        return tuple(read_document(data_folder("scenario-sets.yaml")).front[CORE])
    if not name.startswith(_DOMAIN):
        return (name,)
    heads = {
        id_: read_document(scenario_folder(id_) / SCENARIO) for id_ in builtin_ids()
    }
    domains = {id_: _DOMAIN + head.front["domain"] for id_, head in heads.items()}
    found = tuple(id_ for id_, domain in domains.items() if domain == name)
    if not found:
        known = ", ".join(sorted(set(domains.values())))
        raise OffrecordError(f"{name}: no built-in scenario of it (use {known})")
    return found


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
