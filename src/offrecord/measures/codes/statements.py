"""Statements: what each label of a question says, as a sentence of its own."""

from __future__ import annotations

from typing import Final

from offrecord.measures.texts.nli import NLI_FILE

MARGIN: Final[float] = NLI_FILE.front["statements"]["margin"]
"""How much more probable one statement must be than the other, or it is unclear."""

_TEMPLATE: Final[str] = NLI_FILE.front["statements"]["template"]
_SCENARIOS: Final[dict[str, dict[str, str]]] = NLI_FILE.front["statements"]["scenarios"]


def statement(scenario: str, label: str) -> str:
    """The statement of a label; for scenarios that have none, one made of the label.

    Args:
        scenario: Its id.
        label: One of its labels.
    """
    stated = _SCENARIOS.get(scenario, {}).get(label)
    return stated or _TEMPLATE.replace("{label}", label)
