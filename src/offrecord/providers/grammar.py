"""A grammar that holds a model too small for the label format to one of the labels."""

from __future__ import annotations

from collections.abc import Iterable


def label_grammar(labels: Iterable[str]) -> str:
    """A GBNF grammar: exactly one of the labels, a dash, then free text.

    Args:
        labels: The decision labels, as shown to the agent.
    """
    choice = " | ".join(_literal(label) for label in labels)
    return f'root ::= ({choice}) " — " [^\\x00-\\x20] .*\n'


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
