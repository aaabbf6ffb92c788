"""Contracts of many clauses: shortened in groups, most without a query, and still equivalent to the requirements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices.logic.relation import NO, TRUE, YES, Relation
from absint.lattices.text import parse_relation
from absint.solver.backend import Answer, Backend
from absint.solver.constraints import Constraint, ConstraintSet, Origin, meets
from absint.solver.contracts.contract import Contract, contract
from absint.solver.contracts.premises import Premises, near
from absint.solver.prove import Prover
from absint.solver.subsets import components, spanning
from tests.effort import examples

SYMBOLS = ("a", "b", "c", "d", "e")
BINDINGS = [dict(zip(SYMBOLS, sizes, strict=True)) for sizes in product((0, 1, 2, 4, 9), repeat=len(SYMBOLS))]


class NoSolver(Backend):
    """Fails when it is asked."""

    def check(self, script: str, *, rlimit: int, seconds: float, core: bool = True, minimize: bool = False) -> Answer:
        raise AssertionError(f"asked:\n{script}")


class GivesUp(Backend):
    """Decides nothing, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []

    def check(self, script: str, *, rlimit: int, seconds: float, core: bool = True, minimize: bool = False) -> Answer:
        self.scripts.append(script)
        return Answer("unknown", spent=1)


def of(requirements: Sequence[str], backend: Backend | None = None) -> Contract:
    relations = list(map(parse_relation, requirements))
    symbols = sorted(set[str]().union(*(relation.free_symbols for relation in relations)))
    base = ConstraintSet(
        (Constraint(r, TRUE, Origin(n, "", f"n{n}", "Op", ""), "required", "") for n, r in enumerate(relations)),
        symbols=symbols,
    )
    return contract(base, Prover(base, backend=backend))


def clauses(found: Contract) -> set[str]:
    return {str(clause.relation) for clause in found.clauses}


FAMILIES = {
    "equal to one": "x{k} == hub",
    "a chain": "x{k} == x{k}0",
    "a Concat": "x{k} == hub or x{k} == 0 or y{k} == 0 or hub == 0 or rows == 0",
    "a broadcast": "x{k} == hub or x{k} == 1 or hub == 1",
    "multiples": "x{k} % 8 == 0",
    "bounds": "x{k} >= 1",
    "apart": "x{k} == y{k} or x{k} == 1 or y{k} == 1",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_clauses_of_which_none_is_redundant_need_no_query(family: str) -> None:
    texts = [FAMILIES[family].format(k=k) for k in range(1, 101)]
    found = of(texts, NoSolver())
    assert clauses(found) == {str(parse_relation(text)) for text in texts}
    assert found.possible is True


TEMPLATES = [
    "{x} == {y}", "{x} == {y} or {x} == 1 or {y} == 1", "{x} == {y} or {x} == 0 or {z} == 0", "{x} >= {k}",
    "{x} + {y} <= {k}", "{x} % 2 == 0", "{x} % 4 == 0", "{x} == {k} or {y} >= 2", "{x} <= {k} or {y} == 0",
    "{x} != {y}",
]  # fmt: skip
relations = st.builds(
    lambda text, names, k: parse_relation(text.format(x=names[0], y=names[1], z=names[2], k=k)),
    st.sampled_from(TEMPLATES),
    st.permutations(SYMBOLS),
    st.integers(0, 9),
)
sets = st.lists(relations, min_size=1, max_size=9)


@settings(max_examples=examples(80))
@given(sets)
def test_the_clauses_say_what_the_requirements_say(stated: list[Relation]) -> None:
    """At every small size."""
    found = of(list(map(str, stated)))
    legal = [binding for binding in BINDINGS if meets(stated, binding)]
    assert legal == [binding for binding in BINDINGS if meets((c.relation for c in found.clauses), binding)]
    assert not legal or found.possible is True


@given(sets)
def test_a_counterexample_meets_all_premises_but_one(stated: list[Relation]) -> None:
    known = list(dict.fromkeys(stated))
    premises = Premises(known, near(known, SYMBOLS))
    removed = known[1:3]
    for relation in removed:
        premises.remove(relation)
    left = [relation for relation in known if relation not in removed]
    for goal in known:
        without = goal if goal in left else None
        sizes = premises.counterexample(goal, without)
        if sizes is not None:
            assert goal.at(sizes) is NO
            assert meets((relation for relation in left if relation is not without), sizes)


def test_a_symbol_of_many_premises_is_not_changed() -> None:
    """Of the six premises about c, `c >= 1` must not be overlooked when another is left out."""
    ones = ["a == c or a == 1 or c == 1", "b == c or b == 1 or c == 1"]
    known = list(map(parse_relation, ["a == b or a == 0 or c == 0", "a == c", "b == c", *ones, "c >= 1"]))
    goal = known[2]
    sizes = Premises(known, near(known, SYMBOLS)).counterexample(goal, goal)
    assert sizes is None or meets((relation for relation in known if relation is not goal), sizes)


@given(sets)
def test_components_share_no_symbol(stated: list[Relation]) -> None:
    groups = components(stated)
    assert sorted(str(r) for group in groups for r in group) == sorted(map(str, dict.fromkeys(stated)))
    names = [set[str]().union(*(r.free_symbols for r in group)) for group in groups]
    assert all(a.isdisjoint(b) for a, b in combinations(names, 2))


@given(st.lists(st.sampled_from(list(combinations(SYMBOLS, 2))), min_size=1))
def test_equal_sizes_span(pairs: list[tuple[str, str]]) -> None:
    edges = [parse_relation(f"{a} == {b}") for a, b in pairs]
    kept = spanning(edges)
    assert kept is not None
    for binding in BINDINGS:
        assert meets(kept, binding) is meets(edges, binding)
    for edge in kept:
        rest = [other for other in kept if other is not edge]
        assert any(meets(rest, binding) and edge.at(binding) is not YES for binding in BINDINGS)


@pytest.mark.parametrize(
    "other", ["a == 2*b", "a == b + 1", "a == 4", "a >= b", "a == b*c", "a == b or a == c", "a == b//2"]
)
def test_what_is_no_equality_of_two_sizes_is_no_edge(other: str) -> None:
    assert spanning([parse_relation("b == c"), parse_relation(other)]) is None


def test_what_the_solver_gave_up_on_is_not_asked_again() -> None:
    backend = GivesUp()
    hard = "((a + 4)//8)*((b + 4)//8) + (a//4)*(b//8) + (a//8)*(b//4) == (a//4)*(b//4) + (a//8)*(b//8)"
    found = of([hard, "a >= 4", "b >= 4"], backend)
    assert clauses(found) == {hard, "a >= 4", "b >= 4"}
    assert backend.scripts
    assert len(set(backend.scripts)) == len(backend.scripts)


def test_of_clauses_that_contradict_each_other_no_others_are_listed() -> None:
    found = of(["a % 4 == 0", "b == 2*c", "b == 3*d + 1", "c == 3*d"])
    assert found.possible is False
    assert clauses(found) == {"b == 2*c", "b == 3*d + 1", "c == 3*d"}
