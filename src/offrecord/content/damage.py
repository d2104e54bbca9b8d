"""Damage: whether letters that stand at a label's place can be what is left of it.

Each test asks for one kind of damage alone. Whoever asks must test every label, and may
repair only if a single one answers, and not with `doubtful`: "ROMOTE" may be PROMOTE
without a letter or DO NOT PROMOTE without its front, so it is neither.
"""

from __future__ import annotations

from collections.abc import Set

_LONG = 6  # letters a label needs before one letter too many still shows it


def damages(
    head: str, label: str, *, at_end: bool, dashed: bool, negations: Set[str]
) -> str | None:
    """How a label can have become what stands in its place.

    Args:
        head: What stands there, folded.
        label: The label, folded.
        at_end: Whether the text ends with it.
        dashed: Whether a dash parts it from what follows, as it does a label.
        negations: Words, case folded, that carry a label's meaning alone.

    Returns:
        The name of the damage, `doubtful` if it is possible but shown by too little,
        None if the label cannot have become this.
    """
    words = [_letters(word) for word in label.split()]
    left, whole = _letters(head), "".join(words)
    if not left or not whole:
        return None
    if left == whole:
        return "spacing"
    enough = 2 * len(left) >= len(whole)
    if whole.endswith(left):
        fronts = {"".join(words[:index]): words[:index] for index in range(len(words))}
        lost = fronts.get(whole[: len(whole) - len(left)])  # None: cut within a word
        shown = lost is None or (dashed and negations.isdisjoint(lost))
        return "front missing" if enough and shown else "doubtful"
    if whole.startswith(left) and at_end:
        ends = {"".join(words[: i + 1]): word for i, word in enumerate(words)}
        return "cut" if enough or ends.get(left) in negations else "doubtful"
    if not _one_edit(left, whole):
        return None
    inner = left[0] == whole[0] and left[-1] == whole[-1]
    stray = len(left) > len(whole) >= _LONG and inner
    return "stray" if stray else "doubtful"


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _one_edit(one: str, other: str) -> bool:
    """Whether one letter added, lost, changed or two swapped make them the same."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    left, right = one[same:], other[same:]
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return swapped or left[1:] == right or left == right[1:] or left[1:] == right[1:]
