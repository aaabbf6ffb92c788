"""Random trees through the constructors, compared with their plain meaning at many bindings."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices.logic import comparisons, relation
from absint.lattices.logic.formula import FALSE, TRUE, UNKNOWN_RELATION, conjunction, disjunction
from absint.lattices.logic.relation import boolean, eq, ge, gt, ite, le, lt, ne
from absint.lattices.terms import atoms, expr as ex, intern, normal, polynomials
from absint.lattices.terms.expr import Dim, Expr, UndefinedError, Unknown, const, integer_symbol, symbol
from absint.lattices.terms.interval import Congruence, Interval
from absint.lattices.terms.normal import broadcast, ceildiv, floordiv, fmod, maximum, minimum, truncdiv
from absint.lattices.terms.polynomials import nonneg
from tests import reference
from tests.effort import examples
from tests.reference import NoValueError, Tree

N, M, K, A, X = (symbol(name) for name in "NMKAX")
I, J = integer_symbol("I"), integer_symbol("J")  # noqa: E741

constants = st.sampled_from([-12, -6, -4, -3, -2, -1, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 12])
leaves = st.tuples(st.just("const"), constants) | st.tuples(st.just("symbol"), st.sampled_from("NNMKIJ"))


def relations(dims: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    comparison = st.tuples(st.sampled_from(sorted(reference.COMPARISONS)), dims, dims)
    base = comparison | st.tuples(st.just("boolean"), st.sampled_from("FG"))
    negated = base | st.tuples(st.just("not"), base)
    return negated | st.tuples(st.sampled_from(["and", "or", "implies"]), negated, negated)


def grow(dims: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    divisions = st.tuples(st.sampled_from(sorted(reference.DIVISIONS)), dims, leaves | dims)
    arithmetic = st.tuples(st.sampled_from("++--*"), dims, dims)
    choice = st.sampled_from(["max", "min", "broadcast"])
    extremes = st.tuples(choice, dims, dims) | st.tuples(choice, dims, dims, dims)
    repeated = st.tuples(st.just("divided"), dims, st.sampled_from([("const", 2), ("const", 3)]), dims)
    return divisions | repeated | arithmetic | extremes | st.tuples(st.just("ite"), relations(dims), dims, dims)


trees = st.recursive(leaves, grow, max_leaves=14)
sizes = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 6, 7, 12])
integers = st.sampled_from([-7, -6, -4, -3, -2, -1, 0, 1, 2, 3, 5])
bindings = st.lists(
    st.fixed_dictionaries(
        {**dict.fromkeys("NMK", sizes), **dict.fromkeys("IJ", integers), **dict.fromkeys("FG", st.integers(0, 1))}
    ),
    min_size=4,
    max_size=10,
)
FIXED = [
    dict.fromkeys("NMKIJFG", 0),
    dict.fromkeys("NMKIJFG", 1),
    {"N": 5, "M": 5, "K": 7, "I": -5, "J": 5, "F": 1, "G": 0},
    {"N": 6, "M": 1, "K": 1, "I": -1, "J": -4, "F": 0, "G": 1},
]


def defined(tree: Tree, some: list[dict[str, int]]) -> Iterator[tuple[dict[str, int], int]]:
    """The bindings at which every part of the tree has a value, with that of the whole."""
    for binding in some:
        try:
            yield binding, reference.value(tree, binding)
        except NoValueError:
            continue


@settings(max_examples=examples(800))
@given(trees, bindings)
def test_normal_form_means_what_the_tree_means(tree: Tree, some: list[dict[str, int]]) -> None:
    dim = reference.build(tree)
    natural = nonneg(dim)
    for binding, value in defined(tree, FIXED + some):
        assert value in dim.bounds
        assert value in dim.congruence
        assert value >= 0 or not natural
        if isinstance(dim, Expr):
            assert dim.evaluate(binding) == value


@settings(max_examples=examples(300))
@given(trees, bindings, st.sets(st.sampled_from("NMKIJ")))
def test_substitution_commutes_with_evaluation(tree: Tree, some: list[dict[str, int]], names: set[str]) -> None:
    dim = reference.build(tree)
    if not isinstance(dim, Expr):
        return
    for binding, value in defined(tree, FIXED + some[:4]):
        partly = dim.substitute({name: binding[name] for name in names})
        if isinstance(partly, Expr):  # else a divisor became 0 in an operand that the normal form dropped
            assert partly.free_symbols <= dim.free_symbols - names
            assert partly.evaluate(binding) == value
        else:
            assert value in partly.bounds


@settings(max_examples=examples(200))
@given(trees, trees, bindings)
def test_substituted_expression(tree: Tree, other: Tree, some: list[dict[str, int]]) -> None:
    dim, put = reference.build(tree), reference.build(other)
    if not isinstance(dim, Expr):
        return
    result = dim.substitute({"I": put})
    for binding, inner in defined(other, FIXED + some):
        for _, value in defined(tree, [{**binding, "I": inner}]):
            assert value in result.bounds
            if isinstance(result, Expr):
                assert result.evaluate(binding) == value


@settings(max_examples=examples(400))
@given(relations(trees), bindings)
def test_relation_means_what_python_means(tree: Tree, some: list[dict[str, int]]) -> None:
    built = reference.build_relation(tree)
    assert ~~~built is ~built
    if built is UNKNOWN_RELATION:
        return
    for binding in FIXED + some:
        try:
            truth = reference.truth(tree, binding)
        except NoValueError:
            continue
        assert built.evaluate(binding) is truth
        assert (~built).evaluate(binding) is not truth


@settings(max_examples=examples(300))
@given(trees, bindings)
def test_unknown_operand_gives_sound_bounds(tree: Tree, some: list[dict[str, int]]) -> None:
    hidden = Unknown(Interval(0, 12), Congruence.of(1, 0))
    dim = reference.build(tree, {"N": hidden, "I": Unknown(Interval(-7, 5))})
    for _, value in defined(tree, FIXED + some):
        assert value in dim.bounds
        assert value in dim.congruence


@settings(max_examples=examples(200))
@given(trees, trees, trees)
def test_order_does_not_matter(first: Tree, second: Tree, third: Tree) -> None:
    a, b, c = (reference.build(tree) for tree in (first, second, third))
    assert a + b is b + a
    assert a * b is b * a
    assert maximum(a, b) is maximum(b, a)
    assert broadcast(a, b) is broadcast(b, a)
    if all(isinstance(dim, Expr) for dim in (a, b, c)):
        assert (a + b) + c is a + (b + c)
        assert a * (b + c) is a * b + a * c
        assert a - a is const(0)
        assert broadcast(broadcast(a, b), c) is broadcast(a, broadcast(b, c))


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (N + M - M, N),
        (2 * N // 2, N),
        (1024 * A // 2, 512 * A),
        (M + A, A + M),
        (N - 0, N),
        (N * 1, N),
        (0 + A, A),
        (truncdiv(X, 1), X),
        (X * 0, const(0)),
        (truncdiv((N + 2) - 1, 2), (N + 1) // 2),
        ((N * M) // M, N),
        ((4 * N + 3) // 4, N),
        ((N // 2) // 3, N // 6),
        ((-N) // 2, -((N + 1) // 2)),
        (ceildiv(N, 2), (N + 1) // 2),
        (N % 1, const(0)),
        ((3 * N) % 3, const(0)),
        ((N % 2) // 2, const(0)),
        (fmod(N, 3), N % 3),
        (maximum(N, 0), N),
        (maximum(N, M, N), maximum(M, N)),
        (minimum(N, N + 1), N),
        (maximum(N + 1, M + 1, 1) - 1, maximum(N + 1, M + 1, 1) + (-1)),
        (broadcast(N, 1), N),
        (broadcast(N, N), N),
        (broadcast(N, 64), const(64)),
        (broadcast(N, 0), const(0)),
        (broadcast(broadcast(N, M), K), broadcast(K, N, M)),
        (ite(ge(N, 3), M, M), M),
        (ite(ge(N, 3), M, K), ite(lt(N, 3), K, M)),
        (truncdiv(N // M, K), (N // M) // K),
    ],
)
def test_one_form(dim: Dim, expected: Dim) -> None:
    assert dim is expected


def test_forms_that_stay() -> None:
    assert 2 * (N // 2) is not N
    assert N * (M // N) is not M
    assert 4 * ((N + 3) // 4) is not N + 3
    assert maximum(N, 1) is not N
    assert maximum(0, 1) == 1
    assert broadcast(0, 1) == 0


def test_relations_have_one_form() -> None:
    assert le(N + 1, M) is lt(N, M)
    assert ge(2 * N, 3) is ge(N, 2)
    assert eq(N, M) is eq(2 * M, 2 * N)
    assert eq(2 * N, 3) is FALSE
    assert ne(2 * N, 3) is TRUE
    assert ge(N, 0) is TRUE
    assert gt(0, N) is FALSE
    assert conjunction(ge(N, 2), lt(N, 2)) is FALSE
    assert disjunction(ge(N, 2), lt(N, 2)) is TRUE
    assert eq(N, Unknown()) is UNKNOWN_RELATION


def test_symbols_of_one_name_and_different_bounds_differ() -> None:
    narrow = ex.integer_symbol("N", 1, 5)
    assert narrow is not N
    assert narrow * N is N * narrow
    assert narrow * N - N * narrow is const(0)
    odd = symbol("a*0b")
    assert odd * (symbol("a") * symbol("b")) is (symbol("b") * odd) * symbol("a")


def test_evaluation_names_what_is_wrong() -> None:
    dim = N // M
    assert isinstance(dim, Expr)
    with pytest.raises(KeyError, match="M"):
        dim.evaluate({"N": 3})
    with pytest.raises(ValueError, match="cannot be -1"):
        dim.evaluate({"N": -1, "M": 2})
    with pytest.raises(ValueError, match="between 1 and 5"):
        ex.integer_symbol("P", 1, 5).evaluate({"P": 6})
    with pytest.raises(UndefinedError):
        dim.evaluate({"N": 1, "M": 0})
    chosen = ite(boolean("flag"), N, 0)
    assert chosen.free_symbols == {"N", "flag"}
    assert chosen.evaluate({"N": 3, "flag": 1, "unneeded": 9}) == 3
    with pytest.raises(KeyError, match="flag"):
        chosen.evaluate({"N": 3})


def test_unknown_arithmetic() -> None:
    even = Unknown(Interval(0, 10), Congruence.of(2, 0))
    assert even * 0 is const(0)
    assert 0 * even is const(0)
    assert 0 // even is const(0)
    assert (even + 1).bounds == Interval(1, 11)
    assert (even + 1).congruence == Congruence.of(2, 1)
    assert even + 0 is even
    assert maximum(even, 4).bounds == Interval(4, 10)
    assert broadcast(even, 4) is const(4)
    assert broadcast(even, 1).bounds == Interval(0, 10)
    assert ite(ge(N, 1), even, 3).bounds == Interval(0, 10)
    condition = ite(eq(N, 3), M, K)
    assert isinstance(condition, Expr)
    assert condition.substitute({"N": even}).is_unknown


def test_always_zero_symbol_ends() -> None:
    zero = ex.integer_symbol("Z", 0, 0)
    assert truncdiv(zero, J) is const(0)
    assert truncdiv(J, zero).is_unknown
    assert floordiv(zero, J).bounds == Interval(0, 0)


def test_over_budget_is_unknown_with_bounds() -> None:
    wide: Dim = const(0)
    for i in range(ex.MAX_TERMS + 1):
        wide = wide + symbol(f"s{i}")
    assert wide.is_unknown
    assert wide.bounds.lo == 0
    power: Dim = N
    for _ in range(8):
        power = power * power
    assert power.is_unknown
    assert power.bounds.lo == 0
    huge: Dim = N * 3
    for _ in range(60):
        huge = huge * huge
    number: Dim = const(3)
    for _ in range(60):
        number = number * number
    assert number.is_unknown
    assert number.bounds.lo is not None
    total: Dim = const(0)
    for i in range(40):
        total = maximum(total + symbol(f"s{i}") // M, total * 2 - K)
    assert total.is_unknown
    assert maximum(*(symbol(f"s{i}") * K for i in range(1000))).is_unknown


def test_widest_relation_can_be_negated() -> None:
    wide: Dim = const(0)
    for i in range(ex.MAX_TERMS):
        wide = wide + symbol(f"s{i}") * (-1) ** i
    assert not wide.is_unknown
    assert ~ge(wide, 0) is UNKNOWN_RELATION
    assert ~~ge(wide - symbol("s0"), 0) is ge(wide - symbol("s0"), 0)


DEPTHS = {
    "floordiv": 10_000,
    "broadcast": 10_000,
    "constants": 10_000,
    "negative": 2_000,
    "trunc": 2_000,
    "max": 2_000,
    "ite": 2_000,
}
"""Far beyond Python's recursion limit; the deepest only where a level is cheap."""


