"""Grammars that hold an embedded model to a format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def label_grammar(labels: Iterable[str]) -> str:
    """A GBNF grammar: exactly one of the labels, a dash, then free text.

    Args:
        labels: The decision labels, as shown to the agent.
    """
    choice = " | ".join(_literal(label) for label in labels)
    return f'root ::= ({choice}) " — " [^\\x00-\\x20] .*\n'


def survey_grammar(items: Iterable[str], points: Sequence[int]) -> str:
    """A GBNF grammar: one JSON object, its items in order, each with a scale point.

    It leaves no room for white space, on which constrained models are known to spend
    a third of a reply and sometimes all of it.

    Args:
        items: Item ids in the order shown.
        points: The scale's points.
    """
    point = " | ".join(_literal(str(value)) for value in points)
    pairs = ' "," '.join(
        f"{_literal(f'{chr(34)}{item}{chr(34)}:')} point" for item in items
    )
    return f'root ::= "{{" {pairs} "}}"\npoint ::= {point}\n'


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
