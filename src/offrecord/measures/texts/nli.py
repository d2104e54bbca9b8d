"""What a model for natural language inference says of pairs of texts, by class name.

The order of a model's classes differs from model to model, and nothing in the numbers
shows a mix-up. So the order is read from the model's own label names alone, names that
say nothing are refused, and six fixed pairs must come out right before anything is
measured. Nothing is cut silently: pairs are counted in tokens before they are read.
What a model said is kept on disk, so that no pair is read twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from offrecord.content import Document, data_folder, read_document
from offrecord.measures.executor import Executor, in_process
from offrecord.measures.texts.nli_network import Network, Pair, load_network
from offrecord.records import OffrecordError, digest
from offrecord.transcript.store import make_folder, read_table, write_table

NLI_FILE: Final[Document] = read_document(data_folder("nli.yaml"))
"""Models, probe pairs, abbreviations and label statements."""

DEFAULT_MODEL: Final[str] = NLI_FILE.front["models"]["default"]
CLASSES: Final = ("entailment", "neutral", "contradiction")
"""The classes, in the order of every array here."""

_STEMS: Final = ("entail", "neutral", "contradict")
_GENERIC: Final = re.compile(r"(?i)label[ _-]?\d+|\d+")
_BATCH: Final = 32
_AT_ONCE: Final = 1024  # pairs between two writes: what an interruption can lose

_SCHEMA: Final = {
    "pair": pl.String,
    "tokens": pl.Int64,
    **dict.fromkeys(CLASSES, pl.Float64),
}


class Read(NamedTuple):
    """What a model says of some pairs."""

    probabilities: npt.NDArray[np.float64]
    """Shape (pairs, 3), columns as in `CLASSES`."""
    tokens: npt.NDArray[np.int64]
    """Shape (pairs,): how many a pair has, special ones included, before any cut."""


@dataclass(frozen=True, slots=True, eq=False)
class NliModel:
    """A loaded model whose label names are known and whose probes came out right."""

    name: str
    """Hub id or folder, as given."""
    hash: str
    """The Hub's commit, or of a folder the hash of its files."""
    order: tuple[int, int, int]
    """Where in the model's output each of `CLASSES` stands."""
    window: int
    """Tokens of premise and hypothesis together."""
    probes: tuple[str, ...]
    """How each probe pair came out, a line each."""
    _network: Network
    through: Executor = in_process
    """Who gives the network its batches."""

    @property
    def version(self) -> str:
        """Name, hash, and the hash of the probe pairs."""
        return f"{self.name}@{self.hash} {NLI_FILE.stamp}"

    def tokens(self, pairs: Sequence[Pair]) -> npt.NDArray[np.int64]:
        """How many tokens each pair has, special ones included."""
        return self._network.tokens(pairs)

    def read(self, pairs: Sequence[Pair]) -> Read:
        """The class probabilities of pairs.

        A pair over `window` is cut, the longer text first: its `tokens` say so.

        Args:
            pairs: Premise and hypothesis; neither is empty.
        """
        return next(self.reads([pairs]))

    def reads(self, blocks: Sequence[Sequence[Pair]]) -> Iterator[Read]:
        """Read several blocks of pairs, one after another (see `read`)."""
        counts = [self.tokens(pairs) for pairs in blocks]
        orders = [np.argsort(count, kind="stable") for count in counts]  # less padding
        batches = [
            [pairs[index] for index in order[start : start + _BATCH]]
            for pairs, order in zip(blocks, orders, strict=True)
            for start in range(0, len(pairs), _BATCH)
        ]
        # One stream over all blocks: elsewhere, a model is loaded once for all of them.
        said = self.through(self._network.probabilities, batches)
        for count, order in zip(counts, orders, strict=True):
            found = np.empty((len(count), len(CLASSES)))
            for start in range(0, len(count), _BATCH):
                found[order[start : start + _BATCH]] = next(said)[:, self.order]
            yield Read(found, count)


