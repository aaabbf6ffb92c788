"""Simplifying choices: `ite` terms under a condition, and choices that make no difference.

Terms are partial: a quotient by 0 and a broadcast of sizes that do not fit have no value. A result has the value of
the original wherever that has one (and the premise holds); elsewhere it may have any. So where a condition holds, a
term may be simplified by all that follows from it. Two things need more. A side may take the place of the whole only if
it has a value on the other side too: `ite(N == 0, 0, broadcast(M, N))` is not `broadcast(M, N)`, although that is
written 0 where N is 0, since it has no value at N = 0 and M = 2. And a choice may be moved outwards only if its
condition has a truth wherever the whole has a value: inside another choice it may divide by 0 where it is not asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Final, cast

from absint.lattices.logic.comparisons import LARGE
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.formula import NO, TRUE, UNKNOWN, UNKNOWN_RELATION, YES, Comparison, Relation, conjunction
from absint.lattices.logic.relation import defined, eq, ge, ite, le
from absint.lattices.terms.evaluation import INTEGERS, is_partial, states
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, add, const, expr_of, mul, postorder, product, reached
from absint.lattices.terms.floats import Float
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import rebuilt, with_atoms
from absint.lattices.terms.periodic import FEW
from absint.lattices.terms.shortening import length, shortened

_MAX_CHOICES: Final = 6
"""An expression with more choices is left as it is."""

_MAX_STEPS: Final = 16
"""Most passes of one simplification: two choices can make each other redundant in turns."""


@lru_cache(maxsize=1 << 14)
def choices(root: Dim | Relation) -> tuple[Relation, ...]:
    """The conditions of the choices in an expression or a relation, operands first, each once; none if many."""
    if not isinstance(root, (Expr, Relation)) or root.size > LARGE or not any(atom.args for atom in root.atoms()):
        return ()
    found = (cast(Relation, node.args[0]) for node in postorder(root.atoms()) if node.op == "ite")
    conditions = tuple(dict.fromkeys(found))
    return conditions if len(conditions) <= _MAX_CHOICES else ()


@lru_cache(maxsize=1 << 13)
def cases(root: Dim | Relation, extremes: bool = False) -> tuple[Relation, ...]:
    """The conditions of `choices` (of extremes of two as well) that have a truth wherever the root has a value."""
    conditions = (*choices(root), *(_extremes(root) if extremes else ()))
    if not conditions or not is_partial(chain.from_iterable(condition.atoms() for condition in conditions)):
        return conditions
    needed = _needed(root)
    return tuple(c for c in conditions if needed.issuperset(c.atoms()) or defined(c) is TRUE)


def _needed(root: Dim | Relation) -> set[Atom]:
    """The atoms without which the root has no value: all but those in sides of choices and in parts of connectives."""
    if not isinstance(root, Expr | Comparison):
        return set()

    def onward(node: Atom) -> Iterator[Atom]:
        operands = node.args[:1] if node.op == "ite" else node.args
        numbers = (arg for arg in operands if not isinstance(arg, Relation) or isinstance(arg, Comparison))
        return chain.from_iterable(arg.atoms() for arg in numbers)

    return reached(root.atoms(), onward)


_TOLD: Final = (
    "(holds(X >= 0) or fails(X >= 0) or not defined(D))"
    " and (not holds(X >= 0) or extends(H, D)) and (not fails(X >= 0) or extends(T, D))"
)
"""X >= 0 is a case of D, whose restriction is H where it holds and T where it fails."""


@lru_cache(maxsize=1 << 13)
@states("ite(X >= 0, A, B) -> A", when="holds(X >= 0)")
@states("ite(X >= 0, A, B) -> B", when="fails(X >= 0)")
@states("max(A, B) -> A", when="holds(A >= B)")
@states("min(A, B) -> A", when="holds(B >= A)")
def restrict(dim: Dim, condition: Relation, extremes: bool = False) -> Dim:
    """The dim simplified where the condition holds: choices resolved, and symbols replaced that the condition fixes.

    With `extremes`, the larger or smaller of two is a choice too.
    """
    if not isinstance(dim, Expr) or dim.const is not None or condition in (TRUE, UNKNOWN_RELATION):
        return dim
    scope = _where(condition)
    chosen = dim.rebuild(scope.values(dim.atoms(), extremes)) if extremes or choices(dim) else dim
    # Facts also narrow the bounds of symbols, and such symbols must not leave this scope.
    fixed = scope.facts.simplify(chosen)
    return fixed if isinstance(fixed, Expr) and isinstance(chosen, Expr) and fixed.symbols <= chosen.symbols else chosen


class _Scope:
    """The facts where a condition holds, and the atoms they simplified so far: large sizes share most of theirs."""

    __slots__ = ("_chosen", "facts")

    def __init__(self, condition: Relation) -> None:
        self.facts = Facts([condition])
        self._chosen: dict[bool, dict[Atom, Dim]] = {False: {}, True: {}}

    def values(self, roots: Iterable[Atom], extremes: bool) -> Mapping[Atom, Dim]:
        """Each atom with the choices resolved that the facts decide. With `extremes`, those count as choices."""
        values = self._chosen[extremes]
        if len(values) > _MAX_CHOSEN:
            values = self._chosen[extremes] = {}
        for node in postorder(roots, values):
            condition = _condition(node) if extremes or node.op == "ite" else None
            truth = UNKNOWN if condition is None else self.facts.decide(condition)
            if truth in (YES, NO):
                values[node] = cast(Expr, node.args[-2 if truth is YES else -1]).rebuild(values)
            else:
                values[node] = rebuilt(node, values)
        return values


_MAX_CHOSEN: Final = 1 << 10
"""Atoms that a scope keeps; then it forgets all."""


@lru_cache(maxsize=1 << 12)
def _where(condition: Relation) -> _Scope:
    """The scope in which a condition holds."""
    return _Scope(condition)


@lru_cache(maxsize=1 << 13)
def entails(condition: Relation, relation: Relation) -> bool:
    """The facts that the condition gives show the relation."""
    return _where(condition).facts.decide(relation) is YES


@lru_cache(maxsize=1 << 14)
def excludes(condition: Relation, relation: Relation) -> bool:
    """The relation cannot hold where the condition does."""
    scope = _where(condition)
    return scope.facts.decide(relation.rebuild(scope.values(relation.atoms(), extremes=True))) is NO


@lru_cache(maxsize=1 << 13)
def is_defined(dim: Dim, condition: Relation) -> bool:
    """The dim has a value where the condition holds: 0//N, which is written 0, has none where N is 0."""
    if not isinstance(dim, Expr):
        return True
    if any(node.op in INTEGERS and not cast(Float, node.args[0]).is_total for node in postorder(dim.atoms())):
        return False
    needed = defined(dim)
    return needed is TRUE or excludes(condition, ~needed)


