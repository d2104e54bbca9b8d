"""A user's price file: what a model's tokens cost. The package knows no prices itself.

The file is the one that Inspect takes as `--model-cost-config`, so that one file serves
both: model names as Inspect spells them, prices per million tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offrecord.content.boundary.yaml import read_yaml
from offrecord.content.document import first_fault
from offrecord.records import OffrecordError


class Price(BaseModel):
    """Prices of one model, per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    """Reasoning included, as providers bill it."""
    input_cache_read: float = Field(ge=0, allow_inf_nan=False)
    """Of input tokens that came from a cache."""
    input_cache_write: float = Field(ge=0, allow_inf_nan=False)
    """Of input tokens that were written to one; `input` where that costs nothing."""
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")

    def cost(self, fresh: float, cached: float, written: float, output: float) -> float:
        """What tokens cost.

        Args:
            fresh: Input tokens that were neither read from a cache nor written to one.
            cached: Input tokens read from a cache.
            written: Input tokens written to a cache.
            output: Output tokens.

        Returns:
            An amount in `currency`.
        """
        millions = (
            fresh * self.input
            + cached * self.input_cache_read
            + written * self.input_cache_write
            + output * self.output
        )
        return millions / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """A price file as read."""

    name: str
    """The file's name, for labels."""
    models: Mapping[str, Price]
    currency: str


def read_prices(path: Path) -> Prices:
    """Read a price file.

    Args:
        path: YAML or JSON: model to `input`, `output`, `input_cache_read` and
            `input_cache_write`, per million tokens, and if wanted `currency` (USD).

    Raises:
        OffrecordError: Naming the file and the first field that is wrong.
    """
    models = {}
    for name, value in read_yaml(path).items():
        if not isinstance(value, dict):
            raise OffrecordError(
                f"{path}: field '{name}': write the model's prices under its name "
                "(input, output, input_cache_read, input_cache_write)"
            )
        try:
            # JSON's own numbers only: neither "3" nor true is a price.
            models[name] = Price.model_validate(value, strict=True)
        except ValidationError as error:
            raise OffrecordError(
                f"{path}: model '{name}': {first_fault(error)}"
            ) from None
    if not models:
        raise OffrecordError(f"{path}: names no model")
    first = next(iter(models.values())).currency
    for name, price in models.items():
        if price.currency != first:
            raise OffrecordError(
                f"{path}: model '{name}': field 'currency': {price.currency}, where "
                f"others have {first}: one currency a file"
            )
    return Prices(name=path.name, models=models, currency=first)
