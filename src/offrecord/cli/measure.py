"""`offrecord measure`: parse a study's stored replies again, calling no model."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
def measure(study: Path) -> None:
    """Parse the stances and surveys of STUDY with this version's parsers."""
    from offrecord.cli.summary import show_summary
    from offrecord.study import load_study

    loaded = load_study(study)
    loaded.measure()
    show_summary(loaded)