@lru_cache(maxsize=1 << 13)
def settled(dim: Dim) -> Dim:
    """The dim without choices that make no difference: where one side is taken, the other has the same value."""
    for _ in range(_MAX_STEPS):
        simpler = _settled_once(dim)
        if simpler is dim:
            break
        dim = simpler
    return dim


@states("D -> T", when=f"{_TOLD} and (not holds(X >= 0) or defined(T) and T == H)")
@states("D -> H", when=f"{_TOLD} and (not fails(X >= 0) or defined(H) and H == T)")
@states("D -> ite(X >= 0, H, T)", when=_TOLD)
def _settled_once(dim: Dim) -> Dim:
    for condition in cases(dim):
        otherwise = ~condition
        here, there = restrict(dim, condition), restrict(dim, otherwise)
        if not (isinstance(here, Expr) and isinstance(there, Expr)):
            continue
        if restrict(there, condition) is here and is_defined(there, condition):
            return there
        if restrict(here, otherwise) is there and is_defined(here, otherwise):
            return here
        apart = ite(condition, here, there)
        if isinstance(apart, Expr) and apart.size < cast(Expr, dim).size:
            return apart
    return dim


@lru_cache(maxsize=1 << 13)
@states("s * A -> s * B", when="s == 0 and defined(B) or s >= 1 and extends(B, A)")
def product_settled(dim: Dim) -> Dim:
    """The dim without choices that differ only where a factor beside them is 0: `S*ite(S == 0, 1, N)` is `S*N`."""
    if not isinstance(dim, Expr) or not (choices(dim) or _extremes(dim)):
        return dim
    total: Dim = const(0)
    for mono, coef in dim.terms:
        condition = conjunction(*(ge(expr_of(a), 1) for a in mono if isinstance(a, Symbol) and a.bounds.lo == 0))
        factors = [expr_of(atom) for atom in mono]
        inside = [
            f if isinstance(a, Symbol) else restrict(f, condition, True) for a, f in zip(mono, factors, strict=True)
        ]
        kept = [i if i is f or is_defined(i, TRUE) else f for i, f in zip(inside, factors, strict=True)]
        total = add(total, mul(const(coef), product(kept)))
    return total if isinstance(total, Expr) else dim


def _condition(node: Atom) -> Relation | None:
    """The condition of a choice or an extreme: the atom is its last operand but one where it holds, else its last."""
    if node.op == "ite":
        return cast(Relation, node.args[0])
    if node.op in ("max", "min") and len(node.args) == 2:
        a, b = cast(tuple[Expr, Expr], node.args)
        return ge(a, b) if node.op == "max" else le(a, b)
    return None


