"""Models that are files: known ones from the Hugging Face Hub, or any local one.

A known model is one `.gguf` file or a folder of files at a pinned revision. It is used
only if every file has the SHA-256 on record, since a result without its exact weights
cannot be repeated. Only the files on record are ever written, so that nothing else out
of an archive or a repository reaches the disk.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from platformdirs import user_cache_path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from offrecord.content import data_folder, read_document
from offrecord.records import OffrecordError

HOME_VARIABLE = "OFFRECORD_HOME"
"""The environment variable that moves the cache folder."""

HUB_TIMEOUT = 10.0
"""Seconds until the Hub counts as out of reach."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path:
        raise ValueError("use a path inside the model's folder")
    return path


class KnownFile(_Strict):
    """One file of a known model."""

    path: Annotated[str, AfterValidator(_inside)]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(gt=0)  # bytes


class KnownModel(_Strict):
    """One entry of `content/data/models.yaml`."""

    name: str = Field(pattern=r"^[a-z0-9][\w.-]*$")
    repo: str  # on the Hub, `owner/name`
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str
    good_for: str
    files: list[KnownFile] = Field(min_length=1)
    seconds: float | None = Field(default=None, gt=0)
    """Of a debate's first call on two cores (see `models.yaml`); None without calls."""

    @property
    def is_file(self) -> bool:
        """Whether it is one file for the embedded engine, and no folder."""
        return self.files[0].path.endswith(".gguf")

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(file.size for file in self.files)

    @property
    def place(self) -> Path:
        """Its file or folder in the cache, there or not."""
        return models_folder() / (self.files[0].path if self.is_file else self.name)


class _Catalogue(_Strict):
    models: list[KnownModel]


class Weights(NamedTuple):
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
    if name not in known_models():
        raise OffrecordError(
            f"unknown model '{name}': see 'offrecord models list', or give the path "
            "of a .gguf file"
        )
    return known_models()[name]


def models_folder() -> Path:
    """Where fetched weights are kept; it need not exist yet."""
    home = os.environ.get(HOME_VARIABLE)
    root = Path(home).expanduser() if home else user_cache_path("offrecord")
    return root / "models"


def fetched(model: KnownModel) -> Path | None:
    """The file or folder of a known model in the cache, or None if it is not fetched.

    Raises:
        OffrecordError: If something of that name is there and is not what is on record.
    """
    if not model.place.exists():
        return None
    if wrong := _first_wrong(model, model.place):
        file, path = wrong
        raise OffrecordError(
            f"{path}: not the file on record for {model.name} (SHA-256 "
            f"{file.sha256[:12]}...): move {model.place} away, then run 'offrecord "
            f"models fetch {model.name}'"
        )
    return model.place


def install(model: KnownModel, source: Path) -> Path:
    """Check a file or folder and rename it into the cache, on whose disk it must be.

    Args:
        model: What it should be.
        source: It stays where it is unless every file is right.

    Raises:
        OffrecordError: If a file is not the one on record; the cache is as before.
    """
    if wrong := _first_wrong(model, source):
        raise OffrecordError(
            f"{model.name}: what came as {wrong[0].path} is not the file on record "
            f"(SHA-256 {wrong[0].sha256[:12]}...): not used, and nothing in the cache "
            "was changed"
        )
    model.place.parent.mkdir(parents=True, exist_ok=True)
    return source.replace(model.place)


