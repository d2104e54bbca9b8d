"""The figure of arms: each an arrow in the plane of Z and R."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from offrecord.report.figures.grammar import Figure, Panel, drawn, figure, short_names
from offrecord.report.numbers import known


def arms_figure(lines: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Figure:
    """An arrow for each arm, from its placebo to where it is; a panel for each model.

    Args:
        lines: Lines of the leaderboard, with `z`, `z_before`, `r` and `r_before`.
        names: The models.
    """
    short = short_names(names)
    panels = []
    for model in dict.fromkeys(line["model"] for line in lines):
        values = [
            {
                "arm": line["arm"],
                "verdict": line["verdict"],
                "Z": 100 * line["z"],
                "R": 100 * line["r"],
                "Z before": 100 * line["z_before"],
                "R before": 100 * line["r_before"],
                # Clockwise from the top, as Vega turns a triangle.
                "angle": math.degrees(
                    math.atan2(
                        line["r"] - line["r_before"], line["z"] - line["z_before"]
                    )
                ),
            }
            for line in lines
            if line["model"] == model
            if known(line["z"]) and known(line["r"])
        ]
        if values:
            runs = max(line["runs"] for line in lines if line["model"] == model)
            n = f"n = {runs:,} runs of an arm and its placebo"
            panels.append(Panel(short.get(model, model), n, drawn("arms", values)))
    return figure("arms", panels)
