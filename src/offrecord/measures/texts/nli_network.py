"""The transformers adapter: a sequence-classification model, from a folder or the Hub.

Heavy imports happen only when a model is loaded. An absent Hub costs seconds and one
line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from offrecord.records import OffrecordError, first_line

if TYPE_CHECKING:
    import transformers

Pair = tuple[str, str]
"""Premise and hypothesis."""

_HUB_SECONDS: Final = 10


class Network:
    """A tokenizer and the model it belongs to, loaded."""

    def __init__(
        self,
        name: str,
        device: str | None,
        hash: str,
        tokenizer: transformers.PreTrainedTokenizerBase,
        model: transformers.PreTrainedModel,
    ) -> None:
        self._from = (name, device)
        self.hash = hash
        self._tokenizer: Any = tokenizer
        self._model: Any = model

    def __reduce__(
        self,
    ) -> tuple[Callable[[str, str | None], Network], tuple[str, str | None]]:
        """Sent to a worker by its name, by which the worker loads it."""
        return load_network, self._from

    @property
    def id2label(self) -> Mapping[int, str]:
        """Index to label name, as the config says it."""
        names: Mapping[int, str] = self._model.config.id2label
        return names

    @property
    def window(self) -> int:
        """The smaller of what tokenizer and model say; either may say nothing."""
        config = self._model.config
        places = getattr(config, "max_position_embeddings", None) or 512
        if str(config.model_type).endswith("roberta"):
            places -= config.pad_token_id + 1  # its places are counted from there
        return int(min(self._tokenizer.model_max_length, places))

    def tokens(self, pairs: Sequence[Pair]) -> npt.NDArray[np.int64]:
        """How many tokens each pair has, special ones included, nothing cut."""
        if not pairs:
            return np.empty(0, dtype=np.int64)
        premises, hypotheses = map(list, zip(*pairs, strict=True))
        ids = self._tokenizer(premises, hypotheses, truncation=False, verbose=False)
        return np.array([len(row) for row in ids.input_ids], dtype=np.int64)

    def probabilities(self, pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
        """Shape (pairs, classes), in the model's own order; cut to the window."""
        import torch

        premises, hypotheses = map(list, zip(*pairs, strict=True))
        inputs = self._tokenizer(
            premises,
            hypotheses,
            padding=True,
            truncation="longest_first",
            max_length=self.window,
            return_tensors="pt",
        ).to(self._model.device)
        with torch.inference_mode():
            logits = self._model(**inputs).logits.double()
        found: npt.NDArray[np.float64] = torch.softmax(logits, dim=-1).cpu().numpy()
        return found


@lru_cache(maxsize=1)  # a scorer asks for it once a debate
def load_network(name: str, device: str | None) -> Network:
    """Load a model with its tokenizer.

    Args:
        name: Hub id or folder.
        device: As torch names it; by default a GPU where there is one.

    Raises:
        OffrecordError: In one line: the extra is not installed, or the model cannot be
            had.
    """
    try:
        import torch
        import transformers
    except ImportError:
        raise OffrecordError(
            "entailment needs transformers and torch: pip install 'offrecord[semantic]'"
        ) from None
    options: dict[str, Any] = {"local_files_only": _is_local(name)}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **options)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            name, **options
        )
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        model = model.float().to(chosen)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise OffrecordError(f"entailment: {name}: {_line(error)}") from None
    commit = getattr(model.config, "_commit_hash", None)
    version = commit or _folder_hash(Path(name))
    return Network(name, device, version, tokenizer, model.eval())


def _is_local(name: str) -> bool:
    """Whether the model is on this machine; if not, whether the Hub answers.

    Asked first and once, since loading would try an absent Hub for half a minute.
    """
    import huggingface_hub

    if Path(name).is_dir():
        return True
    try:
        cached = huggingface_hub.try_to_load_from_cache(name, "config.json")
        if isinstance(cached, str):
            return True
        huggingface_hub.HfApi().model_info(name, timeout=_HUB_SECONDS)
    except Exception as error:  # of whichever client the Hub's library uses
        raise OffrecordError(
            f"entailment: {name} is neither a folder nor stored here, and the Hugging "
            f"Face Hub does not give it ({_line(error)}): give a folder with --nli"
        ) from None
    return False


def _folder_hash(folder: Path) -> str:
    """One hash over the files of a folder that can change what a model says."""
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in {".json", ".safetensors", ".bin", ".model", ".txt"}:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"{path.name} {content}\n".encode())
    return whole.hexdigest()[:16]


def _line(error: Exception) -> str:
    return first_line(error).rstrip(". ")  # it goes on within a sentence of ours
