"""The names in LLMAgora's runs and ours for the same things, from `llmagora.yaml`."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from offrecord.records import Cell, Kind, Timing
from offrecord.transcript.llmagora_files import Config

PROTOCOL: Final = "llmagora"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NamedScenario(_Strict):
    """One of their scenarios: labels, sides, and what its cards script."""

    labels: tuple[str, str]
    target_side: str
    pressed_side: str
    leaning: str


class NamedCondition(_Strict):
    """One of our conditions, by their direction and type."""

    direction: str | None
    type: str | None
    kind: Kind
    timing: Timing


class NamedInstrument(_Strict):
    """Their survey."""

    id: str
    low: int
    high: int
    items: tuple[str, ...]
    categories: dict[str, list[str]]
    counterpart: list[str]


class TheirNames(_Strict):
    """The content of `llmagora.yaml`: their names and ours."""

    agents: dict[str, Literal["target", "partner"]]
    channels: dict[str, list[str]]
    scenarios: dict[str, NamedScenario]
    conditions: dict[str, NamedCondition]
    instrument: NamedInstrument

    def cell(self, asked: Config) -> Cell:
        """The cell of a case, under our names.

        Raises:
            ValueError: If its scenario or its condition is none of those known.
        """
        if asked.scenario_id not in self.scenarios:
            known = ", ".join(self.scenarios)
            raise ValueError(f"unknown scenario '{asked.scenario_id}' (known: {known})")
        direction = asked.incentive_direction
        context = (direction, asked.incentive_type if direction else None)
        for name, condition in self.conditions.items():
            if (condition.direction, condition.type) == context:
                return Cell(
                    model=asked.model,
                    partner=asked.model,
                    cast=dict.fromkeys(self.agents, asked.model),
                    scenario=asked.scenario_id,
                    condition=name,
                    kind=condition.kind,
                    timing=condition.timing,
                    protocol=PROTOCOL,
                )
        raise ValueError(f"unknown condition '{context[0]}/{context[1]}'")
