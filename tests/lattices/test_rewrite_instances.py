"""The constructors apply every rewrite to small instances: a true statement need not be an applied one."""

from __future__ import annotations

import ast
import random
import re

import pytest

from absint.lattices.logic.relation import UNKNOWN_RELATION
from absint.lattices.terms.expr import Expr, Symbol, const, expr_of
from absint.lattices.terms.normal import floordiv, substitute
from tests import reference
from tests.lattices.rewrites import REWRITES
from tests.reference import NoValueError, Tree

POLYNOMIALS = ("a + b", "a - b", "a * b", "(a + b) * (a + b)", "(a + b) * (a - b)", "(a + m * b) * (c + b)")
"""The parts of every normal form, beside the rewrites."""

BEFORE = list(dict.fromkeys([*(rewrite.before for rewrite in REWRITES), *POLYNOMIALS]))

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

CONSTANTS = (-7, -4, -3, -2, -1, 0, 1, 2, 2, 3, 3, 4, 5, 6, 8)
LEAVES = (
    "N",
    "N",
    "M",
    "K",
    "N - 1",
    "N - 2",
    "M - 5",
    "2*N",
    "3*M + 1",
    "N - M",
    "-N",
    "I",
    "J",
    "2*I - 3",
    "N//2",
    "min(I, 0)",
    "min(J, 0)",
)
PARTIAL = (*LEAVES, "N//M", "broadcast(N, M)", "broadcast(N, K - 1)", "J//I", "ite(M >= 2, N//(M - 2), N)")
BINDINGS = [
    dict(zip("NMKIJ", sizes, strict=True))
    for sizes in [
        (0, 0, 0, 0, 0), (1, 1, 1, 1, 1), (0, 3, 1, -5, 4), (1, 0, 2, 2, -1), (2, 5, 3, -2, -2), (3, 2, 0, -1, 3),
        (4, 4, 4, -4, 4), (5, 1, 6, 0, -3), (6, 7, 5, 3, 2), (7, 6, 1, -3, 5), (1, 9, 7, 5, 0), (12, 3, 4, -7, 6),
    ]
]  # fmt: skip
INSTANCES = 60


def tree_of(node: ast.expr, chosen: dict[str, Tree]) -> Tree:
    """A text of Python as a tree, its variables replaced."""
    match node:
        case ast.Constant(value=int(value)):
            return ("const", value)
        case ast.Name(id=name):
            return chosen.get(name, ("symbol", name))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ("-", ("const", 0), tree_of(operand, chosen))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ("not", tree_of(operand, chosen))
        case ast.BinOp(left=left, op=op, right=right):
            return (OPERATORS[type(op)], tree_of(left, chosen), tree_of(right, chosen))
        case ast.BoolOp(op=op, values=values):
            return ("and" if isinstance(op, ast.And) else "or", *(tree_of(value, chosen) for value in values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return (COMPARISONS[type(op)], tree_of(left, chosen), tree_of(right, chosen))
        case ast.Call(func=ast.Name(id=name), args=args):
            return (name, *(tree_of(arg, chosen) for arg in args))
    raise ValueError(f"no tree for {ast.unparse(node)}")


def parsed(text: str, chosen: dict[str, Tree] | None = None) -> Tree:
    return tree_of(ast.parse(text, mode="eval").body, chosen or {})


def instances(text: str) -> list[Tree]:
    """The text with its variables replaced by constants and small expressions, the same in every run."""
    rng = random.Random(text)
    names = sorted(set(re.findall(r"\b[a-zA-Z]\b", text)))
    found = []
    for _ in range(INSTANCES):
        chosen: dict[str, Tree] = {}
        for name in names:
            constant = rng.random() < (0.8 if name in "gkm" else 0.0 if name.isupper() else 0.4)
            leaves = PARTIAL if name.isupper() else LEAVES
            fresh: Tree = ("const", rng.choice(CONSTANTS)) if constant else parsed(rng.choice(leaves))
            chosen[name] = rng.choice([*chosen.values()]) if chosen and rng.random() < 0.15 else fresh
        found.append(parsed(text, chosen))
    return found


def held_against_its_meaning(tree: Tree) -> int:
    """Compare what the constructors make of a tree with its plain value; the bindings at which it has one."""
    count = 0
    is_relation = tree[0] in {*COMPARISONS.values(), "and", "or", "not"}
    built = reference.build_relation(tree) if is_relation else reference.build(tree)
    for binding in BINDINGS:
        try:
            wanted = (reference.truth if is_relation else reference.value)(tree, binding)
        except NoValueError:
            continue
        count += 1
        if isinstance(built, Expr) or (is_relation and built is not UNKNOWN_RELATION):
            assert built.evaluate(binding) == wanted, f"{tree} at {binding}: {built}"
    return count


@pytest.mark.parametrize("text", BEFORE)
def test_instances_have_their_value(text: str) -> None:
    assert sum(map(held_against_its_meaning, instances(text))) >= INSTANCES


def test_a_quotient_that_bounds_decide_is_a_constant() -> None:
    """The same, whether the bounds are known at first or come by substitution."""
    wide, narrow = Symbol("N", 1), expr_of(Symbol("n", 1, 2))
    assert floordiv(narrow + 1, 2) is const(1)
    assert substitute(floordiv(expr_of(wide) + 1, 2), {wide: narrow}) is const(1)
    assert str(floordiv(narrow + 1, 3)) == "(n + 1)//3"