def load_nli(
    name: str = DEFAULT_MODEL, device: str | None = None, through: Executor = in_process
) -> NliModel:
    """Load a model from the Hugging Face Hub or a folder, and prove it.

    Args:
        name: Hub id or folder of any sequence-classification model for natural
            language inference.
        device: As torch names it; by default a GPU where there is one.
        through: Who gives the proved model its batches.

    Raises:
        OffrecordError: In one line: the extra is not installed, the model cannot be
            had, its label names say nothing or are of another task, or a probe pair
            comes out wrong.
    """
    network = load_network(name, device)
    unproved = NliModel(
        name=name,
        hash=network.hash,
        order=class_order(name, network.id2label),
        window=network.window,
        probes=(),
        _network=network,
    )
    return replace(_proved(unproved), through=through)


def class_order(name: str, id2label: Mapping[int, str]) -> tuple[int, int, int]:
    """Where in a model's output each of `CLASSES` stands, by its label names alone.

    Letter case and spelling variants (entail, ENTAILMENT, contradictory) are taken.

    Args:
        name: Of the model, for messages.
        id2label: Index to label name, from its config.

    Raises:
        OffrecordError: If the names are generic, or not these three classes.
    """
    names = {int(index): str(label) for index, label in id2label.items()}
    if any(_GENERIC.fullmatch(label.strip()) for label in names.values()):
        raise OffrecordError(
            f"{name}: its config names the classes {', '.join(names.values())}, which "
            "hides their order: put the names that its authors give into id2label of a "
            "copy of its config.json, or choose another --nli"
        )
    folded = {index: label.strip().casefold() for index, label in names.items()}
    places = [[i for i, n in folded.items() if n.startswith(s)] for s in _STEMS]
    if len(names) != len(_STEMS) or any(len(found) != 1 for found in places):
        raise OffrecordError(
            f"{name}: its classes are {', '.join(names.values())}; entailment needs a "
            f"model with {', '.join(CLASSES)}: choose another --nli"
        )
    [first], [second], [third] = places
    return first, second, third


def _proved(model: NliModel) -> NliModel:
    """The model with its probes, all of them right."""
    probes = NLI_FILE.front["probes"]
    read = model.read([(probe["premise"], probe["hypothesis"]) for probe in probes])
    lines, wrong = [], []
    for probe, row in zip(probes, read.probabilities, strict=True):
        found, expected = CLASSES[int(row.argmax())], probe["expected"]
        line = (
            f"{'right' if found == expected else 'WRONG'}: {found} ({row.max():.2f}), "
            f"expected {expected}: {probe['premise']!r} -> {probe['hypothesis']!r}"
        )
        lines.append(line)
        if found != expected:
            wrong.append(line)
    if wrong:
        raise OffrecordError(
            f"{model.name}: {len(wrong)} of {len(lines)} probe pairs come out wrong, "
            f"first {wrong[0]}; its label names or its weights cannot be trusted: "
            "choose another --nli"
        )
    return replace(model, probes=tuple(lines))


def read_pairs(model: NliModel, pairs: Sequence[Pair], cache: Path) -> Read:
    """The class probabilities of pairs: stored ones, or read now and stored.

    Args:
        model: Who reads.
        pairs: Premise and hypothesis.
        cache: A folder, made where it is absent; it has one file a model.

    Raises:
        OffrecordError: If the folder cannot be read or written.
    """
    path = cache / f"nli-{digest([model.name, model.hash, model.window])}.parquet"
    stored = (
        read_table(path, again="remove it")
        if path.exists()
        else pl.DataFrame(schema=_SCHEMA)
    )
    keys = [digest(pair, 32) for pair in pairs]
    known = set(stored["pair"])
    absent = {k: p for k, p in zip(keys, pairs, strict=True) if k not in known}
    # by length, so that each batch has like ones
    waiting = sorted(absent.items(), key=lambda item: sum(map(len, item[1])))
    blocks = [
        waiting[start : start + _AT_ONCE] for start in range(0, len(waiting), _AT_ONCE)
    ]
    reads = model.reads([[pair for _, pair in some] for some in blocks])
    for some, read in zip(blocks, reads, strict=True):
        rows = {"pair": [key for key, _ in some], "tokens": read.tokens}
        rows |= dict(zip(CLASSES, read.probabilities.T, strict=True))
        stored = pl.concat([stored, pl.DataFrame(rows, schema=_SCHEMA)])
        make_folder(path.parent)
        write_table(path, stored)
    place = {key: index for index, key in enumerate(stored["pair"])}
    chosen = stored[np.array([place[key] for key in keys], dtype=np.int64)]
    return Read(chosen.select(CLASSES).to_numpy(), chosen["tokens"].to_numpy())
