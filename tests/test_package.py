"""What people install: the sdist builds the wheel, and the wheel runs by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.docs_examples import ROOT


def _run(python: Path, *words: str, cwd: Path) -> str:
    done = subprocess.run(
        [python, "-m", *words],
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel that the sdist builds.

    What the package depends on is taken from the environment of the tests.
    """
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    source.mkdir()
    for name in ("src", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    own = Path(sys.executable)
    out = folder / "dist"
    _run(own, "build", "--no-isolation", "--outdir", str(out), str(source), cwd=folder)
    assert len(list(out.glob("*.tar.gz"))) == 1
    (wheel,) = out.glob("*.whl")

    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    pip = ("pip", "--python", str(python), "install", "--quiet", "--no-deps")
    _run(own, *pip, str(wheel), cwd=folder)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def _files(root: Path) -> set[str]:
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_the_package(installed: Path) -> None:
    (package,) = installed.parents[1].glob("lib/python*/site-packages/offrecord")
    assert _files(package) == _files(ROOT / "src" / "offrecord")


def test_the_wheel_runs_a_study_to_its_report(installed: Path, tmp_path: Path) -> None:
    def offrecord(*words: str) -> str:
        return _run(installed, "offrecord", *words, cwd=tmp_path)

    short = ("--model", "simulated/paper", "--runs", "1", "--rounds", "1")
    offrecord("run", *short, "--scenario", "promotion", "--out", "small")
    offrecord("report", "small")
    assert (tmp_path / "small" / "report.html").stat().st_size > 100_000
