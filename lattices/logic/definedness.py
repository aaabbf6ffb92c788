"""Truth and falsity of relations over partial terms: a comparison over a quotient by 0, or over a broadcast of sizes
that do not fit, is neither true nor false.

As in `Relation.truth`, the parts of a connective that have a truth may settle it, and a choice needs only the
alternative that it takes.

>>> from absint.lattices.text import parse_relation
>>> str(falsity(parse_relation("N//M >= 2 or N == 7")))
'N != 7 and N//M <= 1 and M >= 1'
>>> str(truth(parse_relation("broadcast(M, N) >= 2")))
'broadcast(M, N) >= 2 and (M == N or M == 1 or N == 1)'
>>> str(truth(parse_relation("N % 4 == 0")))
'N % 4 == 0'
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import cast

from absint.lattices.logic.relation import (
    TRUE,
    Comparison,
    Relation,
    conjunction,
    disjunction,
    fitting,
    implies,
    ne,
    negation,
)
from absint.lattices.terms.evaluation import divides, is_partial
from absint.lattices.terms.expr import Atom, Expr, postorder


def truth(relation: Relation) -> Relation:
    """A relation that holds exactly where the given one is true."""
    return _settled(relation, True) if is_partial(relation.atoms()) else relation


def falsity(relation: Relation) -> Relation:
    """A relation that holds exactly where the given one is false; the negation also holds where it has no truth."""
    return _settled(relation, False) if is_partial(relation.atoms()) else negation(relation)


def defined(*operands: Expr | Relation) -> Relation:
    """A relation that holds exactly where all these terms, and all terms in these relations, have a value."""
    roots = [*chain.from_iterable(operand.atoms() for operand in operands)]
    if not is_partial(roots):
        return TRUE
    values = _conditions(roots)
    return conjunction(TRUE, *(values[atom] for atom in dict.fromkeys(roots)))


def undivided(relation: Relation, divisors: Iterable[Expr]) -> Relation:
    """No divisor of the text is 0, except those that the relation still divides by.

    The normal form cancels: `N*M // M` is N, though the text has no value at M == 0. It also splits: a product is 0
    where a factor is, so another part of a connective may settle a part that divides by 0 in the text.
    """
    shown = {_divisor(node) for node in postorder(relation.atoms())} if relation.op in ("==", "!=", ">=") else ()
    return conjunction(TRUE, *(ne(divisor, 0) for divisor in dict.fromkeys(divisors) if divisor not in shown))


def _divisor(atom: Atom) -> Expr | None:
    """The divisor, if it is no constant."""
    return cast(Expr, atom.args[1]) if divides(atom) else None


def _settled(relation: Relation, wanted: bool) -> Relation:
    defined = _conditions(relation.atoms())
    done: dict[Relation, Relation] = {}
    for part in relation.subformulas():
        if part.op in ("and", "or"):
            join = conjunction if (part.op == "and") is wanted else disjunction
            done[part] = join(*(done[operand] for operand in part.parts))
            continue
        stated = part if wanted else negation(part)
        if isinstance(part, Comparison):
            stated = conjunction(stated, *(defined[atom] for atom in part.expr.atoms()))
        done[part] = stated
    return done[relation]


def _conditions(roots: Iterable[Atom]) -> dict[Atom, Relation]:
    """For every atom, the condition under which it has a value."""
    found: dict[Atom, Relation] = {}

    def of(e: Expr) -> Relation:
        return conjunction(TRUE, *(found[atom] for atom in e.atoms()))

    for node in postorder(roots):
        if node.op == "ite":
            condition, a, b = cast("tuple[Relation, Expr, Expr]", node.args)
            chosen = conjunction(implies(condition, of(a)), implies(negation(condition), of(b)))
            asked = disjunction(truth(condition), falsity(condition)) if is_partial(condition.atoms()) else TRUE
            found[node] = conjunction(asked, chosen)
            continue
        operands = cast("tuple[Expr, ...]", node.args)
        parts = [of(operand) for operand in operands]
        divisor = _divisor(node)
        if divisor is not None:
            parts.append(ne(divisor, 0))
        if node.op == "broadcast":
            parts += fitting(operands)
        found[node] = conjunction(TRUE, *parts)
    return found
