"""The order of the rooms, read from the import statements, and what a bare `import absint` may load."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Final

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]

ORDER: Final = tuple(
    """
    absint.version absint.packages absint.runs.serving absint.runs.process
    lattices.records lattices.limits lattices.terms lattices.logic lattices.text lattices
    transfer.stated transfer.semantics transfer.ordinary
    transfer.stating transfer.op transfer.forms transfer.rule
    transfer.application transfer.elements transfer transfer.contrib transfer.families
    solver solver.contracts solver.nearest solver.export
    absint.errors absint.diagnostics absint.engine absint.model absint.program.rules absint.program
    absint.shapes.summaries absint.shapes.timings absint.shapes.memo
    absint.shapes.loops.forms absint.shapes.loops.closed_forms absint.shapes.loops.body
    absint.shapes.loops.linear
    absint.shapes.loops.invariants absint.shapes.interpretation absint.shapes.branches
    absint.shapes.loops absint.shapes
    absint.solution absint.analyses absint.runs
    absint.questions.sizes absint.questions.proofs absint.questions.claims
    absint.questions.costs.operators absint.questions.costs absint.questions.explain
    absint.research.specification absint.questions.certificates absint.questions
    absint.jobs.copies absint.jobs.rewriting absint.jobs.freezing absint.jobs.dynamizing
    absint.jobs.profiles absint.jobs.auditing
    absint.show.summary absint.show.text
    absint.show.page
    absint.homes absint.result_questions absint.result_copies absint.result absint.api absint.ir
    absint.jobs.diffing absint.jobs.simplifying absint.jobs.linting absint.jobs
    absint.research.obligations absint.research.study absint.research
    absint.testing absint.show absint.commands absint.cli absint.__main__ absint.pytest_plugin absint
    """.split()  # noqa: SIM905
)
"""The rooms from the ground up. A file imports from its own room and from those before it, nothing else; imports in
functions and those for types count. The last one is the list of public names, which says where each of them lives."""

EXCEPTIONS: Final = {
    ("lattices.terms.dim", "lattices.operators"): "`//`, `%`, `str()` and `Dim(text)` are methods of the lowest class",
    ("lattices.logic.formula", "lattices.operators"): "`&`, `|`, `~`, `str()` and `ite` are methods of a relation",
    ("absint.homes", "absint.jobs.simplifying.simplify"): "`Result.simplify` proves its copy by comparing two results",
}
"""Upward arrows that stay, each with its reason: Python looks an operator up on the class of its operand."""

THIRD_PARTY = {
    "lattices": {"numpy"},
    "transfer": set(),
    "solver": {"z3"},
    "absint": {"click", "google", "networkx", "numpy", "onnx", "onnx_ir", "onnxruntime", "pytest", "rich"}
    | {"cvc5", "distributed", "matplotlib", "onnx_shape_inference", "yobx"},
}
READS_AND_WRITES_MODELS = (
    "absint/model/*",
    "absint/program/rules/schema_rules.py",
    "absint/program/lowering.py",
    "absint/shapes/reference.py",
    "absint/jobs/copies/*",
    "absint/questions/claims/*",
    "absint/jobs/dynamizing/*",
    "absint/jobs/freezing/*",
    "absint/jobs/rewriting/*",
    "absint/jobs/simplifying/*",
    "absint/jobs/auditing/*",
    "absint/testing/*",
)

# third-party name -> the only files that may import it; a name without a row is free within its folder
PLACES = {
    "numpy": ("lattices/contents.py", "absint/*"),
    "z3": ("solver/encode.py", "solver/z3_process.py"),
    "onnx": READS_AND_WRITES_MODELS,
    "google": READS_AND_WRITES_MODELS,  # protobuf's errors
    "networkx": ("absint/program/digraph.py",),
    "cvc5": ("absint/research/obligations/solving.py",),
    "distributed": ("absint/runs/pool.py",),
    "matplotlib": ("absint/research/study/study.py", "absint/show/costs.py"),
    "pytest": ("absint/pytest_plugin.py",),
    "onnx_shape_inference": ("absint/jobs/auditing/peer_process.py",),
    "yobx": ("absint/jobs/auditing/peer_process.py",),
}

LAZY = {"onnxruntime", "onnx_ir", "cvc5", "distributed", "matplotlib", "onnx_shape_inference", "yobx"}
"""Optional packages, imported inside functions only."""

MADE_FOR = {"absint/ir.py": "onnx_ir"}
"""Modules for users of an optional package, which import it as they are imported."""

HEAVY = {"z3", "onnx", "networkx", "numpy"}


@dataclass(frozen=True)
class Import:
    name: str
    line: int
    lazy: bool  # inside a function
    for_types: bool  # under `if TYPE_CHECKING:`


def module_of(path: str) -> str:
    """The name of a file of the repository, without the leading `absint.` of the three other folders."""
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


MODULES = {
    module_of(file.relative_to(ROOT).as_posix()): file
    for folder in ("absint", "lattices", "transfer", "solver")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if not any((ROOT / part).is_symlink() for part in file.relative_to(ROOT).parents)
}


def imports(tree: ast.Module, module: str) -> Iterator[Import]:
    """Every import of a module, `import_module("name")` with a literal name included."""
    pending: list[tuple[ast.AST, bool, bool]] = [(tree, False, False)]
    while pending:
        node, lazy, for_types = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            for name in imported_names(node, module):
                yield Import(home(name), node.lineno, lazy, for_types)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            lazy = True
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            pending += [(child, lazy, True) for child in node.body]
            pending += [(child, lazy, for_types) for child in node.orelse]
        else:
            pending += [(child, lazy, for_types) for child in ast.iter_child_nodes(node)]


def imported_names(node: ast.Import | ast.ImportFrom | ast.Call, module: str) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            base = ".".join([*module.split(".")[: -node.level], *filter(None, [node.module])]) if node.level else ""
            return [f"{base or node.module}.{alias.name}" for alias in node.names]
        case ast.Call(func=ast.Name(id="__import__" | "import_module"), args=[ast.Constant(value=str(name)), *_]):
            return [name]
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            return [name]
    return []


def home(name: str) -> str:
    """The module that an imported name stands in, or the top-level name of another package."""
    for folder in ("lattices", "transfer", "solver"):
        name = name.replace(f"absint.{folder}", folder, 1) if f"{name}.".startswith(f"absint.{folder}.") else name
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in MODULES:
            return ".".join(parts[:end])
    return parts[0]


def room(module: str) -> int:
    """The place of a module's room in the order."""
    parts = module.split(".")
    return next(ORDER.index(name) for end in range(len(parts), 0, -1) if (name := ".".join(parts[:end])) in ORDER)


