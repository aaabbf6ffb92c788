"""Truth and falsity of relations that divide: a comparison over a quotient by 0 is neither true nor false.

As in `Relation.truth`, the parts of a connective that have a truth may settle it, and a choice needs only the
alternative that it takes.

>>> from absint.lattices.text import parse_relation
>>> str(falsity(parse_relation("N//M >= 2 or N == 7")))
'N != 7 and N//M <= 1 and M >= 1'
>>> str(truth(parse_relation("N % 4 == 0")))
'N % 4 == 0'
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import cast

from absint.lattices.logic.relation import (
    TRUE,
    Comparison,
    Relation,
    broadcastable,
    conjunction,
    disjunction,
    implies,
    ne,
    negation,
)
from absint.lattices.terms.expr import Atom, Expr, postorder


def truth(relation: Relation) -> Relation:
    """A relation that holds exactly where the given one is true."""
    return _settled(relation, True) if _divides(relation.atoms()) else relation


def falsity(relation: Relation) -> Relation:
    """A relation that holds exactly where the given one is false; the negation also holds where it has no truth."""
    return _settled(relation, False) if _divides(relation.atoms()) else negation(relation)


def defined(e: Expr) -> Relation:
    """A relation that holds exactly where the term has a value."""
    values = _conditions(e.atoms(), broadcasts=False) if _divides(e.atoms()) else {}
    return conjunction(TRUE, *(values[atom] for atom in dict.fromkeys(e.atoms()) if values))


def computed(relation: Relation) -> Relation:
    """The requirement of every node behind a `broadcast` in the relation: its operands broadcast."""
    if not any(node.op == "broadcast" for node in postorder(relation.atoms())):
        return TRUE
    values = _conditions(relation.atoms(), broadcasts=True)
    return conjunction(*(values[atom] for atom in dict.fromkeys(relation.atoms())))


def undivided(relation: Relation, divisors: Iterable[Expr]) -> Relation:
    """No divisor of the text is 0, except those that the relation still divides by.

    The normal form cancels: `N*M // M` is N, though the text has no value at M == 0. It also splits: a product is 0
    where a factor is, so another part of a connective may settle a part that divides by 0 in the text.
    """
    shown = {_divisor(node) for node in postorder(relation.atoms())} if relation.op in ("==", "!=", ">=") else ()
    return conjunction(TRUE, *(ne(divisor, 0) for divisor in dict.fromkeys(divisors) if divisor not in shown))


def _divides(roots: Iterable[Atom]) -> bool:
    return any(_divisor(node) is not None for node in postorder(roots))


def _divisor(atom: Atom) -> Expr | None:
    """The divisor, if it is no constant."""
    if atom.op not in ("floordiv", "truncdiv"):
        return None
    divisor = cast(Expr, atom.args[1])
    return divisor if divisor.const is None else None


def _settled(relation: Relation, wanted: bool) -> Relation:
    defined = _conditions(relation.atoms(), broadcasts=False)
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


def _conditions(roots: Iterable[Atom], broadcasts: bool) -> dict[Atom, Relation]:
    """For every atom, the condition under which it has a value."""
    found: dict[Atom, Relation] = {}

    def of(e: Expr) -> Relation:
        return conjunction(TRUE, *(found[atom] for atom in e.atoms()))

    for node in postorder(roots):
        if node.op == "ite":
            condition, a, b = cast("tuple[Relation, Expr, Expr]", node.args)
            chosen = conjunction(implies(condition, of(a)), implies(negation(condition), of(b)))
            if broadcasts or not _divides(condition.atoms()):
                asked = conjunction(TRUE, *(found[atom] for atom in condition.atoms())) if broadcasts else TRUE
            else:
                asked = disjunction(truth(condition), falsity(condition))
            found[node] = conjunction(asked, chosen)
            continue
        operands = cast("tuple[Expr, ...]", node.args)
        parts = [of(operand) for operand in operands]
        divisor = _divisor(node)
        if divisor is not None and not broadcasts:
            parts.append(ne(divisor, 0))
        if broadcasts and node.op == "broadcast":
            parts += [broadcastable(a, b) for a, b in combinations(operands, 2)]
        found[node] = conjunction(TRUE, *parts)
    return found


__all__ = ["computed", "defined", "falsity", "truth", "undivided"]
