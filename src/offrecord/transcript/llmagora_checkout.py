"""A user's own checkout of LLMAgora: its scenarios, its templates, what they give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from offrecord.content.boundary.files import read_file
from offrecord.records import OffrecordError

_LARGEST: Final = 10_000_000  # bytes of a file of prompts
_SENTENCE_END: Final = re.compile(r"(?<=[.?!])\s+")
_MARK: Final = re.compile(r"\[[^\[\]\n]+\]")


class Question(msgspec.Struct):
    """What is decided."""

    prompt: str
    topic: str = ""


class TheirSide(msgspec.Struct):
    """One role's card, and what the other is told of it."""

    actual_persona: str
    perceived_persona_base: str


class Module(msgspec.Struct):
    """A relational context, by the name of the side that reads it."""

    views: dict[str, str]


class TheirItem(msgspec.Struct):
    """A survey statement that has more than its text."""

    text: str


Items = dict[str, list[str | TheirItem]]
"""Category to its statements."""


class TheirScenario(msgspec.Struct):
    """One scenario; the first of its two sides is the target's."""

    scenario_id: str
    question: Question
    decision_labels: tuple[str, str]
    sides: dict[str, TheirSide]
    survey_questions: Items = {}
    incentive_modules: dict[str, dict[str, Module]] = {}


class Catalog(msgspec.Struct):
    """`scenarios.json`."""

    scenarios: list[TheirScenario]


class ScaleValue(msgspec.Struct):
    """One point of the scale."""

    label: str
    score: int


class TheirScale(msgspec.Struct):
    """The scale, answered in words."""

    name: str
    values: list[ScaleValue]


class TheirPrompts(msgspec.Struct):
    """Their templates."""

    base_prompt: str
    perceived_prompt: str
    incentive_prompt: str
    decision_format: str
    public_instruction: str
    private_instruction: str
    survey_public_prompt: str
    survey_private_prompt: str
    survey_scale: TheirScale
    survey_scale_prompt: str
    survey_scale_value_prompt: str
    survey_question_prompt: str
    opening_instruction: str = ""
    survey_questions: Items = {}


class PromptCatalog(msgspec.Struct):
    """`prompts.json`."""

    default: TheirPrompts


def read_checkout_file(checkout: Path, name: str, shape: type[Any]) -> Any:  # noqa: ANN401
    """Read one file of a checkout.

    Raises:
        OffrecordError: If it is absent, or of another format.
    """
    places = [checkout / name, checkout / "data" / name]
    path = next((one for one in places if one.is_file()), None)
    if path is None:
        raise OffrecordError(
            f"{checkout}: no {name} here or in data/; name a checkout of LLMAgora"
        )
    try:
        return msgspec.json.decode(read_file(path, _LARGEST), type=shape)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise OffrecordError(f"{path}: not as LLMAgora has it ({error})") from None


def requests_of(
    prompts: TheirPrompts, first: str, second: str
) -> dict[str, dict[str, str]]:
    """What is asked in each channel, by form, for two labels."""
    form = filled(
        prompts.decision_format,
        "decision_format",
        decision_label_1=first,
        decision_label_2=second,
    )
    scale = prompts.survey_scale
    values = (
        filled(prompts.survey_scale_value_prompt, "survey_scale_value_prompt", value=v)
        for v in (value.label for value in scale.values)
    )
    points = filled(
        prompts.survey_scale_prompt,
        "survey_scale_prompt",
        scale_name=scale.name,
        scale_values="\n".join(values),
    )
    opening = prompts.opening_instruction or prompts.public_instruction
    said = {
        "public": {
            "utterance": prompts.public_instruction,
            "utterance.opening": opening,
            "survey": prompts.survey_public_prompt,
        },
        "off_record": {
            "utterance": prompts.private_instruction,
            "survey": prompts.survey_private_prompt,
        },
    }
    return {
        channel: {
            name: text.replace("{decision_format}", form).replace("{scale}", points)
            for name, text in texts.items()
        }
        for channel, texts in said.items()
    }


def marks_of(base: str) -> tuple[str, str, str]:
    """What stands before own words, another's and a request, as the prompt names it.

    It names another's public words first, then an own note, and the request last.
    """
    marks = _MARK.findall(base)
    if len(marks) < 3 or "|" not in marks[0] or "|" not in marks[1]:
        return "", "", ""
    mine, aloud = marks[1].partition("|")[0], marks[0].partition("|")[2]
    return f"{mine}|{aloud}\n", f"{marks[0]}\n", f"{marks[-1]}\n"


def split_question(theirs: TheirScenario) -> tuple[str, str]:
    """The setting and, as its last paragraph or sentence, the question.

    Raises:
        OffrecordError: If there is but one sentence.
    """
    for parts, joint in (
        (theirs.question.prompt.strip().split("\n\n"), "\n\n"),
        (_SENTENCE_END.split(theirs.question.prompt.strip()), " "),
    ):
        if len(parts) > 1:
            return joint.join(parts[:-1]), parts[-1]
    raise OffrecordError(
        f"scenario '{theirs.scenario_id}': its question is a single sentence; put what "
        "is known of the case before it"
    )


def system_prompt(
    theirs: TheirScenario, prompts: TheirPrompts, context: Mapping[str, str], place: int
) -> str:
    """The system prompt as their templates give it.

    Args:
        theirs: The scenario.
        prompts: The templates.
        context: What each side reads of the relation; nothing at baseline.
        place: 0 for the first side, 1 for the second.
    """
    sides = [*theirs.sides.items()]
    (name, own), (_, other) = sides[place], sides[1 - place]
    text = filled(
        prompts.base_prompt,
        "base_prompt",
        question=theirs.question.prompt,
        persona=own.actual_persona,
        speaker_id="AB"[place],
    )
    if name in context:
        view = {"incentive": context[name]}
        text += filled(prompts.incentive_prompt, "incentive_prompt", **view)
    summary = {"perceived_persona": other.perceived_persona_base}
    return f"{text} {filled(prompts.perceived_prompt, 'perceived_prompt', **summary)}"


def filled(template: str, name: str, **values: str) -> str:
    """Fill one of their templates.

    Raises:
        OffrecordError: If it asks for something else.
    """
    try:
        return template.format(**values)
    except (KeyError, IndexError, ValueError) as error:
        raise OffrecordError(f"prompts.json: '{name}' asks for {error}") from None
