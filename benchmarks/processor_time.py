"""Processor time of a call, against a trivial Inspect solver that makes the same calls.

Both hold the same number of samples in evals with the same options, and send prompts of
the same texts to a model that answers at once. The trivial solver makes its messages
anew, stamps nothing, and scores nothing. The two take turns and the least time counts,
since what else the machine does only adds to it.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import anyio
from inspect_ai import Epochs, Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    get_model,
    modelapi,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolChoice, ToolInfo

from benchmarks import Figure
from offrecord.protocol.debate import Reply, Request, hold_debate
from offrecord.task import debate
from tests.debates import make_script
from tests.fake_server import well_formed

RUNS: Final = 25
ROUNDS: Final = 5
AIM: Final = "at most 1.5"
SCENARIO, CONDITION = "promotion", "alignment-future"

_TRIES: Final = 4
_KINDS: Final = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}

Turns = Sequence[Sequence[Sequence[tuple[str, str]]]]
"""The prompts of each turn, each of them who says what."""


@modelapi(name="at-once")
class AtOnce(ModelAPI):
    """Answers with what a careful model would say, without any latency."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        """Answer one request."""
        text = well_formed([{"content": input[-1].text}])
        output = ModelOutput.from_content("at-once/m", text)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    def max_connections(self) -> int:
        """As many as the other bench of speed has."""
        return 20


@solver
def same_calls(turns: Turns) -> Solver:
    """Make the calls of a debate, those of a turn at once, and nothing else."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        model = get_model()
        for prompts in turns:
            async with anyio.create_task_group() as group:
                for prompt in prompts:
                    messages = [_KINDS[sender](content=text) for sender, text in prompt]
                    group.start_soon(model.generate, messages)
        return state

    return solve


def run() -> list[Figure]:
    """Milliseconds of processor time a call, ours and the trivial solver's."""
    turns = prompts_of_a_debate()
    calls = RUNS * sum(map(len, turns))
    figures = []
    for realtime in (True, False):
        ours = partial(_ours, realtime)
        trivial = partial(_trivial, turns, realtime)
        least = defaultdict[str, list[float]](list)
        for _ in range(1 + _TRIES):
            for name, work in (("trivial", trivial), ("ours", ours)):
                least[name].append(1000 * _seconds(work) / calls)
        first, second = (min(least[name][1:]) for name in ("trivial", "ours"))
        logs = "" if realtime else ", --no-log-realtime"
        figures += [
            Figure(f"trivial solver, a call{logs}", f"{first:.2f} ms"),
            Figure(f"offrecord, a call{logs}", f"{second:.2f} ms"),
            Figure(f"offrecord over trivial{logs}", f"{second / first:.2f}", AIM),
        ]
    return figures


def prompts_of_a_debate() -> Turns:
    """What the model is sent in one debate, turn by turn."""
    turns = defaultdict[int, list[Sequence[tuple[str, str]]]](list)

    async def ask(request: Request) -> Reply:
        turns[request.stamp.turn].append(request.messages)
        return Reply(text=well_formed([{"content": request.messages[-1][1]}]))

    anyio.run(hold_debate, make_script(SCENARIO, CONDITION, rounds=ROUNDS), ask)
    return list(turns.values())


def _ours(realtime: bool, folder: str) -> EvalLog:
    task = debate(scenario=SCENARIO, condition=CONDITION, rounds=ROUNDS)
    return _held(task, realtime, folder)


def _trivial(turns: Turns, realtime: bool, folder: str) -> EvalLog:
    samples = MemoryDataset([Sample(id=1, input="the same calls")])
    return _held(Task(dataset=samples, solver=same_calls(turns)), realtime, folder)


def _held(task: Task, realtime: bool, folder: str) -> EvalLog:
    [log] = inspect_eval(
        task,
        model="at-once/m",
        epochs=Epochs(RUNS, []),
        log_dir=folder,
        log_realtime=realtime,
        display="none",
    )
    if log.status != "success":
        raise RuntimeError(log.error and log.error.message)
    return log


def _seconds(work: Callable[[str], EvalLog]) -> float:
    """Processor time of this process, all threads, user and system."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        work(folder)
        return time.process_time() - start
