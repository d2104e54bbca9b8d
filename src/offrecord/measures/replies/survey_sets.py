"""Answer sets: which values of a reply stand beside which item's key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from offrecord.content.labels import normalise, plain_copy
from offrecord.measures.replies.survey_json import Members, Node, Number
from offrecord.measures.replies.survey_own import is_others_key
from offrecord.measures.replies.survey_value import RULES, scale_statement

_ITEM_KEYS: Final = frozenset(RULES.front["item_keys"])
_VALUE_KEYS: Final = frozenset(RULES.front["value_keys"])
_INNER: Final = re.compile(r"(?<!\d)[\s_-]+|[\s_-]+(?!\d)")
_OUTER: Final = re.compile(r"^[\W_]+|[\W_]+$")
_LINE: Final = re.compile(r"[\s#•-]*([^:=|—\n]{1,60}?)\s*(?:[:=|—]|\s-\s)\s*(\S.*)")
_BARE: Final = re.compile(
    r"([^\s:=,;|—]{1,60}?)[\"']?(?:\)|\.(?=\s))?[\s,;]+[\"']?(\d{1,4})[\"']?"
)
_BARE_LINE: Final = re.compile(
    rf"[\s\"'•#-]*{_BARE.pattern}(?:[\s,;]+[\"']?{_BARE.pattern})*[\s,;.]*"
)
_RANGE_DASH: Final = re.compile(r"(?<=\d)\s?—\s?(?=\d)")
_NEXT_KEY: Final = re.compile(r"[,;]\s*(?=[^,;:=]{1,60}[:=])")


@dataclass(frozen=True, slots=True)
class Keys:
    """The items of a survey by the keys that name them."""

    exact: frozenset[str]
    loose: dict[str, str]
    """The key without case, blanks and outer punctuation, to the item."""
    numbers: dict[str, str]
    """Bare numbers to items, where each item's own number is its place."""

    def named(self, key: str, *, number: bool = True) -> tuple[str | None, str]:
        """The item that a key names, if one, and the repair it took.

        Args:
            key: A key as the reply writes it.
            number: Whether a bare number may name an item.
        """
        if key in self.exact:
            return key, ""
        form = _loose(key)
        if form in self.loose:
            return self.loose[form], "key"
        if number and form in self.numbers:
            return self.numbers[form], "number for key"
        return None, ""

    def from_zero(self, names: Iterable[str]) -> bool:
        """Whether keys count from 0, so that every one names the item after it."""
        forms = {_loose(name) for name in names}
        zeros = {"0", *(re.sub(r"\d+$", "0", form) for form in self.loose)}
        return bool(forms & (zeros - self.loose.keys()))


class Answers(NamedTuple):
    """One answer set: for each item the values beside its key, and the repairs."""

    values: dict[str, list[Node]]
    repairs: tuple[str, ...]
    others: bool = False
    """Whether a key says that they are somebody else's."""


@lru_cache(maxsize=256)
def item_keys(items: tuple[str, ...]) -> Keys:
    """The keys of a survey's items."""
    forms = [_loose(item) for item in items]
    numbers = {
        str(place): item
        for place, (item, form) in enumerate(zip(items, forms, strict=True), start=1)
        if re.fullmatch(rf"\D+{place}", form)
    }
    return Keys(
        exact=frozenset(items),
        loose={f: i for f, i in zip(forms, items, strict=True) if forms.count(f) == 1},
        numbers=numbers if len(numbers) == len(items) else {},
    )


def _loose(key: str) -> str:
    return _INNER.sub("", _OUTER.sub("", plain_copy(key).casefold()))


