"""Remainders that follow from equations between quotients of one symbol, held against every size."""

from __future__ import annotations

from functools import reduce
from math import lcm

import pytest
from hypothesis import given, strategies as st

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import eq
from absint.lattices.terms.expr import Dim, integer_symbol
from absint.lattices.terms.interval import ANY, Congruence
from absint.lattices.terms.normal import floordiv
from absint.lattices.text import parse_relation

N = integer_symbol("N")
(SYMBOL,) = N.symbols

QUOTIENTS = st.lists(
    st.tuples(
        st.sampled_from([-2, -1, 1, 2]), st.sampled_from([1, 2, 3]), st.integers(-5, 5), st.sampled_from([2, 3, 4, 6])
    ),
    min_size=1,
    max_size=3,
)


@given(QUOTIENTS, st.integers(-6, 6))
def test_the_hull_of_all_solutions_is_learned(quotients: list[tuple[int, int, int, int]], constant: int) -> None:
    """times*divisor*((factor*N + shift) // divisor), in the sum as steep as a multiple of N, which is taken away."""
    total: Dim = N * 0 + constant
    period = lcm(*(divisor for *_, divisor in quotients))
    for times, factor, shift, divisor in quotients:
        total = total + times * divisor * floordiv(factor * N + shift, divisor) - times * factor * N
    facts = Facts([eq(total, 0)])
    solved = [n for n in range(period) if total.evaluate({"N": n}) == 0]
    known = facts.remainders.get(SYMBOL, ANY)
    if solved:
        hull = reduce(Congruence.join, (Congruence.of(period, n) for n in solved))
        assert known == (hull if hull.modulus > 1 else ANY)
        assert all(n in known for n in range(-2 * period, 2 * period) if total.evaluate({"N": n}) == 0)


@pytest.mark.parametrize(
    ("relations", "expected"),
    [
        (["(N + 1)//2 == 2*((N + 3)//4)"], None),  # as for 0, 3
        (["(N + 1)//2 == 2*((N + 3)//4)", "N % 2 == 0"], Congruence(4, 0)),
        (["N % 2 == 1", "(N + 1)//2 == 2*((N + 3)//4)"], Congruence(4, 3)),
        (["(N + 1)//2 == 2*((N + 3)//4) or N == 0", "N >= 1", "(N + 1)//2 == N//2"], Congruence(4, 0)),
        (["N//2 == N//3"], None),
        (["N//300 == (N + 1)//300"], None),  # too many to try
    ],
)
def test_equations_help_each_other(relations: list[str], expected: Congruence | None) -> None:
    facts = Facts(list(map(parse_relation, relations)))
    found = {symbol.name: congruence for symbol, congruence in facts.remainders.items()}
    assert found == ({} if expected is None else {"N": expected})
    assert not facts.contradiction
