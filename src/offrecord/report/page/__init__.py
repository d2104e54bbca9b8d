"""The page: one file, which loads nothing and evaluates nothing.

Every text goes through the template's escaping; the content policy admits the scripts
and the style that stand in the file, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jinja2
import vl_convert
from markupsafe import Markup

from offrecord.content.boundary.shown import escaped
from offrecord.report.browser import Fragment
from offrecord.report.figures.grammar import VEGA_LITE, theme
from offrecord.report.page.blocks import Drawing, Section
from offrecord.report.page.findings import Findings
from offrecord.report.page.sections import RECORD, evidence

_ASSETS: Final = files("offrecord.report.page") / "assets"


def render_page(
    found: Findings, browser: Fragment, *, version: str, banners: Sequence[str] = ()
) -> str:
    """The report as one HTML document.

    Args:
        found: What was found.
        browser: The transcripts.
        version: Of offrecord.
        banners: What has to be read first, such as that runs are missing.
    """
    record = [make(found) for make in RECORD]
    shown = evidence(found)
    return render(found.name, shown, record, browser, version, banners)


def render(
    name: str,
    shown: Sequence[Section],
    record: Sequence[Section],
    browser: Fragment | None,
    version: str,
    banners: Sequence[str],
) -> str:
    """Sections as one HTML document.

    Args:
        name: Its heading.
        shown: What stands before the transcripts.
        record: What stands behind them.
        browser: The transcripts, if it has any.
        version: Of offrecord.
        banners: What has to be read first.
    """
    held = browser or Fragment(html="", css="", js="", data={})
    data = {
        "figures": _json(
            {one.figure.id: one.figure.specs() for one in drawings(shown)}
        ),
        "look": _json(theme("page")),
        **held.data,
    }
    style = _asset("page.css") + held.css
    scripts = [_drawing_library(), _asset("page.js"), held.js]
    transcripts = [Section("transcripts", "Transcripts", ())] if browser else []
    return _template().render(
        name=name,
        version=version,
        policy=_policy(style, scripts),
        css=Markup(style),
        evidence=shown,
        record=record,
        contents=[*shown, *transcripts, *record],
        banners=banners,
        browser={"html": Markup(held.html)},
        data=[(name, Markup(text)) for name, text in data.items()],
        scripts=[Markup(script) for script in scripts],
    )


def drawings(sections: Sequence[Section]) -> list[Drawing]:
    """The figures of some sections, in their order."""
    return [
        block
        for section in sections
        for block in section.blocks
        if isinstance(block, Drawing)
    ]


def _policy(style: str, scripts: Sequence[str]) -> str:
    """The content policy: nothing but what stands in this file, by its hash."""
    ours = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {ours}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _json(value: Mapping[str, Any]) -> str:
    """JSON for a data block: no markup can begin in it, or end it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def _drawing_library() -> str:
    bundle = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE
    )
    # Within a script element these would end it or change how it is read.
    return str(bundle).replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:  # noqa: ANN401  (whatever a template prints)
    """Text with visible escapes for what would steer or hide; our own mark-up as is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return escaped(value, keep="\n\t")
    return value


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, finalize=_shown, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_asset("page.html"))
