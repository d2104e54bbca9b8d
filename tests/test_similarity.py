"""Similarity: values, what has none, the cache, and the published figures."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from offrecord.measures.pairings import pair_rows
from offrecord.measures.texts.preparation import Variant
from offrecord.measures.texts.sentences import SentenceEncoder
from offrecord.measures.texts.similarity import (
    DEFAULT_EMBEDDER,
    SIMILARITY,
    over_window,
    similarity_table,
)
from offrecord.measures.texts.vectors import Piece, embed
from offrecord.providers.weights import fetched, known_model
from offrecord.records import OffrecordError
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

SHARED = Path(__file__).parents[1].parent / "shared" / "llmagora"
REFERENCE = SHARED / "reference" / "cosine_per_turn.csv"
FACTS = {"rounds": 1, "channels": ["public", "off_record"]}
DIRECTIONS = {"alignment": "positive", "persona": "negative"}


class Words:
    """An encoder whose vectors count words, so that cosines can be had by hand."""

    name = "words"
    window = 6  # a word is a token, with one special token beside them

    def __init__(self, identity: str = "1") -> None:
        self.identity = identity
        self.batches: list[list[str]] = []

    def pieces(self, texts: Sequence[str]) -> list[list[Piece]]:
        parted = []
        for text in texts:
            words = text.split()
            chunks = [words[i : i + 5] for i in range(0, len(words), 5)]
            parted.append([Piece(" ".join(one), len(one) + 1) for one in chunks])
        return parted

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.batches.append(list(texts))
        vectors = np.zeros((len(texts), 64), np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                vectors[row, hashlib.sha256(word.encode()).digest()[0] % 64] += 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def turn(run: str, public: str | None, private: str | None) -> list[dict[str, object]]:
    return [
        {
            "run": run,
            "round": 1,
            "turn": 1,
            "agent": "alpha",
            "language": "en",
            "labels": ["SIGN", "WAIT"],
            "channel": channel,
            "form": "utterance",
            "draw": 0,
            "attempt": 1,
            "ended": "completed",
            "text": text,
            "status": "ok" if text else "error" if text is None else "empty",
        }
        for channel, text in (("public", public), ("off_record", private))
    ]


def transcript(*texts: tuple[str | None, str | None]) -> pl.DataFrame:
    rows = [row for i, pair in enumerate(texts) for row in turn(f"r{i}", *pair)]
    return pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)


def table(
    folder: Path,
    *texts: tuple[str | None, str | None],
    variant: Variant = Variant.CLEAN,
) -> pl.DataFrame:
    pairs = pair_rows(transcript(*texts), "channels", FACTS)
    return similarity_table(pairs, Words(), folder, variant)[0]


def test_the_cosine_is_of_what_is_said_beside_the_label(tmp_path: Path) -> None:
    # two of three words are the same: 2 / 3
    texts = ("SIGN — red green blue", "WAIT: red green black")
    [one] = table(tmp_path, texts).rows(named=True)
    assert one["cosine"] == pytest.approx(2 / 3, abs=1e-6)
    assert one["reason"] is None
    assert (one["left_tokens"], one["right_tokens"], one["window"]) == (4, 4, 6)
    same = table(tmp_path, ("SIGN — red", "WAIT — red"), variant=Variant.SWAPPED)
    # "WAIT — red" and "SIGN — red": the label alone parts them
    assert same["cosine"][0] == pytest.approx(2 / 3, abs=1e-6)


class Directions(Words):
    """An encoder whose vectors may point away from each other."""

    known: Final = {"up": (1.0, 0.0), "down": (-1.0, 0.0), "doubt": (-0.6, 0.8)}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([self.known[text] for text in texts], np.float32)


def test_a_cosine_below_0_stays_what_it_is(tmp_path: Path) -> None:
    texts = (("up", "down"), ("up", "doubt"), ("down", "doubt"))
    pairs = pair_rows(transcript(*texts), "channels", FACTS)
    found, _ = similarity_table(pairs, Directions(), tmp_path)
    assert found["cosine"].to_list() == pytest.approx([-1, -0.6, 0.6], abs=1e-6)
    assert found["reason"].null_count() == 3


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ((None, "red"), "error"),
        (("red", None), "error"),
        (("red", ""), "empty"),
        (("  \n ", "red"), "empty"),
        (("SIGN", "SIGN"), "empty"),
        (("WAIT — ...", "red"), "empty"),
        (("<think>red</think>", "red"), "empty"),
    ],
)
def test_a_missing_or_empty_text_has_no_value_and_a_reason(
    tmp_path: Path, texts: tuple[str | None, str | None], reason: str
) -> None:
    both = table(tmp_path, texts, ("red", "red"))
    assert both.schema == pl.Schema(SIMILARITY.schema)
    assert both["cosine"].to_list()[0] is None
    assert both["reason"].to_list() == [reason, None]
    assert both["cosine"][1] == pytest.approx(1)


def test_nothing_to_compare_gives_rows_all_the_same(tmp_path: Path) -> None:
    only = table(tmp_path, (None, ""))
    assert only.schema == pl.Schema(SIMILARITY.schema)
    assert (len(only), only["cosine"].null_count()) == (1, 1)
    assert np.isnan(over_window(only))


def test_a_long_text_is_pooled_by_tokens(tmp_path: Path) -> None:
    long = "red red red red red green"  # pieces of 6 and 2 tokens
    pooled = table(tmp_path, (long, "red"))
    # the mean is (6 red + 2 green) / 8, so its cosine with red is 6 / sqrt(40)
    assert pooled["cosine"][0] == pytest.approx(6 / np.sqrt(40), abs=1e-6)
    assert pooled["left_tokens"][0] == 8
    assert pooled["left_read"][0] == 1
    assert over_window(pooled) == 0.5


def test_texts_are_embedded_once_each_in_the_order_of_their_length(
    tmp_path: Path,
) -> None:
    encoder = Words()
    texts = ["one two three", "one", "one two", "one", "one two three"]
    embedded = embed(texts, encoder, tmp_path)
    assert encoder.batches == [["one", "one two", "one two three"]]
    assert (embedded.computed, len(embedded.place)) == (3, 3)


def test_a_second_measure_embeds_nothing(tmp_path: Path) -> None:
    rows = transcript(("red green", "blue"), ("red", "blue"))
    drawn = np.random.default_rng(1)
    pairs = pl.concat(
        pair_rows(rows, pairing, FACTS, drawn)
        for pairing in ("channels", "repeats", "shuffled")
    )
    first, again = Words(), Words()
    one, computed = similarity_table(pairs, first, tmp_path)
    two, none = similarity_table(pairs, again, tmp_path)
    assert (computed, none, again.batches) == (3, 0, [])
    assert one.equals(two)


def test_vectors_of_another_model_are_not_taken(tmp_path: Path) -> None:
    embed(["red"], Words("1"), tmp_path)
    assert embed(["red"], Words("2"), tmp_path).computed == 1
    assert embed(["red"], Words("1"), tmp_path).computed == 0


@pytest.mark.parametrize("damage", [b"", b"PAR1", None])
def test_a_damaged_cache_is_made_again_with_a_line(
    tmp_path: Path, damage: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    whole = embed(["red", "green"], Words(), tmp_path).vectors
    [path] = tmp_path.rglob("*.parquet")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # one bit, inside the vectors
    path.write_bytes(bytes(data) if damage is None else damage)
    with caplog.at_level(logging.WARNING):
        mended = embed(["red", "green"], Words(), tmp_path)
    assert mended.computed == 2
    assert (mended.vectors == whole).all()
    assert [path.name in line for line in caplog.messages] == [True]
    assert embed(["red", "green"], Words(), tmp_path).computed == 0


def test_a_model_that_gives_no_numbers_is_refused(tmp_path: Path) -> None:
    class Broken(Words):
        def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            return np.full((len(texts), 4), np.nan, np.float32)

    with pytest.raises(OffrecordError, match="words: gives vectors that are no"):
        embed(["red"], Broken(), tmp_path)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_folder_that_holds_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OffrecordError, match="no sentence-transformers model"):
        SentenceEncoder(tmp_path, "none")


def test_without_the_extra_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    code = (
        "import sys; sys.modules['sentence_transformers'] = None\n"
        "from pathlib import Path\n"
        "from offrecord.measures.texts.sentences import SentenceEncoder\n"
        "from offrecord.records import OffrecordError\n"
        f"try: SentenceEncoder(Path({str(tmp_path)!r}), 'm').window\n"
        "except OffrecordError as error: print(error)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    line, torch = done.stdout.splitlines()
    assert "pip install 'offrecord[semantic]'" in line
    assert torch == "False"


# From here on with the real model.


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("the extra 'semantic' is not installed")
    folder = fetched(known_model(DEFAULT_EMBEDDER))
    if folder is None:
        pytest.skip(f"{DEFAULT_EMBEDDER} is not fetched ('make weights')")
    return SentenceEncoder(folder, DEFAULT_EMBEDDER, "cpu")


@pytest.mark.skipif(not REFERENCE.exists(), reason="../shared/llmagora is not here")
def test_the_authors_strip_gives_the_published_cosines(
    encoder: SentenceEncoder, tmp_path: Path
) -> None:
    imported = import_llmagora(SHARED, "published")
    pairs = pair_rows(imported.transcript, "channels", imported.facts)
    cells = imported.transcript.group_by("run").agg(
        pl.col("scenario", "timing", "repeat").first(),
        asked=pl.col("model").first(),
        direction=pl.col("kind").first().replace(DIRECTIONS),
        incentive_type=pl.col("timing").first(),
    )
    known = pl.read_csv(REFERENCE).with_columns(pl.col("repeat").cast(pl.Int32))
    sample = (
        pairs.join(cells, left_on="left_run", right_on="run")
        .with_columns(round=(pl.col("left_turn").cast(pl.Int64) + 1) // 2)
        .join(
            known,
            left_on=[
                *("asked", "scenario", "direction", "incentive_type", "repeat"),
                *("left_agent", "round"),
            ],
            right_on=[
                *("model_raw", "scenario_id", "direction", "incentive_type", "repeat"),
                *("agent", "turn"),
            ],
            maintain_order="left",
        )
        .sample(20, seed=7)
    )
    ours, _ = similarity_table(sample, encoder, tmp_path, Variant.AUTHORS)
    assert (ours["cosine"] - sample["value"]).abs().max() < 1e-5  # type: ignore[operator]


def test_pieces_fit_the_window_and_lose_no_word(encoder: SentenceEncoder) -> None:
    text = " ".join(f"Point {number}: we'd rather wait." for number in range(120))
    [pieces, [short]] = encoder.pieces([text, "We wait."])
    assert len(pieces) == 3
    assert all(piece.tokens <= encoder.window == 384 for piece in pieces)
    assert " ".join(piece.text for piece in pieces).split() == text.split()
    assert [[piece] for piece in pieces] == encoder.pieces(
        [piece.text for piece in pieces]
    )
    assert short == Piece("We wait.", 5)
    [endless] = encoder.pieces(["x" * 5000])
    assert all(piece.tokens <= 384 for piece in endless)
    assert "".join(piece.text for piece in endless) == "x" * 5000
