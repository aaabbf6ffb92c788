"""The public names, as docs/interface.md promises them: what is here goes only through a deprecation."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import absint
import absint.engine
import absint.homes
from absint.result import INTERNAL

ROOT = Path(__file__).parents[1]

PUBLIC = {
    *("AbsintError", "IllegalSizesError", "LimitError", "ModelError", "UsageError", "Diagnostic", "Severity"),
    *("Result", "analyze", "auditing", "diff", "dynamize", "freeze", "lint", "purge", "Timings", "POLICIES"),
    *("Annotated", "AnnotatedFile", "Audit", "Certificate", "Check", "Comparison", "Constraint", "ConstraintSet"),
    *(
        "Contract",
        "Cost",
        "Devices",
        "Diff",
        "Dynamized",
        "Equalities",
        "AxisPlace",
        "Explanation",
        "Fewest",
        "FileReport",
    ),
    *("Finding", "FreshSymbol", "Frozen", "LegalSamples", "LintResult", "Memory", "Nearest", "Outcome", "Profile"),
    *("Proof", "RangeCheck", "RangeFinding", "Ranges", "Rows", "Simplified", "SymbolFacts", "ValueRanges", "Verdict"),
    *("DType", "Dim", "Shape", "Tensor", "eq", "ne", "maximum", "minimum", "parse"),
    *("Op", "Rule", "RuleError", "TABLE", "Table", "rule"),
    *("Analysis", "BackwardAnalysis", "ElementAnalysis", "ForwardAnalysis", "GraphAnalysis", "IterationPolicy"),
    *("fixpoint", "Lattice", "LawError", "check_laws", "on"),
    *("ElementBounds", "Query", "Reachable", "ShapeOf", "TripCount"),
}
ENGINE = {*("Analysis", "DivergenceError", "GraphAnalysis", "GraphSolution", "IterationPolicy", "Solution", "fixpoint")}
RESULT = {
    *("annotate", "annotate_ir", "annotated", "assumptions", "at", "audit", "can_run", "certify", "check"),
    *("check_range", "claims", "compare", "constraints", "contract", "cost", "devices", "diagnostics", "dynamize"),
    *("elements", "equal_buffers", "equal_dims", "equal_shapes", "explain", "fewest_symbols", "folder", "found_by"),
    *("freeze", "fresh_symbols", "graph", "inferred", "inputs", "is_complete", "limits_reached", "memory", "model"),
    *("nearest", "origin", "outputs", "parameters", "paths", "policy", "premises", "producer", "profile", "prove"),
    *("ranges", "report", "rows", "samples", "save_annotated", "semantics", "shapes", "simplify", "symbol", "symbols"),
    *("tensor", "trusted", "unruled", "value_of", "values", "verify", "view"),
}
PARTS = {
    *("Claimed", "InputElement", "Operand", "ProgramGraph", "Trusted", "UnificationPolicy", "View"),
    *("Expr", "Place", "Semantics", "Shapes", "Value"),
}
"""What public members of a result are made of, and is imported from where it is defined."""


def test_the_public_names() -> None:
    assert set(absint.__all__) == PUBLIC
    assert {*absint._HOMES, "TABLE"} == set(absint.__all__)
    assert [name for name in absint.__all__ if not hasattr(absint, name)] == []
    assert [name for name in ENGINE if not hasattr(absint.engine, name)] == []


def test_the_public_names_of_a_result() -> None:
    result = absint.analyze(ROOT / "examples" / "tiny_decoder.onnx")
    assert {name for name in dir(result) if not name.startswith("_")} == RESULT
    assert {name for name in dir(absint.Result) if not name.startswith("_")} == RESULT - vars(result).keys()
    assert [name for name in INTERNAL if not hasattr(result, name)] == []


@pytest.mark.parametrize(("file", "homes"), [("__init__.py", absint._HOMES), ("homes.py", absint.homes.HOMES)])
def test_the_types_and_the_homes_of_names_agree(file: str, homes: dict[str, str]) -> None:
    """A type checker reads the block for types, the interpreter reads the table."""
    tree = ast.parse((ROOT / "absint" / file).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name: node.module for node in imports for alias in node.names} == homes


@pytest.mark.parametrize("file", ["result.py", "result_questions.py", "result_copies.py", "solution/analysed.py"])
def test_the_types_of_answers_are_public(file: str) -> None:
    tree = ast.parse((ROOT / "absint" / file).read_text("utf-8"))
    ours = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("absint.")
        for alias in node.names
    }
    answers = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in RESULT and node.returns is not None
        for name in ast.walk(node.returns)
        if isinstance(name, ast.Name)
    }
    assert answers & ours
    assert (answers & ours) - set(absint.__all__) - PARTS == set()


def test_auditing_needs_no_import_of_its_own() -> None:
    code = "import absint; print(absint.auditing.Judgement.PROVED.value, len(absint.auditing.TOOLS))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[0] == "proved"
