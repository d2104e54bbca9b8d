"""How Inspect View shows debates: the columns of its list, their names and colours.

One configuration for live logs (`task.py`) and for exported ones: `viewer.yaml`. View
has columns for scores but none for metadata, so scenario, condition and end of a run
stand in the score `debate_summary`.
"""

from __future__ import annotations

from pathlib import Path

from inspect_ai.viewer import ViewerConfig

from offrecord.content import read_document


def viewer_config() -> ViewerConfig:
    """Columns and colours of the list of samples."""
    return read_document(Path(__file__).parent / "viewer.yaml").validate(ViewerConfig)
