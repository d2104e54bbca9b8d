"""The embedded model: slots, cached prefixes, grammars, seeds, and its limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.util import JSONSchema

from offrecord.providers.engine import SlotTable
from offrecord.providers.grammar import label_grammar
from offrecord.providers.llamacpp import LlamaCppAPI
from offrecord.providers.weights import fetched, known_model
from offrecord.records import (
    FRAME_KEY,
    STAMP_KEY,
    Cell,
    Form,
    Frame,
    Kind,
    OffrecordError,
    Role,
    Stamp,
    Timing,
)
from tests.prompt_tokens import prompt_tokens

MODEL = "smollm2-135m"
LABELS = ("PROMOTE", "DO NOT PROMOTE")
SLOTS = 2
SYSTEM = "You sit on a committee that decides about a promotion. " * 12
CELL = Cell(
    model=f"llamacpp/{MODEL}",
    partner=f"llamacpp/{MODEL}",
    scenario="promotion",
    condition="baseline",
    kind=Kind.BASELINE,
    timing=Timing.NONE,
    protocol="twin",
)


@pytest.fixture(scope="module", autouse=True)
def weights() -> None:
    pytest.importorskip("xllamacpp")
    if fetched(known_model(MODEL)) is None:
        pytest.skip(f"{MODEL} is not fetched: run 'make weights'")


@pytest.fixture(scope="module")
def api() -> LlamaCppAPI:
    return LlamaCppAPI(MODEL, slots=SLOTS, context=1024)


@pytest.fixture(scope="module")
def constrained() -> LlamaCppAPI:
    return LlamaCppAPI(MODEL, slots=SLOTS, context=1024, label_grammar=True)


def prompt(
    *user: str,
    agent: str = "alpha",
    repeat: int = 1,
    channel: str = "public",
    form: Form = Form.UTTERANCE,
    draw: int = 0,
    items: tuple[str, ...] = (),
    seed: int = 0,
) -> list[ChatMessage]:
    """A debate's request: the user texts in turn with an agent's own words."""
    stamp = Stamp(
        cell=CELL,
        repeat=repeat,
        round=1,
        turn=1,
        agent=agent,
        channel=channel,
        form=form,
        draw=draw,
    )
    frame = Frame(
        labels=LABELS,
        side="DO NOT PROMOTE",
        pressed_side="PROMOTE",
        role=Role.TARGET,
        items=items,
        low=1,
        high=5,
        seed=seed,
    )
    messages: list[ChatMessage] = [ChatMessageSystem(content=SYSTEM)]
    for text in user[:-1]:
        messages.append(ChatMessageUser(content=text))
        messages.append(ChatMessageAssistant(content="PROMOTE — the file is strong."))
    carried = {STAMP_KEY: stamp.as_dict(), FRAME_KEY: frame.as_dict()}
    messages.append(ChatMessageUser(content=user[-1], metadata=carried))
    return messages


async def answer(
    api: LlamaCppAPI, messages: Sequence[ChatMessage], **config: Any
) -> ModelOutput:
    settings = GenerateConfig(**{"max_tokens": 8, **config})
    output, _ = await api.generate(list(messages), [], "none", settings)
    return output


def ask(
    api: LlamaCppAPI, messages: Sequence[ChatMessage], **config: Any
) -> ModelOutput:
    return anyio.run(lambda: answer(api, messages, **config))


def info(output: ModelOutput) -> dict[str, Any]:
    assert output.metadata is not None
    return output.metadata


def tokens(api: LlamaCppAPI, messages: Sequence[ChatMessage]) -> list[int]:
    plain = [{"role": m.role, "content": m.text} for m in messages]
    return prompt_tokens(anyio.run(api.engine), plain)


def test_usage_counts_every_prompt_token_once_and_the_shared_prefix_as_cached(
    api: LlamaCppAPI,
) -> None:
    first = prompt("Who speaks?", "State your position. Everyone hears it.", repeat=11)
    second = prompt("Who speaks?", "State your position. No one hears it.", repeat=11)
    ask(api, first)
    usage = ask(api, second).usage
    assert usage is not None
    before, after = tokens(api, first), tokens(api, second)
    differs = [a != b for a, b in zip(before, after, strict=False)]
    cached = usage.input_tokens_cache_read
    assert cached == differs.index(True)
    assert usage.input_tokens + cached == len(after)
    assert usage.total_tokens == len(after) + usage.output_tokens


def test_an_agent_keeps_its_slot_and_two_agents_have_two(api: LlamaCppAPI) -> None:
    def slot(agent: str, channel: str) -> int:
        messages = prompt("Speak.", agent=agent, channel=channel, repeat=21)
        return int(info(ask(api, messages, max_tokens=1))["slot"])

    alpha = {slot("alpha", "public"), slot("alpha", "off_record")}
    beta = {slot("beta", "public"), slot("beta", "off_record")}
    assert sorted([*alpha, *beta]) == [0, 1]


def test_an_agent_never_speaks_in_the_slot_of_another_that_has_the_same_prompt(
    api: LlamaCppAPI,
) -> None:
    # Left to itself, llama.cpp would put beta where alpha's prompt is, to reuse it.
    def cached(agent: str) -> int:
        messages = prompt("Speak.", agent=agent, repeat=22)
        messages[0] = ChatMessageSystem(content="Nobody else has had this prompt. " * 9)
        usage = ask(api, messages, max_tokens=1).usage
        assert usage is not None
        return usage.input_tokens_cache_read or 0

    assert cached("alpha") < 10
    assert cached("beta") < 10
    assert cached("alpha") > 50


def test_more_agents_than_slots_all_speak_at_once_in_slots_that_exist(
    api: LlamaCppAPI,
) -> None:
    async def everyone() -> list[ModelOutput]:
        outputs: list[ModelOutput] = []

        async def one(repeat: int) -> None:
            messages = prompt("Speak.", repeat=repeat)
            outputs.append(await answer(api, messages, max_tokens=2))

        async with anyio.create_task_group() as group:
            for repeat in range(31, 36):
                group.start_soon(one, repeat)
        return outputs

    slots = [info(output)["slot"] for output in anyio.run(everyone)]
    assert len(slots) == 5
    assert set(slots) == set(range(SLOTS))


@given(st.integers(1, 4), st.lists(st.integers(0, 6), max_size=30))
def test_no_two_agents_ever_hold_one_slot_and_every_slot_exists(
    count: int, keys: list[int]
) -> None:
    async def scenario() -> None:
        table, held = SlotTable(count), set[int]()

        async def one(key: int) -> None:
            async with table.hold(key) as slot:
                assert slot in range(count)
                assert slot not in held
                held.add(slot)
                await anyio.sleep(0)
                held.remove(slot)

        async with anyio.create_task_group() as group:
            for key in keys:
                group.start_soon(one, key)

    anyio.run(scenario)


def test_a_new_agent_takes_the_slot_that_idled_longest() -> None:
    async def scenario() -> list[int]:
        table, slots = SlotTable(2), []
        # a keeps 0, b has 1; a speaks again, so c takes b's slot; b comes back to a's.
        for key in "aabacb":
            async with table.hold(key) as slot:
                slots.append(slot)
        return slots

    assert anyio.run(scenario) == [0, 0, 1, 0, 1, 0]


def test_a_request_without_a_stamp_is_answered_and_pinned_nowhere(
    api: LlamaCppAPI,
) -> None:
    output = ask(api, [ChatMessageUser(content="Hello.")])
    assert output.completion
    assert output.model == MODEL
    assert info(output)["slot"] == -1
    assert "seed" not in info(output)["settings"]


@pytest.mark.parametrize("draw", range(4))
def test_under_the_label_grammar_an_utterance_begins_with_one_label_and_a_dash(
    constrained: LlamaCppAPI, draw: int
) -> None:
    output = ask(
        constrained, prompt("Write a poem.", draw=draw), max_tokens=16, temperature=2.0
    )
    label, dash, rest = output.completion.partition(" — ")
    assert label in LABELS
    assert dash
    assert rest.strip()
    assert info(output)["constrained"] is True


def test_without_the_grammar_or_in_a_survey_nothing_is_constrained(
    api: LlamaCppAPI, constrained: LlamaCppAPI
) -> None:
    survey = prompt("Rate it.", form=Form.SURVEY, items=("Q1",))
    assert info(ask(constrained, survey))["constrained"] is False
    assert info(ask(api, prompt("Speak.")))["constrained"] is False


def test_a_label_with_quotes_and_backslashes_is_a_grammar_all_the_same() -> None:
    grammar = label_grammar(('SAY "YES"', "A\\B"))
    assert '"SAY \\"YES\\"" | "A\\\\B"' in grammar


@pytest.mark.parametrize("draw", range(3))
def test_a_survey_under_a_schema_has_the_items_as_shown_and_scale_points_only(
    api: LlamaCppAPI, draw: int
) -> None:
    items = ("Q10", "Q2", "Q1")
    points = [1, 2, 3, 4, 5]
    schema = ResponseSchema(
        name="survey",
        json_schema=JSONSchema(
            type="object",
            properties={
                item: JSONSchema(type="integer", enum=list(points)) for item in items
            },
            required=list(items),
            additionalProperties=False,
        ),
    )
    messages = prompt("Say a number.", form=Form.SURVEY, items=items, draw=draw)
    output = ask(
        api, messages, response_schema=schema, temperature=2.0, max_tokens=None
    )
    answers = json.loads(output.completion)
    assert tuple(answers) == items
    assert all(type(value) is int and value in points for value in answers.values())
    assert output.stop_reason == "stop"


def test_the_same_stamp_gets_the_same_reply_and_another_draw_another_seed(
    api: LlamaCppAPI,
) -> None:
    def speak(**changes: Any) -> ModelOutput:
        return ask(api, prompt("Tell a story.", **changes), max_tokens=12)

    speak()  # from here on the whole prompt is in the slot
    once, again, shadow = speak(), speak(), speak(draw=1)
    assert once.completion == again.completion
    seeds = {info(output)["settings"]["seed"] for output in (once, again)}
    others = {
        info(output)["settings"]["seed"]
        for output in (shadow, speak(seed=1), speak(repeat=2), speak(agent="beta"))
    }
    assert len(seeds) == 1
    assert len(others | seeds) == 5


def test_a_prompt_that_does_not_fit_is_refused_and_never_trimmed(
    api: LlamaCppAPI,
) -> None:
    output = ask(api, prompt("word " * 1500))
    assert output.stop_reason == "model_length"
    assert output.completion == ""
    assert output.usage is not None
    assert output.usage.input_tokens > 1500


def test_a_reply_cut_at_its_limit_says_so(api: LlamaCppAPI) -> None:
    output = ask(api, prompt("Tell a long story."), max_tokens=3)
    assert output.stop_reason == "max_tokens"
    assert output.usage is not None
    assert output.usage.output_tokens == 3


def test_a_cancelled_request_leaves_its_slot_to_the_next(api: LlamaCppAPI) -> None:
    async def scenario() -> ModelOutput:
        with anyio.move_on_after(0.05) as scope:
            await answer(api, prompt("word " * 300, repeat=41), max_tokens=500)
        assert scope.cancelled_caught
        return await answer(api, prompt("Speak.", repeat=41), max_tokens=2)

    assert anyio.run(scenario).completion


def test_two_models_run_side_by_side(api: LlamaCppAPI, tmp_path: Any) -> None:
    copy = tmp_path / "other.gguf"
    copy.symlink_to(api.settings.path)
    other = LlamaCppAPI(str(copy), slots=1, context=512)

    async def both() -> list[ModelOutput]:
        outputs: list[ModelOutput] = []

        async def one(model: LlamaCppAPI) -> None:
            outputs.append(await answer(model, prompt("Speak."), max_tokens=4))

        async with anyio.create_task_group() as group:
            group.start_soon(one, api)
            group.start_soon(one, other)
        return outputs

    assert {output.model for output in anyio.run(both)} == {MODEL, "other"}


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"slots": 0}, "slots is a whole number from 1"),
        ({"slots": "many"}, "slots is a whole number from 1"),
        ({"threads": 0}, "threads is a whole number from 1"),
        ({"label_grammar": "yes"}, "label_grammar is true or false"),
        ({"slot": 2}, "unknown argument 'slot'"),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(
    arguments: dict[str, Any], fault: str
) -> None:
    with pytest.raises(OffrecordError, match=fault) as caught:
        LlamaCppAPI(MODEL, **arguments)
    assert "\n" not in str(caught.value)


def test_debates_at_once_follow_the_slots_unless_the_user_says_otherwise() -> None:
    fitting, chosen = GenerateConfig(), GenerateConfig(max_connections=9)
    LlamaCppAPI(MODEL, config=fitting, slots=6)
    LlamaCppAPI(MODEL, config=chosen, slots=6)
    assert fitting.max_connections == 3
    assert chosen.max_connections == 9


def test_a_file_that_llama_cpp_cannot_load_is_named_in_one_line(tmp_path: Any) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(OffrecordError, match=r"broken\.gguf: llama\.cpp cannot load"):
        ask(LlamaCppAPI(str(broken)), prompt("Speak."))
