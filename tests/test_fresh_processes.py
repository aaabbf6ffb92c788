"""Packages and rooms that a question may import: in a fresh process most of the time goes to imports."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODEL = str(ROOT / "examples" / "tiny_detector.onnx")

SLOW = {"email", "google", "importlib.metadata", "networkx", "numpy", "onnx", "onnx_ir", "onnxruntime", "rich", "z3"}
SLOW |= {"asyncio", "difflib", "http", "ml_dtypes", "multiprocessing", "socket", "ssl", "tempfile", "unittest"}
"""Packages and modules that take long to import, those of the standard library too."""

ROOMS = {
    *(
        "absint",
        "absint.api",
        "absint.diagnostics",
        "absint.engine",
        "absint.errors",
        "absint.homes",
        "absint.lattices",
        "absint.model",
        "absint.packages",
    ),
    *("absint.program", "absint.shapes", "absint.show", "absint.solution", "absint.transfer", "absint.version"),
    *("absint.questions", "absint.questions.claims", "absint.questions.proofs"),
    "absint.questions.explain",  # where the sizes begin that only a run tells
    *("absint.result", "absint.result_copies", "absint.result_questions"),
}
"""The rooms of an analysis and its report."""

COMMAND_LINE = {"absint.__main__", "absint.cli", "absint.commands", "absint.runs"}  # runs.allowance

NOT_FOR_SIZES = (
    "absint.shapes.loops",
    "absint.transfer.contrib",
    "absint.lattices.laws",
    "absint.lattices.text.parser",
)
"""Modules that only control flow, operators of others, tests and expressions in a model need."""


@dataclass(frozen=True)
class Loaded:
    slow: set[str]
    rooms: set[str]
    modules: set[str]


def room(module: str) -> str:
    """`absint.shapes` of `absint.shapes.body`, and `absint.jobs.copies` of `absint.jobs.copies.gate`."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[1:2] in (["questions"], ["jobs"], ["research"]) else 2])


def loaded_by(code: str) -> Loaded:
    """The modules of a fresh process that has run the code, its output thrown away."""
    report = "import sys; sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{code}\n{report}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    modules = set(done.stderr.split())
    own = {room(name) for name in modules if f"{name}.".startswith("absint.")}
    return Loaded(modules & SLOW, own, modules)


def loaded_by_command(*arguments: str) -> Loaded:
    return loaded_by(f"from absint.cli import run\nassert run({list(arguments)!r}) in (0, 1, 3)")


def check_an_analysis(found: Loaded) -> None:
    assert not found.slow
    assert not {name for name in found.modules if name.startswith(NOT_FOR_SIZES)}
    families = {name for name in found.modules if name.startswith("absint.transfer.") and name.count(".") == 2}
    assert not families & {f"absint.transfer.{name}" for name in ("attention", "recurrent", "signal", "training")}


def test_an_analysis_from_a_file_imports_no_other_package() -> None:
    found = loaded_by(f"import absint; result = absint.analyze({MODEL!r}); str(result); result.diagnostics")
    check_an_analysis(found)
    assert "click" not in found.modules
    assert found.rooms == ROOMS


def test_the_command_analyze_imports_click_alone() -> None:
    found = loaded_by_command("analyze", MODEL)
    check_an_analysis(found)
    assert found.rooms == ROOMS | COMMAND_LINE - {"absint.__main__"}
    others = {f"absint.commands.{name}" for name in ("audit", "check", "prove", "questions", "study")}
    assert not others & found.modules


PROOFS = {"absint.runs", "absint.solver", "absint.questions.sizes"}
COPIES = {"absint.jobs", "absint.jobs.copies", "absint.runs"}
COSTS = {"absint.analyses", "absint.questions.costs", "absint.questions.sizes", "absint.solver"}


@pytest.mark.parametrize(
    ("arguments", "slow", "rooms"),
    [
        (["analyze", MODEL, "--values", "--format", "json"], set(), {"absint.solver"}),  # the form of constraints
        (["contract", MODEL, "--role", "all"], set(), PROOFS),
        (["contract", MODEL], set(), PROOFS),
        (["cost", MODEL], set(), COSTS),
        (["check", MODEL, "batch=1", "height=64", "width=64"], set(), PROOFS),
        (["prove", MODEL, "1 == 1"], set(), PROOFS),
        (["annotate", MODEL, "-o", os.devnull], {"difflib", "google", "onnx"}, COPIES),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_question_imports_what_it_needs(arguments: list[str], slow: set[str], rooms: set[str]) -> None:
    found = loaded_by_command(*arguments)
    assert found.slow <= slow
    assert found.rooms <= ROOMS | COMMAND_LINE | rooms
