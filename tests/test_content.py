"""Content of every kind: found, listed, shown, copied, begun, checked, and given."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from offrecord.cli.content import content
from offrecord.content import library, read_document
from offrecord.content.library import SHELVES, built_in, find
from offrecord.protocol.cases import cases
from offrecord.protocol.design import make_design
from offrecord.protocol.script import material_of
from offrecord.records import OffrecordError
from offrecord.runner.resolve import with_full_paths
from offrecord.scenarios.load import load_scenario, load_scenarios

TARGETS = {
    kind: f"Our {kind}{'' if shelf.whole else Path(shelf.file).suffix}"
    for kind, shelf in SHELVES.items()
}


def run(*words: str) -> str:
    """What a call prints; its error is the test's."""
    done = CliRunner().invoke(content, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize("kind", SHELVES)
def test_what_new_writes_passes_its_check_and_is_commented(
    kind: str, tmp_path: Path
) -> None:
    target = tmp_path / TARGETS[kind]
    assert f"offrecord content check {target}" in run("new", kind, str(target))
    said = run("check", str(target))
    assert said.startswith("OK ")
    assert f"our-{kind}@1:" in said
    assert f"our-{kind}" in run("show", str(target))
    main = target / SHELVES[kind].file if SHELVES[kind].whole else target
    text = main.read_text(encoding="utf-8")
    assert "# " in text or "<!--" in text
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    with pytest.raises(OffrecordError, match=r"is in the way|is not empty"):
        library.new(kind, target)


@pytest.mark.parametrize("kind", [kind for kind in SHELVES if built_in(kind)])
def test_a_copy_is_the_built_in_one_and_takes_no_ones_place(
    kind: str, tmp_path: Path
) -> None:
    name = built_in(kind)[0]
    copied = run("copy", f"{kind}/{name}", str(tmp_path / "mine"))
    [path] = (tmp_path / "mine").iterdir()
    assert str(path) in copied
    own, ours = run("check", str(path)), run("check", f"{kind}/{name}")
    assert own.rpartition("OK ")[2] == ours.rpartition("OK ")[2]
    with pytest.raises(OffrecordError, match=r"is in the way|is not empty"):
        library.copy(kind, name, tmp_path / "mine")


def test_list_names_all_that_ships_with_source_version_and_hash() -> None:
    said = run("list")
    for kind in SHELVES:
        for name in built_in(kind):
            assert f"{kind}/{name} built in" in said
            assert f"version: {name}@1:" in said
    assert "channel/public" not in run("list", "--kind", "protocol")


def test_list_names_what_a_folder_holds_and_what_in_it_is_at_fault(
    tmp_path: Path,
) -> None:
    library.new("channel", tmp_path / "channels" / "aside.md")
    (tmp_path / "channels" / "odd.md").write_text("no front matter")
    done = CliRunner().invoke(content, ["list", str(tmp_path)])
    assert done.exit_code == 0
    assert f"channel/aside {tmp_path}" in " ".join(done.stdout.split())
    [fault] = done.stderr.splitlines()
    assert fault.startswith(f"passed over: {tmp_path / 'channels' / 'odd.md'}: ")


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        ("channel.md", "audience: [record]", "audience: record", "field 'audience'"),
        ("channel.md", "## survey", "## surveys", "unknown section '## surveys'"),
        ("protocol", "{setting}", "", "section '## system' lacks {setting}"),
        ("arm.md", "version: 1", "version: x", "field 'version'"),
        ("instrument.yaml", "category: reliance", "category: x", "items.0.category'"),
        (
            "instrument.yaml",
            "id: T2",
            "id: T1",
            "field 'items.1.id': 'T1' stands twice",
        ),
        ("instrument.yaml", "low: 1", "low: 9", "field 'high': 7 is not above"),
    ],
)
def test_check_names_file_and_field_of_every_kind(
    file: str, old: str, new: str, named: str, tmp_path: Path
) -> None:
    kind, path = Path(file).stem, tmp_path / file
    library.new(kind, path)
    main = path / "protocol.md" if kind == "protocol" else path
    text = main.read_text(encoding="utf-8")
    assert old in text
    main.write_text(text.replace(old, new, 1), encoding="utf-8")
    done = CliRunner().invoke(content, ["check", str(path)])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert all(line.startswith(str(main)) for line in done.stderr.splitlines())
    assert named in done.stderr


def test_show_prints_what_steers_a_terminal_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "odd.md"
    library.new("arm", path)
    with path.open("a", encoding="utf-8") as file:
        file.write("\nLook: \x1b]0;title\x07 [bold]here[/bold]\n")
    assert r"Look: \x1b]0;title\x07 [bold]here[/bold]" in run("show", str(path))


# Content of other packages


