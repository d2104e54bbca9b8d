"""YAML that may come from anyone: plain values, each written once where it stands."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

from offrecord.content.boundary.files import read_text
from offrecord.records import OffrecordError

_DEEPEST: Final = 50  # levels; far above any content, far below the stack


def read_yaml(path: Path) -> dict[str, Any]:
    """The fields of a YAML file that is no content: a design, say, or prices.

    Raises:
        OffrecordError: If it cannot be read, naming file, line and reason.
    """
    return parse_yaml(path, read_text(path))


def parse_yaml(path: Path, text: str) -> dict[str, Any]:
    """The fields of a text in YAML.

    Args:
        path: Where it stands, for the error.
        text: The text.

    Raises:
        OffrecordError: If it is none, naming file, line and reason.
    """
    try:
        value = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "cannot be read"
        raise OffrecordError(f"{path}: YAML: {problem}{line}") from None
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise OffrecordError(f"{path}: YAML: expected 'name: value' pairs")
    return value


class _Loader(yaml.SafeLoader):
    """Plain values only, each written once where it stands.

    PyYAML reads 010 as 8 and 1:30 as 90, as YAML 1.1 has it: here these are texts.
    PyYAML takes the last of two equal keys, and copies what an alias names without
    end: a few lines of aliases stand for more values than a machine can hold.
    """

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        mark: Any = event.start_mark
        if self.check_event(yaml.AliasEvent):
            problem = "an alias (*name) is not followed: write the value out"
            raise yaml.composer.ComposerError(None, None, problem, mark)
        if self._depth >= _DEEPEST:
            problem = f"more than {_DEEPEST} levels"
            raise yaml.composer.ComposerError(None, None, problem, mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        keys = set[Hashable]()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in keys:
                raise yaml.constructor.ConstructorError(
                    None, None, f"'{key}' stands twice", key_node.start_mark
                )
            if isinstance(key, Hashable):
                keys.add(key)
        return super().construct_mapping(node, deep)


_INTEGER: Final = "tag:yaml.org,2002:int"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag != _INTEGER]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    _INTEGER, re.compile(r"[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")
)
