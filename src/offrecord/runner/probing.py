"""What a probe takes of each model, and what it asks, for a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from offrecord.protocol.cases import design_channels
from offrecord.protocol.design import Design
from offrecord.protocol.probe import ending
from offrecord.records import Form
from offrecord.runner.resolve import turn_calls
from offrecord.runner.volumes import TOKENS_OUT, Volume
from offrecord.transcript.deployed.prompts import RECORDED
from offrecord.transcript.probes import probe_of


def probe_volumes(design: Design) -> dict[str, Volume]:
    """What a probe takes of each model: an estimate at four characters a token.

    What a cache can serve of the prompts of deployed agents is not known.
    """
    channels, draws = design_channels(design), design.shadows + 1
    found = dict[str, Volume]()
    for one in probe_of(design).asked:
        letters = sum(
            len(text)
            for turn in one.turns
            for channel in channels
            for _, text in ending(turn.messages, channel)
        )
        calls = turn_calls(design) * len(one.turns)
        found[one.model] = found.get(one.model, Volume()) + Volume(
            calls=calls,
            input_tokens=draws * letters // 4,
            output_tokens=calls * TOKENS_OUT[Form.UTTERANCE],
        )
    return found


def sample_lines(design: Design) -> Iterator[str]:
    """What is drawn of which stratum, and what cannot be asked."""
    probe = probe_of(design)
    turns = [turn for one in probe.asked for turn in one.turns]
    recorded = sum(turn.prompt == RECORDED for turn in turns)
    yield f"prompts     {recorded} recorded, {len(turns) - recorded} reconstructed"
    weights = {turn.stratum: turn.weight for turn in turns}
    for stratum, own in Counter(turn.stratum for turn in turns).items():
        yield f"  {stratum}: {own}, each for {weights[stratum]:.3g} turns"
    for reason, number in probe.left_out.items():
        yield f"not asked   {number:,}: {reason}"
