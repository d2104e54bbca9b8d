"""Opening every model of a design once, before anything is written or paid for.

A missing key, client or file then costs one line instead of a half-begun study.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offrecord.protocol.design import Design
from offrecord.protocol.models import open_model
from offrecord.runner.options import refuse_secret

_SHAPING: Final = ("-M", "--model-base-url", "--model-config")
"""Options without which a model may not open, and which only Inspect can read."""


def open_models(design: Design, options: Sequence[str]) -> None:
    """Open the models of a design, as Inspect will; none of them is called.

    Args:
        design: Whose models.
        options: All options for `inspect eval-set`. With those that shape a model the
            check is left to Inspect.

    Raises:
        OffrecordError: Naming the first model that cannot be opened, and why.
    """
    if any(option.partition("=")[0] in _SHAPING for option in options):
        return
    for name in design.called:
        model = open_model(name)
        refuse_secret(f"the base URL of {name}", str(model.api.base_url or ""))
