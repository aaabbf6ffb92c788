"""Numeric premises of the body of a loop, stated outside of it, for all trips."""

from __future__ import annotations

from collections.abc import Iterator

from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Comparison, Relation, ge, implies, le
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Symbol, expr_of
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import BodySymbols
from absint.transfer.op import Statement
from absint.transfer.ordinary import limit_of, ordinary


def premises(run: Interpretation, body: BodySymbols, trips: Dim) -> Iterator[Statement]:
    """Numeric premises of the body for all trips, if there is one, over symbols of the outside."""
    for node in range(body.body.first + 1, body.body.last + 1):
        summary = run.applied.get(node)
        if summary is None or not any(statement.role == "assumed" for statement in summary.statements):
            continue
        for statement in run.statements(node):
            if statement.role != "assumed":
                continue
            relation = statement.relation
            for part in relation.parts if relation.op == "and" else (relation,):
                for said in _of_all_trips(body, part, trips):
                    premise = implies(ge(trips, 1), said) if isinstance(trips, Expr) else said
                    if premise not in (TRUE, UNKNOWN_RELATION):
                        yield statement._replace(relation=premise)


def _of_all_trips(body: BodySymbols, premise: Relation, trips: Dim) -> Iterator[Relation]:
    """Relations outside of the loop that make a premise hold in every trip.

    One that is linear in the iteration number holds in all trips if it does in the first and in the last. Any other one
    has been shown for all ordinary sizes, whatever the trip (`transfer.ordinary`). One about data of a trip cannot be
    stated outside; see `absint.solution.constraints`.
    """
    inside = [symbol for symbol in premise.symbols if body.has(symbol)]
    if (
        isinstance(trips, Expr)
        and inside == [body.iteration]
        and isinstance(premise, Comparison)
        and premise.op == ">="
        and _is_linear(premise.expr, body.iteration)
    ):
        for at in (ZERO_EXPR, trips - 1):
            yield premise.substitute({body.iteration: at})
    elif inside:
        for symbol in sorted(premise.symbols - {*inside}, key=lambda s: s.key):
            lo, hi = ordinary(symbol, limit_of(premise)).bounds
            yield TRUE if hi is None else le(expr_of(symbol), hi)
            yield TRUE if lo is None else ge(expr_of(symbol), lo)


def _is_linear(e: Expr, symbol: Symbol) -> bool:
    """The symbol occurs as a factor of terms alone, and once in each."""
    return all(
        factor is symbol or symbol not in expr_of(factor).symbols for mono, _ in e.terms for factor in mono
    ) and all(mono.count(symbol) <= 1 for mono, _ in e.terms)
