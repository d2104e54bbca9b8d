"""How large the report of the published runs is, and how soon it answers in a browser.

The report of 600 runs (24,000 outputs of debates) in Debian's Chromium: bytes, elements
of the first screen, and times that a reader feels. A page that is not there yet is no
page: the first screen counts until the transcripts can be filtered.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import Figure
from offrecord.measures.parsed import write_parsed
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import open_record
from tests.chromium import running_chromium, watched, why_no_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SOURCE: Final = Path(__file__).parents[2] / "shared" / "llmagora"
ROUNDS: Final = 3

_ELEMENTS: Final = "document.querySelectorAll('*').length"
_PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_FILTER: Final = """async () => {
  const field = document.querySelector('[data-name=model] select');
  const start = performance.now();
  field.selectedIndex = 1 + (field.selectedIndex % 7);
  field.dispatchEvent(new Event('change'));
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
_SEARCH: Final = """async (query) => {
  const field = document.getElementById('tx-text');
  const note = document.getElementById('tx-progress');
  const start = performance.now();
  field.value = query;
  field.dispatchEvent(new Event('input'));
  const frame = () => new Promise(requestAnimationFrame);
  while (!note.textContent) await frame();
  while (note.textContent) await frame();
  return performance.now() - start;
}"""


def run() -> list[Figure]:
    """Size of the page, time to its first screen, to a filter and to a search."""
    if not SOURCE.is_dir():
        return [Figure("report of published runs", "skipped: no ../shared/llmagora")]
    if reason := why_no_browser():
        return [Figure("report of published runs", f"skipped: {reason}")]
    from offrecord.report.write import Report, report_study

    with tempfile.TemporaryDirectory() as folder:
        write_parsed(Path(folder) / "study", import_llmagora(SOURCE, "bench"))
        study = open_record(Path(folder) / "study")
        start = time.perf_counter()
        page, *_ = report_study(study, Report())
        written = time.perf_counter() - start
        with running_chromium() as browser:
            seen = [_look(browser, page) for _ in range(ROUNDS)]
        size = page.stat().st_size
    paint, ready, filtered, searched, elements = map(
        statistics.median, zip(*seen, strict=True)
    )
    return [
        Figure("write the report of 600 runs, estimates and all", f"{written:.1f} s"),
        Figure("bytes of the page", f"{size / 1e6:.2f} MB", "at most 15 MB"),
        Figure("elements of its first screen", f"{elements:.0f}", "at most 5,000"),
        Figure("time to the first paint", f"{paint:.0f} ms"),
        Figure("time to transcripts that can be filtered", f"{ready:.0f} ms"),
        Figure("time to a filter", f"{filtered:.0f} ms"),
        Figure("time to a search of every text", f"{searched:.0f} ms"),
    ]


def _look(browser: Browser, file: Path) -> tuple[float, float, float, float, float]:
    page: Page = browser.new_page()
    watch = watched(page, file)
    start = time.perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-transcripts=ready]")
    ready = 1000 * (time.perf_counter() - start)
    elements, paint = page.evaluate(_ELEMENTS), page.evaluate(_PAINT)
    filtered, searched = page.evaluate(_FILTER), page.evaluate(_SEARCH, "goodwill")
    page.close()
    assert watch.quiet, watch
    return paint, ready, filtered, searched, elements
