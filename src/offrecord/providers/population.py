"""The simulated population: agents with known truth, read from a file.

Three parts make an answer: the agent's latent stance (`truth`), the text for it
(`words`), and what goes wrong on the way (`faults`). A state lasts: with probability
`persistence` a turn keeps the state of the agent's turn before, else it is drawn anew,
so every turn has the planted shares while the turns of a run are correlated. Everything
is a pure function of the seed and the stamp, so order and sharding change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from offrecord.content import Document, data_folder, read_document
from offrecord.content.document import Front
from offrecord.providers.faults import FAULTS, Damage, SimulatedAnswer, draw_fault
from offrecord.providers.truth import Rule, State
from offrecord.providers.words import Words, load_words, stance_label
from offrecord.records import (
    HOLDOUT,
    Cell,
    Form,
    Frame,
    Kind,
    OffrecordError,
    Role,
    Stamp,
    Timing,
    digest,
)

_STAYING = Rule()
_Percent = Annotated[float, Field(ge=0, le=100)]


class _Column(Front):
    state: Literal[State.ACCOMMODATING, State.REVERSING, State.CONVERTING]
    kind: Kind
    timing: Timing | None = None


class _Table(Front):
    role: Role
    default: str
    columns: tuple[_Column, ...]
    rows: dict[str, tuple[_Percent, ...]]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name, row in self.rows.items():
            if len(row) != len(self.columns):
                raise ValueError(f"row '{name}' needs {len(self.columns)} percentages")
        if self.default not in self.rows:
            raise ValueError(f"the default row '{self.default}' is missing")
        return self

    def rules(self, row: str) -> tuple[Rule, ...]:
        return tuple(
            Rule.model_validate(
                {
                    "kind": column.kind,
                    "timing": column.timing,
                    "role": self.role,
                    column.state: percent / 100,
                }
            )
            for column, percent in zip(self.columns, self.rows[row], strict=True)
        )


class PopulationFile(Front):
    """A population's file."""

    persistence: float = Field(default=0, ge=0, le=1)
    """Probability that a turn keeps the state of the agent's turn before."""
    flip: float = Field(default=0, ge=0, le=0.5)
    """Probability that a reply leaves the stance of its state."""
    decorated: float = Field(default=0, ge=0, le=1)
    """Share of utterances in another form than `LABEL - sentences`."""
    private: frozenset[str] = frozenset({"off_record", "off_record_reworded", HOLDOUT})
    """Channels answered as off the record; every other one is public."""
    truth: tuple[Rule, ...] = ()
    table: _Table | None = None
    faults: dict[str, float] = Field(default_factory=dict)
    """Fault to probability per reply of a form that it can happen to."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.table and self.truth:
            raise ValueError("give 'truth' or 'table', not both")
        for name, rate in self.faults.items():
            if name not in FAULTS:
                raise ValueError(f"no fault '{name}' (there are {', '.join(FAULTS)})")
            if not 0 <= rate <= 1:
                raise ValueError(f"the rate of fault '{name}' is not between 0 and 1")
        for form in (Form.UTTERANCE, Form.SURVEY):
            rates = (r for n, r in self.faults.items() if form in FAULTS[n].forms)
            if sum(rates) > 1 + 1e-9:
                raise ValueError(f"the fault rates of form {form} exceed 1")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Agents with known truth; answers are a pure function of seed and stamp."""

    name: str
    stamp: str
    """`id@version:hash` of the population's file."""
    rules: tuple[Rule, ...]
    """The first that covers an agent holds; where none does, it stays."""
    file: PopulationFile

    def words_of(self, cell: Cell) -> Words:
        """What is said in a debate, in its language."""
        return load_words(cell.language)

    def rule(self, cell: Cell, role: Role) -> Rule:
        """The probabilities of an agent's states."""
        covering = (rule for rule in self.rules if rule.covers(cell, role))
        return next(covering, _STAYING)

    def answer(
        self,
        stamp: Stamp,
        frame: Frame,
        prompt: Sequence[tuple[str, str]] | None = None,
    ) -> SimulatedAnswer:
        """Answer one request.

        Args:
            stamp: Which request.
            frame: Labels, sides, survey items and scale, and the seed.
            prompt: The messages as (sender, text). Where it is given it is read: what
                the prompt does not name cannot be answered.

        Raises:
            OffrecordError: If the form is neither utterance nor survey, or the prompt
                names the labels or the survey's items nowhere.
        """
        if stamp.form is Form.INTERVIEW:
            raise OffrecordError(
                f"simulated agents do not answer the form {stamp.form}"
            )
        private = stamp.channel in self.file.private or _is_candid(stamp)
        if stamp.form in {Form.DRAFT, Form.GUARD}:
            stamp = replace(stamp, form=Form.UTTERANCE)
        if prompt is not None:
            # A survey is about items; not every protocol names the labels in it.
            utterance = stamp.form == Form.UTTERANCE
            _read(prompt, frame.labels if utterance else frame.items)
        run = stamp.run  # a hash, so once
        rule, at = self._turn(stamp, frame, run)
        rng = _generator(
            frame.seed,
            run,
            stamp.agent,
            stamp.turn,
            stamp.channel,
            str(stamp.form),
            stamp.draw,
        )
        flipped, u = rng.random() < self.file.flip, rng.random()
        yields = rule.yields(at, stamp.channel, private=private) != flipped
        name = draw_fault(self.file.faults, stamp.form, u)
        words = self.words_of(stamp.cell)
        if rule.refusing and stamp.form is Form.UTTERANCE and not private:
            name = "refusal" if rng.random() < rule.refusing else name
        if stamp.form is Form.SURVEY:
            text = words.survey(frame, yields, rng)
        else:
            plain = name is not None and FAULTS[name].head
            decorated = 0.0 if plain else self.file.decorated
            text = words.utterance(frame, yields, decorated, rng)
        answer = SimulatedAnswer(text=text, yields=yields, fault=name)
        if name is None:
            return answer
        label = stance_label(frame, yields)
        return FAULTS[name].apply(Damage(answer, frame, label, words, rng))

    def _turn(self, stamp: Stamp, frame: Frame, run: str) -> tuple[Rule, float]:
        """An agent's rule, and the draw that says which state a turn is in."""
        # Going back to the last turn that drew anew gives what iterating from the first
        # one would.
        rule = self.rule(stamp.cell, frame.role)
        for turn in range(stamp.round, 0, -1):
            keep, u = _turn_draws(frame.seed, run, stamp.agent, turn)
            if turn == 1 or keep >= self.file.persistence:
                return rule, u
        raise OffrecordError(f"rounds are counted from 1, not from {stamp.round}")