def answer_sets(node: Node, keys: Keys) -> Iterator[Answers]:
    """Every answer set in what was read, outermost first."""
    if isinstance(node, Members):
        own = _own(node, keys)
        if own is not None:
            yield own
            return
        for key, value in node.pairs:
            for found in answer_sets(value, keys):
                yield found._replace(others=found.others or is_others_key(key))
    elif isinstance(node, list):
        records = [_record(value, keys) for value in node]
        if any(records):
            if keys.from_zero(_names(node)):
                yield Answers({}, ())
                return
            values: dict[str, list[Node]] = {}
            for item, value in filter(None, records):
                values.setdefault(item, []).append(value)
            yield Answers(values, ("records",))
            return
        for value in node:
            yield from answer_sets(value, keys)


def _own(members: Members, keys: Keys) -> Answers | None:
    record = _record(members, keys)
    if record is not None:
        return Answers({record[0]: [record[1]]}, ("records",))
    values: dict[str, list[Node]] = {}
    repairs = []
    for key, value in members.pairs:
        item, repair = keys.named(key)
        if item is not None:
            values.setdefault(item, []).append(value)
            repairs.append(repair)
    if values and keys.from_zero(key for key, _ in members.pairs):
        return Answers({}, ())
    return Answers(values, tuple(filter(None, repairs))) if values else None


def _record(node: Node, keys: Keys) -> tuple[str, Node] | None:
    """The item and value of a record such as `{"item": "q1", "score": 5}`."""
    if not isinstance(node, Members):
        return None
    named = [value for key, value in node.pairs if normalise(key) in _ITEM_KEYS]
    values = [value for key, value in node.pairs if normalise(key) in _VALUE_KEYS]
    if len(named) != 1 or len(values) != 1:
        return None
    name = _name(named[0])
    item = keys.named(name)[0] if isinstance(name, str) else None
    return (item, values[0]) if item is not None else None


def _name(value: Node) -> Node:
    return value.text if isinstance(value, Number) else value


def _names(records: list[Node]) -> Iterator[str]:
    for record in records:
        for key, value in record.pairs if isinstance(record, Members) else ():
            name = _name(value)
            if normalise(key) in _ITEM_KEYS and isinstance(name, str):
                yield name


def line_answers(said: str, keys: Keys, low: int, high: int) -> Answers | None:
    """The answers of a reply without an object: keys and values, line by line.

    Args:
        said: The reply without reasoning.
        keys: The survey's keys.
        low: The scale's lowest point.
        high: Its highest.
    """
    values: dict[str, list[Node]] = {}
    for line in said.splitlines():
        if line.lstrip().startswith(">"):
            continue
        row = line.strip().startswith("|")
        pairs = _row(line, keys) if row else _keyed(line, scale_statement(low, high))
        if keys.from_zero(name for name, _ in pairs if not name.strip().isdigit()):
            return Answers({}, ())
        for name, value in pairs:
            item = keys.named(name, number=False)[0]
            if item is not None:
                values.setdefault(item, []).append(value)
    return Answers(values, ("lines",)) if values else None


def _row(line: str, keys: Keys) -> list[tuple[str, Node]]:
    """A table row: one cell names an item, and one other holds digits."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    named = [keys.named(cell, number=False)[0] for cell in cells]
    names = [cell for cell, item in zip(cells, named, strict=True) if item is not None]
    values = [
        cell
        for cell, item in zip(cells, named, strict=True)
        if item is None and any(char.isdigit() for char in cell)
    ]
    if not names:
        return [(cell, "") for cell in cells]
    return [(names[0], values[0])] if len(names) == len(values) == 1 else []


def _keyed(line: str, scale: re.Pattern[str]) -> list[tuple[str, Node]]:
    """The keys of a line with their values: after a sign, or nothing but a number."""
    copy = plain_copy(line)
    if _BARE_LINE.fullmatch(copy):
        return [(pair[1], pair[2]) for pair in _BARE.finditer(copy)]
    parts = _NEXT_KEY.split(scale.sub(" ", _RANGE_DASH.sub("-", copy), 1))
    matches = (_LINE.fullmatch(part.strip()) for part in parts)
    return [(match[1], match[2]) for match in matches if match]
