"""A real browser for tests of pages: Debian's Chromium, driven by Playwright.

A test that asks for it is skipped, with the reason, where one of the two is missing.
Whatever a page does beyond what it may do is written down in its `Watch`.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Watch:
    """What a page did."""

    errors: list[str] = field(default_factory=list)
    """Errors of the console, refusals of the policy among them, and uncaught ones."""
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Addresses that the page asked for beside its own; each was refused."""

    @property
    def quiet(self) -> bool:
        """Whether the page did nothing that it may not do."""
        return not (self.errors or self.dialogs or self.requests)


def chromium_path() -> str | None:
    """Where Chromium is, if it is there."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def why_no_browser() -> str | None:
    """Why pages cannot be opened here; none if they can."""
    if importlib.util.find_spec("playwright") is None:
        return "no Playwright here: pip install playwright"
    if chromium_path() is None:
        return "no Chromium here: apt-get install chromium"
    return None


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """A Chromium without a window.

    Skips the test that asks for it where it cannot be had.
    """
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()


def watched(page: Page, file: Path) -> Watch:
    """Watch a page that may ask for nothing but one file.

    Args:
        page: A page before it is opened.
        file: The file that it will show.
    """
    watch = Watch()
    own = file.resolve().as_uri()

    page.on(
        "console",
        lambda message: (
            watch.errors.append(message.text) if message.type == "error" else None
        ),
    )
    page.on("pageerror", lambda error: watch.errors.append(str(error)))

    def dismiss(dialog: object) -> None:
        watch.dialogs.append(getattr(dialog, "message", ""))
        dialog.dismiss()  # type: ignore[attr-defined]

    page.on("dialog", dismiss)

    def serve(route: object) -> None:
        url = route.request.url  # type: ignore[attr-defined]
        if url.split("#")[0] == own:
            route.continue_()  # type: ignore[attr-defined]
        else:
            watch.requests.append(url)
            route.abort()  # type: ignore[attr-defined]

    page.route("**/*", serve)
    return watch


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One Chromium for the tests of a module.

    Not for a whole session: while it runs, asyncio finds a running loop in this thread.
    """
    with running_chromium() as browser:
        yield browser
