"""The sentence-transformers adapter: a folder of files as an `Encoder`.

The library is heavy (it brings torch), so it is imported when the first vector is
wanted and not before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offrecord.measures.texts.vectors import Piece
from offrecord.records import OffrecordError, digest

_CODE: Final = 1  # raised when vectors come out otherwise from the same files
_MATTER: Final = {".safetensors", ".bin", ".json", ".txt", ".model"}


class SentenceEncoder:
    """A sentence-transformers model in a folder, loaded when it is first needed."""

    def __init__(self, folder: Path, name: str, device: str | None = None) -> None:
        """Point at a model.

        Args:
            folder: Its files, as the Hub has them.
            name: What it is called in tables.
            device: `cuda`, `mps` or `cpu`; the best there is by default.

        Raises:
            OffrecordError: If the folder holds no such model.
        """
        if not (folder / "modules.json").is_file():
            raise OffrecordError(
                f"{folder}: no sentence-transformers model (no modules.json)"
            )
        self.folder = folder
        self.name = name
        self.device = device

    def __reduce__(self) -> tuple[type[SentenceEncoder], tuple[Path, str, str | None]]:
        """Sent to a worker without its weights, which it loads from the folder."""
        return type(self), (self.folder, self.name, self.device)

    @cached_property
    def identity(self) -> str:
        """A hash of the weights and of every file that shapes the vectors."""
        files = sorted(
            path
            for path in self.folder.rglob("*")
            if path.is_file() and path.suffix in _MATTER
        )
        hashes = {
            path.relative_to(self.folder).as_posix(): _sha256(path) for path in files
        }
        return digest([_CODE, hashes])

    @cached_property
    def window(self) -> int:
        """The model's maximal sequence length in tokens."""
        settings = self.folder / "sentence_bert_config.json"
        if settings.is_file():  # so that kept vectors need no model
            stated = json.loads(settings.read_bytes()).get("max_seq_length")
            if stated:
                return int(stated)
        return int(self._model.max_seq_length or self._tokenizer.model_max_length)

    @cached_property
    def _model(self) -> Any:  # noqa: ANN401  # typing it would import it
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging
        except ImportError:
            raise OffrecordError(
                "similarity needs sentence-transformers: pip install "
                "'offrecord[semantic]'"
            ) from None
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            return SentenceTransformer(
                str(self.folder), device=self.device, local_files_only=True
            )
        except Exception as error:  # what the libraries raise varies
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise OffrecordError(f"{self.folder}: cannot be loaded ({line})") from None

    @property
    def _tokenizer(self) -> Any:  # noqa: ANN401
        return self._model.tokenizer

    def pieces(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Part each text at blanks into pieces that fit the window."""
        encoded = self._tokenizer(
            list(texts), add_special_tokens=False, truncation=False, verbose=False
        )
        special = self._tokenizer.num_special_tokens_to_add()
        room = self.window - special
        return [
            [Piece(text, len(ids) + special)]
            if len(ids) <= room
            else _parted(text, encoded.encodings[index].offsets, room, special)
            for index, (text, ids) in enumerate(
                zip(texts, encoded["input_ids"], strict=True)
            )
        ]

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The vectors of texts that fit, as one batch."""
        vectors = self._model.encode(
            list(texts),
            batch_size=len(texts),
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors, np.float32)


def _parted(
    text: str, spans: Sequence[tuple[int, int]], room: int, special: int
) -> list[Piece]:
    """Pieces of at most `room` tokens; what no blank parts is parted inside."""
    pieces, start = [], 0
    while start < len(spans):
        end = limit = min(start + room, len(spans))
        while start < end < len(spans) and spans[end][0] == spans[end - 1][1]:
            end -= 1
        end = end if end > start else limit
        piece = text[spans[start][0] : spans[end - 1][1]]
        pieces.append(Piece(piece, end - start + special))
        start = end
    return pieces


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