def deep(kind: str) -> Dim:
    dim: Dim = N + J
    for i in range(DEPTHS[kind]):
        if kind == "floordiv":
            dim = (dim + i % 7) // M
        elif kind == "constants":
            dim = (dim + 1) // 3
        elif kind == "negative":
            dim = (5 - dim) // 2
        elif kind == "trunc":
            dim = truncdiv(J - dim, 3)
        elif kind == "max":
            dim = maximum(dim // M, K) - 1
        elif kind == "broadcast":
            dim = broadcast(dim + 1, M)
        else:
            dim = ite(ge(dim, i % 5), M, K) - i % 3
    return dim


@pytest.mark.parametrize("kind", DEPTHS)
def test_deep_nests(kind: str) -> None:
    dim = deep(kind)
    if isinstance(dim, Expr):
        assert dim.free_symbols <= {"N", "M", "K", "J"}
        dim.evaluate({"N": 7, "M": 1, "K": 3, "J": -5})
        dim.substitute({"N": M + 1})
        dim.substitute({"N": Unknown()})
        assert copy.deepcopy(dim) is dim
    nonneg(dim - 3)


def test_deep_relation() -> None:
    whole = ge(N, 3)
    for i in range(1000):
        whole = disjunction(conjunction(whole, ne(N, i + 5)), eq(M, i))
        whole = conjunction(disjunction(whole, ne(K, i + 5)), ge(J, i))
    assert whole.evaluate({"N": 5, "M": 0, "K": 1, "J": 9999}) is True
    assert (~whole).evaluate({"N": 5, "M": 0, "K": 1, "J": 9999}) is False
    assert whole.free_symbols == {"N", "M", "K", "J"}
    shared = ge(N, 3)
    for i in range(60):
        shared = disjunction(conjunction(shared, ne(M, i)), conjunction(shared, eq(K, i)))
    assert shared.evaluate({"N": 5, "M": 99, "K": 1}) is True


def test_dead_expressions_are_released() -> None:
    def populate() -> None:
        for i in range(500):
            dim: Dim = symbol(f"gone{i}")
            for _ in range(12):
                dim = (dim + 1) // symbol("gone")
            assert not dim.is_unknown

    forget()
    before = len(ex._EXPRS) + len(atoms._ATOMS)
    populate()
    assert len(ex._EXPRS) + len(atoms._ATOMS) > before + 5000
    forget()
    assert len(ex._EXPRS) + len(atoms._ATOMS) < before + 500


def forget() -> None:
    for module in (ex, comparisons, normal, relation, polynomials):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
    gc.collect()
    intern.release()


def test_interning_from_many_threads() -> None:
    results: list[list[Dim]] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        results.append([maximum((N + i) // (M + i), K * i) + ex.symbol(f"t{i}") for i in range(300)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(a is b for result in results for a, b in zip(results[0], result, strict=True))


@pytest.mark.parametrize(
    "value", [N, const(3), Unknown(Interval(1, 2)), N // M + 1, ite(boolean("flag"), N, M), ge(N, 3) | ~boolean("flag")]
)
def test_copies_are_the_object(value: object) -> None:
    assert copy.copy(value) is value
    assert copy.deepcopy([value])[0] is value
    assert pickle.loads(pickle.dumps(value)) is value
