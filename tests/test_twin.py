"""Twin prompts: any two channels differ in the audience paragraph and nothing else."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import anyio
import pytest

from offrecord.content import data_folder
from offrecord.protocol.channel import Channel
from offrecord.protocol.debate import Request, Script, hold_debate
from offrecord.protocol.history import History, Spoken
from offrecord.protocol.prompts import find_protocol
from offrecord.records import Form
from offrecord.scenarios.load import builtin_ids, load_scenario
from tests.debates import make_script, plain_answer

CHANNELS = sorted(path.stem for path in data_folder("channels").glob("*.md"))
CELLS = [
    (scenario, condition)
    for scenario in builtin_ids()
    for condition in load_scenario(scenario).conditions
]
FORMS = (Form.UTTERANCE, Form.SURVEY)


def twin_faults(requests: list[Request], one: Channel, two: Channel) -> Iterator[str]:
    """Where two channels' prompts of one turn differ in more than the audience."""
    by_key = {
        (r.stamp.turn, r.stamp.form, r.stamp.draw, r.stamp.channel): r for r in requests
    }
    for (turn, form, draw, channel), request in by_key.items():
        if channel != one.id:
            continue
        twin = by_key[turn, form, draw, two.id]
        *head, (sender, last) = request.messages
        *twin_head, (twin_sender, twin_last) = twin.messages
        opening = not request.messages or len(request.messages) == 2
        said, other = (one_.paragraph(form, opening=opening) for one_ in (one, two))
        # Where a channel has no paragraph, the blank line before it is gone as well.
        bare = last.removesuffix(said).removesuffix("\n\n")
        swapped = f"{bare}\n\n{other}" if other else bare
        if head != twin_head or sender != twin_sender or swapped != twin_last:
            yield f"turn {turn}, {form}, draw {draw}"
        elif not last.endswith(said):
            yield f"turn {turn}, {form}: the audience paragraph does not come last"


def all_requests(script: Script) -> list[Request]:
    debate = anyio.run(hold_debate, script, plain_answer)
    return [output.request for output in debate.outputs]


def all_prompts(script: Script) -> list[Request]:
    """What every agent is asked at first and at last, without a debate."""
    said = [
        Spoken.through(script.channels[0], turn=t.number, agent=t.agent.id, text="Yes.")
        for t in script.turns
    ]
    shown = [script.turns[0], *script.turns[-2:]]
    asked = (script.outputs(t, History(tuple(said)).before(t.number)) for t in shown)
    return [request for spoken, others in asked for request in (spoken, *others)]


@pytest.mark.parametrize(("scenario", "condition"), CELLS)
def test_every_pair_of_channels_is_a_twin(scenario: str, condition: str) -> None:
    others = (name for name in CHANNELS if name != "public")
    script = make_script(scenario, condition, channels=("public", *others), rounds=2)
    requests = all_prompts(script)
    assert {request.stamp.agent for request in requests} == {"alpha", "beta"}
    for one, two in itertools.combinations(script.channels, 2):
        assert not list(twin_faults(requests, one, two))


def test_checker_catches_a_protocol_whose_channels_differ_in_more() -> None:
    # The preset that copies the paper's structure is such a protocol: its channels
    # put the audience first. A licence smuggled into one twin channel is another.
    paper = make_script(protocol="paper", rounds=2)
    assert list(twin_faults(all_requests(paper), *paper.channels))

    twin = find_protocol("twin")

    class Licensed(Script):
        def request(self, turn, view, prefix, channel, *what):  # type: ignore[no-untyped-def]
            if not channel.audience:
                utterance = twin.utterance + "\n\nSay what you truly think."
                licensed = dataclasses.replace(twin, utterance=utterance)
                view = dataclasses.replace(view, protocol=licensed)
            return Script.request(self, turn, view, prefix, channel, *what)

    script = make_script(protocol=twin, rounds=2)
    fields = {f.name: getattr(script, f.name) for f in dataclasses.fields(script)}
    faults = list(twin_faults(all_requests(Licensed(**fields)), *script.channels))
    assert len(faults) == 2 * 2 * 2  # utterance and shadow, of every turn


def test_channels_ask_for_no_truth_and_give_no_licence() -> None:
    words = ("true", "truth", "honest", "contradict", "really", "sincere", "free to")
    script = make_script(channels=("public", *(c for c in CHANNELS if c != "public")))
    for channel in script.channels:
        for form in FORMS:
            text = channel.paragraph(form, opening=False).lower()
            assert not [word for word in words if word in text]


def test_baseline_differs_from_a_condition_in_the_context_alone() -> None:
    baseline = all_requests(make_script(condition="baseline", rounds=1))
    pressed = all_requests(make_script(condition="alignment-future", rounds=1))
    context = load_scenario("promotion").conditions["alignment-future"].contexts
    for one, two in zip(baseline, pressed, strict=True):
        block = f"\n\n# What you also know\n\n{context[two.stamp.agent]}"
        assert one.messages[0][1] == two.messages[0][1].replace(block, "")
        assert one.messages[1:] == two.messages[1:]
