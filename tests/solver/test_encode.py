"""Z3 terms mean what evaluation says."""

from __future__ import annotations

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from lattices.expr import UndefinedError
from lattices.relation import eq
from lattices.text import parse, parse_relation
from solver.encode import Encoder

TEXTS = [
    "N + 2*M - 3",
    "(N - 7)//3 + N*M",
    "truncdiv(N - 9, 4)",
    "truncdiv(N - 9, M - 3)",
    "(N - 5)//(M - 4)",
    "max(N, M - 2, 3) - min(N, M)",
    "broadcast(N, M)",
    "ite(N >= M, N - M, 2*M)",
    "(3*N - 2*M) % 5",
]


@settings(max_examples=60)
@given(st.sampled_from(TEXTS), st.integers(0, 12), st.integers(0, 12))
def test_a_term_has_the_value_of_the_expression(text: str, n: int, m: int) -> None:
    dim = parse(text)
    encoder = Encoder()
    term = z3.simplify(z3.substitute(encoder.dim(dim), (z3.Int("N"), z3.IntVal(n)), (z3.Int("M"), z3.IntVal(m))))
    try:
        value = dim.evaluate({"N": n, "M": m})
    except UndefinedError:
        return
    assert term.as_long() == value


def test_relations_and_side_conditions_decide() -> None:
    encoder = Encoder()
    solver = z3.Solver()
    solver.add(encoder.relation(parse_relation("N % 4 == 0 and N >= 1")))
    solver.add(z3.Not(encoder.relation(eq(parse("4*(N//4)"), parse("N")))))
    solver.add(*encoder.side_conditions())
    assert solver.check() == z3.unsat


def test_a_quotient_in_a_branch_proves_nothing_about_its_divisor() -> None:
    encoder = Encoder()
    solver = z3.Solver()
    solver.add(encoder.dim(parse("ite(N >= 1, M//N, 0)")) == 0, z3.Int("N") == 0)
    solver.add(*encoder.side_conditions())
    assert solver.check() == z3.sat
