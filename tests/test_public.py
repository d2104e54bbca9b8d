"""The public surface is `__all__`, and everything in it is there."""

from __future__ import annotations

import subprocess
import sys

import offrecord


def test_public_surface() -> None:
    assert sorted(offrecord.__all__) == [
        *("OffrecordError", "Study", "estimate", "load_study"),
        *("parse_stance", "parse_survey", "plan", "run"),
    ]
    public = {name for name in dir(offrecord) if not name.startswith("_")}
    assert set(offrecord.__all__) <= public
    for name in offrecord.__all__:
        assert callable(getattr(offrecord, name))
        assert getattr(offrecord, name).__doc__


def test_parsers_need_neither_tables_nor_inspect() -> None:
    code = (
        "import sys, offrecord; offrecord.parse_stance('PROMOTE - x', ['PROMOTE', "
        "'DO NOT PROMOTE']); offrecord.parse_survey('{}', ['q1'], 1, 7); "
        "print([m for m in ('polars', 'inspect_ai', 'torch') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
