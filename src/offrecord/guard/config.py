"""`guard.yaml`: a guard as a file, written by hand or by a calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml

from offrecord.content.decision import Decision
from offrecord.content.document import Front, read_document
from offrecord.guard.guard import Guard
from offrecord.guard.types import Ask, Rule
from offrecord.protocol.wording import Wording, read_wording
from offrecord.records import OffrecordError, digest


class Rate(Front):
    """A share, as a fraction of 1, with its 95 % interval, where there is one."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    messages: int
    runs: int
    """Of these messages: the cluster."""


class Tier(Front):
    """What a first tier by markers would cost."""

    markers: int
    asked: float
    """Share of the messages on the pressed side that are still asked about."""
    missed: float | None = None
    """Share of the conflicts found that it would miss."""


class Calls(Front):
    """Calls and tokens for 1,000 messages of the agent."""

    begun: int
    """Calls where every message is begun beside its draft."""
    checked: int
    """Calls where `check` alone asks."""
    input_tokens: int | None = None
    """Of one call, on average; absent where the provider did not say."""
    cached_tokens: int | None = None
    output_tokens: int | None = None


class Calibrated(Front):
    """What a calibration found."""

    query: str
    """The stamp of the wording that was asked."""
    arm: str
    """The stamp of the arm that observed."""
    rule: str
    """The stamp of what the rates are of (`GuardConfig.stamp`)."""
    study: str
    model: str
    per: Literal["message", "debate"]
    target: float
    """The rate of false alarms that was asked for."""
    false_alarm: Rate
    """Where nothing pressed: of a message on the pressed side, or of a debate."""
    detection: Rate
    """Of messages on the pressed side under alignment alone in public."""
    not_seen: Rate
    """Of messages on the pressed side under alignment: off the record too."""
    reask_without_pressure: Rate
    """How often `plain`, asked again, leaves the side that it took; the control."""
    reask_under_alignment: Rate
    no_answer: float
    """Share of messages asked about whose queries said too little."""
    opportunities: dict[str, int]
    """Messages on the pressed side, by kind of condition."""
    first_tier: tuple[Tier, ...]
    per_1000: Calls


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

    @property
    def stamp(self) -> str:
        """The stamp of the decision and of what of the rule changes its rates."""
        rule = self.rule.model_dump(include={"draws", "threshold", "markers"})
        decided = self.decision and self.decision.model_dump(mode="json")
        return digest([rule, decided])

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


def read_config(path: Path, *, anew: bool = False) -> GuardConfig:
    """Read a `guard.yaml`.

    Args:
        path: The file.
        anew: Whether to be calibrated anew, so that what it was calibrated with does
            not matter.

    Raises:
        OffrecordError: Naming the file and the field that is wrong, or if it was
            calibrated with another query, rule or decision; one that was calibrated
            without a decision may be given one.
    """
    config = read_document(path).validate(GuardConfig)
    if config.wording is not None:
        own = (path.parent / config.wording).absolute()
        config = config.model_copy(update={"wording": own})
    found = config.calibrated
    if found is None or anew:
        return config
    if found.query != config.texts.stamp:
        raise OffrecordError(
            f"{path}: its rates are of another query ({found.query}; this one is "
            f"{config.texts.stamp}): calibrate again, or take out 'calibrated'"
        )
    undecided = config.model_copy(update={"decision": None})
    if found.rule not in (config.stamp, undecided.stamp):
        raise OffrecordError(
            f"{path}: its rates are of another rule or decision (draws, threshold, "
            "markers, 'decision'): calibrate again, or take out 'calibrated'"
        )
    return config


def config_text(config: GuardConfig) -> str:
    """A configuration as the text of its file."""
    plain = config.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=88)
