"""Model weights: a local file, or a known one from the Hugging Face Hub.

A known file is at a pinned revision and is used only if its SHA-256 is the one on
record, since a result without its exact weights cannot be repeated.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import platformdirs
from pydantic import BaseModel, ConfigDict, Field

from offrecord.content import data_folder, read_document
from offrecord.records import OffrecordError

HOME_VARIABLE = "OFFRECORD_HOME"
"""The environment variable that moves the cache folder."""

_MAGIC = b"GGUF"
HUB_TIMEOUT = 10.0
"""Seconds until the Hub counts as out of reach."""


class KnownModel(BaseModel):
    """One entry of `content/data/models.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    repo: str
    """The repository on the Hub, `owner/name`."""
    file: str
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(gt=0)
    """Bytes."""
    licence: str
    good_for: str


class _Catalogue(BaseModel):
    model_config = ConfigDict(extra="ignore")  # folders: see there

    models: list[KnownModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A file that the engine may load."""

    name: str
    """The known name, or the file's stem: what a log says was asked."""
    path: Path
    sha256: str


@cache
def known_models() -> Mapping[str, KnownModel]:
    """The models known by name, in the order of the data file."""
    catalogue = read_document(data_folder("models.yaml")).validate(_Catalogue)
    return MappingProxyType({model.name: model for model in catalogue.models})


def known_model(name: str) -> KnownModel:
    """A known model by name.

    Raises:
        OffrecordError: If the name is none of the known ones.
    """
    try:
        return known_models()[name]
    except KeyError:
        raise OffrecordError(
            f"unknown model '{name}': see 'offrecord models list', or give the path "
            "of a .gguf file"
        ) from None


def models_folder() -> Path:
    """Where fetched weights are kept; it need not exist yet."""
    home = os.environ.get(HOME_VARIABLE)
    root = (
        Path(home).expanduser() if home else platformdirs.user_cache_path("offrecord")
    )
    return root / "models"


def cached_file(model: KnownModel) -> Path | None:
    """The file of a known model in the cache, or None if it was not fetched.

    Raises:
        OffrecordError: If a file of that name is there and is not the one on record.
    """
    path = models_folder() / model.file
    if not path.is_file():
        return None
    if path.stat().st_size != model.size or file_sha256(path) != model.sha256:
        raise OffrecordError(
            f"{path}: not the file on record for {model.name} (SHA-256 "
            f"{model.sha256[:12]}...): move it away, then run 'offrecord models fetch "
            f"{model.name}'"
        )
    return path


def install_file(model: KnownModel, source: Path) -> Path:
    """Check a file and rename it into the cache, on whose file system it must be.

    Args:
        model: What the file should be.
        source: The file; it stays where it is unless its SHA-256 is right.

    Raises:
        OffrecordError: If the SHA-256 is wrong; the cache is as before.
    """
    found = file_sha256(source)
    if found != model.sha256:
        raise OffrecordError(
            f"{model.name}: what came has SHA-256 {found[:12]}..., not "
            f"{model.sha256[:12]}...: not used, and nothing in the cache was changed"
        )
    target = models_folder() / model.file
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)
    return target


def fetch(name: str, timeout: float = HUB_TIMEOUT) -> Path:
    """Get a known model: from the cache, else from the Hub with a progress bar.

    Args:
        name: A known name.
        timeout: Seconds until the Hub counts as out of reach.

    Raises:
        OffrecordError: If the name is unknown, the Hub cannot be reached, or the file
            is not the one on record.
    """
    model = known_model(name)
    path = cached_file(model)
    if path is not None:
        return path
    partial = models_folder() / "partial" / model.name
    source = download(
        model.name, model.repo, model.revision, model.file, partial, timeout
    )
    try:
        return install_file(model, source)
    finally:  # an interrupted download never comes here, so that it can be resumed
        shutil.rmtree(partial, ignore_errors=True)


def download(
    name: str, repo: str, revision: str, file: str, folder: Path, timeout: float
) -> Path:
    """Get one file of a repository from the Hub into a folder, unchecked.

    Args:
        name: The model's known name, for the message.
        repo: The repository, `owner/name`.
        revision: A commit of it.
        file: The file's path in it, and then in the folder.
        folder: Where to; what an interruption left there is gone on with.
        timeout: Seconds until the Hub counts as out of reach.

    Raises:
        OffrecordError: If the Hub, or its client, cannot be had.
    """
    try:
        import huggingface_hub as hub
    except ImportError:
        raise OffrecordError(
            f"{name}: fetching needs the Hub's client: pip install 'offrecord[local]'"
        ) from None
    url = hub.hf_hub_url(repo, file, revision=revision)
    try:
        # One plain question first: the download itself retries for half a minute.
        hub.get_hf_file_metadata(url, timeout=timeout)
        return Path(
            hub.hf_hub_download(
                repo, file, revision=revision, local_dir=folder, etag_timeout=timeout
            )
        )
    except Exception as error:  # the client's HTTP library varies with its version
        raise OffrecordError(
            f"{name}: the Hugging Face Hub did not give the file "
            f"({type(error).__name__}): run 'offrecord models fetch {name}' "
            "where it can be reached, or give the path of a local copy"
        ) from None


def resolve_weights(model: str) -> Weights:
    """Find the weights of `llamacpp/<model>`; fetch them if they are known but absent.

    Args:
        model: A known name, or the path of a `.gguf` file.

    Raises:
        OffrecordError: If there is no such model, or the file is no GGUF model.
    """
    if model in known_models():
        return Weights(
            name=model, path=fetch(model), sha256=known_models()[model].sha256
        )
    path = Path(model).expanduser()
    if path.suffix != ".gguf":
        known_model(model)
    if not path.is_file():
        raise OffrecordError(f"{path}: no such file")
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise OffrecordError(f"{path}: not a GGUF model file")
    return Weights(name=path.stem, path=path.resolve(), sha256=file_sha256(path))


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, remembered while size and time of change stay."""
    status = path.stat()
    return _sha256(path.resolve(), status.st_size, status.st_mtime_ns)


@cache
def _sha256(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
