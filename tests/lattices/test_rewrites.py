"""Every rewrite that the constructors use, proved in Z3 over all integers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import z3

import absint.lattices
from absint.lattices.terms import division
from absint.lattices.terms.rewriting import Rewrite
from tests.lattices.rewrites import REWRITES

INSTANCES = (-7, -3, -2, -1, 0, 1, 2, 3, 7)
"""Values of one variable where arithmetic with a symbolic one is beyond Z3."""

FACTORS = "bckmngyz"
"""The variables that stand for divisors and multipliers, and so may be instantiated."""


class Undecided(Exception):  # noqa: N818
    """Z3 neither proved nor refuted the statement."""


class Reader:
    """A statement as Z3 terms. `defined` collects that no divisor is 0, `facts` the definitions of the quotients."""

    def __init__(self, fixed: dict[str, int]) -> None:
        self.fixed = fixed
        self.defined: list[z3.BoolRef] = []
        self.facts: list[z3.BoolRef] = []

    def read(self, text: str) -> z3.ExprRef:
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
        self.defined.append(b != 0)
        self.facts.append(z3.Implies(b != 0, z3.And(a == b * q + r, small, sign)))
        return q

    def term(self, node: ast.expr) -> z3.ExprRef:
        match node:
            case ast.Constant(value=bool(value)):
                return z3.BoolVal(value)
            case ast.Constant(value=int(value)):
                return z3.IntVal(value)
            case ast.Name(id=name):
                return z3.IntVal(self.fixed[name]) if name in self.fixed else z3.Int(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.term(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return z3.Not(self.term(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(op, self.term(left), self.term(right))
            case ast.BoolOp(op=op, values=values):
                return (z3.And if isinstance(op, ast.And) else z3.Or)(*map(self.term, values))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(op, self.term(left), self.term(right))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, [self.term(arg) for arg in args])
        raise ValueError(f"no meaning for {ast.unparse(node)}")

    def arithmetic(self, op: ast.operator, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        match op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.FloorDiv():
                return self.quotient(a, b, towards_zero=False)
            case ast.Mod():  # the remainder of the definition, with the sign of b
                return a - b * self.quotient(a, b, towards_zero=False)
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

    def call(self, name: str, args: list[z3.ExprRef]) -> z3.ExprRef:
        match name, args:
            case "trunc", [a, b]:
                return self.quotient(a, b, towards_zero=True)
            case "fmod", [a, b]:
                return a - b * self.quotient(a, b, towards_zero=True)
            case "ceil", [a, b]:  # the least q with q >= a / b
                q = z3.FreshInt("q")
                least = z3.If(b > 0, z3.And(b * q >= a, b * (q - 1) < a), z3.And(b * q <= a, b * (q - 1) > a))
                self.defined.append(b != 0)
                self.facts.append(z3.Implies(b != 0, least))
                return q
            case "ite", [condition, a, b]:
                return z3.If(condition, a, b)
            case "max" | "min" | "broadcast", [*rest, last]:
                result = last
                for arg in reversed(rest):
                    first = {"max": arg >= result, "min": arg <= result, "broadcast": arg != 1}[name]
                    result = z3.If(first, arg, result)
                return result
        raise ValueError(f"no meaning for {name}")


def variables(rewrite: Rewrite) -> list[str]:
    return sorted(set(re.findall(r"\b[a-z]\b", f"{rewrite.before} {rewrite.after} {rewrite.when}")))


def check(rewrite: Rewrite, fixed: dict[str, int], timeout_ms: int) -> z3.CheckSatResult:
    """True if some integers make the two sides differ. Divisors of the right side must be non-zero too."""
    reader = Reader(fixed)
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    before = reader.read(rewrite.before)
    defined = list(reader.defined)
    when = reader.read(rewrite.when) if rewrite.when else z3.BoolVal(True)
    after = reader.read(rewrite.after)
    solver.add(*reader.facts, *defined, when)
    solver.add(z3.Or(before != after, *(z3.Not(d) for d in reader.defined[len(defined) :])))
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
        ("broadcast(a, b)", "broadcast(b, a)", ""),
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
