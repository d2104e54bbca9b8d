"""The pages for everyone: by keyboard alone, on a phone, in both themes, with axe."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from offrecord.report.compare import compare_studies
from tests.chromium import chromium, watched
from tests.test_report import moved, page_of_a_run_study, small

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium", "page_of_a_run_study"]  # the fixtures

AXE = files("axe_playwright_python") / "axe.min.js"

SERIOUS: Final = {"serious", "critical"}

TEXTS: Final = """() => {
  const lit = (value) => {
    const [r, g, b, a = 1] = value.match(/[\\d.]+/g).map(Number);
    const linear = (c) => c <= 10.31 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4;
    return [0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b), a];
  };
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const [light, alpha] = lit(getComputedStyle(at).backgroundColor);
      if (alpha === 1) return light;
    }
    return 1;
  };
  const own = (one) => [...one.childNodes].some((n) => n.nodeType === 3
    && n.nodeValue.trim());
  return [...document.querySelectorAll("body *")]
    .filter((one) => own(one) && one.getClientRects().length
      && !one.closest("script, style"))
    .map((one) => {
      const style = getComputedStyle(one);
      const inSvg = one.namespaceURI.endsWith("svg");
      const [ink] = lit(inSvg ? style.fill : style.color);
      const paper = ground(one);
      const [high, low] = ink > paper ? [ink, paper] : [paper, ink];
      return [(high + 0.05) / (low + 0.05), one.outerHTML.slice(0, 200)];
    });
}"""
"""The contrast of each visible text with its ground (WCAG 2.2, 1.4.3), by style alone:
axe gives no verdict on drawn text or on what is scrolled out of sight."""

FOCUSED: Final = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const box = one.getClientRects()[0];
  const style = getComputedStyle(one);
  const middle = (low, high, room) => (Math.max(low, 0) + Math.min(high, room)) / 2;
  const hit = box && document.elementFromPoint(
    middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight));
  return {
    what: one.outerHTML.slice(0, 120),
    seen: one.contains(hit),
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    named: Boolean((one.getAttribute("aria-label") || one.textContent
      || one.labels?.[0]?.textContent || "").trim()),
  };
}"""


@pytest.fixture(scope="module")
def two_studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two studies side by side."""
    folder = tmp_path_factory.mktemp("beside")
    studies = [small(folder / name, moved()) for name in ("old", "new")]
    return compare_studies(studies, folder / "both.html")


@pytest.fixture(params=["page_of_a_run_study", "two_studies"])
def file(request: pytest.FixtureRequest) -> Path:
    """Each of the pages that offrecord writes."""
    found: Path = request.getfixturevalue(request.param)
    return found


def _opened(browser: Browser, file: Path, width: int, scheme: Any = "light") -> Any:
    page = browser.new_page(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    watched(page, file)
    page.goto(file.resolve().as_uri())
    for figure in page.locator("[data-figure]").all():
        figure.scroll_into_view_if_needed()
        figure.locator("svg").first.wait_for()
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_serious_barrier(
    file: Path, chromium: Browser, width: int, scheme: str
) -> None:
    page = _opened(chromium, file, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true })"
    )
    # What has come into view is measured once it is laid out.
    page.evaluate("new Promise(r => requestAnimationFrame(() => setTimeout(r, 100)))")
    found = page.evaluate("axe.run()")["violations"]
    texts = page.evaluate(TEXTS)
    for run in page.locator(".tx-run").all()[:1]:
        run.click()
        page.wait_for_selector("#tx-reader .tx-text")
        found += page.evaluate("axe.run()")["violations"]
        texts += page.evaluate(TEXTS)
    barriers = [
        (one["id"], one["nodes"][0]["html"])
        for one in found
        if one["impact"] in SERIOUS
    ]
    assert not barriers
    assert texts
    assert not [(ratio, text) for ratio, text in texts if ratio < 4.5]


@pytest.mark.parametrize("width", [390, 1280])
def test_every_stop_of_the_keyboard_is_named_in_view_and_ringed(
    file: Path, chromium: Browser, width: int
) -> None:
    page = _opened(chromium, file, width)
    page.evaluate("window.scrollTo(0, 0)")
    stops: list[dict[str, Any]] = []
    page.keyboard.press("Tab")
    while (stop := page.evaluate(FOCUSED)) and len(stops) < 500:
        stops.append(stop)
        page.keyboard.press("Tab")
    assert len(stops) >= page.locator("nav a, main summary").count()
    assert not [s for s in stops if not (s["seen"] and s["ring"] and s["named"])]
