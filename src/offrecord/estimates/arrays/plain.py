"""Values as JSON holds them: what is undefined is null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """A value without NaN and infinities, which become None, and without arrays' types.

    Args:
        value: A scalar, or a mapping, list or tuple of such values, nested at will.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return plain(value.item())
    return value
