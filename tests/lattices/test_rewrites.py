"""Every rewrite that the constructors use, proved in Z3 over all integers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import pytest
import z3

import absint.lattices
from absint.lattices.terms import division
from absint.lattices.terms.evaluation import Rewrite
from tests.lattices.rewrites import REWRITES

INSTANCES = (-7, -3, -2, -1, 0, 1, 2, 3, 7)
"""Values of one variable where arithmetic with a symbolic one is beyond Z3."""

FACTORS = "bckmngyz"
"""The variables that stand for divisors and multipliers, and so may be instantiated."""


class Undecided(Exception):  # noqa: N818
    """Z3 neither proved nor refuted the statement."""


class Read(NamedTuple):
    """A term or a formula in Z3, and where it has a value."""

    value: z3.ExprRef
    defined: z3.BoolRef = z3.BoolVal(True)


def together(parts: Iterable[Read]) -> z3.BoolRef:
    """All of them have a value."""
    return z3.And(*(part.defined for part in parts))


class Reader:
    """A statement as Z3 terms; `facts` collects the definitions of the quotients."""

    def __init__(self, fixed: dict[str, int]) -> None:
        self.fixed = fixed
        self.facts: list[z3.BoolRef] = []

    def read(self, text: str) -> Read:
        return self.term(ast.parse(text, mode="eval").body)

    def quotient(self, a: z3.ArithRef, b: z3.ArithRef, *, towards_zero: bool) -> z3.ArithRef:
        """The quotient of a by b, by the definition of each rounding for each sign.

        Floor: a = b*q + r where 0 <= r < b or b < r <= 0. Towards zero: |r| < |b|, and r is 0 or has the sign of a.
        """
        q, r = z3.FreshInt("q"), z3.FreshInt("r")
        if towards_zero:
            small = z3.If(b > 0, z3.And(-b < r, r < b), z3.And(b < r, r < -b))
            sign = z3.If(a >= 0, r >= 0, r <= 0)
        else:
            small = z3.If(b > 0, z3.And(r >= 0, r < b), z3.And(b < r, r <= 0))
            sign = z3.BoolVal(True)
        self.facts.append(z3.Implies(b != 0, z3.And(a == b * q + r, small, sign)))
        return q

    def term(self, node: ast.expr) -> Read:
        match node:
            case ast.Constant(value=bool(value)):
                return Read(z3.BoolVal(value))
            case ast.Constant(value=int(value)):
                return Read(z3.IntVal(value))
            case ast.Name(id=name):
                value = z3.IntVal(self.fixed[name]) if name in self.fixed else z3.Int(name)
                return Read(value, z3.Bool(f"defined {name}")) if name.isupper() else Read(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                read = self.term(operand)
                return Read(-read.value, read.defined)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                read = self.term(operand)
                return Read(z3.Not(read.value), read.defined)
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(op, self.term(left), self.term(right))
            case ast.BoolOp(op=op, values=values):
                return self.connected(isinstance(op, ast.Or), [self.term(value) for value in values])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self.term(left), self.term(right)
                return Read(self.comparison(op, a.value, b.value), together((a, b)))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, [self.term(arg) for arg in args])
        raise ValueError(f"no meaning for {ast.unparse(node)}")

    @staticmethod
    def connected(settles: bool, parts: list[Read]) -> Read:
        """`or` if true settles it, else `and`: one part with that truth is enough."""
        value = (z3.Or if settles else z3.And)(*(part.value for part in parts))
        enough = z3.Or(*(z3.And(part.defined, part.value == settles) for part in parts))
        return Read(z3.If(enough, z3.BoolVal(settles), value), z3.Or(enough, together(parts)))

    def arithmetic(self, op: ast.operator, left: Read, right: Read) -> Read:
        a, b, defined = left.value, right.value, together((left, right))
        match op:
            case ast.Add():
                return Read(a + b, defined)
            case ast.Sub():
                return Read(a - b, defined)
            case ast.Mult():
                return Read(a * b, defined)
            case ast.FloorDiv():
                return Read(self.quotient(a, b, towards_zero=False), z3.And(defined, b != 0))
            case ast.Mod():  # the remainder of the definition, with the sign of b
                return Read(a - b * self.quotient(a, b, towards_zero=False), z3.And(defined, b != 0))
        raise ValueError(f"no meaning for {op}")

    @staticmethod
    def comparison(op: ast.cmpop, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
        match op:
            case ast.Eq():
                return a == b
            case ast.NotEq():
                return a != b
            case ast.Lt():
                return a < b
            case ast.LtE():
                return a <= b
            case ast.Gt():
                return a > b
            case ast.GtE():
                return a >= b
        raise ValueError(f"no meaning for {op}")

    def call(self, name: str, args: list[Read]) -> Read:
        defined = together(args)
        match name, [arg.value for arg in args]:
            case "trunc", [a, b]:
                return Read(self.quotient(a, b, towards_zero=True), z3.And(defined, b != 0))
            case "fmod", [a, b]:
                return Read(a - b * self.quotient(a, b, towards_zero=True), z3.And(defined, b != 0))
            case "ceil", [a, b]:  # the least q with q >= a / b
                q = z3.FreshInt("q")
                least = z3.If(b > 0, z3.And(b * q >= a, b * (q - 1) < a), z3.And(b * q <= a, b * (q - 1) > a))
                self.facts.append(z3.Implies(b != 0, least))
                return Read(q, z3.And(defined, b != 0))
            case "divided", [a, b, n]:  # by recursion: of one time more, the quotient of one time less
                often = z3.Function("divided", *[z3.IntSort()] * 4)
                once = self.quotient(often(a, b, n - 1), b, towards_zero=False)
                self.facts.append(often(a, b, n) == z3.If(n <= 0, a, once))
                return Read(often(a, b, n), z3.And(defined, b >= 2))
            case "ite", [condition, a, b]:
                chosen = z3.If(condition, args[1].defined, args[2].defined)
                return Read(z3.If(condition, a, b), z3.And(args[0].defined, chosen))
            case "max" | "min", [*rest, last]:
                result = last
                for arg in reversed(rest):
                    result = z3.If(arg >= result if name == "max" else arg <= result, arg, result)
                return Read(result, defined)
            case "broadcast", sizes:
                fit = z3.And(*(z3.Or(a == b, a == 1, b == 1) for a, b in combinations(sizes, 2)))
                result = z3.IntVal(1)
                for size in sizes:
                    result = z3.If(size != 1, size, result)
                return Read(result, z3.And(defined, fit))
            case "holds", [formula]:
                return Read(z3.And(defined, formula))
            case "fails", [formula]:
                return Read(z3.And(defined, z3.Not(formula)))
            case "defined", [_]:
                return Read(defined)
            case "extends", [b, a]:
                return Read(z3.Implies(args[1].defined, z3.And(args[0].defined, a == b)))
        raise ValueError(f"no meaning for {name}")


def variables(rewrite: Rewrite) -> list[str]:
    return sorted(set(re.findall(r"\b[a-z]\b", f"{rewrite.before} {rewrite.after} {rewrite.when}")))


def check(rewrite: Rewrite, fixed: dict[str, int], timeout_ms: int) -> z3.CheckSatResult:
    """Satisfiable if, where the left side has a value, the right side has none or another."""
    reader = Reader(fixed)
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    before, after = reader.read(rewrite.before), reader.read(rewrite.after)
    when = reader.read(rewrite.when) if rewrite.when else Read(z3.BoolVal(True))
    solver.add(*reader.facts, before.defined, when.defined, when.value)
    solver.add(z3.Or(before.value != after.value, z3.Not(after.defined)))
    return solver.check()


def instances(rewrite: Rewrite) -> Iterator[dict[str, int]]:
    """Bindings of the factors: one of them at a time, then two, then all."""
    names = [name for name in variables(rewrite) if name in FACTORS]
    for values in product(INSTANCES, repeat=len(names)):
        yield dict(zip(names, values, strict=True))


def prove(rewrite: Rewrite) -> None:
    """Prove the statement for all integers, or for each instance of its factors where Z3 cannot."""
    answer = check(rewrite, {}, 300)
    if answer == z3.unknown:
        for fixed in instances(rewrite):
            answer = check(rewrite, fixed, 2_000)
            if answer == z3.unknown:
                raise Undecided(f"{rewrite} at {fixed}")
            if answer == z3.sat:
                break
    assert answer == z3.unsat, f"{rewrite.before} is not {rewrite.after} when {rewrite.when or 'defined'}"


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda r: f"{r.name}: {r.before} -> {r.after}")
def test_rewrite_holds_for_all_integers(rewrite: Rewrite) -> None:
    prove(rewrite)


@pytest.mark.parametrize(
    ("before", "after", "when"),
    [
        ("m * (a // m)", "a", ""),
        ("a // b", "trunc(a, b)", ""),
        ("a // b", "trunc(a, b)", "a >= 0"),
        ("(a * c) // c", "a + 1", ""),
        ("a // b", "(a * c) // (b * c)", ""),  # the right side is undefined at c == 0
        ("(x // y) // z", "x // (y * z)", ""),  # wrong for a negative z
        ("broadcast(a, b)", "max(a, b)", ""),
        ("ite(a == 1, b, a)", "broadcast(a, b)", ""),  # the right side has no value at a == 2, b == 3
        ("ite(x >= 0, A, B)", "B", "x < 0 or not defined(B) or A == B"),
        ("ite(x >= 0, ite(Y >= 0, A, B), C)", "ite(Y >= 0, A, ite(x >= 0, B, C))", "A == C"),
        ("s * A", "s * B", "s == 0 or A == B"),
        ("max(g * a, g * b)", "g * max(a, b)", ""),
        ("fmod(a, b)", "a % b", "b >= 1"),
        ("ceil(a, b)", "a // b + 1", ""),
        ("a + 0 * b // b", "a + 1", ""),
        ("2 * y + c >= 0", "y + trunc(c, 2) >= 0", ""),
        ("2 * y + 1 == 0", "True", ""),
    ],
)
def test_false_rewrite_is_refuted(before: str, after: str, when: str) -> None:
    with pytest.raises(AssertionError, match="is not"):
        prove(Rewrite("false", before, after, when))


def test_statement_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="no meaning"):
        prove(Rewrite("unreadable", "gcd(a, b)", "a", ""))


def test_every_rule_has_a_statement() -> None:
    rules = {rule.__name__.strip("_") for rule in (*division.FLOORDIV_RULES, *division.TRUNCDIV_RULES)}
    assert rules <= {rewrite.name for rewrite in REWRITES}


def test_every_statement_is_proved() -> None:
    declared = [
        (function.name.strip("_"), *ast.literal_eval(decorator.args[0]).split(" -> "))
        for path in sorted(Path(absint.lattices.__path__[0]).rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "states"
    ]
    assert sorted(declared) == sorted((r.name, r.before, r.after) for r in REWRITES)