def arrows() -> Iterator[tuple[str, str]]:
    """The imports of each module from this package, without the exceptions."""
    return (arrow for arrow in all_arrows() if arrow not in EXCEPTIONS)


@cache
def all_arrows() -> Sequence[tuple[str, str]]:
    return [
        (module, item.name)
        for module, file in MODULES.items()
        for item in imports(ast.parse(file.read_text("utf-8")), module)
        if item.name in MODULES and item.name != module
    ]


def test_exceptions_are_few_and_needed() -> None:
    assert len(EXCEPTIONS) <= 3
    assert EXCEPTIONS.keys() <= set(all_arrows())
    assert all(room(above) > room(module) for module, above in EXCEPTIONS)


def test_arrows_lead_down_and_never_in_a_circle() -> None:
    found = nx.DiGraph(arrows())
    upward = {(a, b) for a, b in found.edges if room(b) > room(a)}
    circles = [circle for circle in nx.strongly_connected_components(found) if len(circle) > 1]
    inside = {(a, b) for circle in circles for a, b in found.subgraph(circle).edges}
    assert not upward | inside


MAPPED = sorted(
    module
    for module, file in MODULES.items()
    if file.name == "__init__.py" and module not in ("absint", "absint.commands")
)
"""`absint` lists public names; `absint.commands` has a file for each command."""

