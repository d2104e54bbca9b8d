"""Scenarios for the terminal: texts are printed as they are, never read as markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from offrecord.scenarios.model import Agent, Instrument, Scenario


def overview(scenarios: Iterable[Scenario]) -> Group:
    """A few lines about each scenario."""
    return Group(*(part for scenario in scenarios for part in _outline(scenario)))


def rendering(scenario: Scenario) -> Group:
    """A whole scenario, readable from top to bottom."""
    parts: list[RenderableType] = [*_outline(scenario), Text(scenario.stamp, "dim")]
    parts += _block("Setting", scenario.setting)
    parts += _block("Question", scenario.question)
    for agent in scenario.agents:
        parts += _block(f"{agent.id}: {agent.name} ({agent.role})", agent.card)
        parts += _block("Others read", agent.summary)
    for condition in scenario.conditions.values():
        for agent_id, text in condition.contexts.items():
            parts += _block(f"{condition.id}, as {agent_id} reads it", text)
    return Group(*parts, *_survey(scenario.instrument))


def _outline(scenario: Scenario) -> Iterator[RenderableType]:
    yield Text.assemble((scenario.id, "bold"), "  ", scenario.title)
    facts = {
        "labels": " / ".join(scenario.labels),
        "sides": ", ".join(_side(agent) for agent in scenario.agents),
        "leaning": scenario.leaning,
        "conditions": ", ".join(scenario.conditions),
    }
    for name, value in facts.items():
        yield _indented(f"{name}: {value}")


def _side(agent: Agent) -> str:
    return f"{agent.id} ({agent.role}) {agent.side}"


def _indented(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2), expand=False)


def _block(heading: str, text: str) -> Iterator[RenderableType]:
    yield Text(f"\n{heading}", "bold")
    yield _indented(text)


def _survey(instrument: Instrument) -> Iterator[RenderableType]:
    yield Text(f"\nSurvey, {instrument.low} to {instrument.high}", "bold")
    for point, wording in instrument.anchors.items():
        yield _indented(f"{point} = {wording}")
    for item in instrument.items:
        reverse = ", reverse-keyed" if item.reverse else ""
        line = f"{item.id}. {item.text} [{item.category}{reverse}]"
        yield _indented(line)
    yield Text(instrument.stamp, "dim")
