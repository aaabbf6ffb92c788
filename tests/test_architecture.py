"""The layers of the design, read from the import statements, and what a bare `import absint` may load."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# layer -> the other top-level names it may import, besides itself and the standard library
LAYERS = {
    "lattices": {"numpy"},
    "transfer": {"lattices", "numpy"},
    "solver": {"lattices", "z3"},
    "absint": {"lattices", "transfer", "solver"}
    | {"click", "google", "networkx", "numpy", "onnx", "onnx_ir", "onnxruntime", "rich"}
    | {"cvc5", "distributed", "matplotlib", "onnx_shape_inference", "yobx"},
}
READS_AND_WRITES_MODELS = (
    "absint/load.py",
    "absint/lower.py",
    "absint/protos.py",
    "absint/tensors.py",
    "absint/types.py",
    "absint/schemas.py",
    "absint/sources.py",
    "absint/schema_rules.py",
    "absint/testing/*",
    "absint/annotate.py",
    "absint/auditing/bodies.py",
    "absint/auditing/peer_child.py",
    "absint/auditing/run_child.py",
    "absint/auditing/runs.py",
    "absint/evaluation.py",
    "absint/held_files.py",
    "absint/loadable.py",
    "absint/merge.py",
)

# third-party name -> the only files that may import it; a name without a row is free within its layers
PLACES = {
    "numpy": ("lattices/contents.py", "transfer/*", "absint/*"),
    "z3": ("solver/encode.py", "solver/child.py"),
    "onnx": READS_AND_WRITES_MODELS,
    "google": READS_AND_WRITES_MODELS,  # protobuf's errors
    "networkx": ("absint/graph.py", "absint/fixpoint.py"),
    "cvc5": ("absint/study/solvers.py",),
    "distributed": ("absint/study/distributed.py",),
    "matplotlib": ("absint/study/plots.py",),
    "onnx_shape_inference": ("absint/auditing/peer_child.py",),
    "yobx": ("absint/auditing/peer_child.py",),
}

# layer -> names it imports inside functions only: the backend, and the optional extras
LAZY = {
    "absint": {"solver", "onnxruntime", "onnx_ir", "cvc5", "distributed", "matplotlib"}
    | {"onnx_shape_inference", "yobx"}
}

# files that are themselves imported inside functions only, and so may import the backend
DEFERRED = tuple(f"absint/{name}.py" for name in ("recording", "proving", "contracts", "checking", "boxes", "classes"))

HEAVY = {"z3", "onnx", "networkx", "numpy"}


@dataclass(frozen=True)
class Import:
    name: str  # the top-level package
    line: int
    lazy: bool  # inside a function
    for_types: bool  # under `if TYPE_CHECKING:`


def imports(tree: ast.Module, layer: str) -> Iterator[Import]:
    """Every import of a module, `import_module("name")` with a literal name included."""
    pending: list[tuple[ast.AST, bool, bool]] = [(tree, False, False)]
    while pending:
        node, lazy, for_types = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            for name in imported_names(node, layer):
                yield Import(name.partition(".")[0], node.lineno, lazy, for_types)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            lazy = True
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            pending += [(child, lazy, True) for child in node.body]
            pending += [(child, lazy, for_types) for child in node.orelse]
        else:
            pending += [(child, lazy, for_types) for child in ast.iter_child_nodes(node)]


def imported_names(node: ast.Import | ast.ImportFrom | ast.Call, layer: str) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            return [layer if node.level else node.module or ""]
        case ast.Call(func=ast.Name(id="__import__" | "import_module"), args=[ast.Constant(value=str(name)), *_]):
            return [name]
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            return [layer if name.startswith(".") else name]
    return []


def violations(source: str, path: str) -> list[str]:
    """What a file at `path` (relative to the repository, with slashes) imports against the rules."""
    layer = path.partition("/")[0]
    found = []
    for item in imports(ast.parse(source), layer):
        if item.name in sys.stdlib_module_names or item.name == layer:
            continue
        where = f"{path}:{item.line}"
        places = PLACES.get(item.name, ("*",))
        if item.name not in LAYERS[layer]:
            found.append(f"{where}: {layer} may not import {item.name}")
        elif not item.for_types and not any(fnmatch(path, place) for place in places):
            found.append(f"{where}: {item.name} is imported only in {', '.join(places)}")
        elif path in DEFERRED and item.name == "solver":
            continue
        elif not item.for_types and not item.lazy and item.name in LAZY.get(layer, set()):
            found.append(f"{where}: {layer} imports {item.name} inside functions only")
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_lies_below(layer: str) -> None:
    files = sorted((ROOT / layer).rglob("*.py"))
    assert files, f"the layer {layer} has no module"
    found = [line for file in files for line in violations(file.read_text("utf-8"), file.relative_to(ROOT).as_posix())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", DEFERRED)
def test_what_imports_the_backend_is_imported_when_it_is_asked(path: str) -> None:
    module = path.removesuffix(".py").replace("/", ".")
    for file in sorted((ROOT / "absint").rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if name in DEFERRED:
            continue
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert module not in ast.unparse(node), f"{name}:{node.lineno}"


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("lattices/dim.py", "import transfer.op", "lattices may not import transfer"),
        ("lattices/dim.py", "import numpy as np", "numpy is imported only in lattices/contents.py"),
        ("lattices/dim.py", "def f():\n    from z3 import Int", "lattices may not import z3"),
        ("transfer/linalg.py", "from solver import prove", "transfer may not import solver"),
        ("transfer/contrib/x.py", "if TYPE_CHECKING:\n    import onnx", "transfer may not import onnx"),
        ("solver/contract.py", "import z3", "z3 is imported only in solver/encode.py, solver/child.py"),
        ("solver/contract.py", "import transfer", "solver may not import transfer"),
        ("absint/api.py", "from onnx import ModelProto", "onnx is imported only in absint/load.py"),
        ("absint/api.py", "def f():\n    importlib.import_module('onnx.helper')", "onnx is imported only in"),
        ("absint/study/run.py", "import networkx", "networkx is imported only in absint/graph.py, absint/fixpoint.py"),
        ("absint/api.py", "import solver.prove", "absint imports solver inside functions only"),
        ("absint/api.py", "class A:\n    import solver", "absint imports solver inside functions only"),
        ("absint/load.py", "import torch", "absint may not import torch"),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str, complaint: str) -> None:
    (found,) = violations(source, path)
    assert complaint in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lattices/contents.py", "import numpy as np\nfrom . import expr\nimport dataclasses"),
        ("transfer/linalg.py", "import numpy\nfrom lattices import Shape\nfrom transfer.op import Op"),
        ("solver/encode.py", "import z3"),
        ("solver/child.py", "import z3"),
        ("absint/api.py", "if TYPE_CHECKING:\n    import onnx\n    from solver.constraints import Constraint"),
        ("absint/api.py", "def prove():\n    from solver import prove"),
        ("absint/load.py", "import onnx\nfrom google.protobuf.message import DecodeError"),
        ("absint/fixpoint.py", "import networkx as nx"),
    ],
)
def test_an_allowed_import_passes(path: str, source: str) -> None:
    assert violations(source, path) == []


@pytest.mark.parametrize("arguments", [["--help"], ["analyze", "--help"]], ids=" ".join)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    command = f"""
import sys
from absint.cli import main
sys.argv = ["absint", *{arguments!r}]
try:
    main()
except SystemExit as done:
    assert not done.code
"""
    assert loaded_by(command) == ""


@pytest.mark.parametrize("module", ["absint", "absint.cli", "solver.backend"])
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
