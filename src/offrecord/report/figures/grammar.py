"""One grammar for every figure: panels, layers and themes, as `charts.yaml` has them.

A figure is a few panels, each a small Vega-Lite chart. The page embeds the panels' own
specifications, one by one, so that they flow on a narrow screen; a file holds the same
ones side by side. A specification names no colour: these come from the theme, and in
the page from variables of its style.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offrecord.content import read_document
from offrecord.estimates.arrays.plain import plain

if TYPE_CHECKING:
    import altair as alt

VEGA_LITE: Final = "6.4"
"""The version of the drawing library, in the page and for files."""

PUBLIC: Final = "public"
OTHER: Final = "off record"

Rows = Sequence[Mapping[str, Any]]
"""Rows of a view of the estimates."""

_CONTENT: Final = read_document(Path(__file__).parent / "charts.yaml").front
_PANEL: Final = 300  # pixels wide, in a file
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, sans-serif"
_FILE_FONT: Final = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart with its title and its n."""

    title: str
    n: str
    """How many runs and turns stand behind it."""
    chart: Mapping[str, Any]
    """Its data, layers and height."""

    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification for a column of the page, without a theme."""
        # Names take what width they need, out of that of the column.
        fit = {"autosize": {"type": "fit-x", "contains": "padding"}}
        return {"$schema": _SCHEMA, **self.sized("container"), **fit}

    def sized(self, width: int | str) -> dict[str, Any]:
        """The chart with its title, at a width in pixels or that of its container."""
        title = {"text": self.title, "subtitle": self.n}
        return {**self.chart, "width": width, "title": title}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: panels, and what they show."""

    id: str
    """Names it, in the page and as a file."""
    title: str
    caption: str
    panels: Sequence[Panel]
    columns: int
    """How many panels stand side by side where there is room."""
    main: str
    """The field of its data of which the text alternative names the ends."""

    def specs(self) -> list[dict[str, Any]]:
        """What the page embeds, one specification a panel."""
        return [panel.spec() for panel in self.panels]

    def chart(self) -> alt.ConcatChart:
        """The panels side by side, without a theme."""
        import altair as alt

        whole: alt.ConcatChart = alt.ConcatChart.from_dict(self._concat())
        return whole

    def file_spec(self, name: str = "light") -> dict[str, Any]:
        """The whole figure as one specification.

        Args:
            name: Of its theme, `light` or `dark`.
        """
        return {**self._concat(), "config": theme(name, _FILE_FONT)}

    def data(self) -> list[dict[str, Any]]:
        """What is drawn: a row for each mark, with its panel."""
        return [
            {"panel": panel.title, **row}
            for panel in self.panels
            for row in panel.chart["data"]["values"]
        ]

    def alternative(self) -> str:
        """What stands in the figure's place for those who do not see it."""
        told = [
            f"{one.title} ({one.n}): {_ends(one, self.main)}" for one in self.panels
        ]
        return f"{self.title}. {'; '.join(told)}."

    def _concat(self) -> dict[str, Any]:
        charts = [panel.sized(_PANEL) for panel in self.panels]
        whole = {"concat": charts, "columns": self.columns, "spacing": 28}
        return {"$schema": _SCHEMA, **whole}


def _ends(panel: Panel, main: str) -> str:
    """The lowest and the highest value of a panel, each with what it is of."""
    rows = [row for row in panel.chart["data"]["values"] if row.get(main) is not None]
    if not rows:
        return "nothing to show"
    rows.sort(key=lambda row: row[main])
    low, high = (
        f"{row[main]:.4g} ({', '.join(_names(row))})" for row in (rows[0], rows[-1])
    )
    return f"{main} {low}" if len(rows) == 1 else f"{main} from {low} to {high}"


def _names(row: Mapping[str, Any]) -> list[str]:
    """What a row is of: its words, and its place in time."""
    time = [f"{name} {row[name]}" for name in ("round", "block") if name in row]
    return [*(one for one in row.values() if isinstance(one, str)), *time]


def figure(
    name: str, panels: Sequence[Panel], rows: Rows = (), /, **own: str
) -> Figure:
    """A figure of the content file.

    Args:
        name: Its id there.
        panels: What it shows.
        rows: Of estimates: the caption says what their intervals generalize to.
        own: Its id or title, where the file does not have it.
    """
    shape = _shape(name)
    told = {"id": name, **shape, **own}
    columns = shape.get("columns", 2)
    caption = told["caption"].replace("{scope}", scope_of(rows))
    main = shape.get("main", "points")
    return Figure(told["id"], told["title"], caption, panels, columns, main)


def scope_of(rows: Rows) -> str:
    """What the intervals of some rows generalize to, in words."""
    return next((str(row["scope"]) for row in rows if "scope" in row), "")


def drawn(name: str, values: Rows, rows: int = 0, /, **given: object) -> dict[str, Any]:
    """A chart of a figure of the content file: data, layers and height.

    Args:
        name: The figure's id there.
        values: What is drawn; what is undefined is left out.
        rows: How many rows it has, where its height hangs on them.
        given: What is put in, by name.
    """
    shape = _shape(name)
    layers = [
        {
            "data": {"values": [{layer["zero"]: 0}]},
            "mark": {"type": "rule", "style": "zero"},
            "encoding": {"x": {"field": layer["zero"], "type": "quantitative"}},
        }
        if "zero" in layer
        else {**layer, "encoding": {**shape["encoding"], **layer["encoding"]}}
        for layer in shape["layers"]
    ]
    return {
        "data": {"values": [plain(row) for row in values]},
        "layer": _filled(layers, {**_CONTENT["parts"], **given}),
        "height": shape.get("height") or shape["row"] * rows,
    }


def theme(name: str, font: str = _FONT) -> dict[str, Any]:
    """The Vega-Lite configuration of a theme.

    Args:
        name: `light`, `dark` or `page`.
        font: A CSS list of typefaces.
    """
    colours = {**_CONTENT["themes"][name], "font": font}
    return dict(_filled(_CONTENT["config"], colours))


def _shape(name: str) -> dict[str, Any]:
    shape: dict[str, Any] = _CONTENT["figures"][name]
    return {**_shape(shape["like"]), **shape} if "like" in shape else shape


def _filled(node: Any, given: Mapping[str, object]) -> Any:  # noqa: ANN401
    """A piece of the content file with what its `$names` stand for."""
    if isinstance(node, dict):
        return {key: _filled(one, given) for key, one in node.items()}
    if isinstance(node, list):
        return [_filled(one, given) for one in node]
    if isinstance(node, str) and node.startswith("$"):
        return _filled(given[node[1:]], given)
    return node


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each name without its provider, where that leaves it unmistakable."""
    tails = [name.rsplit("/", maxsplit=1)[-1] for name in names]
    return {
        name: tail if tails.count(tail) == 1 and tail else name
        for name, tail in zip(names, tails, strict=True)
    }


def counted(rows: Rows) -> str:
    """The n of a panel: the runs and the turns of its rows."""
    runs, turns = (sum(row[name] for row in rows) for name in ("runs", "turns"))
    return f"n = {runs:,} runs, {turns:,} turns"


def percent(value: float | None) -> float | None:
    """A fraction of 1 in percentage points; what is undefined stays so."""
    return None if value is None or math.isnan(value) else 100 * value
