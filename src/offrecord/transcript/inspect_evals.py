"""What sets the evals of a folder of logs apart: settings, and whose repeats they are.

The logs of one study, or of one eval and its retries, go on from each other. Repeats of
any other eval are further repeats of the same cells, and cells that were asked with
other settings are other cells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from inspect_ai.log import EvalLog, EvalSpec, ProvenanceData
from inspect_ai.model import GenerateConfig, ModelConfig

from offrecord.records import SAMPLING, Cell, OffrecordError, Role, Stamp

NOT_SET: Final = "not set"
"""The level of a setting in an eval that leaves it to the provider."""


class Origin(NamedTuple):
    """Which eval a log is of."""

    model: str
    series: str
    """Logs of one series go on from each other."""
    settings: Mapping[str, Any]
    """Those that shape text, as far as the eval sets them; `partner_temperature` is
    what it sets for the model of that role alone."""


def origin_of(head: EvalLog) -> Origin:
    """Which eval a log is of, by its header."""
    spec = head.eval
    arguments, metadata = spec.task_args, spec.metadata or {}
    study = arguments.get("study") or metadata.get("study")
    # Parts of a study number their repeats themselves, whatever plan they are of.
    series = "parts" if arguments.get("part") else str(study or spec.task_id)
    settings = _set_in(spec.model_generate_config.merge(head.plan.config))
    for role in Role:
        seated = (spec.model_roles or {}).get(role)
        if isinstance(seated, ModelConfig):
            own = _set_in(seated.config)
            settings |= {f"{role}_{name}": value for name, value in own.items()}
    return Origin(spec.model, series, settings)


def _set_in(config: GenerateConfig) -> dict[str, Any]:
    found = config.model_dump()
    return {name: found[name] for name in SAMPLING if found.get(name) is not None}


def announced(spec: EvalSpec) -> int:
    """How many samples an eval is to have, whether or not its log holds them."""
    ids, epochs = spec.dataset.sample_ids, spec.config.epochs or 1
    return epochs * (len(ids) if ids is not None else spec.dataset.samples or 0)


def withdrawal(said: ProvenanceData) -> str:
    """That a sample was invalidated, by whom and why."""
    why = " ".join(f"by {said.author}: {said.reason or 'no reason given'}".split())
    return f"invalidated {why[:200]}; its run counts as not done"


def varied_settings(origins: Mapping[str, Origin], *, split: bool) -> list[str]:
    """The settings that differ between evals of one model, which factors tell apart.

    Args:
        origins: Log to its eval.
        split: Whether they may.

    Raises:
        OffrecordError: Naming them, if they may not.
    """
    found: dict[str, str] = {}
    names = (name for origin in origins.values() for name in origin.settings)
    for name in dict.fromkeys(names):
        logs: dict[str, dict[str, str]] = {}
        for log, origin in origins.items():
            value = str(origin.settings.get(name, NOT_SET))
            logs.setdefault(origin.model, {}).setdefault(value, log)
        for values in logs.values():
            if len(values) > 1:
                each = (f"{value} in {log}" for value, log in values.items())
                found[name] = f"{name} {', '.join(each)}"
    if found and not split:
        raise OffrecordError(
            f"logs of one model have unlike settings ({'; '.join(found.values())}): "
            "import them apart, or with --split settings to make cells of them"
        )
    return list(found)


@dataclass(slots=True)
class Naming:
    """Names what was asked as the study has it, whichever eval it comes from."""

    varied: Sequence[str] = ()
    """The settings that are factors of the study."""
    _taken: dict[str, dict[int, str]] = field(default_factory=dict)
    """Cell to the repeats that have a number, and the series of each."""
    _named: dict[tuple[str, str], tuple[Cell, int]] = field(default_factory=dict)

    def stamp(self, stamp: Stamp, origin: Origin) -> Stamp:
        """A stamp with its settings, and with a repeat that no other eval has."""
        settings = json.dumps(origin.settings, sort_keys=True)
        key = f"{origin.series} {settings}", stamp.run
        if key not in self._named:
            self._named[key] = self._name(stamp, origin)
        cell, repeat = self._named[key]
        return replace(stamp, cell=cell, repeat=repeat)

    def _name(self, stamp: Stamp, origin: Origin) -> tuple[Cell, int]:
        levels = {name: str(origin.settings.get(name, NOT_SET)) for name in self.varied}
        cell = replace(
            stamp.cell,
            sampling={**origin.settings, **stamp.cell.sampling},
            factors={**stamp.cell.factors, **levels},
        )
        taken = self._taken.setdefault(cell.id, {})
        repeat = stamp.repeat
        if taken.get(repeat, origin.series) != origin.series:
            repeat = max(taken) + 1
        taken[repeat] = origin.series
        return cell, repeat
