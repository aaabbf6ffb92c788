"""Every fact of a small world: what is learnt from it holds at each of its sizes, the ones on the edge too."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache, reduce
from itertools import product

import pytest

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import NO, YES
from absint.lattices.terms.evaluation import values_of
from absint.lattices.terms.expr import Expr
from tests import reference
from tests.reference import Tree

WORLD = [{"N": n, "M": m, "I": i} for n, m, i in product(range(7), range(5), range(-4, 5))]

COEFFICIENTS = (-3, -2, -1, 1, 2, 3)
N, M, I = (("symbol", name) for name in "NMI")  # noqa: E741


def number(value: int) -> Tree:
    return ("const", value)


def line(*terms: tuple[int, Tree]) -> Tree:
    """A sum of multiples of symbols."""
    total, *rest = (("*", number(factor), symbol) for factor, symbol in terms)
    for term in rest:
        total = ("+", total, term)
    return total


def against(op: str, terms: Tree, constant: int) -> Tree:
    return (op, terms, number(constant))


BOUNDS = [[against(op, line((a, s)), c)] for op in (">=", "==", "!=") for a in COEFFICIENTS for s in (N, I)
          for c in range(-7, 8)]  # fmt: skip
ENDS = [[against(">=", N, low), against("!=", N, gap), against("<=", N, high)]
        for low, gap, high in product(range(3), range(7), range(4, 7))]  # fmt: skip
EQUALITIES = [[against("==", line((a, x), (b, y)), c)] for a, b in product(COEFFICIENTS, repeat=2)
              for x, y in ((N, M), (N, I)) for c in range(-3, 4)]  # fmt: skip
SETS = [[("or", against("==", s, a), against("==", s, b))] for s in (N, I) for a in range(-2, 6) for b in range(7)]
SUMS = [line((a, N), (b, I)) for a, b in ((1, 0), (-1, 0), (2, 0), (3, 0), (0, 1), (1, 1))]
REMAINDERS = [[against("==", ("%", total, number(m)), r)] for total in SUMS for m in range(2, 7) for r in range(m)]
PRODUCTS = [[against(">=", ("*", a, b), c)] for a, b in ((N, M), (N, I), (I, I)) for c in range(-2, 5)]
FACTS = {"bounds": BOUNDS, "ends": ENDS, "equalities": EQUALITIES, "sets": SETS, "remainders": REMAINDERS,
         "products": PRODUCTS}  # fmt: skip

QUESTIONS = [against(op, s, c) for op in (">=", "==") for s in (N, M, I) for c in range(-2, 6)]
QUESTIONS += [against("==", ("%", N, number(m)), r) for m in (2, 3, 4) for r in range(m)]
QUESTIONS += [against("==", line((1, N), (-2, M)), 0), ("and", against("!=", N, 3), against(">=", N, 2))]

DIMS = [line((1, N), (2, M)), ("max", N, number(3)), ("min", I, M), ("+", ("//", ("+", N, I), number(2)), M)]
DIMS += [("*", number(k), ("//", N, number(m))) for k in (1, 2, 3, 4, 6) for m in (2, 3, 4)]
DIMS += [("//", ("+", N, number(c)), number(m)) for c in (-1, 1, 2) for m in (2, 3, 4)]


def names_in(tree: object) -> frozenset[str]:
    """The symbols of a tree."""
    if not isinstance(tree, tuple):
        return frozenset()
    return frozenset({tree[1]}) if tree[0] == "symbol" else frozenset().union(*map(names_in, tree[1:]))


def over(names: frozenset[str], where: int) -> list[dict[str, int]]:
    """The sizes of these symbols alone at the places of the world."""
    found = {tuple(at[name] for name in names): at for place, at in enumerate(WORLD) if where >> place & 1}
    return list(found.values())


EVERYWHERE = (1 << len(WORLD)) - 1


@cache
def places(tree: Tree) -> int:
    """The places of the world where a relation holds, as bits."""
    names = sorted(names_in(tree))
    truths = {tuple(at[n] for n in names): reference.truth(tree, at) for at in over(frozenset(names), EVERYWHERE)}
    return sum(1 << place for place, at in enumerate(WORLD) if truths[tuple(at[n] for n in names)])


BUILT = [(tree, reference.build_relation(tree)) for tree in QUESTIONS]
BUILT_DIMS = [(tree, reference.build(tree)) for tree in DIMS]


def check(given: Sequence[Tree]) -> None:
    """Everything that is learnt holds wherever all of these do."""
    where = reduce(operator.and_, map(places, given))
    facts = Facts([reference.build_relation(tree) for tree in given])
    assert not (facts.contradiction and where), given
    if not where:
        return
    for symbol, learnt in facts.mapping.items():
        assert isinstance(learnt, Expr)
        for at in over(learnt.free_symbols | {symbol.name}, where):
            assert at[symbol.name] in learnt.bounds, (given, symbol, learnt.bounds, at)
            assert value_of(learnt, at) == at[symbol.name], (given, symbol, learnt, at)
    for question, relation in BUILT:
        answer = facts.decide(relation)
        assert answer is not YES or not where & ~places(question), (given, question, answer)
        assert answer is not NO or not where & places(question), (given, question, answer)
    for tree, dim in BUILT_DIMS:
        simple = facts.simplify(dim)
        if simple is not dim:
            assert isinstance(simple, Expr)
            for at in over(names_in(tree) | simple.free_symbols, where):
                assert value_of(simple, at) == reference.value(tree, at), (given, dim, simple, at)


def value_of(e: Expr, at: dict[str, int]) -> int:
    """The value of an expression, which may be below 0."""
    return e.value(values_of(e, at))


@pytest.mark.parametrize("kind", FACTS)
def test_what_is_learnt_holds(kind: str) -> None:
    for given in FACTS[kind]:
        check(given)
