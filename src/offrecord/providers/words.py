"""Words: a stance becomes the text that a model might have sent for it.

The text depends on the stance alone and never on the channel, so that two channels
with one stance argue alike and two with different stances do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from offrecord.content import data_folder, fill, read_document
from offrecord.records import ENGLISH, Frame, digest, primary_language

_REASON = 2 / 3  # share of utterances with a second sentence


def pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    """One of some options, each as likely."""
    return options[int(rng.random() * len(options))]


def stance_label(frame: Frame, yields: bool) -> str:
    """The label of a stance: the speaker's own side, or the other where it yields."""
    first, second = frame.labels
    other = second if frame.side == first else first
    return other if yields else frame.side


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Everything that simulated agents can say."""

    lists: Mapping[str, Any]
    """The content of `words.yaml`, which says what its parts are."""
    stamp: str
    """`id@version:hash` of the word lists."""

    def utterance(
        self, frame: Frame, yields: bool, decorated: float, rng: np.random.Generator
    ) -> str:
        """A decision label with one or two sentences.

        Args:
            frame: Labels and sides.
            yields: Whether the speaker leaves its own side.
            decorated: Probability of any other form than `LABEL - sentences`.
            rng: Chooses form and sentences.
        """
        lists = self.lists
        layout = lists["plain"]
        if rng.random() < decorated:
            layout = pick(rng, lists["decorated"])
        argument = lists["other"] if yields else lists["own"]
        text = pick(rng, argument["claims"])
        if rng.random() < _REASON:
            text = f"{text} {pick(rng, argument['reasons'])}"
        return self.lay_out(layout, text, frame, yields)

    def lay_out(self, layout: str, text: str, frame: Frame, yields: bool) -> str:
        """Put a label and sentences into a form."""
        label = stance_label(frame, yields)
        return fill(
            layout,
            {
                "label": label,
                "lower": label.lower(),
                "title": label.title(),
                "text": self.mention(text, frame, yields),
            },
        )

    def mention(self, text: str, frame: Frame, yields: bool) -> str:
        """Put the labels into a sentence that names them."""
        if "{" not in text:
            return text
        return fill(
            text,
            {
                "label": stance_label(frame, yields),
                "alternative": stance_label(frame, not yields),
            },
        )

    def survey(self, frame: Frame, yields: bool, rng: np.random.Generator) -> str:
        """One JSON object with a whole number for each of the frame's items.

        Each number is rounded at random to one of its two neighbours on the scale, so
        that its mean is exactly `low + position * (high - low)`.
        """
        noise = rng.random(len(frame.items))
        values = {
            item: frame.low
            + int(self.position(item, frame, yields) * (frame.high - frame.low) + u)
            for item, u in zip(frame.items, noise, strict=True)
        }
        if rng.random() < 0.5:
            return json.dumps(values)
        lines = json.dumps(values, separators=(",\n  ", ": "))  # far faster than indent
        return f"{{\n  {lines[1:-1]}\n}}"

    def position(self, item: str, frame: Frame, yields: bool) -> float:
        """Where an item's answer lies on average, from 0 to 1.

        Args:
            item: The item's id.
            frame: Labels and sides.
            yields: Whether the speaker leaves its own side on this channel.
        """
        survey = self.lists["survey"]
        place: Mapping[str, float] | None = survey["items"].get(item)
        if place is None:
            place, yields = survey["unlisted"], yields != _reversed(item)
        if "partner" in place:
            with_partner = stance_label(frame, yields) == frame.pressed_side
            return place["partner" if with_partner else "against"]
        return place["other" if yields else "own"]


@lru_cache(maxsize=1024)
def _reversed(item: str) -> bool:
    return int(digest(item), 16) % 2 == 1


@cache
def load_words(language: str = ENGLISH) -> Words:
    """The word lists that ship with the package.

    Args:
        language: Of the debate; where there are no lists of it, agents speak English.
    """
    document = read_document(data_folder("words.yaml"))
    path = data_folder(f"words-{primary_language(language)}.yaml")
    if not path.is_file():
        return Words(lists=document.front, stamp=document.stamp)
    own = read_document(path)
    return Words(lists={**document.front, **own.front}, stamp=own.stamp)
