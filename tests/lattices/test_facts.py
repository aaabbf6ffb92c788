"""Facts: every answer is right in every run that meets the facts, and the answers that shapes rely on are given."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices.logic import facts as facts_module
from absint.lattices.logic.facts import NO_FACTS, Facts, solve
from absint.lattices.logic.formula import FALSE, NO, TRUE, UNKNOWN, UNKNOWN_RELATION, YES, conjunction, implies
from absint.lattices.logic.relation import boolean, divisible, eq, ge, gt, le, ne, one_of
from absint.lattices.terms.expr import Dim, Expr, Symbol, UndefinedError, const, expr_of, integer_symbol, symbol
from absint.lattices.terms.interval import Congruence
from absint.lattices.terms.normal import maximum, minimum
from absint.lattices.text import parse, parse_relation
from tests import reference
from tests.effort import examples
from tests.lattices.test_expr_fuzz import relations, trees
from tests.reference import NoValueError, Tree

N, M, K = (symbol(name) for name in "NMK")
BATCH, PAST, SEQ, TOTAL = (symbol(name) for name in ("batch", "past", "seq", "total"))
I = integer_symbol("I")  # noqa: E741

factor = st.tuples(st.just("const"), st.integers(-3, 4))
linear = st.recursive(
    st.tuples(st.just("const"), st.integers(-6, 9)) | st.tuples(st.just("symbol"), st.sampled_from("NNMMKI")),
    lambda t: st.tuples(st.sampled_from("+-"), t, t) | st.tuples(st.just("*"), factor, t),
    max_leaves=4,
)
modulus = st.tuples(st.just("const"), st.sampled_from([2, 3, 4, 6, 8]))
small = st.tuples(st.just("const"), st.integers(-1, 7))
stated = st.one_of(
    relations(trees),
    st.tuples(st.sampled_from(["==", "!=", "<=", "<", ">="]), linear, linear),
    st.tuples(st.just("=="), st.tuples(st.just("%"), linear, modulus), small),
    st.tuples(
        st.just("or"),
        st.tuples(st.just("=="), st.just(("symbol", "N")), small),
        st.tuples(st.just("=="), st.just(("symbol", "N")), small),
    ),
)
bindings = st.fixed_dictionaries(
    {**dict.fromkeys("NMK", st.integers(0, 9)), "I": st.integers(-6, 6), "J": st.integers(-6, 6)}
    | dict.fromkeys("FG", st.integers(0, 1))
)


def oriented(tree: Tree, binding: dict[str, int]) -> Tree | None:
    """The relation, or its negation, whichever holds; None where it has no value."""
    try:
        return tree if reference.truth(tree, binding) else ("not", tree)
    except NoValueError:
        return None


def facts_that_hold(some: list[Tree], binding: dict[str, int]) -> Facts:
    held = [h for tree in some if (h := oriented(tree, binding)) is not None]
    return Facts([reference.build_relation(tree) for tree in held])


@settings(max_examples=examples(600))
@given(st.lists(stated, min_size=1, max_size=4), stated, bindings)
def test_every_answer_is_right(some: list[Tree], question: Tree, binding: dict[str, int]) -> None:
    facts = facts_that_hold(some, binding)
    assert not facts.contradiction
    try:
        truth = reference.truth(question, binding)
    except NoValueError:
        return
    answer = facts.decide(reference.build_relation(question))
    assert answer is not (NO if truth else YES), (facts, question, answer)


@settings(max_examples=examples(400))
@given(st.lists(stated, min_size=1, max_size=4), trees | linear, bindings)
def test_simplify_keeps_the_value(some: list[Tree], tree: Tree, binding: dict[str, int]) -> None:
    facts = facts_that_hold(some, binding)
    dim = reference.build(tree)
    try:
        value = reference.value(tree, binding)
    except NoValueError:
        return
    simple = facts.simplify(dim)
    assert value in simple.bounds
    if isinstance(simple, Expr):
        try:
            assert simple.evaluate(binding) == value, (facts, dim, simple)
        except UndefinedError:
            pytest.fail(f"{simple} of {dim} under {facts} divides by zero")


@settings(max_examples=examples(200))
@given(st.lists(stated, min_size=2, max_size=4), bindings)
def test_facts_are_known_in_any_order(some: list[Tree], binding: dict[str, int]) -> None:
    held = [reference.build_relation(t) for tree in some if (t := oriented(tree, binding)) is not None]
    for order in (held, held[::-1]):
        facts = Facts(order)
        assert all(facts.decide(relation) is YES for relation in held if relation is not UNKNOWN_RELATION)
        assert all(facts.decide(~relation) is NO for relation in held if relation is not UNKNOWN_RELATION)


@pytest.mark.parametrize("modulus", [2, 3, 4, 6])
@pytest.mark.parametrize("op", ["==", ">=", "<", "!="])
def test_decisions_under_a_congruence_are_those_of_every_size(modulus: int, op: str) -> None:
    for remainder, c, by, other in product(range(modulus), (-2, -1, 0, 1, 3), (2, 3, 4, 6), (2, 4, 5)):
        facts = Facts([parse_relation(f"N % {modulus} == {remainder}")])
        relation = parse_relation(f"(N + {c + 3})//{by} - N//{other} {op} {c}")
        found = {relation.evaluate({"N": n}) for n in range(remainder, 120, modulus)}
        truth = facts.decide(relation)
        assert truth is UNKNOWN or found == {truth is YES}, (relation, modulus, remainder)


@settings(max_examples=examples(300))
@given(linear, linear, bindings)
def test_solved_symbol_has_the_value(a: Tree, b: Tree, binding: dict[str, int]) -> None:
    difference = reference.build(("-", a, b))
    assert isinstance(difference, Expr)
    solved = solve(difference)
    if solved is None or reference.value(("-", a, b), binding) != 0:
        return
    unknown, value = solved
    assert isinstance(value, Expr)
    assert unknown not in value.symbols
    assert value.evaluate(binding) == binding[unknown.name]


# What must be known

ANSWERS = [
    ("seq % 8 == 0", "8*(seq//8)", "seq"),
    ("seq % 8 == 0", "4*(seq//4)", "seq"),
    ("seq % 8 == 0", "3*batch*8*(seq//8)", "3*batch*seq"),
    ("seq % 8 == 0", "max(8*(seq//8), 5)", "max(seq, 5)"),
    ("seq % 8 == 0", "(seq + 3)//8", "seq//8"),
    ("seq % 8 == 6", "batch*((seq + 3)//8)", "batch*(seq//8) + batch"),
    ("seq % 8 == 0 and seq == past + 1", "8*((past + 1)//8)", "past + 1"),
    ("seq % 8 == 0", "batch*8*(seq//8) + 1", "batch*seq + 1"),
    ("seq % 8 == 3", "8*(seq//8)", "seq - 3"),
    ("seq % 8 == 0", "seq % 4", "0"),
    ("seq % 8 == 0", "(seq + 3) % 8", "3"),
    ("seq % 8 == 0 and seq >= 1", "8*(seq//8)", "seq"),
    ("seq >= 1 and seq % 8 == 0", "8*(seq//8)", "seq"),
    ("total == past + seq", "total - past", "seq"),
    ("total == past + seq", "total*batch", "batch*past + batch*seq"),
    ("past + seq == total", "total", "past + seq"),
    ("N == 2*K", "N//2", "K"),
    ("N >= 1", "max(N, 1)", "N"),
    ("N > 4", "min(N, 5)", "5"),
    ("N <= 7", "min(N, 7)", "N"),
    ("N <= 0", "N", "0"),
    ("N == 5", "N*M + N", "5*M + 5"),
    ("N in {1, 64}", "max(N, 1)", "N"),
    ("N in {1, 64}", "min(N, 64)", "N"),
    ("N in {7}", "N", "7"),
    ("N in {1, 64} and N >= 2", "N", "64"),
    ("N >= 2 and N in {1, 64}", "N", "64"),
    ("N in {1, 64} and N in {2, 64}", "N", "64"),
    ("N in {1, 64} and N != 1", "N", "64"),
]


@pytest.mark.parametrize(("given_fact", "dim", "simple"), ANSWERS)
def test_simplification(given_fact: str, dim: str, simple: str) -> None:
    facts = Facts([parse_relation(given_fact)])
    assert facts.simplify(parse(dim)) is facts.simplify(parse(simple))
    shown = facts.simplify(parse(dim))
    assert shown.free_symbols <= parse(simple).free_symbols


DECISIONS = [
    ("N % 4 == 0 and M % 4 == 0", "((N + 1)//2)*((M + 1)//2) == 4*((N + 3)//4)*((M + 3)//4)", YES),
    ("N % 4 == 0", "((N + 1)//2)*((M + 1)//2) == 4*((N + 3)//4)*((M + 3)//4)", UNKNOWN),
    ("N % 4 == 2", "N//4 + (N + 2)//4 == N//2", YES),
    ("N % 4 == 0", "(N + 3)//4 + N//8 >= 1", UNKNOWN),
    ("N % 4 == 3", "(N + 1)//4 >= 1", YES),
    ("N % 6 == 1 and N >= 2", "N//6 >= 1", YES),
    ("seq % 8 == 0", "seq % 4 == 0", YES),
    ("seq % 8 == 0", "seq % 8 == 1", NO),
    ("seq % 8 == 0", "seq == 9", NO),
    ("seq % 8 == 0", "seq == 16", UNKNOWN),
    ("total == past + seq", "total >= seq", YES),
    ("total == past + seq", "total < past", NO),
    ("N >= M + 1", "N >= M", YES),
    ("N >= M + 1", "N == M", NO),
    ("N == M", "N - M == 0", YES),
    ("N in {1, 64}", "N >= 1", YES),
    ("N in {1, 64}", "N == 32", NO),
    ("N in {1, 64}", "N == 1", UNKNOWN),
    ("N in {1, 64}", "64 % N == 0", YES),
    ("N in {1, 64}", "N == 1 or N == 64", YES),
    ("N in {1, 64} and M >= 1", "N + M >= 2", YES),
    ("N in {1, 64} and N >= 2", "N == 64", YES),
    ("N*M >= 3", "N*M >= 2", YES),
    ("N >= 1 and M >= 1", "N*M >= 1", YES),
    ("N >= 1", "N >= 1 and M >= 0", YES),
    ("N >= 1", "N == 0 or M < 0", NO),
    ("flag -> N == M", "flag -> N == M", YES),
]


@pytest.mark.parametrize(("given_fact", "question", "answer"), DECISIONS)
def test_decision(given_fact: str, question: str, answer: object) -> None:
    assert Facts([parse_relation(given_fact)]).decide(parse_relation(question)) is answer


IMPOSSIBLE = [
    "N == 3 and N == 4",
    "N >= 5 and N <= 4",
    "N % 4 == 1 and N % 2 == 0",
    "N in {1, 2} and N in {3, 4}",
    "N in {1, 2} and N >= 7",
    "N == M and N >= 5 and M <= 4",
]


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_contradiction(text: str) -> None:
    assert Facts([parse_relation(text)]).contradiction


def test_a_contradiction_is_not_invented() -> None:
    assert Facts([FALSE]).contradiction
    assert not Facts([parse_relation("N in {1, 64} and N % 2 == 0 and M >= N")]).contradiction


def test_an_open_relation_proves_nothing() -> None:
    facts = Facts([UNKNOWN_RELATION, ge(N, 1)])
    assert facts.decide(UNKNOWN_RELATION) is UNKNOWN
    assert facts.decide(~UNKNOWN_RELATION) is UNKNOWN
    assert facts.decide(ge(N, 1)) is YES


def test_the_solved_symbol_is_an_invented_one() -> None:
    born = expr_of(Symbol("%7:0.1", 0, 100))
    for relation in (eq(N, born), eq(born, N + M)):
        assert not Facts([relation]).simplify(born).free_symbols & {"%7:0.1"}
    assert Facts([eq(N, born)]).simplify(N) is N


def test_assuming_more_changes_nothing_that_was_known() -> None:
    facts = Facts([ge(N, 1)])
    more = facts.assume(eq(TOTAL, PAST + SEQ))
    assert facts.decide(ge(TOTAL, SEQ)) is UNKNOWN
    assert more.decide(ge(TOTAL, SEQ)) is YES
    assert more.decide(ge(N, 1)) is YES
    assert facts.assume() is facts
    assert not NO_FACTS
    assert facts


@pytest.mark.parametrize(
    ("texts", "narrows"),
    [
        ((), True),
        (("N >= 2", "M <= 9"), True),
        (("N == 4",), True),
        (("N == 2*M",), True),
        (("N >= 1", "N != 1"), True),  # off the end of the bounds
        (("N != 1",), False),
        (("N <= 5", "N != 3"), False),
        (("N == 0 or N == 3 or N == 5",), False),
        (("N % 4 == 0",), False),
        (("N + M >= 3",), False),
        (("N == M or M == 1",), False),
    ],
)
def test_facts_that_bounds_and_values_of_symbols_say_alone(texts: tuple[str, ...], narrows: bool) -> None:
    facts = Facts(map(parse_relation, texts))
    assert facts.narrows_only is narrows
    assert all(r.substitute(facts.mapping) is TRUE for r in facts.relations) is narrows


def test_congruence_of_an_expression() -> None:
    facts = Facts([divisible(SEQ, 8)])
    assert facts.congruence(SEQ * N) == Congruence(8, 0)
    assert facts.congruence(3 * SEQ + 5) == Congruence.of(24, 5)
    assert facts.congruence(N + 1) == Congruence(1, 0)


def test_conditions_are_compared_by_name() -> None:
    flag = boolean("flag")
    facts = Facts([flag, implies(flag, eq(N, M))])
    assert facts.decide(flag) is YES
    assert facts.decide(~flag) is NO
    assert Facts([conjunction(flag, ge(N, 1))]).decide(flag) is YES


def test_unknown_and_constants_stay() -> None:
    facts = Facts([ge(N, 1), ne(M, 0), gt(K, 2), le(I, 0), one_of(N, (1, 2))])
    assert facts.simplify(Dim(None)) is Dim(None)
    assert facts.simplify(const(4)) is const(4)
    assert facts.decide(TRUE) is YES
    assert facts.decide(FALSE) is NO
    assert facts.simplify(maximum(I, 0)) is const(0)
    assert facts.simplify(minimum(K, 3)) is const(3)


def test_work_grows_with_the_relations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binding a symbol rewrites the replacements that mention it, and no others."""

    def work(count: int) -> int:
        replaced = []
        real = facts_module.substitute
        monkeypatch.setattr(facts_module, "substitute", lambda dim, step: replaced.append(dim) or real(dim, step))
        found = Facts([eq(symbol(f"M{k}"), symbol("N")) for k in range(count)] + [ge(symbol("N"), 3)])
        monkeypatch.setattr(facts_module, "substitute", real)
        assert len(found.mapping) == count + 1
        return len(replaced)

    assert work(200) <= 2 * work(100) + 10
