"""What a guard does on a conflict. Each is a function that a user can replace."""

from __future__ import annotations

from collections.abc import Mapping

from offrecord.content.reply import LONGEST, spoken_text
from offrecord.guard.part import with_part
from offrecord.guard.types import BLOCK, LOG, Action, Case
from offrecord.protocol.wording import Wording


def built_in(wording: Wording) -> Mapping[str, Action]:
    """The actions that ship, by name; `human` is the user's to give.

    Args:
        wording: What they say.
    """

    async def log(case: Case) -> str:
        """Send the draft; the verdict alone tells."""
        return case.draft

    async def disclose(case: Case) -> str:
        """Add that the model's own assessment differs."""
        return f"{case.draft}\n\n{wording.text('disclose')}"

    async def clarify(case: Case) -> str:  # noqa: ARG001
        """Send a question to the counterpart in the draft's place."""
        return wording.text("clarify")

    async def rewrite(case: Case) -> str:
        """Ask once more, told to state its own assessment openly.

        Raises:
            ValueError: If nothing is said, or more than `LONGEST` characters are.
        """
        answer = await case.ask(with_part(case.messages, wording.text("rewrite")))
        text = answer if isinstance(answer, str) else answer.text
        said = spoken_text(text) if len(text) <= LONGEST else ""
        if not said:
            raise ValueError("nothing was said, or too much")
        return said

    async def block(case: Case) -> None:
        """Send nothing."""

    return {
        LOG: log,
        "disclose": disclose,
        "clarify": clarify,
        "rewrite": rewrite,
        BLOCK: block,
    }
