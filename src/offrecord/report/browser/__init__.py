"""Browser: every turn of every run, side by side, inside the report's page."""

from offrecord.report.browser.payload import Fragment, browser_fragment

__all__ = ["Fragment", "browser_fragment"]
