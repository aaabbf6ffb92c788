"""Which requirements of a round are facts of the next: those of nodes that every run computes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.logic.single import positive_factors
from absint.lattices.logic.solving import solve
from absint.lattices.terms.expr import Expr, Symbol
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.normal import sole_atom
from absint.program.lowered import Lowered
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.rounds import Learned
from absint.transfer.op import Statement


def teachings(analysis: ShapeAnalysis, lowered: Lowered, wanted: Container[Relation] = ()) -> Iterator[Learned]:
    """Facts about single symbols, or about `wanted`, and choices between relations, from the nodes of every run, over
    the symbols of round 0.
    """
    facts = analysis.facts
    known: dict[int, list[tuple[Relation, str]]] = {}  # by summary; empty once it has been stated
    for node, summary in analysis.applied.items():
        if not summary.statements:
            continue
        found = None if summary.holes else known.get(id(summary))
        if found is None:
            stated = analysis.statements(node) if summary.holes else summary.statements
            found = known[id(summary)] = list(_telling(stated, wanted))
        if found and analysis.nodes.places[node][1] < 0 and lowered.needed[node]:
            known[id(summary)] = []
            for part, reason in found:
                yield Learned(part.map(facts.restored) if facts.originals else part, node, reason)


def _telling(statements: Iterable[Statement], wanted: Container[Relation]) -> Iterator[tuple[Relation, str]]:
    """Parts of the statements that teach something, now or once others are known, with the reasons."""
    for statement in statements:
        if statement.role != "assumed":
            for part, teaches in _lasting_parts(statement.relation):
                if teaches or part.op == "or" or part in wanted:
                    yield part, statement.reason


@remembered
def _lasting_parts(whole: Relation) -> tuple[tuple[Relation, bool], ...]:
    """The parts that are about the same numbers in every round, each with a flag: it is a fact about a single
    symbol.
    """
    parts = whole.parts if whole.op == "and" else (whole,)
    return tuple((part, is_about_a_symbol(part)) for part in parts if all(map(lasting, part.symbols)))


def lasting(symbol: Symbol) -> bool:
    """It is of the inputs, or the size or element at a place of an output: the same number in every round."""
    if symbol.origin is None or symbol.origin_node is None:
        return True
    place = symbol.origin.tag.replace(".", "").replace("[", "").replace("]", "")
    return symbol.kind in (SymbolKind.FRESH, SymbolKind.DATA) and place.isdigit()


def is_about_a_symbol(relation: Relation) -> bool:
    """It solves, bounds or limits a symbol."""
    if isinstance(relation, Comparison) and relation.op == "==":
        return solve(relation.expr) is not None or _divides(relation.expr)
    if relation.op == "or":
        lines = [part.line for part in relation.parts]
        return lines[0] is not None and all(line is not None and line.term is lines[0].term for line in lines)
    line = relation.line
    if line is None:
        return False
    if isinstance(sole_atom(line.term), Symbol):
        return True
    return isinstance(relation, Comparison) and relation.op == ">=" and bool(positive_factors(relation.expr))


def _divides(e: Expr) -> bool:
    """s - m*(s // m) - r == 0, over one symbol."""
    return len(e.symbols) == 1 and any(len(mono) == 1 and mono[0].op == "floordiv" for mono, _ in e.terms)
