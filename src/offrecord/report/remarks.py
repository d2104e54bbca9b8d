"""What stands below the tables of `estimate`: notes, flags, and what is not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from offrecord.content.boundary.shown import escaped
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.estimators import (
    AGAINST,
    HIERARCHICAL,
    MISSING,
    RATES,
    SPLIT,
)
from offrecord.estimates.file import Estimates
from offrecord.estimates.frames.row import Row

_TOLD: Final = ("public", "public_shift")  # that stand for the others of their cells
_MOST: Final = 6  # lines of a kind that are printed


def remarks(estimates: Estimates) -> list[str]:
    """Lines on what the estimates of a study leave out, pool, or cannot know."""
    head = estimates.head
    lines = [f"Note: {head.note}."] if head.note else []
    told = ((row.of.note, row.of.reason) for row in estimates.of(AGAINST))
    lines += [
        f"Against the earlier study: {text}."
        for text in dict.fromkeys(text for both in told for text in both if text)
    ]
    kinds = {row["kind"] for row in estimates.view("kinds", RATES)}
    if len(kinds) > 1 and not {"condition", "kind", "timing"} & set(head.by):
        lines.append(
            f"Note: {', '.join(sorted(kinds))} are pooled here; --by kind tells them "
            "apart, and gives the split."
        )
    if head.weights == Weights.TURNS:
        lines.append(
            "Note: turns weigh alike, as in the paper, so cells with more turns count "
            "for more."
        )
    if head.without_aware:
        lines.append(f"Without {head.pairs_left_out} pairs that show awareness.")
    lines += [
        f"Note: the declared contrast {contrast} has no runs of both levels yet."
        for contrast in head.contrasts_to_come
    ]
    lines += dict.fromkeys(
        f"Note: no interval for {row.of.scope}: {row.of.reason}."
        for row in estimates.of(SPLIT)
        if row.of.bounds.known and not row.of.bounds.defined and row.of.reason
    )
    lines += dict.fromkeys(
        f"Note: no hierarchical model of {_group(row)}: {row.of.checked.reason}."
        for row in estimates.of(HIERARCHICAL)
        if row["model"] is None and not row.of.checked.bounds.known
    )
    lines += _first(
        dict.fromkeys(
            f"Note: {_group(row)}: {row.of.left_out}."
            for row in estimates.of(SPLIT)
            if row.of.left_out and row.of.estimate in _TOLD
        )
    )
    lines += _first(
        [
            f"Flag: {_group(row)}: {flag}"
            for row in estimates.of(MISSING)
            for flag in row.of.missingness.flags
        ]
    )
    unmeasured = [name for name, of in head.measured.items() if not of["measured"]]
    if unmeasured:
        lines.append(f"Not measured: {', '.join(unmeasured)} (study.json says why)")
    return lines


def _group(row: Row[Any]) -> str:
    """What a group has in common, on one line."""
    known_keys = [value for value in row.group.values() if value is not None]
    return ", ".join(escaped(str(value)) for value in known_keys)


def _first(lines: Iterable[str]) -> list[str]:
    every = list(lines)
    more = len(every) - _MOST
    return [*every[:_MOST], *([f"{more} more in estimates.json"] if more > 0 else [])]
