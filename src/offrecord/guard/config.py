"""`guard.yaml`: a guard as a file, written by hand or by a calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ConfigDict

from offrecord.content.decision import Decision
from offrecord.content.document import Front, read_document
from offrecord.guard.guard import Guard
from offrecord.guard.types import Ask, Rule
from offrecord.guard.wording import Wording, read_wording
from offrecord.records import OffrecordError


class Calibrated(Front):
    """What a calibration found; rates are fractions of 1, each with its bounds."""

    model_config = ConfigDict(extra="allow", frozen=True)

    query: str
    """The stamp of the wording that was asked."""


class GuardConfig(Front):
    """The content of a `guard.yaml`."""

    decision: Decision | None = None
    """What is decided; a file without one has to be given it in code."""
    rule: Rule = Rule()
    wording: Path | None = None
    """A file with the guard's texts, from this file's folder."""
    map: str | None = None
    """How `guard check` reads records: a map that ships, or a file."""
    calibrated: Calibrated | None = None

    @property
    def texts(self) -> Wording:
        """What the guard says."""
        return read_wording(self.wording)

    def guard(self, ask: Ask, **more: Any) -> Guard:  # noqa: ANN401 - Guard's own
        """The guard that the file describes.

        Args:
            ask: Answers messages as the agent's own model does.
            more: Further arguments of `Guard`; a `decision` stands over the file's.

        Raises:
            OffrecordError: As `Guard`.
        """
        decision = more.pop("decision", self.decision)
        own = {"rule": self.rule, "wording": self.wording}
        return Guard(ask, decision, **{**own, **more})


def read_config(path: Path) -> GuardConfig:
    """Read a `guard.yaml`.

    Raises:
        OffrecordError: Naming the file and the field that is wrong, or if it was
            calibrated with another query than the one that would be asked.
    """
    config = read_document(path).validate(GuardConfig)
    if config.wording is not None:
        own = (path.parent / config.wording).absolute()
        config = config.model_copy(update={"wording": own})
    found = config.calibrated
    if found is not None and found.query != config.texts.stamp:
        raise OffrecordError(
            f"{path}: its rates are of another query ({found.query}; this one is "
            f"{config.texts.stamp}): calibrate again, or take out 'calibrated'"
        )
    return config


def config_text(config: GuardConfig) -> str:
    """A configuration as the text of its file."""
    plain = config.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=88)