def fetch(name: str, timeout: float = HUB_TIMEOUT) -> Path:
    """Get a known model: from the cache, else from the Hub with a progress bar.

    Args:
        name: A known name.
        timeout: Seconds until the Hub counts as out of reach.

    Raises:
        OffrecordError: If the name is unknown, the Hub cannot be reached, or a file is
            not the one on record.
    """
    model = known_model(name)
    if path := fetched(model):
        return path
    partial = models_folder() / "partial" / model.name
    again = f"run 'offrecord models fetch {name}' where it can be reached, or give the "
    with _hub(name, f"{again}path of a local copy") as hub:
        for file in model.files:
            where = {"filename": file.path, "revision": model.revision}
            # One plain question first: the download itself retries for half a minute.
            url = hub.hf_hub_url(model.repo, **where)
            hub.get_hf_file_metadata(url, timeout=timeout)
            # What an interruption left in the folder is gone on with.
            hub.hf_hub_download(
                model.repo, **where, local_dir=partial, etag_timeout=timeout
            )
    try:
        with tempfile.TemporaryDirectory(dir=models_folder()) as temporary:
            clean = Path(temporary) / model.name
            for file in model.files:  # without what the Hub's client keeps beside them
                (clean / file.path).parent.mkdir(parents=True, exist_ok=True)
                (partial / file.path).replace(clean / file.path)
            source = clean / model.files[0].path if model.is_file else clean
            return install(model, source)
    finally:  # an interrupted download never comes here, so that it can be resumed
        shutil.rmtree(partial, ignore_errors=True)


def resolve_weights(model: str) -> Weights:
    """Find the weights of `llamacpp/<model>`; fetch them if they are known but absent.

    Args:
        model: A known name, or the path of a `.gguf` file.

    Raises:
        OffrecordError: If there is no such model, or the file is no GGUF model.
    """
    known = known_models().get(model)
    if known and known.is_file:
        return Weights(name=model, path=fetch(model), sha256=known.files[0].sha256)
    path = Path(model).expanduser()
    if path.suffix != ".gguf":
        known_model(model)
    if not path.is_file():
        raise OffrecordError(f"{path}: no such file")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise OffrecordError(f"{path}: not a GGUF model file")
    return Weights(name=path.stem, path=path.resolve(), sha256=_file_sha256(path))


def resolve_folder(model: str) -> Path:
    """Find the folder of a measure's model; fetch it if it is not here.

    Args:
        model: A known name, the path of a folder, or a Hub id `owner/name`, with
            `@revision` or the newest one.

    Raises:
        OffrecordError: If there is no such model, or it cannot be fetched.
    """
    folders = [known for known in known_models().values() if not known.is_file]
    for known in folders:
        if model in {known.name, known.repo}:
            return fetch(known.name)
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if not re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w.-]+)?", model) or model.startswith("."):
        names = ", ".join(known.name for known in folders)
        raise OffrecordError(
            f"unknown model '{model}': give {names}, a folder, or a Hub id owner/name"
        )
    return _snapshot(*model.partition("@")[::2])


def _snapshot(repo: str, revision: str) -> Path:
    with _hub(repo, "give the path of a local folder instead") as hub:
        found = hub.snapshot_download(
            repo,
            revision=revision or None,
            allow_patterns=["*.json", "*.safetensors", "*.txt", "*.model"],
            ignore_patterns=["onnx/*", "openvino/*"],
            etag_timeout=HUB_TIMEOUT,
        )
    return Path(found)


@contextmanager
def _hub(name: str, instead: str) -> Iterator[Any]:
    """The Hub's client; what it raises, in one line with what to do."""
    try:
        import huggingface_hub
    except ImportError:
        raise OffrecordError(
            f"{name}: fetching needs the Hub's client: pip install 'offrecord[local]'"
        ) from None
    try:
        yield huggingface_hub
    except Exception as error:  # the client's HTTP library varies with its version
        raise OffrecordError(
            f"{name}: the Hugging Face Hub did not give it ({type(error).__name__}): "
            f"{instead}"
        ) from None


def _first_wrong(model: KnownModel, place: Path) -> tuple[KnownFile, Path] | None:
    """The first file that is absent or another one, and where; nothing if none is."""
    for file in model.files:
        path = place if model.is_file else place / file.path
        if (
            not path.is_file()
            or path.stat().st_size != file.size
            or _file_sha256(path) != file.sha256
        ):
            return file, path
    return None


def _file_sha256(path: Path) -> str:
    """The SHA-256 of a file, remembered while size and time of change stay."""
    status = path.stat()
    return _sha256(path.resolve(), status.st_size, status.st_mtime_ns)


@cache
def _sha256(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
