"""The documentation: its examples run and say what it shows; nothing in it is stale."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from offrecord.estimates.estimator import Wanted
from offrecord.estimates.file import Estimates
from offrecord.estimates.study import estimate_study
from offrecord.estimates.views import VIEWS
from offrecord.guard.config import read_config
from offrecord.records import OffrecordError
from offrecord.transcript.record import open_record
from tests.chromium import running_chromium
from tests.docs_examples import (
    DOCS,
    ROOT,
    Block,
    Session,
    agree,
    blocks,
    commands,
    lines,
    parse,
    shell_commands,
    unknown_task_arguments,
)


def _runs(block: Block) -> bool:
    return block.language in {"console", "python"}


PAGES = sorted(path.name for path in DOCS.glob("*.md"))
FIRST, STUDY = "measures.md", "words-study"
"""The page whose study other pages presume, and the name that it has there."""
RUN = [name for name in PAGES if name != FIRST and any(map(_runs, blocks(DOCS / name)))]


def _follow(name: str, session: Session, my_study: Callable[[], Path]) -> None:
    """Run the examples of a page in their order, and compare what they print."""
    printed: list[str] | None = None
    for block in blocks(DOCS / name):
        where = f"docs/{name}:{block.line}"
        presumed = session.folder / "my-study"
        if _runs(block) and presumed.name in block.text and not presumed.exists():
            shutil.copytree(my_study(), presumed)
        if block.language == "text" and block.follows and printed is not None:
            assert agree(lines(block.text), printed), _differs(where, printed)
        printed = None
        if block.language == "python":
            printed = lines(session.python(block.text))
        if block.language == "console":
            for command in commands(block):
                output, code = session.command(command.words)
                real = lines(output)
                assert code == command.exits, f"{where}: exits {code}\n{output}"
                if command.output:
                    assert agree(command.output, real), _differs(where, real)


@pytest.fixture(scope="module")
def my_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study that `FIRST` makes, damaged replies and all, with two measures."""
    session = Session(tmp_path_factory.mktemp("followed"))
    _follow(FIRST, session, lambda: pytest.fail("it presumes a study itself"))
    output, code = session.command(
        f"offrecord measure {STUDY} --measures survey,attribution"
    )
    assert code == 0, output
    return session.folder / STUDY


def test_the_page_on_measures_says_what_its_example_prints(my_study: Path) -> None:
    assert (my_study / "measures" / "attribution-lexical.parquet").is_file()


@pytest.mark.parametrize("name", RUN)
def test_examples_that_cost_nothing_say_what_the_page_shows(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    _follow(name, Session(tmp_path), lambda: request.getfixturevalue("my_study"))


def _differs(where: str, real: list[str]) -> str:
    return (
        f"{where}: the page shows something else; this was printed "
        f"('python -m tests.docs_examples PAGE' prints it again):\n" + "\n".join(real)
    )


@pytest.mark.parametrize("name", ["../README.md", *PAGES])
def test_every_command_that_a_page_shows_has_the_options_it_says(name: str) -> None:
    for block in blocks(DOCS / name):
        if block.language not in {"bash", ""}:
            continue
        for words in shell_commands(block):
            where = f"{name}:{block.line}: {' '.join(words)}"
            if words[0] == "offrecord":
                try:
                    parse(words)
                except Exception as error:
                    pytest.fail(f"{where}: {error}")
            elif words[:2] in (["inspect", "eval"], ["inspect", "eval-set"]):
                assert not unknown_task_arguments(words), where


@pytest.mark.parametrize("name", ["../README.md", *PAGES])
def test_every_file_that_a_page_shows_can_be_read(name: str, tmp_path: Path) -> None:
    for block in blocks(DOCS / name):
        if block.language not in {"yaml", "yml"}:
            continue
        where = f"{name}:{block.line}"
        try:
            [*yaml.safe_load_all(block.text)]
            if block.text.startswith("# guard.yaml"):
                path = tmp_path / "guard.yaml"
                path.write_text(block.text, encoding="utf-8")
                assert read_config(path).decision
        except (yaml.YAMLError, OffrecordError) as error:
            pytest.fail(f"{where}: {error}")


@pytest.mark.parametrize(
    "name", ["command_reference", "estimates_schema", "scenario_reference"]
)
def test_what_is_generated_is_not_stale(name: str) -> None:
    path = ROOT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fresh = module.PAGE.read_text(encoding="utf-8") == module.page()
    assert fresh, f"{module.PAGE} is stale: renew it with '{module.RENEW}'"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does: any warning fails."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)="
    r"[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?=[^>]*rel=[\"']?(?:stylesheet|icon|preconnect|preload|dns-prefetch))"
    r"[^>]*?href=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)"
)


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = LOADED.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.relative_to(site)} loads {found and found[0]}"


def test_formulas_are_typeset_and_need_no_script(site: Path) -> None:
    page = (site / "method.html").read_text(encoding="utf-8")
    source = (DOCS / "method.md").read_text(encoding="utf-8")
    assert source.count("```math") >= 10
    assert page.count('display="block"') == source.count("```math")
    assert page.count("<math") == source.count("```math") + source.count("$`")
    assert "$`" not in page
    assert "language-math" not in page
    assert "\\frac" not in page


