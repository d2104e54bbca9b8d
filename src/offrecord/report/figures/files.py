"""Figures as files: SVG and PDF for a paper, PNG for a slide."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import vl_convert

from offrecord.records import OffrecordError
from offrecord.report.figures.grammar import VEGA_LITE, Figure
from offrecord.transcript.store import write_bytes

_SCALE = 2.0  # pixels of a PNG to one of the screen


def write_figures(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """Write each figure as SVG, PDF and PNG, in the light theme.

    Args:
        figures: The figures; their ids name the files.
        folder: Where to; made where it is absent.

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
        spec = json.dumps(figure.file_spec())
        svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
        made = {
            "svg": svg.encode(),
            "pdf": vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE),
            "png": vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=_SCALE),
        }
        for kind, content in made.items():
            path = folder / f"{figure.id}.{kind}"
            write_bytes(path, content)
            written.append(path)
    return written
