"""Studies side by side: matched cells alone, what differs first, the rest named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from offrecord.estimates.side_by_side import side_by_side
from offrecord.records import OffrecordError
from offrecord.report.compare import compare_studies
from tests.chromium import chromium, watched
from tests.conftest import Offrecord
from tests.test_report import Page, small
from tests.test_tables import row

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium"]  # the fixture

YES: dict[str, Any] = {"text": "SIGN - yes."}
NO: dict[str, Any] = {"text": "DO NOT SIGN - a thin file."}
PRESSED: dict[str, Any] = {"condition": "alignment-future", "kind": "alignment"}


def runs(moved: int, of: int = 4, **cell: Any) -> list[dict[str, Any]]:
    """Runs of one turn each; the public stance of some is on the pressed side."""
    rows = []
    for number in range(of):
        run = f"{cell.get('scenario', 's')}-{cell.get('kind', 'baseline')}-{number}"
        rows.append(row(run, **(YES if number < moved else NO), **cell))
        rows.append(row(run, channel="off_record", **NO, **cell))
    return rows


def test_a_difference_is_of_the_cells_that_both_have(tmp_path: Path) -> None:
    old = small(tmp_path / "old", [*runs(0), *runs(1, **PRESSED)], rounds=1)
    extra = runs(4, scenario="other", **PRESSED)
    rows = [*runs(0), *runs(3, **PRESSED), *extra]
    new = small(tmp_path / "new", rows, rounds=1)
    [beside] = side_by_side([old, new])
    found = {(one["kind"], one.of.measure): one.of for one in beside.rows}
    # 3 of 4 public stances less 1 of 4; all of it is the audience effect.
    public = found["alignment", "public"]
    assert (public.value_b, public.value_a) == (0.25, 0.75)
    assert public.bounds.value == pytest.approx(0.5)
    assert (public.runs_b, public.runs_a) == (4, 4)
    assert found["alignment", "audience_effect"].bounds.value == pytest.approx(0.5)
    assert found["alignment", "off_record"].bounds.value == 0
    assert ("baseline", "audience_effect") not in found
    assert "1 cell left out, no counterpart on the other side" in public.note
    assert "other" in public.note
    assert "scenarios (only in new: other)" in beside.found.unlike


def test_the_page_says_what_differs_first(tmp_path: Path, chromium: Browser) -> None:
    alike = [*runs(0, of=12), *runs(0, of=12, **PRESSED)]
    old = small(tmp_path / "old", alike, rounds=1)
    rows = [*runs(0, of=12), *runs(12, of=12, **PRESSED)]
    new = small(tmp_path / "new", rows, rounds=1)
    out = compare_studies([old, new], tmp_path / "both.html")
    page = Page(out.read_text(encoding="utf-8"))
    heading, *lines = page.tables["new less old"]
    assert heading[:5] == ["figure", "model", "kind", "old", "new"]
    # Public moved by 100 points, and so did what follows from it; nothing else did.
    changed = [line for line in lines if line[5] == "+100.0"]
    assert lines[: len(changed)] == changed
    assert {line[0] for line in changed} == {
        *("public", "gap", "divergence", "audience effect")
    }
    assert "Intervals of differences that exclude zero: 4 of 9." in page.words
    assert "The two studies are alike in design" in page.words
    opened = chromium.new_page()
    watch = watched(opened, out)
    opened.goto(out.as_uri())
    opened.wait_for_selector("[data-figure] svg")
    assert watch.quiet, watch


def test_three_studies_are_each_set_beside_the_first(tmp_path: Path) -> None:
    studies = [
        small(tmp_path / name, [*runs(0), *runs(moved, **PRESSED)], rounds=1)
        for name, moved in (("a", 0), ("b", 2), ("c", 4))
    ]
    first = [(one.name, one.first) for one in side_by_side(studies)]
    assert first == [("b", "a"), ("c", "a")]
    with pytest.raises(OffrecordError, match="named twice"):
        side_by_side([studies[0], studies[0]])


def test_other_models_are_compared_under_their_names(tmp_path: Path) -> None:
    both = [
        small(tmp_path / name, [*runs(0, **own), *runs(2, **PRESSED, **own)], rounds=1)
        for name in ("x", "y")
        for own in [dict[str, Any](model=name, partner=name, agent_model=name)]
    ]
    [beside] = side_by_side(both)
    assert beside.found.note == "y is compared with x"
    assert all("model" not in one.group for one in beside.rows)
    assert [one.of.runs_a for one in beside.rows if one["kind"] == "alignment"][:1] == [
        4
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a", "a"), "a study is named twice: name each once"),
        (("a", "b", "--max-runs", "3"), "takes --out and no other option"),
        (("a", "--out", "x.html"), "one study is reported in its own folder"),
        (("a", "--theme", "dark"), "add --figures FOLDER"),
        (("a", "b", "--out", "a/report.html"), "is a file of a study"),
    ],
)
def test_wrong_calls_are_one_line(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    offrecord: Offrecord,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("a", "b"):
        small(tmp_path / name, [*runs(0), *runs(1, **PRESSED)], rounds=1)
    monkeypatch.chdir(tmp_path)
    printed = offrecord("report", *words)
    assert printed.code == 2
    assert said in printed.err
    assert not list(tmp_path.glob("*.html"))


def test_the_page_is_named_by_its_studies(
    tmp_path: Path, offrecord: Offrecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        small(tmp_path / name, [*runs(0), *runs(1, **PRESSED)], rounds=1)
    monkeypatch.chdir(tmp_path)
    printed = offrecord("report", "a", "b")
    assert (printed.code, printed.out.strip()) == (0, "a-vs-b.html")
    assert "<h1>a and b</h1>" in (tmp_path / "a-vs-b.html").read_text(encoding="utf-8")