def test_the_search_works_on_pages_read_from_disk(site: Path) -> None:
    with running_chromium() as browser:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.click(".md-search__input")
        page.keyboard.type("bootstrap")
        page.wait_for_selector(".md-search-result__item")
        links = page.locator(".md-search-result__link").all()
        found = {str(link.get_attribute("href")).split("/")[-1] for link in links}
    assert any(name.startswith("method.html") for name in found), found
    assert all(url.startswith("file:") for url in asked), asked


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        "<img alt=a src=//cdn.example/x.png>",
        '<link href="https://fonts.example/css" rel="stylesheet">',
        "@import 'https://fonts.example/css';",
        "a { background: url(https://cdn.example/x.png) }",
    ],
)
def test_what_loads_from_elsewhere_would_be_seen(text: str) -> None:
    assert LOADED.search(text)


@pytest.mark.parametrize("name", ["../README.md", *PAGES])
def test_every_extra_that_a_page_installs_exists(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(project["project"]["optional-dependencies"])
    text = (DOCS / name).read_text(encoding="utf-8")
    for named in re.findall(r"'\.\[([\w,]+)\]'", text):
        assert set(named.split(",")) <= extras, named


def test_the_readme_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (ROOT / target).exists(), target


def test_the_readme_and_the_quick_start_show_the_same_result() -> None:
    row = re.compile(r"^ alignment-future alpha .*$", re.MULTILINE)
    shown = [
        row.findall(path.read_text(encoding="utf-8"))[0].rstrip()
        for path in (ROOT / "README.md", DOCS / "quickstart.md")
    ]
    assert shown[0] == shown[1]


GOLDEN = ROOT.parent / "shared" / "llmagora" / "golden_counts.json"
CONDITIONS = (
    "none",
    "negative/historical",
    "negative/future",
    "positive/historical",
    "positive/future",
)
"""Of Table 1 in its order, as the authors name them."""


@pytest.mark.skipif(not GOLDEN.is_file(), reason="the published runs are not here")
def test_table_1_on_the_page_is_that_of_the_published_runs() -> None:
    counts = {
        (row["model"], row["condition"]): row["divergent"] / row["turns"]
        for row in json.loads(GOLDEN.read_text(encoding="utf-8"))
        if row["agent"] == "alpha"
    }
    page = (DOCS / "reproduce.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+/\S+) \|(.*)\|$", page, re.MULTILINE)
    assert {model for model, _ in rows} == {model for model, _ in counts}
    for model, cells in rows:
        shown = [float(cell) for cell in cells.split("|")]
        real = [round(100 * counts[model, name], 1) for name in CONDITIONS]
        assert shown == real, model


def _documented(page: str) -> dict[str, set[str]]:
    """The keys in the first column of each section's table."""
    found: dict[str, set[str]] = {}
    for part in page.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        cells = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
        found[title] = set(re.findall(r"`(\w+)`", " ".join(cells)))
    common = re.findall(r"^\| (`[^|]*) \|", page.partition("\n## ")[0], re.MULTILINE)
    return found | {"": set(re.findall(r"`(\w+)`", " ".join(common)))}


def test_every_key_of_the_estimates_is_documented(my_study: Path) -> None:
    wanted = Wanted(
        contrasts=("alignment-future:baseline",),
        margin=0.05,
        against=my_study,
        views=False,
    )
    estimates = estimate_study(open_record(my_study), wanted)
    known = _documented((DOCS / "estimates.md").read_text(encoding="utf-8"))
    keys = {"model", "condition", "kind", "agent", "channel"}
    for name, value in estimates.as_dict().items():
        if not isinstance(value, list) or name == "by":
            assert name in known["The file itself"], name
            continue
        assert name in known, f"docs/estimates.md has no section '{name}'"
        used = {key for row in value for key in row} - keys - known[""] - known[name]
        assert not used, f"docs/estimates.md, section {name}: say what {used} mean"


def test_the_published_schema_is_that_of_a_real_file(my_study: Path) -> None:
    text = (DOCS / "estimates.schema.json").read_text(encoding="utf-8")
    schema = Draft202012Validator(json.loads(text))
    wanted = Wanted(contrasts=("alignment-future:baseline",), margin=0.05)
    found = estimate_study(open_record(my_study), wanted)
    for estimates in (found.as_dict(), {**found.as_dict(), "views": {}}):
        schema.validate(estimates)
    for part in ("rates", "split", "floor", "contrasts", "ranks", "missing"):
        whole = found.as_dict()
        figure = next(name for name in whole[part][0] if name not in {"model", "agent"})
        spoilt = {**whole, part: [{**whole[part][0], "scope": 3, figure: [1]}]}
        assert list(schema.iter_errors(spoilt)), part
        del whole[part]
        assert list(schema.iter_errors(whole)), part
    read = Estimates.from_dict(json.loads(json.dumps(found.as_dict())))
    assert read.as_dict() == found.as_dict()


def test_every_view_of_a_report_is_documented() -> None:
    known = _documented((DOCS / "estimates.md").read_text(encoding="utf-8"))
    assert set(VIEWS) <= known["views"]
