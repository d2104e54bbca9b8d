"""One grammar for every figure: panels, colours, type, axes.

A figure is a few panels, each a small Altair chart. The page embeds the panels' own
specifications, one by one, so that they flow on a narrow screen; a file holds the same
ones side by side. A specification names no colour: these come from the theme, so that a
page can be light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from offrecord.estimates.arrays.plain import plain

Chart = alt.Chart | alt.LayerChart

VEGA_LITE: Final = "6.4"
"""The version of the drawing library, in the page and for files."""

PUBLIC: Final = "public"
OTHER: Final = "off record"

_NUMBERS: Final = frozenset({"points", "value", "low", "high", "gap", PUBLIC, OTHER})

_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, sans-serif"
_FILE_FONT: Final = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a theme, which colour-blind readers can tell apart."""

    ink: str
    muted: str
    rule: str
    public: str
    other: str
    category: tuple[str, ...]


LIGHT: Final = Palette(
    ink="#1a1d21",
    muted="#5b6470",
    rule="#d9dde3",
    public="#0072B2",
    other="#C24E00",
    category=("#0072B2", "#C24E00", "#5b6470", "#009E73", "#B0568C"),
)
DARK: Final = Palette(
    ink="#e6e9ee",
    muted="#9aa4b1",
    rule="#2d333b",
    public="#56B4E9",
    other="#E69F00",
    category=("#56B4E9", "#E69F00", "#9aa4b1", "#2fc49b", "#e39cc6"),
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart with its title and its n."""

    title: str
    n: str
    """How many runs and turns stand behind it."""
    chart: Chart

    def spec(self, width: int | str = "container") -> dict[str, Any]:
        """The Vega-Lite specification, without a theme.

        Args:
            width: Pixels, or `container` for the width of the page's column.
        """
        spec: dict[str, Any] = self.sized(width).to_dict()
        # Names take what width they need, out of that of the column.
        return {**spec, "autosize": {"type": "fit-x", "contains": "padding"}}

    def sized(self, width: int | str) -> Chart:
        """The chart with its title, at a width."""
        chart: Chart = self.chart.properties(
            width=width,
            title=alt.TitleParams(text=self.title, subtitle=self.n),
        )
        return chart


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: panels, and what they show."""

    id: str
    """Names it, in the page and as a file."""
    title: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 2
    """How many panels stand side by side where there is room."""

    def specs(self) -> list[dict[str, Any]]:
        """What the page embeds, one specification a panel."""
        return [panel.spec() for panel in self.panels]

    def chart(self, width: int = 300) -> alt.ConcatChart:
        """The panels side by side, without a theme.

        Args:
            width: Of a panel, in pixels.
        """
        charts = [panel.sized(width) for panel in self.panels]
        whole: alt.ConcatChart = alt.concat(*charts, columns=self.columns, spacing=28)
        return whole

    def file_spec(self, width: int = 300) -> dict[str, Any]:
        """The whole figure as one specification, in the light theme.

        Args:
            width: Of a panel, in pixels.
        """
        spec: dict[str, Any] = self.chart(width).to_dict()
        return {**spec, "config": theme(LIGHT, _FILE_FONT), "background": "white"}


def theme(palette: Palette, font: str = _FONT) -> dict[str, Any]:
    """The Vega-Lite configuration of a theme; marks are styled by name.

    Args:
        palette: Its colours.
        font: A CSS list of typefaces.
    """
    text = {"font": font, "fontSize": 12}
    axis = {
        "labelFont": font,
        "titleFont": font,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": palette.ink,
        "titleColor": palette.muted,
        "gridColor": palette.rule,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
        "labelLimit": 190,
    }
    styles: Mapping[str, Mapping[str, Any]] = {
        "public": {"color": palette.public, "fill": palette.public},
        "other": {"color": palette.other, "stroke": palette.other},
        "link": {"color": palette.muted},
        "zero": {"color": palette.muted},
        "value": {**text, "color": palette.ink, "fill": palette.ink},
    }
    return {
        "background": "transparent",
        "font": font,
        "view": {"stroke": None},
        "axis": axis,
        "title": _titles(palette, font),
        "legend": _legends(palette, font),
        "range": {
            "category": list(palette.category),
        },
        "style": styles,
    }


def _titles(palette: Palette, font: str) -> dict[str, Any]:
    return {
        "font": font,
        "subtitleFont": font,
        "anchor": "start",
        "frame": "group",
        "fontSize": 13,
        "fontWeight": 600,
        "color": palette.ink,
        "subtitleColor": palette.muted,
        "subtitleFontSize": 12,
        "offset": 10,
    }


def _legends(palette: Palette, font: str) -> dict[str, Any]:
    return {
        "labelFont": font,
        "labelFontSize": 12,
        "labelColor": palette.ink,
        "labelLimit": 260,
        "title": None,
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 2,
        "symbolStrokeWidth": 2,
    }


def share_axis(title: str, **options: Any) -> alt.Axis:  # noqa: ANN401
    """An axis in percentage points, with few ticks."""
    return alt.Axis(title=title, tickCount=5, **options)


def names_axis() -> alt.Axis:
    """An axis of names, without a grid."""
    return alt.Axis(title=None, grid=False, labelLimit=170)


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each name without its provider, where that leaves it unmistakable."""
    tails = [name.rsplit("/", maxsplit=1)[-1] for name in names]
    return {
        name: tail if tails.count(tail) == 1 and tail else name
        for name, tail in zip(names, tails, strict=True)
    }


def counted(runs: int, turns: int) -> str:
    """The n of a panel."""
    return f"n = {runs:,} runs, {turns:,} turns"


def charted(values: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of rows, which go into its specification."""
    return alt.Chart(alt.InlineData(values=[plain(row) for row in values]))


def layers(*charts: alt.Chart) -> alt.LayerChart:
    """Marks on one another, the first one at the back."""
    chart: alt.LayerChart = alt.LayerChart(layer=list(charts))
    return chart


def zero(field: str = "points") -> alt.Chart:
    """A line at zero on the axis of a field."""
    rule: alt.Chart = charted([{field: 0}]).mark_rule(style="zero")
    return rule.encode(x=f"{field}:Q")


def plain_legend(**options: Any) -> alt.Legend:  # noqa: ANN401
    """A legend of full colours, whatever the opacity of the marks."""
    return alt.Legend(
        symbolOpacity=1, symbolType="circle", symbolStrokeWidth=0, **options
    )


def tips(*names: str, digits: int = 1) -> list[alt.Tooltip]:
    """Tooltips of fields; those that are figures are rounded."""
    return [
        alt.Tooltip(f"{name}:Q", format=f".{digits}f")
        if name in _NUMBERS
        else alt.Tooltip(f"{name}:N")
        for name in names
    ]


def percent(value: float | None) -> float | None:
    """A fraction of 1 in percentage points; what is undefined stays so."""
    return None if value is None or math.isnan(value) else 100 * value
