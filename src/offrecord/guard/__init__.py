"""Ask off the record before a message goes out (docs/guard.md).

Importing this imports neither Inspect, torch nor polars. An `ask` is made of what you
have by `offrecord.guard.openai_client` or `offrecord.guard.inspect_model`.
"""

from offrecord.content.decision import Decision
from offrecord.guard.draws import Begun
from offrecord.guard.guard import Guard
from offrecord.guard.types import (
    Action,
    Answer,
    Ask,
    Case,
    Compare,
    Cost,
    Message,
    Reason,
    Rule,
    Verdict,
)

__all__ = [
    "Action",
    "Answer",
    "Ask",
    "Begun",
    "Case",
    "Compare",
    "Cost",
    "Decision",
    "Guard",
    "Message",
    "Reason",
    "Rule",
    "Verdict",
]
