"""The sizes nearest to given ones, held against all sizes of small boxes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices.limits import DeadlineError, Limits, within
from absint.lattices.logic.relation import Relation, le
from absint.lattices.terms.expr import integer_symbol, symbol
from absint.lattices.terms.interval import ANY, Congruence, Interval
from absint.lattices.text import parse_relation
from absint.solver.constraints import ConstraintSet, meets
from absint.solver.nearest import search
from absint.solver.nearest.domain import Domain
from absint.solver.nearest.search import Candidate, Candidates
from absint.solver.prove import Prover
from tests.effort import examples

NAMES = ("a", "b", "c")
MOST = 12

NUMBERS = st.integers(0, MOST)
RELATIONS = st.one_of(
    st.builds("{} % {} == {}".format, st.sampled_from(NAMES), st.integers(2, 5), st.integers(0, 2)),
    st.builds("{} >= {}".format, st.sampled_from(NAMES), NUMBERS),
    st.builds("{} <= {}".format, st.sampled_from(NAMES), NUMBERS),
    st.builds("{} != {}".format, st.sampled_from(NAMES), NUMBERS),
    st.builds("{} == {}".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds("{} + {} == {}".format, *[st.sampled_from(NAMES)] * 3),
    st.builds("{} + {} <= {}".format, *[st.sampled_from(NAMES)] * 3),
    st.builds("{}*{} % {} == 0".format, st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(2, 6)),
    st.builds("{} // {} == {}".format, st.sampled_from(NAMES), st.integers(2, 4), st.sampled_from(NAMES)),
    st.builds("{} == {} or {} == 1".format, *[st.sampled_from(NAMES)] * 3),
    st.builds("{} == {} or {} == {}".format, st.sampled_from(NAMES), NUMBERS, st.sampled_from(NAMES), NUMBERS),
    st.builds("max({}, {}) <= {}".format, st.sampled_from(NAMES), st.sampled_from(NAMES), NUMBERS),
)
SIZES = st.tuples(*[NUMBERS] * len(NAMES))


def found(texts: Sequence[str], sizes: Sequence[int]) -> Candidates:
    return Candidates(dict(zip(NAMES, sizes, strict=True)), {n: symbol(n) for n in NAMES}, relations(texts), prover())


def relations(texts: Sequence[str]) -> list[Relation]:
    return [*map(parse_relation, texts), *(le(symbol(name), MOST) for name in NAMES)]


def prover() -> Prover:
    return Prover(ConstraintSet(), limits=Limits(60))


def all_in_order(texts: Sequence[str], given: Sequence[int]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Every point of the box that meets the relations: distance, changes, sizes."""
    stated = relations(texts)
    points = []
    for sizes in product(range(MOST + 1), repeat=len(NAMES)):
        if meets(stated, dict(zip(NAMES, sizes, strict=True))):
            changes = [abs(a - b) for a, b in zip(sizes, given, strict=True)]
            points.append((sum(changes), len(changes) - changes.count(0), sizes))
    return sorted(points)


def as_point(candidate: Candidate, given: Sequence[int]) -> tuple[int, int, tuple[int, ...]]:
    sizes = tuple(candidate.sizes.values())
    assert candidate.nearest
    return candidate.distance, sum(a != b for a, b in zip(sizes, given, strict=True)), sizes


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(RELATIONS, max_size=4), SIZES)
def test_every_point_of_the_box_comes_in_order(texts: list[str], sizes: tuple[int, ...]) -> None:
    candidates = found(texts, sizes)
    assert [as_point(c, sizes) for c in candidates] == all_in_order(texts, sizes)
    assert not candidates.reason


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(RELATIONS, min_size=1, max_size=4), SIZES)
def test_z3_finds_the_same_points(texts: list[str], sizes: tuple[int, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_WORK", -1)
        first = [as_point(c, sizes) for c in islice(found(texts, sizes), 3)]
    assert first == all_in_order(texts, sizes)[:3]


def test_sizes_that_are_far_are_found() -> None:
    given = {"past": 4000, "seq": 9, "total": 77_777}
    stated = [parse_relation("past + seq == total"), parse_relation("total % 1000 == 0"), parse_relation("seq >= 7")]
    best = next(iter(Candidates(given, {name: symbol(name) for name in given}, stated, prover())))
    assert best.nearest
    assert best.sizes["total"] == best.sizes["past"] + best.sizes["seq"] == 5000
    assert best.distance == (5000 - 4009) + (77_777 - 5000)


def test_elements_may_be_negative() -> None:
    k = integer_symbol("k", -(2**63), 2**63 - 1)
    assert next(iter(Candidates({"k": 5}, {"k": k}, [le(k, -7)], prover()))).sizes == {"k": -7}


def test_one_impossible_part_makes_all_impossible() -> None:
    candidates = found(["a % 2 == 1", "b >= 3", "b <= 2"], (0, 0, 0))
    assert list(candidates) == []
    assert not candidates.reason


def test_a_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_WORK", -1)
    names = {n: symbol(n) for n in NAMES}
    stated = [parse_relation(text) for text in ("a*a*a + b*b*b == c*c*c + 1", "a >= 2", "c > b", "b > a")]
    little = Prover(ConstraintSet(), limits=Limits(60, 2000))
    candidates = Candidates({"a": 1000, "b": 1000, "c": 1000}, names, stated, little)
    assert all(not candidate.nearest for candidate in candidates)
    assert candidates.reason.startswith("the resource limit of 2000")


def test_without_z3_the_best_that_is_known_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_WORK", 150)
    monkeypatch.setattr("absint.solver.backend.is_installed", lambda _: False)
    candidates = found(["a + b == c", "a*c % 5 == 4"], (12, 0, 0))
    assert [c.nearest for c in candidates] in ([], [False])
    assert candidates.reason == "z3-solver is not installed: pip install z3-solver"


def test_the_time_limit_ends_the_search() -> None:
    with pytest.raises(DeadlineError), within(1e-9):
        list(found(["a*b % 7 == 3"], (0, 0, 0)))


@given(
    NUMBERS,
    st.tuples(NUMBERS, NUMBERS),
    st.one_of(st.just(ANY), st.builds(Congruence, st.integers(0, 5), st.integers(0, 4))),
    st.one_of(st.none(), st.sets(NUMBERS)),
)
def test_domains(size: int, ends: tuple[int, int], congruence: Congruence, values: set[int] | None) -> None:
    if congruence.modulus and congruence.remainder >= congruence.modulus:
        congruence = ANY
    domain = Domain(size, Interval(*ends), congruence, values)
    inside = [n for n in range(ends[0], ends[1] + 1) if n in congruence and (values is None or n in values)]
    expected = sorted((abs(n - size), n) for n in inside)
    assert list(domain.upto(MOST)) == expected
    assert [(far, n) for far in range(MOST + 1) for n in domain.at(far)] == expected
    assert domain.after(3) == next((far for far, _ in expected if far > 3), None)
    assert domain.closest == (expected[0][0] if expected else 0)
    assert domain.farthest is not None
    assert all(far <= domain.farthest for far, _ in expected)