@lru_cache(maxsize=1 << 13)
def _extremes(dim: Dim | Relation) -> tuple[Relation, ...]:
    """The conditions of the extremes of two in an expression; none if many."""
    if not isinstance(dim, Expr) or dim.size > LARGE:
        return ()
    found = (_condition(node) for node in postorder(dim.atoms()) if node.op in ("max", "min"))
    conditions = tuple(dict.fromkeys(c for c in found if c is not None and c is not UNKNOWN_RELATION))
    return conditions if len(conditions) <= _MAX_CHOICES else ()


@remembered
@states("D -> H", when=f"{_TOLD} and not fails(X >= 0)")
@states("D -> T", when=f"{_TOLD} and not holds(X >= 0)")
def given(premise: Relation, dim: Dim) -> Dim:
    """The dim in the runs that meet the premise, without the choices that it decides.

    A table of 64 positions that is cut to `min(seq, 64)` and added to `seq` rows can only run as `seq`.
    """
    for condition in cases(dim, extremes=True):
        if excludes(~condition, premise):
            return given(premise, restrict(dim, condition, extremes=True))
        if excludes(condition, premise):
            return given(premise, restrict(dim, ~condition, extremes=True))
    return settled(dim)


# The shortest known form of a size, where choices are told apart by their conditions and a size of 0 by itself.
#
# A result has the value of the original wherever that has one.

_MANY: Final = 150
"""Atoms of an expression that is not told apart."""


def shortest(dim: Dim) -> Dim:
    """The dim, or a shorter one that equals it."""
    return _shortest(dim) if isinstance(dim, Expr) and dim.size >= FEW else dim


@lru_cache(maxsize=1 << 12)
def _shortest(e: Expr) -> Dim:
    best = shortened(e)
    while isinstance(best, Expr) and best.size <= _MANY:
        shorter = next((form for form in _forms(best) if length(form) < length(best)), None)
        if shorter is None:
            break
        best = shorter
    return best


@states("A -> ite(x >= 0, B, C)", when="(x < 0 or extends(B, A)) and (x >= 0 or extends(C, A))")
@states("ite(X >= 0, A, B) -> ite(X >= 0, C, B)", when="not holds(X >= 0) or extends(C, A)")
def _forms(e: Expr) -> Iterator[Expr]:
    """Forms that equal e: its choices with sides for their conditions alone, then e as one choice."""
    told = dict.fromkeys((*cases(e), *_empty(e)))
    if not told and not choices(e):
        return

    def chosen(condition: Relation, a: Dim, b: Dim) -> Dim:
        return ite(condition, _under(condition, a), _under(~condition, b))

    def narrowed(node: Atom, values: Mapping[Atom, Dim]) -> Dim | None:
        if node.op != "ite":
            return None
        condition, a, b = cast("tuple[Relation, Expr, Expr]", node.args)
        return chosen(condition.rebuild(values), a.rebuild(values), b.rebuild(values))

    forms = [settled(e), e.rebuild(with_atoms(e, narrowed)), *(chosen(condition, e, e) for condition in told)]
    yield from (form for form in map(shortened, forms) if isinstance(form, Expr))


def _empty(e: Expr) -> Iterator[Relation]:
    """That a symbol is 0, where a maximum keeps that apart: in `max(2*N, 1)//max(N, 1)`.

    Beside other symbols alone it does not, unless the symbol stands somewhere else too.
    """
    atoms = postorder(e.atoms())
    uses = Counter(chain(e.atoms(), *(node.children for node in atoms)))
    for node in atoms:
        if node.op == "max":
            operands = cast("tuple[Expr, ...]", node.args)
            told = any(arg.const is not None for arg in operands)
            beside = Counter(chain.from_iterable(arg.symbols for arg in operands))
            for arg in operands:
                only = arg.ordered[0][0] if len(arg.ordered) == 1 else ()
                if len(only) != 1 or not isinstance(only[0], Symbol) or only[0].bounds.lo != 0:
                    continue
                if told or uses[only[0]] > 1 or beside[only[0]] > 1:
                    yield eq(expr_of(only[0]), 0)


def _under(condition: Relation, dim: Dim) -> Dim:
    """The dim in its form where the condition holds, over the symbols that it has."""
    if not isinstance(dim, Expr):
        return dim
    facts = _where(condition).facts
    inside = facts.simplify(dim)
    found = facts.restored(inside) if isinstance(inside, Expr) else dim
    return found if isinstance(found, Expr) and found.symbols <= dim.symbols else dim
