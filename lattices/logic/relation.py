"""The constructors of relations, for requirements and conditions, and where a relation over partial terms has a truth.

Each returns the normal form, and negation stays within the language: `a + 1 <= b` and `a < b` are one object, and so
are `not a < b` and `a >= b`.

A comparison over a quotient by 0, or over a broadcast of sizes that do not fit, is neither true nor false. As in
`Relation.truth`, the parts of a connective that have a truth may settle it, and a choice needs only the alternative
that it takes.

>>> from absint.lattices.text import parse_relation
>>> str(falsity(parse_relation("N//M >= 2 or N == 7")))
'N != 7 and N//M <= 1 and M >= 1'
>>> str(truth(parse_relation("broadcast(M, N) >= 2")))
'broadcast(M, N) >= 2 and (M == N or M == 1 or N == 1)'
>>> str(truth(parse_relation("N % 4 == 0")))
'N % 4 == 0'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, combinations
from typing import Final, cast

from absint.lattices.logic.comparisons import canonical, comparison, divisible, eq, ge, gt, le, lt, ne
from absint.lattices.logic.formula import (
    FALSE,
    TRUE,
    UNKNOWN_RELATION,
    Comparison,
    Relation,
    conjunction,
    disjunction,
    implies,
    intervals_of,
    is_plain,
    leads_negative,
    negation,
)
from absint.lattices.logic.truth import NO, UNKNOWN, YES, Truth
from absint.lattices.terms.atoms import Symbol, atom
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.evaluation import divides, is_partial, states
from absint.lattices.terms.expr import ONE_EXPR, Atom, Expr, Unknown, as_dim, expr_of, postorder, sole_atom, sub
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import fits
from absint.lattices.terms.periodic import MANY, choice, of_operand, same


def boolean(name: str) -> Relation:
    """A named condition: an integer symbol for boolean data is 1."""
    return truth_of(Symbol(name, 0, 1))


def truth_of(symbol: Symbol) -> Relation:
    """The condition of a symbol with bounds (0, 1)."""
    return eq(expr_of(symbol), 1)


def number_of(condition: Relation) -> Dim:
    """1 where the condition holds, else 0: the symbol that it is the truth of, or a choice."""
    if isinstance(condition, Comparison) and condition.op != ">=":
        symbol = sole_atom(cast(Expr, condition.expr + 1))
        if isinstance(symbol, Symbol) and symbol.bounds == (0, 1):
            return expr_of(symbol) if condition.op == "==" else sub(ONE_EXPR, expr_of(symbol))
    return ite(condition, 1, 0)


def one_of(a: Dim | int, values: tuple[int, ...]) -> Relation:
    """a is one of the values."""
    return disjunction(*(eq(a, value) for value in values))


@remembered
@states("a == max(a, 1) or a == 1 or max(a, 1) == 1 -> True", when="a >= 0")
def broadcastable(a: Dim | int, b: Dim | int) -> Relation:
    """Two dims broadcast as in numpy: they are equal, or one of them is 1."""
    a, b = as_dim(a), as_dim(b)
    if isinstance(a, Expr) and isinstance(b, Expr) and (fits(a, b) or fits(b, a)):
        return TRUE
    return disjunction(eq(a, b), eq(a, 1), eq(b, 1))


@states("broadcast(a, b) == a or broadcast(a, b) == b -> a == b or a == 1 or b == 1")
def fitting(dims: Sequence[Expr]) -> list[Relation]:
    """Relations that hold exactly where the dims are pairwise equal or 1."""
    if len(dims) <= _PAIRED:
        return [broadcastable(a, b) for a, b in combinations(dims, 2)]
    size = first_not_one(*dims)
    return [disjunction(eq(dim, 1), eq(dim, size)) for dim in dims]


_PAIRED: Final = 6
"""Most dims that are compared pairwise."""


def first_not_one(*dims: Dim) -> Dim:
    """The first operand that is not 1, else 1, whether the operands broadcast or not.

    Where they do, `broadcast` has the same value, in any order and without choices.
    """
    result: Dim = ONE_EXPR
    for dim in reversed(dims):
        result = ite(eq(dim, 1), result, dim)
    return result


@states("not (a >= 0) -> -a - 1 >= 0")
@states("not (a == 0) -> a != 0")
@states("not (a >= 0 and b >= 0) -> not (a >= 0) or not (b >= 0)")
@states("not (a >= 0 or b >= 0) -> not (a >= 0) and not (b >= 0)")
def negated(relation: Relation) -> Relation:
    """The negation, built anew."""
    if isinstance(relation, Comparison):
        if relation.op == ">=":
            return canonical(">=", cast(Expr, -relation.expr - 1))
        return canonical("!=" if relation.op == "==" else "==", relation.expr)
    if relation.op in ("and", "or"):
        parts = [negation(part) for part in relation.parts]
        return disjunction(*parts) if relation.op == "and" else conjunction(*parts)
    return FALSE if relation is TRUE else TRUE if relation is FALSE else UNKNOWN_RELATION


def mapped(relation: Relation, change: Callable[[Expr], Dim]) -> Relation:
    """The relation with each expression that is compared with 0 changed."""
    if isinstance(relation, Comparison):
        return comparison(relation.op, change(relation.expr))
    done: dict[Relation, Relation] = {}
    for r in relation.subformulas():
        if isinstance(r, Comparison):
            done[r] = comparison(r.op, change(r.expr))
        elif r.op in ("and", "or"):
            parts = [done[part] for part in r.parts]
            done[r] = conjunction(*parts) if r.op == "and" else disjunction(*parts)
        else:
            done[r] = r
    return done[relation]


def ite(condition: Relation, a: Dim | int, b: Dim | int) -> Dim:
    """a where the condition holds, else b."""
    return _ite(condition, as_dim(a), as_dim(b))


def chosen_of(conditions: Sequence[Relation], dims: Sequence[Dim]) -> Dim:
    """The dim whose condition holds; the last one needs none, since in each run one of the conditions holds."""
    found = dims[-1]
    for condition, dim in zip(reversed(conditions[:-1]), reversed(dims[:-1]), strict=True):
        found = ite(condition, dim, found)
    return found


@lru_cache(maxsize=1 << 12)
@states("ite(a >= 0, b, b) -> b")
@states("ite(a == b, a, b) -> b")
@states("ite(a != 0, b, c) -> ite(a == 0, c, b)")
@states("ite(a >= 0, b, c) -> ite(-a - 1 >= 0, c, b)")
def _ite(condition: Relation, a: Dim, b: Dim) -> Dim:
    if condition is TRUE or (a is b and isinstance(a, Expr)):
        return a
    if condition is FALSE:
        return b
    if condition is UNKNOWN_RELATION or not (isinstance(a, Expr) and isinstance(b, Expr)):
        return Unknown(a.bounds.join(b.bounds), a.congruence.join(b.congruence))
    if condition.op == "!=" or (isinstance(condition, Comparison) and _is_upper(condition)):
        condition, a, b = negation(condition), b, a
    if isinstance(condition, Comparison) and condition.op == "==" and sub(a, b) in (condition.expr, -condition.expr):
        return b  # ite(a == b, a, b)
    if (idle := _idle(condition, a, b)) is not None:
        return idle
    return expr_of(atom("ite", (condition, a, b), a.bounds.join(b.bounds)))


def _is_upper(condition: Comparison) -> bool:
    """It bounds its leading term from above."""
    return condition.op == ">=" and leads_negative(condition.expr)


@states("ite(x >= 0, A, b) -> b", when="x < 0 or A == b")
@states("ite(x >= 0, a, B) -> a", when="x >= 0 or a == B")
def _idle(condition: Relation, a: Expr, b: Expr) -> Dim | None:
    """a or b, if it is the value of the choice whatever the one symbol of all three is."""
    if max(condition.size, a.size, b.size) > MANY:
        return None
    together = condition.symbols | a.symbols | b.symbols
    if len(together) != 1 or next(iter(together)).bounds.lo is None:
        return None
    holds, here, there = of_operand(condition), of_operand(a), of_operand(b)
    if holds is None or here is None or there is None:
        return None
    taken = choice(holds, here, there)
    for f, side in sorted(((here, a), (there, b)), key=lambda pair: pair[1].size):
        if taken is not None and same(f, taken) and not is_partial(side.atoms()):
            return side
    return None


__all__ = [
    "FALSE", "NO", "TRUE", "UNKNOWN", "UNKNOWN_RELATION", "YES", "Comparison", "Relation", "Truth", "boolean",
    "broadcastable", "chosen_of", "comparison", "conjunction", "disjunction", "divisible", "eq", "first_not_one",
    "fitting", "ge", "gt", "implies", "intervals_of", "is_plain", "ite", "le", "lt", "mapped", "ne", "negated",
    "negation", "number_of", "one_of",
]  # fmt: skip


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
