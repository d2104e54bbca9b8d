"""Models that are a folder of files: known ones, a local folder, or a Hub id.

A known one is at a pinned revision, and is used only if every file has the SHA-256 on
record. Only the files on record are ever written, so that nothing else out of an
archive or a repository reaches the disk.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from offrecord.content import data_folder, read_document
from offrecord.providers.weights import (
    HUB_TIMEOUT,
    download,
    file_sha256,
    models_folder,
)
from offrecord.records import OffrecordError


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path:
        raise ValueError("use a path inside the model's folder")
    return path


class KnownFile(BaseModel):
    """One file of a known folder."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    path: Annotated[str, AfterValidator(_inside)]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(gt=0)
    """Bytes."""


class KnownFolder(BaseModel):
    """One entry under `folders` of `content/data/models.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z0-9][\w.-]*$")
    repo: str
    """The repository on the Hub, `owner/name`."""
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str
    good_for: str
    files: list[KnownFile]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(file.size for file in self.files)


class _Catalogue(BaseModel):
    model_config = ConfigDict(extra="ignore")  # models: see weights

    folders: list[KnownFolder]


@cache
def known_folders() -> Mapping[str, KnownFolder]:
    """The folders known by name, in the order of the data file."""
    catalogue = read_document(data_folder("models.yaml")).validate(_Catalogue)
    return MappingProxyType({model.name: model for model in catalogue.folders})


def cached_folder(model: KnownFolder) -> Path | None:
    """A known folder in the cache, or None if it was not fetched.

    Raises:
        OffrecordError: If a folder of that name is there and is not the one on record.
    """
    folder = models_folder() / model.name
    if not folder.exists():
        return None
    wrong = _first_wrong(model, folder)
    if wrong is not None:
        raise OffrecordError(
            f"{folder / wrong}: not the file on record for {model.name}: move "
            f"{folder} away, then run 'offrecord models fetch {model.name}'"
        )
    return folder


def install_folder(model: KnownFolder, source: Path) -> Path:
    """Check a folder and rename it into the cache, on whose file system it must be.

    Args:
        model: What the folder should be.
        source: The folder; it stays where it is unless every file is right.

    Raises:
        OffrecordError: If a file is not the one on record; the cache is as before.
    """
    wrong = _first_wrong(model, source)
    if wrong is not None:
        raise OffrecordError(
            f"{model.name}: what came as {wrong} is not the file on record: not used, "
            "and nothing in the cache was changed"
        )
    target = models_folder() / model.name
    target.parent.mkdir(parents=True, exist_ok=True)
    return source.rename(target)


def fetch_folder(name: str, timeout: float = HUB_TIMEOUT) -> Path:
    """Get a known folder: from the cache, else file by file from the Hub.

    Args:
        name: A known name.
        timeout: Seconds until the Hub counts as out of reach.

    Raises:
        OffrecordError: If the Hub cannot be reached, or a file is not the one on
            record.
    """
    model = known_folders()[name]
    folder = cached_folder(model)
    if folder is not None:
        return folder
    partial = models_folder() / "partial" / model.name
    for file in model.files:
        download(name, model.repo, model.revision, file.path, partial, timeout)
    try:
        models_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=models_folder()) as temporary:
            clean = Path(temporary) / model.name
            for file in model.files:  # without what the Hub's client keeps beside them
                (clean / file.path).parent.mkdir(parents=True, exist_ok=True)
                (partial / file.path).replace(clean / file.path)
            return install_folder(model, clean)
    finally:  # an interrupted download never comes here, so that it can be resumed
        shutil.rmtree(partial, ignore_errors=True)


def resolve_folder(model: str) -> Path:
    """Find a model's folder; fetch it if it is not here.

    Args:
        model: A known name, the path of a folder, or a Hub id `owner/name`, with
            `@revision` or the newest one.

    Raises:
        OffrecordError: If there is no such model, or it cannot be fetched.
    """
    if model in known_folders():
        return fetch_folder(model)
    for known in known_folders().values():
        if known.repo == model:
            return fetch_folder(known.name)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if not re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w.-]+)?", model) or model.startswith("."):
        names = ", ".join(known_folders())
        raise OffrecordError(
            f"unknown model '{model}': give {names}, a folder, or a Hub id owner/name"
        )
    return _snapshot(*model.partition("@")[::2])


def _snapshot(repo: str, revision: str) -> Path:
    try:
        import huggingface_hub as hub
    except ImportError:
        raise OffrecordError(
            f"{repo}: fetching needs the Hub's client: pip install 'offrecord[local]'"
        ) from None
    try:
        return Path(
            hub.snapshot_download(
                repo,
                revision=revision or None,
                allow_patterns=["*.json", "*.safetensors", "*.txt", "*.model"],
                ignore_patterns=["onnx/*", "openvino/*"],
                etag_timeout=HUB_TIMEOUT,
            )
        )
    except Exception as error:  # the client's HTTP library varies with its version
        raise OffrecordError(
            f"{repo}: the Hugging Face Hub did not give it ({type(error).__name__}): "
            "give the path of a local folder instead"
        ) from None


def _first_wrong(model: KnownFolder, folder: Path) -> str | None:
    """The first file that is absent or another one; nothing if all are right."""
    for file in model.files:
        path = folder / file.path
        if (
            not path.is_file()
            or path.stat().st_size != file.size
            or file_sha256(path) != file.sha256
        ):
            return file.path
    return None
