"""Inspect View, started on logs: the columns that a reader of debates wants are there.

`OFFRECORD_SHOTS=DIR` also keeps a picture of each list.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.viewer import TaskSamplesView

from offrecord.export.logs import export_inspect
from offrecord.measures.inspect.viewer import viewer_config
from offrecord.records import Ended
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import open_record
from offrecord.transcript.store import write_study_json, write_transcript
from tests.chromium import chromium  # noqa: F401, a fixture

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PUBLISHED = Path(__file__).parents[1].parent / "shared" / "llmagora"
SCENARIO = "promotion_committee"


@pytest.fixture(scope="module")
def live_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of a live study."""
    out = tmp_path_factory.mktemp("viewer") / "live"
    subprocess.run(
        [
            *(sys.executable, "-m", "offrecord", "run", "--model", "simulated/messy"),
            *("--scenario", "promotion", "--condition", "baseline", "--condition"),
            *("alignment-future", "--runs", "3", "--rounds", "3", "--shadows", "0"),
            *("--out", str(out), "--", "--display", "none"),
        ],
        check=True,
        capture_output=True,
    )
    return out / "logs"


@pytest.fixture(scope="module")
def imported_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported logs of some published runs of one model."""
    if not PUBLISHED.is_dir():
        pytest.skip("the published runs (../shared/llmagora) are not here")
    out = tmp_path_factory.mktemp("viewer") / "published"
    read = import_llmagora(PUBLISHED, "published")
    rows = read.transcript.filter(model="openai/gpt-5.4", scenario=SCENARIO)
    out.mkdir()
    write_transcript(out, rows)
    write_study_json(out, read.facts)
    export_inspect(open_record(out), out / "logs")
    return out / "logs"


@contextmanager
def view(logs: Path) -> Iterator[str]:
    """Inspect View of a folder of logs, on a free port; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "start"]
    command += ["--log-dir", str(logs), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, server)
            yield address
        finally:
            server.terminate()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert server.poll() is None, "inspect view ended by itself"
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("inspect view does not answer")


@pytest.mark.parametrize("source", ["live", "imported"])
def test_view_shows_the_columns_of_debates(
    source: str,
    chromium: Browser,  # noqa: F811
    request: pytest.FixtureRequest,
) -> None:
    logs: Path = request.getfixturevalue(f"{source}_logs")
    name = Path(list_eval_logs(str(logs))[0].name).name
    samples = read_eval_log(str(logs / name)).samples or []
    page = chromium.new_page(viewport={"width": 1280, "height": 560})
    page.set_default_timeout(60_000)
    with view(logs) as address:
        page.goto(f"{address}/#/logs/{name}")
        page.get_by_text(f"{len(samples)} Samples").wait_for()
        for label in (_view().score_labels or {}).values():
            # Heads show in capitals and are cut to their columns, as CSS does it.
            assert page.get_by_text(label, exact=True).first.is_visible(), label
        model = page.get_by_text(samples[0].metadata.get("model", "simulated/messy"))
        assert model.first.is_visible()
        assert page.get_by_text("completed").first.is_visible()
        if os.environ.get("OFFRECORD_SHOTS"):
            _keep(page, f"inspect-view-{source}.png")
    page.close()


def _view() -> TaskSamplesView:
    view_ = viewer_config().task_samples_view
    assert isinstance(view_, TaskSamplesView)
    return view_


def _keep(page: Page, name: str) -> None:
    """A picture of the list alone: what stands above it names folders of a machine."""
    head = page.get_by_text("Filter:").bounding_box()
    assert head is not None
    assert page.viewport_size is not None
    top = head["y"] - 16
    size = page.viewport_size
    page.screenshot(
        path=Path(os.environ["OFFRECORD_SHOTS"]) / name,
        clip={"x": 0, "y": top, "width": size["width"], "height": size["height"] - top},
    )


def test_every_column_is_a_score_that_the_logs_have(live_logs: Path) -> None:
    log = read_eval_log(list_eval_logs(str(live_logs))[0].name)
    there = {"sampleStatus", "sampleId", "epoch"}
    for sample in log.samples or ():
        for scorer, score in (sample.scores or {}).items():
            value = score.value
            names = value if isinstance(value, dict) else [scorer]
            there |= {f"score__{scorer}__{name}" for name in names}
    view_ = _view()
    shown = {column.id for column in view_.columns or () if column.visible}
    assert shown == there
    scales, labels = view_.score_color_scales or {}, view_.score_labels or {}
    scores = {name.rsplit("__", 1)[1] for name in there if "__" in name}
    assert scales.keys() <= scores
    assert labels.keys() == scores
    ends = scales["ended"]
    assert isinstance(ends, Mapping)
    assert set(ends) == set(Ended)
