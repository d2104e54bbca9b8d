"""Figures as files: SVG and PDF for a paper, PNG for a slide, and their data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import vl_convert

from offrecord.content.boundary.shown import escaped, guarded
from offrecord.records import OffrecordError
from offrecord.report.figures.grammar import VEGA_LITE, Figure
from offrecord.transcript.store import write_bytes

_SCALE = 2.0  # pixels of a PNG to one of the screen


def write_figures(
    figures: Sequence[Figure],
    folder: Path,
    *,
    theme: str = "light",
    data: bool = False,
) -> list[Path]:
    """Write each figure as SVG, PDF and PNG.

    Args:
        figures: The figures; their ids name the files.
        folder: Where to; made where it is absent.
        theme: `light` or `dark`.
        data: Whether its data (CSV) and its Vega-Lite specification are written too.

    Returns:
        The files.

    Raises:
        OffrecordError: If the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise OffrecordError(
            f"{folder}: {fault.strerror}: name another folder"
        ) from None
    written = []
    for figure in figures:
        spec = json.dumps(figure.file_spec(theme))
        svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
        made = {
            "svg": svg.encode(),
            "pdf": vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE),
            "png": vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=_SCALE),
        }
        if data:
            made["csv"] = _csv(figure).encode()
            made["vl.json"] = spec.encode()
        for kind, content in made.items():
            path = folder / f"{figure.id}.{kind}"
            write_bytes(path, content)
            written.append(path)
    return written


def _csv(figure: Figure) -> str:
    """The data of a figure; texts are guarded against what a sheet would run."""
    rows = [
        {k: guarded(escaped(v)) if isinstance(v, str) else v for k, v in row.items()}
        for row in figure.data()
    ]
    return pl.DataFrame(rows, infer_schema_length=None).write_csv()
