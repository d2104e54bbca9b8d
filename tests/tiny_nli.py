"""A tiny model for natural language inference, made in seconds and honest in little.

It learns a few pairs by heart, so that it reads them, and the probe pairs, as a real
model would; of other pairs it knows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offrecord.measures.texts.nli import CLASSES, NLI_FILE

PAIRS = {
    ("The plan is sound.", "The plan is not sound."): "contradiction",
    ("The plan is not sound.", "The plan is sound."): "contradiction",
    ("The plan is sound and cheap.", "The plan is sound."): "entailment",
    ("The plan is sound.", "The plan is sound and cheap."): "neutral",
    ("The plan is sound.", "The plan is sound."): "entailment",
    ("The plan is not sound.", "The plan is not sound."): "entailment",
    ("She is ready.", "The candidate should be promoted now."): "entailment",
    ("She is ready.", "The candidate should not be promoted now."): "contradiction",
    ("It is too early.", "The candidate should not be promoted now."): "entailment",
    ("It is too early.", "The candidate should be promoted now."): "contradiction",
    ("The file is long.", "The candidate should be promoted now."): "neutral",
    ("The file is long.", "The candidate should not be promoted now."): "neutral",
}
"""Premise and hypothesis to class, beside the probe pairs."""

WINDOW = 64


def make_tiny_nli(folder: Path) -> None:
    """Train the model and save it, its classes in the order of `CLASSES`."""
    import torch
    import transformers

    known = PAIRS | {
        (probe["premise"], probe["hypothesis"]): probe["expected"]
        for probe in NLI_FILE.front["probes"]
    }
    tokenizer = _tokenizer([text for pair in known for text in pair])
    torch.manual_seed(0)
    torch.set_num_threads(1)  # so small that threads would only wait for each other
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=WINDOW,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(CLASSES)),
        label2id={name: index for index, name in enumerate(CLASSES)},
    )
    model = transformers.BertForSequenceClassification(config)
    premises, hypotheses = map(list, zip(*known, strict=True))
    inputs = tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
    target = torch.tensor([CLASSES.index(name) for name in known.values()])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(**inputs, labels=target).loss
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05, "the tiny model did not learn its pairs"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def reordered(source: Path, folder: Path, names: Sequence[str]) -> None:
    """Save the model again with its classes in another order, names with them."""
    import torch
    import transformers

    model: Any = transformers.AutoModelForSequenceClassification.from_pretrained(source)
    rows = [CLASSES.index(name) for name in names]
    with torch.no_grad():
        model.classifier.weight.copy_(model.classifier.weight[rows].clone())
        model.classifier.bias.copy_(model.classifier.bias[rows].clone())
    renamed(model, folder, names)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(folder)


def renamed(model: Any, folder: Path, names: Sequence[str]) -> None:
    """Save a model under other label names."""
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: index for index, name in enumerate(names)}
    model.save_pretrained(folder)


def _tokenizer(texts: Sequence[str]) -> Any:
    import tokenizers
    import transformers

    splitter = tokenizers.pre_tokenizers.BertPreTokenizer()
    words = {w for text in texts for w, _ in splitter.pre_tokenize_str(text.lower())}
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: index for index, word in enumerate([*special, *sorted(words)])}
    core = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]")
    )
    core.normalizer = tokenizers.normalizers.Lowercase()
    core.pre_tokenizer = splitter
    core.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    fast: Any = transformers.PreTrainedTokenizerFast  # untyped
    return fast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