def package(folder: Path, name: str, value: str) -> Path:
    """A made-up distribution on the path; its module's folder is returned."""
    told = folder / f"{name}-1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (told / "entry_points.txt").write_text(f"[offrecord.content]\ncontent = {value}\n")
    inside = folder / name.replace("-", "_")
    inside.mkdir()
    (inside / "__init__.py").write_text("raise RuntimeError('content runs nothing')\n")
    return inside


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that Python finds."""
    folder = tmp_path / "site"
    given = package(folder, "more-debates", "more_debates")
    library.new("scenario", given / "scenarios" / "library")
    library.new("channel", given / "channels" / "aside.md")
    library.new("protocol", given / "protocols" / "brief")
    library.new("arm", given / "arms" / "pause.md")
    library.new("instrument", given / "instruments" / "trust.yaml")
    library.new("channel", given / "channels" / "public.md")  # an id that is taken
    (given / "channels" / "broken.md").write_text("no front matter")
    package(folder, "odd-one", "nowhere_at_all")
    package(folder, "empty-one", "empty_one")
    nested = package(folder, "nested", "nested.content")  # a module beside the folders
    (nested / "content.py").write_text("raise RuntimeError('nor does this')\n")
    library.new("channel", nested / "channels" / "whisper.md")
    package(folder, "raising", "raising.inner")
    monkeypatch.syspath_prepend(str(folder))
    library._given.cache_clear()
    yield folder
    library._given.cache_clear()


GIVEN = {
    "scenario": "library",
    "channel": "aside",
    "protocol": "brief",
    "arm": "pause",
    "instrument": "trust",
}


def test_content_of_another_package_is_listed_and_its_faults_are_a_line_each(
    site: Path,
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "offrecord", "content", "list"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for kind, name in GIVEN.items():
        assert f"{kind}/{name}  more-debates\n" in done.stdout
    assert "channel/whisper  nested\n" in done.stdout
    lines = sorted(done.stderr.splitlines())
    expected = [
        "package empty-one: gives no content: ",
        f"package more-debates: channel 'broken': {site}",
        "package more-debates: channel 'public': the id is taken (built in)",
        "package odd-one: gives no content: 'nowhere_at_all' is no package or module",
        f"package raising: gives no content: {site / 'raising' / 'inner'}: holds none",
    ]
    assert len(lines) == len(expected)
    for line, begin in zip(lines, expected, strict=True):
        assert line.startswith(f"passed over: {begin}")


@pytest.mark.usefixtures("site")
def test_content_of_another_package_is_named_by_its_id(tmp_path: Path) -> None:
    design = make_design(
        {
            "scenarios": ["library"],
            "channels": ["public", "aside"],
            "protocol": "brief",
            "factors": {"arm": ["none", "pause"]},
        }
    )
    assert {case.scenario for case in cases(design)} == {"library"}
    texts = {case.arm.text for case in cases(design)}
    assert {bool(text) for text in texts} == {True, False}
    stamps = material_of(design, "library").stamps(cases(design)[0])
    assert stamps["channel aside"].startswith("aside@1:")
    assert stamps["protocol"].startswith("brief@1:")
    ours = read_document(find("channel", "public"))
    assert stamps["channel public"] == ours.stamp
    mine = library.new("scenario", tmp_path / "mine")
    survey = mine / "survey.yaml"
    text = survey.read_text(encoding="utf-8")
    head, _, _ = text.partition("items:")
    survey.write_text(head.replace("core", "trust"), encoding="utf-8")
    assert load_scenario(mine).instrument.id == "trust"
    with pytest.raises(OffrecordError, match=r"no channel 'x': use .*aside.*odd-one"):
        find("channel", "x")


@pytest.mark.usefixtures("site")
def test_packages_are_not_looked_at_until_content_is_listed_or_named() -> None:
    load_scenario("promotion")
    assert library._given.cache_info().currsize == 0
    with pytest.raises(OffrecordError):
        load_scenario("nobody")
    assert library._given.cache_info().currsize == 1


def test_designs_and_checks_take_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "offrecord content check mine" in run("new", "scenario", "mine")
    for name in ("mine", "./mine", "promotion", "scenario/promotion"):
        assert run("check", name).startswith("OK ")
        found = with_full_paths({"scenarios": (name,)}, tmp_path)
        [scenario] = load_scenarios(found["scenarios"])
        assert scenario.id == name.rpartition("/")[2]
    # What ships is never hidden; a folder is called what it is from anywhere.
    assert "content check ./promotion" in run("new", "scenario", "promotion")
    assert with_full_paths(
        {"scenarios": ("promotion", "./promotion", "mine")}, tmp_path
    )["scenarios"] == ("promotion", str(tmp_path / "promotion"), str(tmp_path / "mine"))