FOLDERS = {"absint", "benchmarks", "docs", "examples", "lattices", "solver", "tests", "transfer"}
OUTPUTS = {"build", "dist", "htmlcov", "site"}
LONGEST = 400
"""Lines of a file."""

HANDED_OUT = "absint.questions.certificates.check"
"""A program that goes into every certificate, as one file."""


def test_nothing_strays_into_the_top_of_the_repository() -> None:
    inside = {path.parent.name for path in ROOT.glob("*/*") if path.suffix in (".py", ".md", ".onnx", ".json")}
    assert {name for name in inside if not name.startswith(".")} - OUTPUTS == FOLDERS


def test_no_file_is_long() -> None:
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name for name, lines in lengths.items() if lines > LONGEST} <= {HANDED_OUT}


@pytest.mark.parametrize("folder", MAPPED)
def test_the_docstring_of_a_folder_is_its_map(folder: str) -> None:
    text = ast.get_docstring(ast.parse(MODULES[folder].read_text("utf-8"))) or ""
    inside = {name.removeprefix(f"{folder}.") for name in MODULES if name.startswith(f"{folder}.")}
    missing = {name for name in inside if "." not in name and not re.search(rf"\b{name}\b", text)}
    assert not missing


def violations(source: str, path: str) -> list[str]:
    """Forbidden imports of other packages in the file at `path` (relative to the repository, with slashes)."""
    module = module_of(path)
    folder = module.partition(".")[0]
    found = []
    for item in imports(ast.parse(source), module):
        where = f"{path}:{item.line}"
        if item.name in MODULES:
            name = item.name.partition(".")[0]
            if folder not in ("absint", name) and (room(item.name) > room(module) or name == "transfer"):
                found.append(f"{where}: {folder} may not import {name}")
        elif item.name in {"lattices", "transfer", "solver"}:
            found.append(f"{where}: absint is the only name of ours: import absint.{item.name}")
        elif item.name not in sys.stdlib_module_names:
            places = PLACES.get(item.name, ("*",))
            if item.name not in THIRD_PARTY[folder]:
                found.append(f"{where}: {folder} may not import {item.name}")
            elif not item.for_types and not any(fnmatch(path, place) for place in places):
                found.append(f"{where}: {item.name} is imported only in {', '.join(places)}")
            elif not (item.for_types or item.lazy or MADE_FOR.get(path) == item.name) and item.name in LAZY:
                found.append(f"{where}: {item.name} is imported inside functions only")
    return found


