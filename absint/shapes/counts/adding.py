"""A last round in which counts that add up to a size are that size, if some size is a sum of counts."""

from __future__ import annotations

from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Dim, Expr, Symbol, const, expr_of, mul, sub
from absint.program.lowered import Lowered
from absint.shapes.choosing import ResolvedChoices
from absint.shapes.counts.relations import ADDS_UP, relations
from absint.shapes.refinement import Advice, run
from absint.shapes.rounds import Learned, Round, counts_in


def added_up(lowered: Lowered, last: Round, advice: Advice | None) -> list[Round]:
    """The round, with what it learned from nodes of every run; none if no counts add up."""
    facts, learned, sums = last.analysis.facts, list(last.learned), set[tuple[frozenset[Symbol], Expr]]()
    for item in relations(lowered.program, last.states):
        in_every_run = all(lowered.needed[n] and lowered.program.nodes.places[n][1] < 0 for n in item.nodes)
        found = _sum(item.relation) if in_every_run and item.reason == ADDS_UP else None
        if found is not None:
            sums.add(found)
            learned.append(Learned(item.relation.map(facts.restored), item.node, item.reason))
    before = last.analysis.simplify
    known = before if isinstance(before, ResolvedChoices) else ResolvedChoices(frozenset(), facts)
    simplify = ResolvedChoices(known.held, known.facts, known.proved, frozenset(sums))
    return [run(lowered, facts, advice=advice, simplify=simplify, learned=tuple(learned))] if sums else []


def _sum(relation: Relation) -> tuple[frozenset[Symbol], Expr] | None:
    """The symbols by data that add up to an expression without any, if the relation says so."""
    if not isinstance(relation, Comparison) or relation.op != "==":
        return None
    counts = counts_in(relation.expr)
    factors = {dict(relation.expr.terms)[symbol,] for symbol in counts}
    total: Dim = relation.expr
    if len(counts) < 2 or len(factors) != 1 or not factors <= {1, -1}:
        return None
    factor = factors.pop()
    for symbol in counts:
        total = sub(total, mul(const(factor), expr_of(symbol)))
    total = mul(const(-factor), total)
    is_told = isinstance(total, Expr) and all(s.kind is not SymbolKind.FRESH for s in total.symbols)
    return (frozenset(counts), total) if isinstance(total, Expr) and is_told else None
