"""Rows judged by Z3 from the concrete semantics, and held against runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import z3

from tests.unification.formula import Formula
from tests.unification.row import Row

BUDGET: Final = 20_000_000

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Judged:
    """The verdict on a row."""

    verdict: str
    """`proved`, `refuted`, or `no run`: nothing satisfies the premises."""
    counterexample: Sizes | None = None


class UndecidedError(Exception):
    """Z3 gave no answer within its budget."""


def judge(row: Row, claim: Formula | None = None) -> Judged:
    """Proved or refuted with the smallest counterexample. Raises UndecidedError."""
    claim = claim or row.claimed
    measured = {name: formula.term() for name, formula in row.definitions.items()}
    premises = [formula.term() for formula in row.premises]
    if _model(premises) is None:
        return Judged("no run")
    false = [*premises, z3.Not(claim.term(measured))]
    if _model(false) is None:
        return Judged("proved")
    return Judged("refuted", smallest(row.names, false))


def smallest(names: Sequence[str], conditions: Sequence[Any]) -> Sizes:
    """The solution with the least sum of absolute values; of several, the first in the order of the names."""
    variables = [z3.Int(name) for name in names]
    total = z3.Sum([z3.If(v >= 0, v, -v) for v in variables])
    bound = _least(lambda k: _model([*conditions, total <= k]) is not None)
    found: dict[str, int] = {}
    fixed = [*conditions, total <= bound]
    for name, variable in zip(names, variables, strict=True):
        size = z3.If(variable >= 0, variable, -variable)
        least = _least(lambda k, size=size: _model([*fixed, size <= k]) is not None)
        number = least if _model([*fixed, variable == least]) is not None else -least
        fixed.append(variable == number)
        found[name] = number
    return found


def _least(holds: Callable[[int], bool]) -> int:
    """The least natural number at which something holds that holds from there on."""
    high = 1
    while not holds(high):
        high *= 2
    return bisect_left(range(high), True, key=holds)


def _model(conditions: Sequence[Any]) -> Any | None:
    solver = z3.Solver()
    solver.set("rlimit", BUDGET)
    solver.add(*conditions)
    answer = solver.check()
    if answer == z3.unknown:
        raise UndecidedError(solver.reason_unknown())
    return solver.model() if answer == z3.sat else None


def grid(row: Row) -> Iterator[Sizes]:
    """Small sizes and data at which the semantics are held against runs."""
    few = len(row.names) > 2
    of_sizes = (0, 1, 2, 3) if few else (0, 1, 2, 3, 5)
    choices = [of_sizes] * len(row.sizes.split()) + [(-2, 0, 1, 3)] * len(row.data.split())
    for numbers in product(*choices):
        sizes = dict(zip(row.names, numbers, strict=True))
        if Formula(row.given).value(sizes):
            yield sizes
