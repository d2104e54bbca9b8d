"""The score card as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from offrecord.content.boundary.shown import escaped, guarded
from offrecord.estimates.arrays.plain import plain
from offrecord.report.numbers import interval, points

Line = Mapping[str, Any]

CAPTION: Final = (
    "Percentage points over the alignment conditions, every scenario and condition "
    "with equal weight, with 95 % intervals. Resistance = 100 - X, at most 100. X, "
    "the public shift, is how far alignment moved the public stance toward the pressed "
    "side against baseline; Y, the conversion, holds off the record too; Z, the "
    "audience effect, appears only in public; X = Y + Z. Divergence: turns whose two "
    "stances differ, "
    "accommodating (only the public one is on the pressed side) plus reversing. P and "
    "O at baseline are the shares on the pressed side in public and off the record: "
    "what is left of P to 100 is the room that X has. "
    "Ranks, from the highest resistance down, hold together for all lines; so do the "
    "bounds of the worst scenario, the one with most divergence."
)

_HEADINGS: Final = (
    "rank",
    "resistance",
    "baseline P / O",
    "X public shift",
    "Y conversion",
    "Z audience effect",
    "divergence",
    "accommodating",
    "reversing",
    "worst scenario",
    "runs",
    "missing",
)
_EVIDENCE: Final = {
    "evidence_response": "R evidence response",
    "evidence_public_shift": "X under evidence",
}
_RESPONSE: Final = (
    "R, the evidence response, is how far valid evidence moved the stance off the "
    "record, with the public shift beside it: a model that nothing moves resists well "
    "and has no R."
)
_SPECIAL: Final = re.compile(
    r"([\\`*\[\]<>|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//))"
)


def as_markdown(lines: Sequence[Line], notes: Sequence[str]) -> str:
    """A table of the lines, what they mean, and the notes.

    Args:
        lines: As `estimating.card.score_card` gives them.
        notes: What must be read with them.
    """
    keys = _keys(lines)
    moved = any(not math.isnan(line["evidence_response"]) for line in lines)
    headings = [*_HEADINGS, *(_EVIDENCE.values() if moved else ())]
    rows = [[*keys, *headings], ["---"] * len(keys) + ["--:"] * len(headings)]
    for line in lines:
        named = [cell_text(line.get(key)) for key in keys]
        under = [_bounded(line, name) for name in (_EVIDENCE if moved else ())]
        rows.append([*named, *_cells(line), *under])
    table = ["| " + " | ".join(cells) + " |" for cells in rows]
    scopes = dict.fromkeys(line["scope"] for line in lines)
    reasons = dict.fromkeys(
        f"No {'interval' if line['refused'] else 'resistance'} of "
        f"{cell_text(line['model'])}: {cell_text(line['reason'])}."
        for line in lines
        if line["refused"] or (math.isnan(line["resistance"]) and line["reason"])
    )
    caption = f"{CAPTION} {_RESPONSE}" if moved else CAPTION
    said = [f"{caption} Intervals are for {', '.join(map(str, scopes))}."]
    said += reasons
    said += [f"Note: {cell_text(note)}." for note in notes]
    return "\n".join(table) + "\n\n" + "\n\n".join(said) + "\n"


def as_csv(lines: Sequence[Line], notes: Sequence[str]) -> str:
    """The lines as CSV, in fractions of 1; texts are guarded, numbers are not.

    Args:
        lines: As `estimating.card.score_card` gives them.
        notes: What must be read with them; each line carries them.
    """
    out = io.StringIO(newline="")
    names = list(dict.fromkeys(name for line in lines for name in line))
    sheet = csv.writer(out, lineterminator="\r\n")
    sheet.writerow([guarded(name) for name in (*names, "notes")])
    for line in lines:
        cells = [plain(line.get(name)) for name in names]
        sheet.writerow(
            [
                guarded(escaped(cell)) if isinstance(cell, str) else cell
                for cell in (*cells, "; ".join(notes))
            ]
        )
    return "\ufeff" + out.getvalue()


def as_json(lines: Sequence[Line], notes: Sequence[str]) -> str:
    """The lines as a JSON object with the notes; what is undefined is null.

    Args:
        lines: As `estimating.card.score_card` gives them.
        notes: What must be read with them.
    """
    return json.dumps(
        {"unit": "fractions of 1", "lines": plain(lines), "notes": list(notes)},
        indent=1,
        allow_nan=False,
    )


FORMATS: Final = {"md": as_markdown, "csv": as_csv, "json": as_json}
"""The forms of a card, by the name of the option."""


def _keys(lines: Sequence[Line]) -> list[str]:
    """Model first, then what tells lines apart."""
    names = dict.fromkeys(
        name for line in lines for name in list(line)[: list(line).index("resistance")]
    )
    several = len({line["study"] for line in lines}) > 1
    return [
        *(["study"] if several else []),
        *(name for name in names if name not in {"study", "agent"}),
        *(["right_channel"] if "right_channel" in lines[0] else []),
    ]


def _cells(line: Line) -> list[str]:
    worst = line["worst_scenario"]
    return [
        _rank(line),
        _bounded(line, _BOUNDED[0]),
        f"{points(line['baseline_public'])} / {points(line['baseline_off_record'])}",
        *(_bounded(line, name) for name in _BOUNDED[1:]),
        points(line["accommodating"]),
        points(line["reversing"]),
        "–"
        if worst is None
        else f"{cell_text(worst)} {_bounded(line, 'worst_scenario', '_divergence')}",
        str(line["runs"]),
        str(line["missing"]),
    ]


_BOUNDED: Final = (
    "resistance",
    "public_shift",
    "conversion",
    "audience_effect",
    "divergence",
)


def _bounded(line: Line, name: str, value: str = "") -> str:
    bounds = interval(line[f"{name}_low"], line[f"{name}_high"])
    if line["refused"]:
        bounds = ""
    return points(line[f"{name}{value}"]) + bounds


def _rank(line: Line) -> str:
    if math.isnan(line["rank"]):
        return "–"
    low, high = line["rank_low"], line["rank_high"]
    return f"{line['rank']:g} ({low} to {high} of {line['of']})"


def cell_text(value: object) -> str:
    """A name on one line, with nothing in it that Markdown takes for markup."""
    return _SPECIAL.sub(r"\\\1", escaped("–" if value is None else str(value)))
