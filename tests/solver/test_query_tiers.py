"""Every tier reads a relation alike, also where operands do not broadcast and where divisors are 0 or negative."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import product
from typing import Final

import pytest

from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import NO, TRUE, UNKNOWN, YES, Relation, Truth, eq, falsity, ge, le, truth
from absint.lattices.terms.expr import integer_symbol, symbol
from absint.lattices.text import TextError, parse_relation
from absint.solver.constraints import Constraint, ConstraintSet, Origin
from absint.solver.export import to_python
from absint.solver.prove import Prover
from tests.solver.query_texts import Statement, Writer

SYMBOLS: Final = ("N", "M")
HIGH: Final = 5
BOX: Final = [dict(zip(SYMBOLS, sizes, strict=True)) for sizes in product(range(HIGH), repeat=len(SYMBOLS))]
WITHIN: Final = [r for name in SYMBOLS for r in (ge(symbol(name), 0), le(symbol(name), HIGH - 1))]


def drawn(seed: int) -> tuple[Statement, Relation] | None:
    statement = Writer(random.Random(f"tiers {seed}"), SYMBOLS).statement()
    try:
        return statement, parse_relation(statement.text, total=True)
    except TextError:  # it divides by the constant 0
        return None


def disagreements(seed: int) -> str:
    """The disagreement of two tiers on the relation of this seed; empty if they agree."""
    found = drawn(seed)
    if found is None:
        return ""
    statement, relation = found
    about = f"{statement.text!r}, read as {relation}"
    for sizes in BOX:
        said = statement.truth(sizes)
        own = relation.at(sizes)
        if said is not None and own is not Truth.of(said):
            return f"{about}: {said} at {sizes}, evaluated {own}"
        for build, wanted in ((truth, YES), (falsity, NO)):
            # A choice that is made under one truth may hide what divides by zero.
            if own is not UNKNOWN and (build(relation).at(sizes) is YES) is not (own is wanted):
                return f"{about}: {own} at {sizes}, but {build.__name__} is {build(relation)}"
    decided = Facts(WITHIN, SYMBOLS).decide(relation)
    for sizes in BOX:
        if (decided is YES and statement.truth(sizes) is False) or (decided is NO and statement.truth(sizes)):
            return f"{about}: facts say {decided}, at {sizes} it is {statement.truth(sizes)}"
    return guarded(statement, relation, about) or proved(statement, relation, about)


def guarded(statement: Statement, relation: Relation, about: str) -> str:
    if relation.op in ("true", "false", "unknown"):
        return ""
    imposed = Constraint(relation, TRUE, Origin(1, "", "n", "Op", "y"), "required", "it must")
    names: dict[str, object] = {}
    exec(to_python(ConstraintSet([imposed], symbols=SYMBOLS)), names)
    check = names["check"]
    assert callable(check)
    for sizes in BOX:
        said = statement.truth(sizes)
        if said is not None and said is not _passes(check, sizes):
            return f"{about}: {said} at {sizes}, the guard says {not said}"
    return ""


def _passes(check: Callable[[Mapping[str, int]], object], sizes: Mapping[str, int]) -> bool:
    try:
        check(sizes)
    except ValueError:
        return False
    return True


def proved(statement: Statement, relation: Relation, about: str) -> str:
    decision = Prover(ConstraintSet(symbols=SYMBOLS)).entails(WITHIN, relation)
    false_at = [sizes for sizes in BOX if relation.at(sizes) is NO]
    if decision.entailed and any(statement.truth(sizes) is False for sizes in BOX):
        return f"{about}: proved by {decision.tier}"
    if decision.entailed is None and "limit" not in decision.reason:
        return f"{about}: open, {decision.reason}"
    if decision.entailed is False:
        sizes = {name: decision.model.get(name, 0) for name in SYMBOLS}
        if not false_at or statement.truth(sizes):
            return f"{about}: false at {sizes}, says {decision.tier}"
    return ""


@pytest.mark.parametrize("start", range(0, 240, 24))
def test_every_tier_reads_a_relation_alike(start: int) -> None:
    for seed in range(start, start + 24):
        assert not disagreements(seed), seed


TAUTOLOGIES: Final = (
    "broadcast(N, M) == N or N == 1",
    "broadcast(N, M) == M or N != 1",
    "broadcast(M, N) == M or M == 1",
    "broadcast(N, 3) == N or N == 1",
    "broadcast(N, M, 3) == broadcast(N, broadcast(M, 3))",
    "(N//M)*M + N % M == N",
    "N // -2 == -((N + 1)//2)",
    "N % -3 <= 0",
    "max(N, M) + min(N, M) == N + M",
)
FALSE: Final = ("broadcast(N, 3) == 3", "broadcast(N, M) == broadcast(M, N)", "N // M <= N - 1", "N % -3 == N % 3")


@pytest.mark.parametrize("text", TAUTOLOGIES)
def test_tautologies_are_proved(text: str) -> None:
    assert Prover(ConstraintSet()).entails(WITHIN, parse_relation(text, total=True)).entailed


@pytest.mark.parametrize("text", FALSE)
def test_what_is_false_somewhere_is_not_proved(text: str) -> None:
    relation = parse_relation(text, total=True)
    decision = Prover(ConstraintSet()).entails(WITHIN, relation)
    assert decision.entailed is False
    assert relation.at(decision.model) is NO


def test_a_counterexample_is_found_though_others_divide_by_zero() -> None:
    relation = parse_relation("N//M >= 1")
    decision = Prover(ConstraintSet()).entails([*WITHIN, parse_relation("N//M <= 7")], relation)
    assert decision.entailed is False
    assert decision.model["M"] >= 1


def main() -> None:
    """Hold the tiers against each other on many relations: `python -m tests.solver.test_query_tiers START STOP`."""
    import sys

    start, stop = map(int, sys.argv[1:])
    wrong = 0
    for seed in range(start, stop):
        problem = disagreements(seed)
        if problem:
            wrong += 1
            print(seed, problem, flush=True)
    print(f"{stop - start} relations, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()


@pytest.mark.parametrize(
    "text",
    [
        "2*(N + (M**2 + M)//2 - M) == 2*N + M*M - M",
        "2*((N*M + N*M*M)//2) == N*M + N*M*M",
        "6*(N*(N + 1)*(N + 2)//6) == N*(N + 1)*(N + 2)",
        "4*((N*M)//4) + 3 >= N*M",
    ],
)
def test_products_that_a_small_constant_divides_are_told_apart_by_remainders(text: str) -> None:
    decision = Prover(ConstraintSet()).decide(parse_relation(text))
    assert decision.entailed
    assert decision.tier in ("facts", "normal form")


@pytest.mark.parametrize("lowest", [None, -3, 0, 5])
def test_what_holds_of_all_remainders_holds_of_all_numbers(lowest: int | None) -> None:
    """Random claims about a square that is divided, against the numbers themselves, negative ones too."""
    draw = random.Random(f"remainders {lowest}")
    number = integer_symbol("N", lowest)
    shown = 0
    for _ in range(300):
        divisor = draw.randint(2, 6)
        dividend = number * number * draw.randint(1, 3) + number * draw.randint(0, 6) + draw.randint(0, 1)
        quotient, gap = dividend // divisor, draw.randint(-1, divisor)
        relation = draw.choice((eq, ge))(quotient * divisor + gap, dividend)
        if Prover(ConstraintSet(), limits=Limits(rlimit=1)).decide(relation).tier in ("facts", "normal form"):
            shown += 1
            for value in range(-9 if lowest is None else lowest, 20):
                assert relation.at({"N": value}) is YES, (relation, value)
    assert shown > 60
