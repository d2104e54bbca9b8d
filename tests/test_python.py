"""The Python interface: what people hold, in a notebook and in pandas."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import offrecord
from offrecord.records import OffrecordError

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> offrecord.Study:
    """A study in which many sides are missing."""
    out = tmp_path_factory.mktemp("python") / "messy"
    design = {
        "models": ["simulated/messy"],
        "scenarios": ["promotion"],
        "conditions": ["baseline", "alignment-future"],
        "runs": 3,
    }
    return offrecord.run(design, out, ["--display", "none"])


def test_every_public_name_is_there_and_no_other() -> None:
    for name in offrecord.__all__:
        assert getattr(offrecord, name).__doc__
    assert set(offrecord.__all__) <= set(dir(offrecord))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = offrecord.nothing


def test_every_sub_package_says_what_is_public() -> None:
    for info in pkgutil.iter_modules(offrecord.__path__, "offrecord."):
        if not info.ispkg:
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            assert getattr(module, name) is not None


def test_a_missing_side_is_no_difference(messy: offrecord.Study) -> None:
    pairs = messy.pairs
    missing = pairs.filter(pl.col("left").is_null() | pl.col("right").is_null())
    assert missing.height > 0
    flags = ("divergent", "accommodating", "reversing")
    assert missing.select(flags).null_count().row(0) == (missing.height,) * 3
    table = pairs.to_pandas()
    wrong = (table["left"] != table["right"]).mean()
    known = pairs.drop_nulls(["left", "right"])
    right = (known["left"] != known["right"]).mean()
    assert table["divergent"].dropna().mean() == pytest.approx(right)
    assert wrong > right  # what a comparison in pandas would have said
    parts = pairs.select(pl.col("accommodating").sum() + pl.col("reversing").sum())
    assert parts.item() == pairs["divergent"].sum()


def test_estimates_are_those_of_the_command_line(messy: offrecord.Study) -> None:
    frame = messy.estimate(by=["condition"])
    again = offrecord.estimate(messy.pairs, by=["condition"])
    assert frame.equals(again)
    keys = ["condition", "agent", "quantity", "value", "low", "high", "se", "runs"]
    assert frame.columns == [*keys, "turns", "missing", "reason", "left_out", "scope"]
    one = frame.filter(condition="alignment-future", agent="alpha")
    values = dict(one.select("quantity", "value").iter_rows())
    assert values["public_shift"] == pytest.approx(
        values["conversion"] + values["audience_effect"]
    )
    with pytest.raises(OffrecordError, match="scope"):
        messy.estimate(scope="nowhere")


def test_a_frame_of_another_library_is_one_line(messy: offrecord.Study) -> None:
    frame: Any = messy.pairs.to_pandas()
    with pytest.raises(OffrecordError, match="give a polars frame"):
        offrecord.estimate(frame)


def test_a_notebook_shows_tables(messy: offrecord.Study) -> None:
    shown = messy._repr_html_()
    assert "<table" in shown
    assert "alignment-future" in shown
    assert "6 of 6 runs" in repr(messy)


def test_measure_says_what_it_did(messy: offrecord.Study) -> None:
    done = messy.measure("markers")
    assert done["measure"].unique().to_list() == ["markers"]
    assert done["measured"].all()
    assert "markers_words" in messy.turns.columns
    with pytest.raises(OffrecordError, match="no measure 'nothing'"):
        messy.measure("nothing")


def test_a_figure_is_a_chart_and_a_wrong_name_lists_them(
    messy: offrecord.Study,
) -> None:
    spec = messy.figure("split").to_dict()
    assert spec["$schema"].startswith("https://vega.github.io")
    with pytest.raises(OffrecordError, match=r"figure nothing: .*split"):
        messy.figure("nothing")
    assert not (messy.path / "estimates.json").exists()


def test_plan_calls_no_model() -> None:
    design = {"models": ["simulated/paper"], "scenarios": ["promotion"], "runs": 2}
    plan = offrecord.plan(design)
    assert plan["calls"].to_list() == [5 * 2 * 60]
    with pytest.raises(OffrecordError, match="promotion"):
        offrecord.plan({**design, "scenarios": ["nowhere"]})


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / "notebook.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shown.append(last_value("".join(cell["source"]), names))
    for value in shown:
        html: Callable[[], str] | None = getattr(value, "_repr_html_", None)
        if html is None:
            assert value.to_dict()["$schema"]  # a chart
        else:
            assert "<table" in html()


def last_value(code: str, names: dict[str, Any]) -> Any:
    """Run a cell, and give what a notebook would show below it."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
