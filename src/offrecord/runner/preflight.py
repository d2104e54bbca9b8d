"""Opening every model that is called once, before anything is written or paid for.

A missing key, client or file then costs one line instead of a half-begun study.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import yaml

from offrecord.protocol.models import open_model
from offrecord.records import OffrecordError
from offrecord.runner.options import refuse_secret, values_of

_ELSEWHERE: Final = "--model-config"
"""The option whose file only Inspect reads, and without which a model may not open."""


def open_models(
    names: Iterable[str], studied: Collection[str], options: Sequence[str]
) -> None:
    """Open models as Inspect will; none of them is called.

    Args:
        names: All models that are called.
        studied: Those of them that are no fixed role's.
        options: All options for `inspect eval-set`. Where a file of them shapes models
            the check is left to Inspect.

    Raises:
        OffrecordError: Naming the first model that cannot be opened, and why.
    """
    if values_of(_ELSEWHERE, options):
        return
    given = _arguments(options)
    for name in names:
        # Inspect gives them to the models under study, and to no fixed role.
        model = open_model(name, **given if name in studied else {})
        refuse_secret(f"the base URL of {name}", str(model.api.base_url or ""))


def _arguments(options: Sequence[str]) -> dict[str, Any]:
    """What options give to the providers of models, read as Inspect reads it."""
    found = dict[str, Any]()
    for word in values_of("-M", options):
        name, _, text = word.partition("=")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            raise OffrecordError(f"-M {name}: the value is not YAML") from None
        several = isinstance(value, str) and "," in value
        found[name.replace("-", "_")] = value.split(",") if several else value
    for address in values_of("--model-base-url", options):
        found["base_url"] = address
    return found