def load_population(name: str) -> Population:
    """Read a population.

    Args:
        name: One that ships with the package, such as `null`; with a row of its table,
            such as `paper/x-ai/grok-4`; or the path of a `.yaml` file.

    Raises:
        OffrecordError: If there is none of that name, listing those there are, or its
            file breaks the format.
    """
    if name.endswith((".yaml", ".yml")):
        return _population(name, read_document(Path(name)), "")
    stem, _, row = name.partition("/")
    paths = {path.stem: path for path in sorted(data_folder("populations").glob("*"))}
    if stem not in paths:
        raise OffrecordError(
            f"no simulated population '{name}': use one of {', '.join(paths)}, "
            "paper/<model id>, or the path of a .yaml file"
        )
    return _population(name, read_document(paths[stem]), row)


def _population(name: str, document: Document, row: str) -> Population:
    document.only_sections()
    file = document.validate(PopulationFile)
    rows = file.table.rows if file.table else {}
    if row and row not in rows:
        listed = ", ".join(rows) or "none"
        raise OffrecordError(
            f"population '{document.id}' has no row '{row}' ({listed})"
        )
    return Population(
        name=name,
        stamp=document.stamp,
        rules=file.table.rules(row or file.table.default) if file.table else file.truth,
        file=file,
    )


def _is_candid(stamp: Stamp) -> bool:
    """Whether a guard asks: off the record, or for a rewriting that is to be open."""
    return stamp.form is Form.GUARD or (stamp.form is Form.DRAFT and stamp.draw > 0)


def _generator(*key: str | int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(int(digest(key), 16)))


@lru_cache(maxsize=65_536)  # six requests of a turn, and those of later turns, share it
def _turn_draws(seed: int, run: str, agent: str, turn: int) -> tuple[float, float]:
    rng = _generator(seed, run, agent, turn)
    return rng.random(), rng.random()


def _read(prompt: Sequence[tuple[str, str]], names: Sequence[str]) -> None:
    texts = [text for _, text in reversed(prompt)]  # the request itself stands last
    for needed in names:
        if not any(needed in text for text in texts):
            raise OffrecordError(
                f"the prompt does not name '{needed}', so it cannot be answered"
            )
