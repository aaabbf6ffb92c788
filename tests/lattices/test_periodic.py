"""Functions of one symbol: their values, what follows for all values, and the forms that are chosen by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
import z3
from hypothesis import given, settings, strategies as st

from absint.lattices.logic.formula import relation_of
from absint.lattices.logic.relation import FALSE, TRUE, eq, ge, ite, le, ne
from absint.lattices.logic.solving import solved
from absint.lattices.terms.atoms import MAX_DIM
from absint.lattices.terms.expr import Dim, Expr, UndefinedError, const, integer_symbol, symbol
from absint.lattices.terms.normal import broadcast, floordiv, maximum, minimum, truncdiv
from absint.lattices.terms.periodic import Univariate, compared, extent, univariate
from absint.lattices.terms.polynomials import nonneg
from absint.lattices.terms.shortening import shortened
from absint.lattices.text import parse
from absint.solver.encode import Encoder
from tests import reference
from tests.effort import examples
from tests.reference import NoValueError, Tree

X, Y = symbol("X"), symbol("Y")
FOUR = integer_symbol("W", 4, MAX_DIM)
BOUNDS = [(0, MAX_DIM), (1, MAX_DIM), (4, MAX_DIM), (-7, MAX_DIM), (0, 1), (2, 9), (-3, None), (0, None)]

constants = st.tuples(st.just("const"), st.sampled_from([-12, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 8]))
leaves = constants | st.just(("symbol", "N"))


def grow(dims: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    divisions = st.tuples(st.sampled_from(["//", "%", "trunc", "fmod", "ceil"]), dims, constants)
    arithmetic = st.tuples(st.sampled_from("++--*"), dims, dims)
    extremes = st.tuples(st.sampled_from(["max", "min", "broadcast"]), dims, dims)
    relations = st.tuples(st.sampled_from(sorted(reference.COMPARISONS)), dims, dims)
    both = relations | st.tuples(st.sampled_from(["and", "or"]), relations, relations)
    return divisions | arithmetic | extremes | st.tuples(st.just("ite"), both, dims, dims)


trees = st.recursive(leaves, grow, max_leaves=12)
bounds = st.sampled_from(BOUNDS)


def places(lo: int, hi: int | None, telling: int) -> Iterator[int]:
    """Values of a symbol: the first ones, past what tells all others, and some far away."""
    for value in (*range(lo, lo + 50), *range(lo + telling - 3, lo + telling + 40), 997, 99_991, 1_000_003):
        if lo <= value and (hi is None or value <= hi):
            yield value


def of_tree(tree: Tree, limits: tuple[int, int | None]) -> Dim:
    return reference.build(tree, {"N": integer_symbol("N", *limits)})


@settings(max_examples=examples(100), deadline=None)
@given(trees, bounds)
def test_a_function_has_the_values_of_the_tree(tree: Tree, limits: tuple[int, int | None]) -> None:
    dim = of_tree(tree, limits)
    found = univariate(dim) if isinstance(dim, Expr) else None
    if found is None:
        return
    f = found.function
    for value in places(*limits, f.telling):
        try:
            expected = reference.value(tree, {"N": value})
        except NoValueError:
            continue
        turns = max((value - limits[0] - f.start) // f.period, 0)
        place = value - limits[0] - turns * f.period
        assert f.values(place, place + 1)[0] + turns * f.step == expected
        assert expected in found.extent


@settings(max_examples=examples(100), deadline=None)
@given(trees, bounds)
def test_the_shortest_form_has_the_values_of_the_tree(tree: Tree, limits: tuple[int, int | None]) -> None:
    dim = of_tree(tree, limits)
    if not isinstance(dim, Expr):
        return
    short = shortened(dim)
    assert isinstance(short, Expr)
    assert short.size <= dim.size
    for value in places(*limits, 100):
        try:
            expected = reference.value(tree, {"N": value})
        except NoValueError:
            continue
        assert short.evaluate({"N": value}) == expected


@settings(max_examples=examples(100), deadline=None)
@given(trees, bounds, st.sampled_from(["==", "!=", ">="]))
def test_a_solution_holds_where_the_comparison_does(tree: Tree, limits: tuple[int, int | None], op: str) -> None:
    dim = of_tree(tree, limits)
    if not isinstance(dim, Expr) or (answer := solved(op, dim)) is None or not isinstance(answer[1], Expr):
        return
    simple, plain = relation_of(answer[0], answer[1]), relation_of(op, dim)
    for value in places(*limits, 100):
        assert simple.evaluate({"N": value}) == plain.evaluate({"N": value})


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(st.tuples(trees, st.sampled_from([-2, -1, 1, 3])), min_size=2, max_size=3), st.booleans(), bounds)
def test_bounds_of_several_symbols_hold(parts: list[tuple[Tree, int]], product: bool, limits: tuple[int, int]) -> None:
    total: Dim = const(1 if product else 0)
    for name, (tree, coef) in zip("NMK", parts, strict=False):
        part = reference.build(tree, {"N": integer_symbol(name, *limits)})
        total = total * part if product else total + coef * part
    if not isinstance(total, Expr):
        return
    for n, m in [(0, 0), (1, 0), (0, 3), (5, 2), (7, 7), (30, 11), (4, 97)]:
        binding = {"N": limits[0] + n, "M": limits[0] + m, "K": limits[0] + n + m}
        if limits[1] is None or max(binding.values()) <= limits[1]:
            with suppress(UndefinedError):
                assert total.evaluate({name: binding[name] for name in total.free_symbols}) in extent(total)


SHORTER = [
    (X // 4 - X // 8, "(X + 4)//8"),
    ((X + 1) // 2 - (X + 1) // 4, "(X + 3)//4"),
    (X // 2 - X // 3 - X // 6, None),
    (floordiv(X // 4 - X // 8 + 3, 4), "(X + 28)//32"),
    (maximum(floordiv(X + 2, 4), 1) - floordiv(X + 2, 4), None),
    (Y * (X // 4 - X // 8) + Y, None),
    (floordiv(X // 4 - X // 8, 5), "(X + 4)//40"),
    (minimum(X // 3, maximum(X // 4, X // 5)), "X//4"),
    (ite(ge(X // 4 - X // 8, 1), X // 4 - X // 8, 0), "(X + 4)//8"),
    (broadcast(Y, X // 4 - X // 8), "broadcast(Y, (X + 4)//8)"),
    (truncdiv(X - 4, 2) - truncdiv(X - 4, 4) + maximum(X // 4 - X // 8, 1), None),
]


@pytest.mark.parametrize(("dim", "text"), SHORTER, ids=[str(dim) for dim, _ in SHORTER])
def test_shorter_forms_are_found_and_proved(dim: Dim, text: str | None) -> None:
    assert isinstance(dim, Expr)
    short = shortened(dim)
    assert isinstance(short, Expr)
    if text is not None:
        assert short is parse(text)
    encoder, solver = Encoder(), z3.Solver()
    solver.add(encoder.dim(dim) != encoder.dim(short))
    solver.add(*encoder.side_conditions(), encoder.integer("Y") >= 1)
    assert solver.check() == z3.unsat


DECIDED = [
    (X // 4 - X // 8, "==", "X <= 3"),
    (X // 4 - X // 8 - 1, ">=", "X >= 4"),
    (FOUR // 4 - FOUR // 8, "==", "false"),
    (X // 4 - X // 8, ">=", "true"),
    (X // 4 + X // 6 - X // 3 + 1, ">=", "true"),
    (maximum(X // 4, 2) - X // 3, "!=", None),
    (minimum(X // 2, 7) - X // 3, "==", None),
    (X - 3 * (X // 4) - 5, ">=", None),
    (X - 4 * (X // 4), "==", "X % 4 == 0"),
]


@pytest.mark.parametrize(("dim", "op", "text"), DECIDED, ids=[f"{dim} {op} 0" for dim, op, _ in DECIDED])
def test_comparisons_are_solved_and_proved(dim: Dim, op: str, text: str | None) -> None:
    assert isinstance(dim, Expr)
    made = {"==": eq, "!=": ne, ">=": ge}[op](dim, 0)
    if text is not None:
        assert str(made) == text
    encoder, solver = Encoder(), z3.Solver()
    solver.add(encoder.relation(made) != encoder.relation(relation_of(op, dim)))
    solver.add(*encoder.side_conditions())
    assert solver.check() == z3.unsat


def test_what_one_symbol_decides_alone_is_decided_beside_others() -> None:
    heights, widths = X // 4 - X // 8, FOUR // 4 - FOUR // 8
    assert nonneg(heights + widths - 1)
    assert not nonneg(heights + widths - 2)
    assert nonneg(Y * widths - Y)
    assert not nonneg(Y * widths - 2 * Y)
    assert le(Y + heights, Y + heights + widths - 1) is TRUE
    assert eq(widths + Y, Y) is FALSE
    assert floordiv((X + 3) % 4 + 24, 28) is const(0)


def test_a_period_too_long_is_left_alone() -> None:
    assert univariate((X // 1009) - (X // 1013)) is None
    assert shortened(X // 1009 - X // 1013) is X // 1009 - X // 1013


def test_a_condition_that_repeats_has_no_solution() -> None:
    found = univariate(X - 4 * (X // 4))
    assert found is not None
    truth = compared("==", found.function)
    assert truth is not None
    assert Univariate(found.symbol, truth).where() is None