@pytest.mark.parametrize("folder", THIRD_PARTY)
def test_a_file_imports_only_what_it_may(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, f"{folder} has no module"
    found = [line for file in files for line in violations(file.read_text("utf-8"), file.relative_to(ROOT).as_posix())]
    assert not found, "\n".join(found)


def test_records_are_made_of_annotations_that_are_text() -> None:
    """Since Python 3.14 a class has its annotations at hand only where the file asks for text."""
    texts = {path: file.read_text("utf-8") for path, file in MODULES.items()}
    made = {path for path, text in texts.items() if re.search(r"records import .*\b(NamedTuple|record)\b", text)}
    assert len(made) > 50
    assert not {path for path in made if "from __future__ import annotations" not in texts[path]}


def test_only_absint_is_imported() -> None:
    """A `solver.py` beside a script is its owner's."""
    files = [file for file in ROOT.rglob("*.py") if not any(part.startswith(".") for part in file.parts)]
    assert len(files) > len(MODULES)
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {name.partition(".")[0] for name in imported_names(node, "tests.here")}
                assert not names & {"lattices", "transfer", "solver"}, f"{file.relative_to(ROOT)}:{node.lineno}"


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("lattices/shape.py", "import absint.transfer.op", "lattices may not import transfer"),
        ("lattices/shape.py", "import numpy as np", "numpy is imported only in lattices/contents.py"),
        ("lattices/shape.py", "def f():\n    from z3 import Int", "lattices may not import z3"),
        ("transfer/linalg.py", "import numpy", "transfer may not import numpy"),
        ("transfer/linalg.py", "from absint.solver import prove", "transfer may not import solver"),
        ("transfer/linalg.py", "from absint.api import analyze", "transfer may not import absint"),
        ("transfer/contrib/x.py", "if TYPE_CHECKING:\n    import onnx", "transfer may not import onnx"),
        ("solver/contracts/contract.py", "import z3", "z3 is imported only in solver/encode.py, solver/z3_process.py"),
        ("absint/api.py", "from onnx import ModelProto", "onnx is imported only in absint/model/"),
        ("absint/api.py", "def f():\n    importlib.import_module('onnx.helper')", "onnx is imported only in"),
        ("absint/research/study/study.py", "import networkx", "networkx is imported only in absint/program/digraph.py"),
        ("absint/research/study/study.py", "import matplotlib", "matplotlib is imported inside functions only"),
        ("absint/model/load.py", "import torch", "absint may not import torch"),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str, complaint: str) -> None:
    (found,) = violations(source, path)
    assert complaint in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lattices/contents.py", "import numpy as np\nfrom . import shape\nimport dataclasses"),
        (
            "transfer/linalg.py",
            "import math\nfrom absint.lattices.shape import Shape\nfrom absint.transfer.op import Op",
        ),
        ("solver/encode.py", "import z3"),
        ("solver/z3_process.py", "import z3"),
        ("absint/api.py", "if TYPE_CHECKING:\n    import onnx\n    from absint.solver.constraints import Constraint"),
        ("absint/model/load.py", "import onnx\nfrom google.protobuf.message import DecodeError"),
        ("absint/program/digraph.py", "import networkx as nx"),
    ],
)
def test_an_allowed_import_passes(path: str, source: str) -> None:
    assert violations(source, path) == []


def test_processes_are_started_in_one_place() -> None:
    found = {
        module
        for module, file in MODULES.items()
        for item in imports(ast.parse(file.read_text("utf-8")), module)
        if item.name in ("subprocess", "multiprocessing")
    }
    assert found == {"absint.runs.process", HANDED_OUT}


def test_inference_of_onnx_runs_in_processes_of_its_own() -> None:
    """The schema of an operator without a rule apart, which another package may have registered in this process."""
    found = {
        module
        for module, file in MODULES.items()
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any("shape_inference" in name.split(".") for name in imported_names(node, module))
    }
    assert found == {
        "absint.model.inference_process",
        "absint.program.rules.schema_rules",
        "absint.jobs.auditing.peer_process",
    }


def test_an_analysis_loads_no_solver() -> None:
    code = f"import absint; absint.analyze({str(ROOT / 'examples' / 'tiny_decoder.onnx')!r})"
    assert "z3" not in loaded_by(code).split()
    assert "networkx" not in loaded_by(code).split()


@pytest.mark.parametrize("arguments", [["--help"], ["analyze", "--help"]], ids=" ".join)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    command = f"""
import sys
from absint.cli import run
assert run({arguments!r}) == 0
"""
    assert loaded_by(command) == ""


@pytest.mark.parametrize("module", ["absint", "absint.cli", "absint.solver.backend"])
def test_import_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}") == ""


def loaded_by(code: str) -> str:
    """The heavy packages that are in `sys.modules` once a fresh interpreter has run the code."""
    report = f"import sys; sys.stderr.write(' '.join(sorted({HEAVY!r} & set(sys.modules))))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{code}\n{report}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr
