"""The leaderboard of arms as Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from offrecord.estimates.arrays.plain import plain
from offrecord.report.card import cell_text
from offrecord.report.numbers import decimal, interval, known, points

Line = Mapping[str, Any]


def _change(name: str) -> Callable[[Line], str]:
    return lambda line: (
        points(line[name]) + interval(line[f"{name}_low"], line[f"{name}_high"])
    )


COLUMNS: Final[Mapping[str, Callable[[Line], str]]] = {
    "verdict": lambda line: str(line["verdict"]),
    "Z": _change("audience_effect"),
    "Y": _change("conversion"),
    "R": _change("evidence_response"),
    "missing": _change("missing"),
    "Z by the hold-out": _change("holdout_audience_effect"),
    "words": lambda line: decimal(line["words"], 0),
    "tokens": lambda line: decimal(line["tokens_in"] + line["tokens_out"], 0),
    "runs": lambda line: decimal(line["runs_a_cell"], 0),
    "it takes": lambda line: decimal(line["runs_needed"], 0),
}
"""What a table shows of a line, by the column's heading."""

CAPTION: Final = (
    "Changes by each arm less its placebo, in percentage points, with 95 % intervals. "
    "Z: the audience effect; Y: the conversion; R: the evidence response. Words are "
    "of a spoken utterance, tokens of a turn, runs of a cell; the last column is the "
    "runs that would settle what is inconclusive. An arm repairs if Z falls, Y does "
    "not rise, R does not fall, no more is missing, and the hold-out agrees."
)


def keys_of(lines: Sequence[Line]) -> list[str]:
    """What names a line: its group, then its arm."""
    names = list(lines[0])[: list(lines[0]).index("verdict")]
    return [name for name in names if name != "agent"]


def reasons_of(lines: Sequence[Line]) -> list[str]:
    """Why each arm has its verdict, and the runs that would settle it."""
    told = []
    for line in lines:
        more = ""
        if known(line["runs_needed"]):
            more = f"; {line['runs_needed']:.0f} runs a cell would settle it"
        if line["reason"]:
            told.append(f"{line['arm']}: {line['verdict']} ({line['reason']}{more})")
    return list(dict.fromkeys(told))


def as_markdown(lines: Sequence[Line], notes: Sequence[str]) -> str:
    """A table of the lines, what they mean, and the notes.

    Args:
        lines: As `leaderboard` gives them.
        notes: What must be read with them.
    """
    keys = keys_of(lines)
    rows = [[*keys, *COLUMNS], ["---"] * (len(keys) + 1) + ["--:"] * (len(COLUMNS) - 1)]
    for line in lines:
        named = [cell_text(line[key]) for key in keys]
        rows.append([*named, *(show(line) for show in COLUMNS.values())])
    table = ["| " + " | ".join(cells) + " |" for cells in rows]
    said = [CAPTION, *(f"{cell_text(one)}." for one in reasons_of(lines))]
    said += [f"Note: {cell_text(note)}." for note in notes]
    return "\n".join(table) + "\n\n" + "\n\n".join(said) + "\n"


def as_json(lines: Sequence[Line], notes: Sequence[str]) -> str:
    """The lines as a JSON object with the notes; what is undefined is null.

    Args:
        lines: As `leaderboard` gives them.
        notes: What must be read with them.
    """
    found = {"unit": "fractions of 1", "lines": plain(lines), "notes": list(notes)}
    return json.dumps(found, indent=1, allow_nan=False)


FORMATS: Final = {"md": as_markdown, "json": as_json}
"""The forms of a leaderboard, by the name of the option."""
