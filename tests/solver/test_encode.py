"""Z3 terms and the SMT-LIB text mean what evaluation says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import z3
from hypothesis import given, settings, strategies as st

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, eq, ge
from absint.lattices.terms.evaluation import is_any_function
from absint.lattices.terms.expr import Dim, Expr, UndefinedError, integer_symbol
from absint.lattices.text import parse, parse_relation
from absint.solver.constraints import Constraint, ConstraintSet, Origin
from absint.solver.encode import Encoder
from absint.solver.smtlib import Script, quote
from tests import reference
from tests.effort import examples
from tests.lattices.test_expr_fuzz import FIXED, bindings, relations, trees
from tests.reference import Tree

TEXTS = [
    "N + 2*M - 3",
    "(N - 7)//3 + N*M",
    "truncdiv(N - 9, 4)",
    "truncdiv(N - 9, M - 3)",
    "truncdiv(N, M - 3)",
    "(N - 5)//(M - 4)",
    "N//M + M//N",
    "max(N, M - 2, 3) - min(N, M)",
    "broadcast(N, M)",
    "broadcast(N, M, N*M)",
    "ite(N >= M, N - M, 2*M)",
    "ite(N >= 1, M//N, -1)",
    "(3*N - 2*M) % 5",
]


class Outputs:
    """A dim in both outputs, as the integer `out` of two Z3 solvers."""

    def __init__(self, dim: Dim) -> None:
        out = z3.Int("out")
        self.terms = z3.Solver()
        encoder = Encoder()
        self.terms.add(encoder.dim(dim) == out, *encoder.side_conditions())
        self.text = z3.Solver()
        script = Script()
        term = script.dim(dim)
        self.text.from_string(f"{script.text}\n(declare-const out Int)\n(assert (= out {term}))")

    def allow(self, binding: Mapping[str, int], value: int) -> list[bool]:
        """The answer of each output: the dim may have the value there."""
        fixed = [z3.Int(quote(name).strip("|")) == size for name, size in binding.items()]
        return [solver.check(*fixed, z3.Int("out") == value) == z3.sat for solver in (self.terms, self.text)]


@settings(max_examples=examples(60))
@given(st.sampled_from(TEXTS), st.integers(0, 12), st.integers(0, 12))
def test_a_term_has_the_value_of_the_expression_and_no_other(text: str, n: int, m: int) -> None:
    dim = parse(text)
    binding = {"N": n, "M": m}
    outputs = Outputs(dim)
    try:
        value = dim.evaluate(binding)
    except UndefinedError:
        if "broadcast" in text:  # the solvers read one that has no value as a total function
            assert [True, True] in [outputs.allow(binding, size) for size in (n, m, n * m)]
            return
        assert [outputs.allow(binding, any_number) for any_number in (-1000, 0, 1000)] == [[True, True]] * 3
        return
    assert outputs.allow(binding, value) == [True, True]
    for other in (value - 1, value + 1, -value or 5):
        assert outputs.allow(binding, other) == [False, False]


@settings(max_examples=examples(150))
@given(trees, bindings)
def test_random_terms_have_their_values(tree: Tree, some: list[dict[str, int]]) -> None:
    dim = reference.build(tree)
    if not isinstance(dim, Expr) or is_any_function(dim):
        return
    outputs = Outputs(dim)
    for binding in FIXED + some[:3]:
        try:
            value = dim.evaluate(binding)
        except UndefinedError:
            continue
        assert outputs.allow(binding, value) == [True, True]
        assert outputs.allow(binding, value + 1) == [False, False]


@settings(max_examples=examples(150))
@given(relations(trees), bindings)
def test_random_relations_have_their_truths(tree: Tree, some: list[dict[str, int]]) -> None:
    relation = reference.build_relation(tree)
    if relation is UNKNOWN_RELATION or is_any_function(relation):
        return
    encoder, script = Encoder(), Script()
    formula = encoder.relation(relation)
    terms, text = z3.Solver(), z3.Solver()
    terms.add(formula, *encoder.side_conditions())
    script.add(relation, "it")
    text.from_string(script.text)
    for binding in FIXED + some[:3]:
        try:
            truth = relation.evaluate(binding)
        except UndefinedError:
            continue
        fixed = [z3.Int(name) == value for name, value in binding.items()]
        assert [solver.check(*fixed) == z3.sat for solver in (terms, text)] == [truth, truth]


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


ZERO = "M == 0 and K == 0 and "


@pytest.mark.parametrize(
    "text",
    [
        ZERO + "N//M == 5 and N//K == 7",
        ZERO + "truncdiv(N - 9, M) == -5 and truncdiv(N - 9, K) == 7",
        ZERO + "(N - 9)//M >= 1 and (N - 9)//K <= -1",
        ZERO + "N//M != N//K",
        "N % M >= M and N % M >= 1",
        "N//M*K >= 7*N + 1 and K == 7",
    ],
)
def test_a_quotient_by_zero_is_any_number(text: str) -> None:
    relation = parse_relation(text)
    assert decided(relation) == [z3.sat, z3.sat]
    assert decided(conjoined := relation & ge(parse("M"), 1)) == [z3.unsat, z3.unsat], conjoined


def decided(relation: Relation) -> list[z3.CheckSatResult]:
    """The answer of each output: the relation can hold."""
    terms, text = z3.Solver(), z3.Solver()
    encoder, script = Encoder(), Script()
    terms.add(encoder.relation(relation), *encoder.side_conditions())
    script.add(relation)
    text.from_string(script.text)
    return [terms.check(), text.check()]


def test_quotients_of_two_encoders_are_apart() -> None:
    solver = z3.Solver()
    for text, value in (("N//M", 1), ("K//M", 2)):
        encoder = Encoder()
        solver.add(encoder.dim(parse(text)) == value, *encoder.side_conditions())
    assert solver.check() == z3.sat


def test_symbols_have_their_own_names() -> None:
    encoder, solver = Encoder(), z3.Solver()
    for size, name in enumerate(("div", "a|b", "past seq", "größe")):
        solver.add(encoder.relation(eq(integer_symbol(name), size)), encoder.integer(name) != size)
        assert solver.check() == z3.unsat
        solver.reset()


def test_symbols_of_one_name_have_the_widest_of_their_bounds() -> None:
    encoder = Encoder()
    for lo, hi in ((3, 5), (0, 4)):
        encoder.dim(integer_symbol("N", lo, hi))
    solver = z3.Solver()
    solver.add(*encoder.side_conditions())
    assert [solver.check(encoder.integer("N") == n) == z3.sat for n in range(-1, 7)] == [False, *[True] * 6, False]


def test_constraints_become_implications_with_names() -> None:
    origin = Origin(3, "", "pool", "MaxPool", "y")
    fits = Constraint(parse_relation("H >= 7"), parse_relation("flag == 1"), origin, "required", "the window fits")
    even = Constraint(parse_relation("H % 2 == 0"), TRUE, origin, "required", "even")
    lost = Constraint(UNKNOWN_RELATION, TRUE, origin, "required", "unknown")
    encoder = Encoder()
    formulas = encoder.constraints(ConstraintSet([fits, lost, even]))
    assert list(formulas) == ["c0", "c2"]
    solver = z3.Solver()
    for name, formula in formulas.items():
        solver.assert_and_track(formula, name)
    solver.add(*encoder.side_conditions(), encoder.integer("H") == 4)
    assert solver.check() == z3.sat
    assert solver.check(encoder.integer("flag") == 1) == z3.unsat
    assert sorted(str(name) for name in solver.unsat_core()) == ["c0", "flag == 1"]
    assert encoder.constraint(fits).eq(formulas["c0"])


def test_what_is_unknown_has_no_term() -> None:
    for output in (Encoder(), Script()):
        with pytest.raises(ValueError, match="unknown dim has no term"):
            output.dim(Dim(None))
        with pytest.raises(ValueError, match="unknown dim has no formula"):
            output.relation(UNKNOWN_RELATION)
    assert decided(FALSE) == [z3.unsat, z3.unsat]
    assert decided(TRUE) == [z3.sat, z3.sat]
