"""Contracts of constraint sets: short clauses that say what all the long ones say, and none that another entails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, TRUE, UNKNOWN, YES, Relation
from absint.lattices.text import parse_relation
from absint.solver.constraints import Constraint, ConstraintSet, Origin, Role, meets
from absint.solver.contracts.contract import Contract, contract
from absint.solver.contracts.premises import Samples, near
from absint.solver.contracts.simplification import clauses_of, simplify
from absint.solver.prove import Prover, in_multiples
from tests.effort import examples

SYMBOLS = ("a", "b", "c")
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 24)


def of(*requirements: str, given: Sequence[str] = (), symbols: Sequence[str] = SYMBOLS) -> Contract:
    return of_relations(map(parse_relation, requirements), map(parse_relation, given), symbols)


def of_relations(
    requirements: Iterable[Relation], given: Iterable[Relation] = (), symbols: Sequence[str] = SYMBOLS
) -> Contract:
    stated = [stated_by(number, relation) for number, relation in enumerate(requirements)]
    assumed = [stated_by(-1, relation, "declared") for relation in given]
    base = ConstraintSet([*assumed, *stated], symbols=symbols)
    return contract(base, Prover(base))


def stated_by(node: int, relation: Relation, role: Role = "required") -> Constraint:
    return Constraint(relation, TRUE, Origin(node, "", f"n{node}", "Op", ""), role, "it is so")


def clauses(found: Contract) -> list[str]:
    return [str(clause.relation) for clause in found.clauses]


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        (["a//2 >= 3", "(a//2 - 2)//2 >= 2"], ["a >= 12"]),
        (["a//4 == 2*(a//8)", "a//2 == 4*(a//8)", "a == 8*(a//8)"], ["a % 8 == 0"]),
        (["a >= 1", "a % 8 == 0"], ["a % 8 == 0", "a >= 1"]),
        (["a >= 9", "a <= 9"], ["a == 9"]),
        (["a == 1 or a == 8", "a >= 2"], ["a == 8"]),
        (["a == b", "b == c"], ["a == b", "b == c"]),
        (["a == b", "b == c", "a == c"], ["a == b", "a == c"]),
        (["a == b", "b == 4"], ["a == 4", "b == 4"]),
        # the last alternative of several lines is left
        (["a == 0 or c == 0 or b >= 1", "b == 0 or c == 0 or a >= 1", "c == 0 or a >= 1 or b >= 1"],
         ["a >= 1 or c == 0", "b >= 1 or c == 0"]),
        (["4*a == b or a >= 1", "b >= 1"], ["a >= 1", "b >= 1"]),
        # patterns with exceptions, and through quotients
        (["(a + 1)//2 == 1 or (a + 1)//2 == max(a//2, 1) or a <= 3"], ["a % 2 == 0 or a <= 3"]),
        (["(a + 1)//2 == a//2 or a == 1"], ["a % 2 == 0 or a == 1"]),
        (["(a + 15)//16 == 2*((a + 31)//32)", "2*((a + 15)//16) == (a + 7)//8"], ["((a + 7)//8) % 4 == 0"]),
        (["a//10 == 3"], ["a >= 30", "a <= 39"]),
        (["b == 0 or (a + 1)//2 == a//2", "a >= 4"], ["a >= 4", "a % 2 == 0 or b == 0"]),
        (["b == 0 or a//7 >= 1", "b == 0 or a == 7*(a//7)"], ["a % 7 == 0 or b == 0", "a >= 7 or b == 0"]),
        # choices
        (["a == broadcast(a, b)", "a == 1 or b == 1 or a == b"], ["a == b or b == 1"]),
        (["ite(a == 0 or b <= 1 or c == 0, (b + 1)//2, b//2) >= 1"], ["b >= 1"]),
        (["max(a, b) <= 7", "min(a, b) >= 2"], ["a >= 2", "a <= 7", "b >= 2", "b <= 7"]),
        # products
        (["a*b == 49*(a//7)*(b//7)", "a >= 7", "b >= 7"], ["a % 7 == 0", "a >= 7", "b % 7 == 0", "b >= 7"]),
        (["a*b == 196*(a//7) or a <= 6 or b >= 7", "a >= 7"], ["a >= 7", "b >= 7"]),
        (["a*b*c == 4*(a*b*c//4)", "a*b >= 1"], ["a >= 1", "b >= 1", "a*b*c % 4 == 0"]),
        (["b == a*b*c//4 or a >= 1", "b >= 1"], ["a >= 1", "b >= 1"]),
        (["a % 4 == 0", "b % 4 == 0", "((a + 1)//2)*((b + 1)//2) == 4*((a + 3)//4)*((b + 3)//4)"],
         ["a % 4 == 0", "b % 4 == 0"]),
        (["(a//8)*(b//8) >= 20"], ["(a//8)*(b//8) >= 20"]),
        (["a + b == c or a + b == 1 or c == 1", "a + b != 1 or c == 1"], ["a + b == c or c == 1"]),
        # an alternative that keeps another from dividing by zero
        (["a*b % (2*((a + 1)//2)) == 0 or a == 0"], ["a*b % (2*((a + 1)//2)) == 0 or a == 0"]),
    ],
)  # fmt: skip
def test_clauses(requirements: Sequence[str], expected: Sequence[str]) -> None:
    found = of(*requirements)
    assert clauses(found) == list(expected)
    assert found.possible is True


def test_what_is_given_is_no_clause() -> None:
    assert clauses(of("a >= 1", "a % 4 == 0 or b == 0", given=["b >= 1", "a >= 2"])) == ["a % 4 == 0"]


def test_each_clause_names_the_nodes_that_impose_it() -> None:
    found = of("a//2 == 2*(a//4)", "b >= 3", "a == 4*(a//4)", "b >= 3")
    assert [str(clause) for clause in found.clauses] == ["a % 4 == 0  (Op n2)", "b >= 3  (Op n1, Op n3)"]


def test_no_requirements() -> None:
    found = of()
    assert found.clauses == ()
    assert found.possible is True
    assert str(found) == "every size is legal"


@pytest.mark.parametrize(
    "requirements",
    [["a >= 3", "a <= 2"], ["a % 2 == 0", "a % 4 == 1"], ["a*a == 2", "a >= 1"], ["a == b + 1", "b == a"], ["false"]],
)
def test_contradiction(requirements: Sequence[str]) -> None:
    found = of(*requirements)
    assert found.possible is False
    assert found.clauses


def test_a_clause_with_an_alternative_of_its_own_stays_apart() -> None:
    """Beside a clause with the alternatives `b >= 1 or c == 1` it must not lose `c == 0`."""
    found = of("(a + 1)//2 == a//2 or b >= 1 or c == 1", "a >= 2 or b >= 1 or c == 0 or c == 1")
    assert clauses(found) == ["a % 2 == 0 or b >= 1 or c == 1", "a >= 2 or b >= 1 or c == 0 or c == 1"]


def test_a_clause_that_was_dropped_for_another_does_not_drop_that() -> None:
    """Two clauses that entail each other under the rest: one of them stays."""
    found = of("c == 0 or a == 0 or ite(a >= 7, a//7, 49)*7 == a", "c == 0 or a % 7 == 0")
    assert clauses(found) == ["a % 7 == 0 or c == 0"]


TEMPLATES = [
    "{x} >= {k}", "{x} <= {k}", "{x} == {k}", "{x} != {k}", "{x} % {m} == 0", "{x} % {m} == 1", "{x} == {y}",
    "{x} == {y} or {x} == 1 or {y} == 1", "{x} == {y} or {x} == 0", "{x} + {y} == {z}", "{x} + {y} <= {k}",
    "({x} + 1)//2 == {x}//2", "({x} + 1)//2 == 1 or ({x} + 1)//2 == max({x}//2, 1)", "{x}//2 == 2*({x}//4)",
    "({x} + 3)//4 == 2*(({x} + 7)//8)", "({x}//2 - 1)//2 >= {k}", "max({x}//2 - 1, 1) == {k}", "{x}//{m} == {k}",
    "ite({x} == 0 or {y} <= 1, {y}, {x}//2) >= {k}", "ite({x} >= {k}, {x}//{m}, {y}) == {z}",
    "min({x}, {k}) == {y}", "max({x}, {y}) == {z}", "{x}*{y} == {m}*({x}//{m})*{y}", "{x}*{y} % {m} == 0",
    "{x}*{y} == {m}*3*({x}//{m})*({y}//3)", "{x}*{y} == {m}*4*({x}*({y}//{m})//4)", "{x}*{y} == {z}*{k}",
    "({x}//{m})*({y}//2) >= {k}", "{x}*{y} == {x}*{y}*{z}//{m}", "{x}//{y} == {k}", "{x}*(12//{y}) == 12",
    "{x} % {y} == 0 or {y} == 0", "{x}*{y} % (2*(({x} + 1)//2)) == 0 or {x} == 0",
    "{x}*{y} % ({z}//2) == 0 or {z} <= {k}",
]  # fmt: skip
literals = st.builds(
    lambda text, names, m, k: text.format(x=names[0], y=names[1], z=names[2], m=m, k=k),
    st.sampled_from(TEMPLATES),
    st.permutations(SYMBOLS),
    st.integers(2, 7),
    st.integers(0, 9),
)
requirements = st.lists(st.lists(literals, min_size=1, max_size=3).map(" or ".join), min_size=1, max_size=5)
BINDINGS = [dict(zip(SYMBOLS, sizes, strict=True)) for sizes in product(SIZES, repeat=3)]


@settings(max_examples=examples(60))
@given(requirements)
def test_the_clauses_say_what_the_requirements_say(texts: Sequence[str]) -> None:
    """At every size where these have a value."""
    stated = [parse_relation(text) for text in texts]
    found = of_relations(stated)
    for binding in BINDINGS:
        truths = [relation.at(binding) for relation in stated]
        if UNKNOWN in truths:
            continue
        short = [clause.relation.at(binding) for clause in found.clauses]
        holds = all(truth is YES for truth in truths)
        assert holds is all(truth is YES for truth in short), (binding, clauses(found))
        assert not holds or found.possible is not False


@given(requirements)
def test_simplify_keeps_the_meaning(texts: Sequence[str]) -> None:
    *known, goal = map(parse_relation, texts)
    facts = Facts(known, SYMBOLS)
    simple = simplify(goal, facts)
    assert simple.free_symbols <= set(SYMBOLS)
    for binding in BINDINGS[::7]:
        if meets(known, binding) and goal.at(binding) is not UNKNOWN:
            assert simple.at(binding) is goal.at(binding)


@given(requirements)
def test_multiples_keep_the_meaning(texts: Sequence[str]) -> None:
    *known, goal = map(parse_relation, texts)
    if in_multiples(goal, Facts(known, SYMBOLS)) is TRUE:
        for binding in BINDINGS:
            assert goal.at(binding) is not NO or not meets(known, binding)


@given(requirements)
def test_cases_say_the_same(texts: Sequence[str]) -> None:
    for relation in map(parse_relation, texts):
        pieces = clauses_of(relation)
        for binding in BINDINGS[::7] if pieces is not None else ():
            truth = relation.at(binding)
            assert truth is UNKNOWN or meets(pieces or (), binding) is (truth is YES)


@given(requirements)
def test_samples_evaluate_as_relations_do(texts: Sequence[str]) -> None:
    relations = list(map(parse_relation, texts))
    samples = near(relations, SYMBOLS)
    first = [samples.where(relation) for relation in relations]
    samples.add({"a": 5, "b": 11, "c": 0})
    for relation, (true, false) in zip(relations, first, strict=True):
        now = samples.where(relation)
        assert (now[0] & ~(1 << len(samples) - 1), now[1] & ~(1 << len(samples) - 1)) == (true, false)
        for number in range(len(samples)):
            truth = relation.at(samples.binding(number))
            assert (now[0] >> number & 1, now[1] >> number & 1) == (truth is YES, truth is NO)


def test_samples_outside_the_bounds_of_a_symbol_have_no_truth() -> None:
    samples = Samples([{"a": -1}, {"a": 2}, {}])
    assert samples.where(parse_relation("a >= 1")) == (0b10, 0)
    assert samples.where(FALSE) == (0, 0b111)
