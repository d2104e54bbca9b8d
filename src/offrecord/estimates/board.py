"""The leaderboard of arms: what each changes against its placebo, and its verdict.

Nothing is computed here. Arms that were screened on stored histories have no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from offrecord.estimates.arrays.arms import MARGIN, ArmVerdict
from offrecord.estimates.estimators import ARM_VERDICTS, ARMS
from offrecord.estimates.file import Estimates
from offrecord.estimates.frames.arm_verdicts import ArmVerdictFigures
from offrecord.estimates.frames.arms import ArmFigures
from offrecord.estimates.frames.row import Row
from offrecord.records import NO_ARM, OffrecordError

SCREENING: Final = "screening"
"""What stands for the verdict on an arm that stored histories were asked under."""

CHANGES: Final = (
    *("audience_effect", "conversion", "evidence_response", "missing"),
    *("holdout_audience_effect", "persona_audience_effect", "baseline_public"),
    *("baseline_gap", "refused", "words", "tokens_in", "tokens_out"),
)
"""What a line shows of an arm, less its placebo."""

_ORDER: Final = [*ArmVerdict, SCREENING]


class Board(NamedTuple):
    """The lines, best first, and what must be read with them."""

    lines: list[dict[str, Any]]
    """One per group and arm; shares as fractions of 1, NaN where undefined."""
    notes: list[str]


def leaderboard(estimates: Estimates) -> Board:
    """The leaderboard of a study.

    Args:
        estimates: As `estimate_study` gives them.

    Raises:
        OffrecordError: If the study compares no arms.
    """
    changes, verdicts = estimates.of(ARMS), estimates.of(ARM_VERDICTS)
    if not changes:
        raise OffrecordError(
            "--leaderboard: no arm was asked beside none or its placebo: run with "
            "--factor arm=none,ARM,ARM_placebo"
        )
    return board_of(changes, verdicts)


def board_of(
    changes: Sequence[Row[ArmFigures]], verdicts: Sequence[Row[ArmVerdictFigures]]
) -> Board:
    """The lines of some arms.

    Args:
        changes: What they change.
        verdicts: What is said of them.
    """
    said = {(_key(row), row.of.arm): row.of for row in verdicts}
    of: dict[tuple[Any, str], list[Row[ArmFigures]]] = {}
    for row in changes:
        of.setdefault((_key(row), row.of.arm), []).append(row)
    lines = []
    for (key, arm), rows in of.items():
        against = rows[-1].of.against  # its placebo stands last, where there is one
        own = {r.of.quantity: r.of for r in rows if r.of.against == against}
        judged = said.get((key, arm))
        line: dict[str, Any] = {
            **rows[0].group,
            "arm": arm,
            "against": against,
            "verdict": judged.verdict if judged else SCREENING,
            "reason": judged.reason if judged else "",
            "p_adjusted": judged.p_adjusted if judged else math.nan,
            "runs_a_cell": judged.runs_a_cell if judged else math.nan,
            "runs_needed": judged.runs_needed if judged else math.nan,
            "runs": max(row.of.runs for row in rows),
            **_levels(own, "z", "audience_effect"),
            **_levels(own, "r", "evidence_response"),
        }
        for name in CHANGES:
            bounds = own[name].bounds if name in own else (math.nan,) * 3
            line |= dict(
                zip((name, f"{name}_low", f"{name}_high"), bounds, strict=True)
            )
        lines.append(line)
    lines.sort(key=_place)
    margins = [row.of.margin for row in verdicts] or [MARGIN]
    scope = next((row.of.scope for row in changes), "")
    return Board(lines, _notes(lines, margins[0], scope))


def _levels(own: Mapping[str, ArmFigures], letter: str, name: str) -> dict[str, float]:
    """A quantity under the arm, and under what it is compared with."""
    of = own.get(name)
    two = (math.nan, math.nan) if of is None else (of.value_arm, of.value_against)
    return dict(zip((letter, f"{letter}_before"), two, strict=True))


def _key(row: Row[Any]) -> tuple[Any, ...]:
    return tuple(row.group.values())


def _place(line: dict[str, Any]) -> tuple[int, bool, float]:
    moved = line["audience_effect"]
    return _ORDER.index(line["verdict"]), math.isnan(moved), moved


def _notes(lines: Sequence[dict[str, Any]], margin: float, scope: str) -> list[str]:
    notes = [
        f"margin {100 * margin:g} points; intervals are for {scope}",
        "off the record is a contrast under the same condition, not a belief",
    ]
    if any(line["verdict"] == SCREENING for line in lines):
        notes.insert(
            0,
            "screening: stored histories were asked again, blind to feedback over "
            "turns, so this is no verdict; fresh debates confirm",
        )
    if any(line["against"] == NO_ARM for line in lines):
        notes.append("an arm without its placebo is compared with none")
    return notes
