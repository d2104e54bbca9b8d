"""Imports point backwards along the flow, and importing costs nothing."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

import offrecord

SOURCE = Path(offrecord.__file__).parent
FLOW = [
    "records",
    "content",
    "scenarios",
    "protocol",
    "transcript",
    "measures",
    "estimates",
    "report",
    "audit",
    "export",
]
# The last three take estimates and a study, and hand on to nobody: side by side.
ENDS = {"report", "audit", "export"}
# Beside the flow stand these alone: what each may import of the package.
BESIDE = {
    "providers": {"records", "content"},
    "runner": {*FLOW[:7]},
    "guard": {*FLOW[:7]},
    "task": {*FLOW[:6], "guard"},
    "study": {*FLOW, "runner"},
    "_registry": {"task", "measures", "providers"},
    "__main__": {"cli"},
    "cli": {*FLOW, "runner", "study", "providers", "guard"},
}
# A measure that needs a model finds it where providers keep theirs.
ALSO = {"measures": {"providers"}}
# Modules of the flow that may know Inspect: the adapters.
ADAPTERS = {
    "protocol.dataset",
    "protocol.elicitation",
    "protocol.failures",
    "protocol.generate",
    "protocol.models",
    "protocol.pilot",
    "protocol.shield",
    "protocol.solver",
    "transcript.deployed.inspect_samples",
    "transcript.inspect_calls",
    "transcript.inspect_evals",
    "transcript.inspect_files",
    "transcript.inspect_logs",
    "transcript.probes",
    "transcript.replays",
    "measures.codes.judge",
    "measures.inspect.scorers",
    "measures.inspect.text_scorers",
    "measures.inspect.viewer",
    "export.logs",
    "export.samples",
}
PRIVATE = "inspect_ai._"


def modules() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(SOURCE.rglob("*.py"))
    }


def imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "imports are absolute"
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own(names: set[str]) -> set[str]:
    return {n.removeprefix("offrecord.") for n in names if n.startswith("offrecord.")}


def stage(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_imports_point_backwards_along_the_flow() -> None:
    wrong = []
    for module, tree in modules().items():
        here = stage(module)
        if here == "__init__":
            continue
        if here in ENDS:
            before = set(FLOW) - ENDS
        elif here in FLOW:
            before = set(FLOW[: FLOW.index(here)])
        else:
            before = BESIDE[here]
        allowed = before | {here} | ALSO.get(here, set())
        wrong += [
            f"{module} imports {name}"
            for name in own(imported(tree))
            if stage(name) not in allowed
        ]
    assert not wrong


def test_no_import_cycle() -> None:
    known = modules()
    graph = {}
    for module, tree in known.items():
        targets = own(imported(tree))
        graph[module] = {t for t in targets if t in known and t != module}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises on a cycle


def test_only_adapters_of_the_flow_know_inspect() -> None:
    knowing = {
        module
        for module, tree in modules().items()
        if stage(module) in FLOW
        and any(stage(name) == "inspect_ai" for name in imported(tree))
    }
    assert knowing == ADAPTERS


def test_nothing_private_of_inspect_is_used() -> None:
    for module, tree in modules().items():
        assert not [n for n in imported(tree) if n.startswith(PRIVATE)], module


def test_parsers_of_replies_need_no_tables() -> None:
    for module, tree in modules().items():
        if module.startswith("measures.replies."):
            assert "polars" not in outside(tree), module


def test_estimates_see_no_text() -> None:
    for module, tree in modules().items():
        if stage(module) == "estimates":
            assert not {"text", "reasoning"} & {
                node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)
            }, module


def outside(tree: ast.Module) -> set[str]:
    """The packages that a module imports from others than Python and us."""
    names = {stage(name) for name in imported(tree)}
    return names - sys.stdlib_module_names - {"offrecord"}


def test_estimates_of_arrays_and_of_frames_know_no_more_than_they_need() -> None:
    for module, tree in modules().items():
        if module.startswith("estimates.arrays."):
            assert outside(tree) <= {"numpy", "scipy"}, module
            allowed: tuple[str, ...] = ("estimates.arrays",)
        elif module.startswith("estimates.frames."):
            assert outside(tree) <= {"numpy", "polars"}, module
            allowed = ("records", "estimates.arrays", "estimates.frames")
        else:
            continue
        assert all(name.startswith(allowed) for name in own(imported(tree))), module


def test_modules_and_functions_fit_the_budget() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 300, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= 60, f"{path.name}: {node.name} has {length} lines"


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-c", "import offrecord"],
        [sys.executable, "-c", "import offrecord.guard"],
        [sys.executable, "-m", "offrecord", "--help"],
        [sys.executable, "-m", "offrecord", "content", "list"],
    ],
    ids=["import", "guard", "help", "content"],
)
def test_light_calls_import_nothing_heavy(command: list[str]) -> None:
    heavy = ["inspect_ai", "torch", "xllamacpp", "polars", "sentence_transformers"]
    code = (
        "import sys, runpy, atexit\n"
        f"atexit.register(lambda: print([m for m in {heavy!r} if m in sys.modules], "
        "file=sys.stderr))\n"
    )
    if command[1] == "-c":
        run = [sys.executable, "-c", code + command[2]]
    else:
        code += f"sys.argv = ['offrecord', *{command[3:]!r}]\n"
        run = [sys.executable, "-c", code + "from offrecord.cli import main; main()"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    if command[1] == "-c":
        assert done.stdout == ""
