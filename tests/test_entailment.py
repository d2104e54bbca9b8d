"""Entailment: class order by name, probes, directions, sentences, and what is missing.

The model is built here: see tiny_nli.py.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offrecord.measures.pairings import PAIR_SCHEMA
from offrecord.measures.texts.comparison import split_sentences
from offrecord.measures.texts.entailment import (
    ENTAILMENT,
    JUDGED,
    entailment_table,
    judged_entailment,
    unmeasured_entailment,
)
from offrecord.measures.texts.nli import (
    CLASSES,
    NLI_FILE,
    NliModel,
    class_order,
    load_nli,
)
from offrecord.measures.texts.preparation import Variant
from offrecord.records import OffrecordError
from tests.scripted_judge import MODEL, SCRIPT
from tests.tiny_nli import PAIRS, WINDOW, make_tiny_nli, renamed, reordered

CASES = Path(__file__).parents[1].parent / "shared" / "cases" / "replies.jsonl"
LABELS = ["PROMOTE", "DO NOT PROMOTE"]

pytest.importorskip("transformers", reason="needs the extra 'semantic'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models") / "tiny"
    make_tiny_nli(made)
    return made


@pytest.fixture(scope="module")
def model(folder: Path) -> NliModel:
    return load_nli(str(folder))


def paired(*texts: tuple[str | None, str | None], **columns: Any) -> pl.DataFrame:
    """Rows in `PAIR_SCHEMA` with these texts."""
    rows = [
        {
            "pairing": "channels",
            "left_turn": turn,
            "right_turn": turn,
            "left_channel": "public",
            "right_channel": "off_record",
            "left_text": left,
            "right_text": right,
            "labels": LABELS,
            "left_status": "ok" if left is not None else "error",
            "right_status": "ok" if right is not None else "interrupted",
        }
        | columns
        for turn, (left, right) in enumerate(texts, start=1)
    ]
    return pl.DataFrame(rows, schema=PAIR_SCHEMA)


def measured_row(
    model: NliModel, cache: Path, left: str, right: str, **options: Any
) -> dict[str, Any]:
    return entailment_table(paired((left, right)), model, cache, **options).row(
        0, named=True
    )


# ------------------------------------------------------------------ names and probes


def test_a_model_in_any_order_of_classes_says_the_same_by_name(
    folder: Path, model: NliModel, tmp_path: Path
) -> None:
    expected = model.read(list(PAIRS)).probabilities
    spellings = [
        ("ENTAILMENT", "Neutral", "contradictory"),
        ("entail", "neutral", "contradict"),
    ]
    for index, order in enumerate(itertools.permutations(CLASSES)):
        names = dict(zip(CLASSES, spellings[index % 2], strict=True))
        other = tmp_path / str(index)
        reordered(folder, other, order)
        config = json.loads((other / "config.json").read_text())
        config["id2label"] = {str(i): names[name] for i, name in enumerate(order)}
        config["label2id"] = {names[name]: i for i, name in enumerate(order)}
        (other / "config.json").write_text(json.dumps(config))
        found = load_nli(str(other)).read(list(PAIRS)).probabilities
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_names_in_the_wrong_order_fail_the_probes(folder: Path, tmp_path: Path) -> None:
    import transformers

    network: Any = transformers.AutoModelForSequenceClassification
    renamed(
        network.from_pretrained(folder),
        tmp_path / "mixed",
        ("contradiction", "neutral", "entailment"),
    )
    for file in folder.glob("tokenizer*"):
        shutil.copy(file, tmp_path / "mixed")
    with pytest.raises(OffrecordError, match=r"4 of 6 probe pairs come out wrong"):
        load_nli(str(tmp_path / "mixed"))


def test_a_model_that_knows_nothing_fails_the_probes(
    folder: Path, tmp_path: Path
) -> None:
    import torch
    import transformers

    torch.manual_seed(1)
    config = transformers.AutoConfig.from_pretrained(folder)
    blank = transformers.BertForSequenceClassification(config)
    blank.save_pretrained(tmp_path)
    for file in folder.glob("tokenizer*"):
        shutil.copy(file, tmp_path)
    with pytest.raises(OffrecordError, match="probe pairs come out wrong") as caught:
        load_nli(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_model_that_takes_the_hypothesis_for_the_premise_fails_the_probes() -> None:
    probes = {
        (probe["premise"], probe["hypothesis"]): probe["expected"]
        for probe in NLI_FILE.front["probes"]
    }
    turned = [
        pair for pair, found in probes.items() if probes.get(pair[::-1], found) != found
    ]
    assert len(turned) == 2
    assert sorted(probes.values()) == sorted([*CLASSES, *CLASSES])


def test_the_probes_are_shown(model: NliModel) -> None:
    assert len(model.probes) == 6
    for probe, line in zip(NLI_FILE.front["probes"], model.probes, strict=True):
        assert line.startswith(f"right: {probe['expected']} (")
        assert probe["premise"] in line


@pytest.mark.parametrize(
    "names", [("LABEL_0", "LABEL_1", "LABEL_2"), ("0", "1", "2"), ("label 0", "b", "c")]
)
def test_generic_names_are_refused_with_the_fix(names: Sequence[str]) -> None:
    with pytest.raises(OffrecordError, match="id2label") as caught:
        class_order("some/model", dict(enumerate(names)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "names",
    [
        ("entailment", "not_entailment"),
        ("entailment", "neutral", "contradiction", "none"),
        ("negative", "neutral", "positive"),
        ("entailment", "entailed", "contradiction"),
        (),
    ],
)
def test_models_of_other_tasks_are_refused(names: Sequence[str]) -> None:
    with pytest.raises(OffrecordError, match="choose another --nli"):
        class_order("some/model", dict(enumerate(names)))


def test_a_folder_with_generic_names_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "generic"
    shutil.copytree(folder, other)
    config = json.loads((other / "config.json").read_text())
    del config["id2label"], config["label2id"]
    config["num_labels"] = 3
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(OffrecordError, match="LABEL_0, LABEL_1, LABEL_2"):
        load_nli(str(other))


def test_the_same_logits_mean_what_the_names_say() -> None:
    if not CASES.exists():
        pytest.skip("the shared cases are not here")
    cases = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    case = next(case for case in cases if case["id"] == "ot-006")
    given_ = json.loads(case["input"])
    order = class_order("case", {int(k): v for k, v in given_["id2label"].items()})
    logits = np.array(given_["logits"])[list(order)]
    assert CLASSES[int(logits.argmax())] == case["expected"]


@pytest.mark.parametrize("name", ["no-such-owner/no-such-model", "not a name", "empty"])
def test_a_model_that_cannot_be_had_costs_one_line(name: str, tmp_path: Path) -> None:
    if name == "empty":
        name = str(tmp_path)
    with pytest.raises(OffrecordError) as caught:
        load_nli(name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_extra_the_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OffrecordError, match=r"pip install 'offrecord\[semantic\]'"):
        load_nli(str(folder))


# ------------------------------------------------------------------------ the table


def test_each_direction_stands_in_its_own_columns(
    model: NliModel, tmp_path: Path
) -> None:
    rich, plain = "The plan is sound and cheap.", "The plan is sound."
    row = measured_row(
        model, tmp_path, f"PROMOTE — {rich}", f"**DO NOT PROMOTE**: {plain}"
    )
    assert row["left_to_right_entailment"] > 0.9
    assert row["right_to_left_neutral"] > 0.9
    assert row["right_to_left_entailment"] < 0.1
    assert row["mutual_entailment"] == row["right_to_left_entailment"]
    turned = measured_row(model, tmp_path, plain, rich)
    for name in CLASSES:
        there, back = row[f"left_to_right_{name}"], row[f"right_to_left_{name}"]
        assert turned[f"right_to_left_{name}"] == there
        assert row[f"mean_{name}"] == pytest.approx((there + back) / 2)
    assert row["max_contradiction"] == max(
        row["left_to_right_contradiction"], row["right_to_left_contradiction"]
    )
    assert row["method"] == "whole"
    assert row["model"] == model.name
    assert model.hash in row["version"]
    assert row["reason"] is None


def test_a_whole_pair_is_one_distribution(model: NliModel, tmp_path: Path) -> None:
    row = measured_row(model, tmp_path, "The plan is sound.", "The plan is not sound.")
    for direction in ("left_to_right", "right_to_left"):
        total = sum(row[f"{direction}_{name}"] for name in CLASSES)
        assert total == pytest.approx(1)
    assert row["mean_contradiction"] > 0.9


def test_long_texts_are_compared_by_sentence(model: NliModel, tmp_path: Path) -> None:
    left = "The plan is sound. She is ready. The file is long."
    right = "The plan is not sound. The plan is sound."
    row = measured_row(model, tmp_path, left, right)
    assert (row["method"], row["left_sentences"], row["right_sentences"]) == (
        "sentences",
        3,
        2,
    )
    firsts, seconds = split_sentences(left), split_sentences(right)
    grid = model.read(list(itertools.product(firsts, seconds))).probabilities
    grid = grid.reshape(3, 2, 3)
    # of each sentence of the right text: the highest that any of the left one gives
    assert row["left_to_right_entailment"] == pytest.approx(
        grid[:, :, 0].max(axis=0).mean(), abs=1e-6
    )
    back = model.read(list(itertools.product(seconds, firsts))).probabilities
    back = back.reshape(2, 3, 3)
    assert row["right_to_left_contradiction"] == pytest.approx(
        back[:, :, 2].max(axis=0).mean(), abs=1e-6
    )
    assert row["right_to_left_neutral"] == pytest.approx(
        back[:, :, 1].min(axis=0).mean(), abs=1e-6
    )
    # for replication the whole texts stay whole
    whole = measured_row(model, tmp_path, left, right, method="whole")
    assert whole["method"] == "whole"
    assert whole["mean_entailment"] == pytest.approx(
        model.read([(left, right), (right, left)]).probabilities[:, 0].mean(), abs=1e-6
    )


def test_a_pair_over_the_window_is_not_cut(model: NliModel, tmp_path: Path) -> None:
    # The premise alone fills the window: cut, the hypothesis would be lost.
    filler = " ".join(["The file is long."] * 20)
    left = f"{filler} The plan is not sound."
    row = measured_row(model, tmp_path, left, "The plan is sound.", method="whole")
    assert row["tokens"] > row["window"] == WINDOW
    assert (row["method"], row["truncated"]) == ("sentences", False)
    assert row["left_to_right_contradiction"] > 0.9


def test_one_sentence_over_the_window_is_read_in_parts(
    model: NliModel, tmp_path: Path
) -> None:
    left = " ".join(["the file is long and"] * 40) + " it is too early."
    row = measured_row(model, tmp_path, left, "The plan is sound.")
    assert (row["method"], row["truncated"]) == ("sentences", False)


def test_what_is_dropped_all_the_same_is_recorded(
    model: NliModel, tmp_path: Path
) -> None:
    # One word of 200 tokens cannot be parted.
    row = measured_row(model, tmp_path, ",".join("x" * 100), "The plan is sound.")
    assert (row["tokens"] > WINDOW, row["truncated"]) == (True, True)


def test_missing_and_empty_texts_are_rows_with_a_reason(
    model: NliModel, tmp_path: Path
) -> None:
    pairs = paired(
        (None, "PROMOTE - fine"),
        ("The plan is sound.", None),
        ("   \n\t", "Any text"),
        ("The plan is sound.", "**DO NOT PROMOTE** —"),
        ("The plan is sound.", "The plan is sound."),
    )
    table = entailment_table(pairs, model, tmp_path)
    assert table.schema == pl.Schema(ENTAILMENT.schema)
    assert table["reason"].to_list() == [
        "left: error",
        "right: interrupted",
        "left: empty",
        "right: empty",
        None,
    ]
    assert table["mean_entailment"].is_null().to_list() == [True] * 4 + [False]
    assert table["left_turn"].to_list() == [1, 2, 3, 4, 5]
    assert table["version"].null_count() == 0


def test_no_pairs_and_only_missing_pairs_give_their_rows(
    model: NliModel, tmp_path: Path
) -> None:
    assert entailment_table(paired(), model, tmp_path).height == 0
    assert entailment_table(paired((None, None)), model, tmp_path).height == 1


def test_where_no_model_can_be_had_every_pair_says_so() -> None:
    table = unmeasured_entailment(paired(("a", "b"), (None, "c")), "no model")
    assert table.schema == pl.Schema(ENTAILMENT.schema)
    assert table["reason"].to_list() == ["not measured: no model"] * 2
    assert table["mean_entailment"].null_count() == 2


def test_with_labels_left_in_the_text_is_another(
    model: NliModel, tmp_path: Path
) -> None:
    texts = ("PROMOTE. The plan is sound.", "DO NOT PROMOTE. The plan is sound.")
    clean = measured_row(model, tmp_path, *texts)
    raw = measured_row(model, tmp_path, *texts, variant=Variant.UNSTRIPPED)
    assert clean["mutual_entailment"] > 0.9
    assert raw["tokens"] > clean["tokens"]
    assert (clean["variant"], raw["variant"]) == ("clean", "unstripped")


def test_a_second_measure_reads_nothing(
    model: NliModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = paired(*PAIRS)
    first = entailment_table(pairs, model, tmp_path)
    read: list[int] = []
    probabilities = model._network.probabilities

    def counted(_: object, asked: Sequence[tuple[str, str]]) -> Any:
        read.append(len(asked))
        return probabilities(asked)

    monkeypatch.setattr(type(model._network), "probabilities", counted)
    assert entailment_table(pairs, model, tmp_path).equals(first)
    assert read == []
    entailment_table(pairs.vstack(paired(("She is new.", "He is."))), model, tmp_path)
    assert sum(read) == 2


# ------------------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two. Three.", 3),
        ("I said so... and I mean it.", 1),
        ("Dr. Stone and Mr. Hill agree, e.g. on pay. I do not.", 2),
        ("It rose by 3.5 points. 12 members left.", 2),
        ('He said "Stop!" Then he left.', 2),
        ("First line\nsecond line", 2),
        ("J. Smith wrote it.", 1),
        ("So did I. They left.", 2),
        ("no end", 1),
        ("好的。再见。", 2),
        ("", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@given(st.text(alphabet="aBc.!? \n\"'1。", max_size=60))
def test_no_sentence_loses_a_letter(text: str) -> None:
    parts = split_sentences(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(parts)


# ------------------------------------------------------------------- a judge as second


def test_the_judge_says_both_directions_of_prepared_texts(tmp_path: Path) -> None:
    SCRIPT.reset(
        '{"first_to_second": "entailment", "second_to_first": "contradiction"}'
    )
    pairs = paired(
        ("PROMOTE — The plan is sound and cheap.", "The plan is sound."),
        (None, "The plan is sound."),
    )
    table = judged_entailment(pairs, MODEL, tmp_path)
    assert table.schema == pl.Schema(JUDGED.schema)
    first, second = table.iter_rows(named=True)
    assert first["left_to_right"] == "entailment"
    assert first["right_to_left"] == "contradiction"
    assert (first["status"], first["reason"]) == ("ok", None)
    assert (second["left_to_right"], second["reason"]) == (None, "left: error")
    [(_, asked)] = SCRIPT.asked
    assert "PROMOTE" not in asked
    assert asked.index("cheap") < asked.index("The second text")
    assert "public" not in asked
    assert "entailment@1" in first["version"]


def test_a_judge_that_invents_words_gives_no_value(tmp_path: Path) -> None:
    SCRIPT.reset("Both of them say the same thing, so entailment.")
    table = judged_entailment(paired(("a b", "c d")), MODEL, tmp_path)
    row = table.row(0, named=True)
    assert (row["left_to_right"], row["right_to_left"]) == (None, None)
    assert (row["status"], row["reason"]) == ("unclear", "not one JSON object")
    assert row["reply"].startswith("Both of them")
