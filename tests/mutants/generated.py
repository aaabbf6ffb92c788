"""Small faults in the source of a module, made by rule and not by hand: nobody chose them with the tests in mind.

Each is one edit: a comparison or an operation turned into its neighbour, a number that is one off, a quotient rounded
the other way, a maximum for a minimum, a truth turned round, a requirement dropped.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from tests.mutants.mutant import Change, Mutant, source_of
from tests.mutants.planting import ROOT

SWAPPED: Final = {
    "floordiv": "ceildiv", "ceildiv": "floordiv", "truncdiv": "floordiv", "minimum": "maximum", "maximum": "minimum",
    "least": "greatest", "greatest": "least", "min": "max", "max": "min", "ge": "le", "le": "ge", "lt": "le",
    "gt": "ge", "eq": "ge", "ne": "eq", "disjunction": "conjunction", "conjunction": "disjunction", "all": "any",
    "any": "all", "both": "either", "either": "both", "largest": "smallest", "smallest": "largest",
}  # fmt: skip
"""Functions by name, and what stands in their place where the module knows that too."""

COMPARED: Final = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
COMPUTED: Final = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "//"}
MACHINERY: Final = (
    "application", "attributes", "families", "ordinary", "rule", "signature", "stated", "stating", "table",
)  # fmt: skip
"""Modules in the folder of rules that hold none."""

STATING: Final = ("require", "require_equal", "require_rank", "reject", "requires", "demand", "limits", "agree", "fit")
JOINING: Final = ("both", "either")
"""Functions of which one part may be left out."""


class Edit(NamedTuple):
    """A stretch of a source that is replaced; positions count characters."""

    start: int
    end: int
    after: str


def modules(folder: str = "transfer") -> list[str]:
    """The modules of rules for the domains of ONNX, by name."""
    paths = [*sorted((ROOT / folder).glob("*.py")), ROOT / folder / "contrib" / "ai_onnx_ml.py"]
    chosen = [path.relative_to(ROOT).with_suffix("") for path in paths if path.stem not in (*MACHINERY, "__init__")]
    return [f"absint.{'.'.join(path.parts)}" for path in chosen]


def faults(module: str, *, inside: bool = False) -> Iterator[Mutant]:
    """All faults of a module, in the order of its lines; those in functions that make no instances, if `inside`."""
    source = source_of(module)
    lines = source.splitlines()
    edits = sorted(set(_edits(source)))
    if inside:
        functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
        made = ("Instance", "Attribute")
        bodies = [f.body for f in functions if not f.returns or not any(n in ast.unparse(f.returns) for n in made)]
        held = {n for body in bodies for n in range(body[0].lineno, (body[-1].end_lineno or 0) + 1)}
        edits = [edit for edit in edits if source.count("\n", 0, edit.start) + 1 in held]
    for number, edit in enumerate(edits):
        changed = source[: edit.start] + edit.after + source[edit.end :]
        line = source.count("\n", 0, edit.start)
        name = f"{module.removeprefix('absint.')}:{line + 1}:{number}"
        breaks = f"{source[edit.start : edit.end]} becomes {edit.after} in: {lines[line].strip()}"
        yield Mutant(name, breaks, (Change(module, source, changed),), "", ())


def drawn(count: int, seed: int, names: Iterable[str] = ()) -> list[Mutant]:
    """So many faults of the modules of rules, each as likely as any other."""
    every = [mutant for module in names or modules() for mutant in faults(module)]
    return random.Random(seed).sample(every, min(count, len(every)))


def _edits(source: str) -> Iterator[Edit]:
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = source.splitlines()
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    known = {"min", "max", "all", "any"} | {alias.name for node in imports for alias in node.names}

    def at(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def begin(node: ast.expr | ast.stmt) -> int:
        return at(node.lineno, node.col_offset)

    def end(node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return at(node.end_lineno, node.end_col_offset)

    def between(left: ast.expr, right: ast.expr, text: str) -> Iterator[Edit]:
        """The operator between two operands, brackets left alone."""
        gap = source[end(left) : begin(right)]
        operator = gap.strip("() \n\t")
        if operator and gap.count(operator) == 1:
            start = end(left) + gap.index(operator)
            yield Edit(start, start + len(operator), text)

    for node in _code(tree):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARED:
                yield from between(left, right, COMPARED[type(operator)])
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in COMPUTED:
                yield from between(left, right, COMPUTED[type(operator)])
            case ast.BoolOp(op=operator, values=[first, second, *_]):
                yield from between(first, second, "or" if isinstance(operator, ast.And) else "and")
            case ast.UnaryOp(op=ast.Not()):
                yield Edit(begin(node), begin(node) + len("not "), "")
            case ast.Constant(value=bool() as value):
                yield Edit(begin(node), end(node), str(not value))
            case ast.Constant(value=int() as value):
                yield Edit(begin(node), end(node), str(value + 1))
                yield Edit(begin(node), end(node), f"({value - 1})" if value < 1 else str(value - 1))
            case ast.Call(func=ast.Name(id=name) as function, args=parts):
                if SWAPPED.get(name) in known:
                    yield Edit(begin(function), end(function), SWAPPED[name])
                for one, other in pairwise(parts) if name in JOINING else ():
                    yield Edit(begin(one), begin(other), "")
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if name in STATING:
                yield Edit(begin(node), end(node), "pass")
            case ast.IfExp(test=ast.Call() as test) | ast.If(test=ast.Call() as test):
                yield Edit(begin(test), end(test), f"not ({source[begin(test) : end(test)]})")


def _code(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those of annotations."""
    annotations: set[int] = set()
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                annotations |= {id(inner) for inner in ast.walk(part)}
    yield from (node for node in ast.walk(tree) if id(node) not in annotations)
