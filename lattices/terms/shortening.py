"""The shortest known form of an expression, each part that one symbol decides by itself: `x//4 - x//8` is `(x + 4)//8`.

A result has the value of the original wherever that has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import gcd
from typing import Final, cast

from absint.lattices.terms.atoms import Atom, Monomial, Operand, Symbol, SymbolKind, postorder
from absint.lattices.terms.dim import Condition, Dim
from absint.lattices.terms.evaluation import is_partial
from absint.lattices.terms.expr import ZERO_EXPR, Expr, add, const, expr_of, mul, polynomial, sub
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import CONSTRUCTORS, floordiv, maximum, minimum
from absint.lattices.terms.periodic import FEW, MANY, Univariate, of_operand, same, sole_symbol, univariate

_PAIRED: Final = 6
"""Terms over one symbol that are put together two by two."""
_LONG: Final = 300
"""Atoms of an expression whose characters are estimated by their number."""


def shortened(dim: Dim) -> Dim:
    """The dim, or a shorter one that equals it."""
    return _shortened(dim) if isinstance(dim, Expr) and FEW <= dim.size <= MANY else dim


@lru_cache(maxsize=1 << 12)
def _shortened(e: Expr) -> Dim:
    values: dict[Atom, Dim] = {}
    for node in postorder(e.atoms()):
        values[node] = expr_of(node)
        if node.args:
            args = [_short_operand(cast("Expr | Condition | Float", arg), values) for arg in node.args]
            if any(a is not b for a, b in zip(args, node.args, strict=True)):
                values[node] = CONSTRUCTORS[node.op](*args)
    result = _by_symbol(with_constant_inside(e.rebuild(values)))
    return result if isinstance(result, Expr) and length(result) < length(e) else e


@lru_cache(maxsize=1 << 12)
def length(root: Operand) -> int:
    """About as many characters as the text of an expression or a condition has, long names counted as short ones."""
    if root.size > _LONG:
        return 4 * root.size
    if isinstance(root, Condition):
        return 5 + sum(map(length, root.args))
    if isinstance(root, Float):
        return 4 + 5 * (root.op in ("of", "cast")) + sum(map(length, root.args))
    terms = cast(Expr, root).terms
    return sum(_term_length(mono, abs(coef)) for mono, coef in terms) + 3 * (len(terms) - 1)


def _term_length(mono: Monomial, coef: int) -> int:
    factors = [*([len(str(coef))] if coef > 1 or not mono else []), *map(_atom_length, mono)]
    return sum(factors) + len(factors) - 1


def _atom_length(atom: Atom) -> int:
    if isinstance(atom, Symbol):
        return min(len(atom.name), _NAME) if atom.kind is SymbolKind.INPUT else _INVENTED
    inside = sum(map(length, atom.args)) + 2 * len(atom.args)
    return inside if atom.op == "floordiv" else inside + len(atom.op)


_NAME: Final = 8
"""Characters of a name that count: a sum is no harder to read for the long names of its sizes."""
_INVENTED: Final = 4
"""Characters of the printed name of an invented symbol."""


def _short_operand(arg: Expr | Condition | Float, values: dict[Atom, Dim]) -> Dim | Condition | Float | None:
    changed = any(values[atom] is not expr_of(atom) for atom in arg.atoms())
    operand = arg.rebuild(values) if changed else arg
    return _by_symbol(with_constant_inside(operand)) if isinstance(operand, Dim) else operand


def with_constant_inside(dim: Dim) -> Dim:
    """The sum with its constant inside an extreme, if that is shorter: `max(x - 1, 0) + 1` is `max(x, 1)`."""
    constant = sum(coef for mono, coef in dim.terms if not mono) if isinstance(dim, Expr) else 0
    if not constant:
        return dim
    for mono, coef in cast(Expr, dim).ordered:
        node = mono[0] if len(mono) == 1 else None
        if node is not None and node.op in ("max", "min") and constant % coef == 0:
            moved = [add(cast(Expr, arg), const(constant // coef)) for arg in node.args]
            rest = sub(sub(dim, const(constant)), mul(const(coef), expr_of(node)))
            form = add(rest, mul(const(coef), CONSTRUCTORS[node.op](*moved)))
            if isinstance(form, Expr) and length(form) < length(cast(Expr, dim)):
                return form
    return dim


def _by_symbol(dim: Dim) -> Dim:
    """The sum with the terms of each symbol put together."""
    if not isinstance(dim, Expr) or dim.size < FEW:
        return dim
    groups: dict[Symbol | None, dict[Monomial, int]] = {}
    for mono, coef in dim.terms:
        symbols = {sole_symbol(atom) for atom in mono}
        groups.setdefault(symbols.pop() if len(symbols) == 1 else None, {})[mono] = coef
    total: Dim = ZERO_EXPR
    for symbol, terms in groups.items():
        part = polynomial(terms)
        total = add(total, part if symbol is None or not isinstance(part, Expr) else _of_one_symbol(part))
    return total


@lru_cache(maxsize=1 << 12)
def _of_one_symbol(e: Expr) -> Dim:
    """The shortest of the forms that have the same values as e."""
    found = univariate(e) if e.size >= FEW else None
    if found is None:
        return e
    best = e
    for form in (*_quotients(found), *_operands(e)):
        if length(form) < length(best) and not is_partial(form.atoms()):
            other = of_operand(form)
            if other is not None and same(found.function, other):
                best = form
    return best if best is not e else _in_pairs(e)


def _in_pairs(e: Expr) -> Dim:
    """The sum with two of its terms put together where that is shorter: the first of `x//4 - x//8 - 4*(x//32)`."""
    terms = [(mono, coef) for mono, coef in e.ordered if mono]
    if not 2 < len(terms) <= _PAIRED:
        return e
    for pair in combinations(terms, 2):
        both = polynomial(dict(pair))
        shorter = _of_one_symbol(both) if isinstance(both, Expr) else both
        if shorter is not both:
            whole = add(sub(e, both), shorter)
            return _of_one_symbol(whole) if isinstance(whole, Expr) and length(whole) < length(e) else e
    return e


def _quotients(found: Univariate) -> Iterator[Expr]:
    """Forms (a*x + c)//m with the slope of the function, and the larger or smaller of one and the first value.

    The values after the start leave one c at most: a*x takes all residues modulo m.
    """
    f = found.function
    lo = cast(int, found.symbol.bounds.lo)
    values = f.values(0, f.telling)
    if f.step == 0:
        if len(set(values)) == 1:
            yield const(values[0])
        return
    common = gcd(f.step, f.period)
    a, m = f.step // common, f.period // common
    places = range(f.start, f.telling)
    least = max(m * values[i] - a * (lo + i) for i in places)
    if least > min(m * values[i] - a * (lo + i) for i in places) + m - 1:
        return
    form = floordiv(add(mul(const(a), expr_of(found.symbol)), const(least)), const(m))
    for whole in (form, maximum(form, values[0]), minimum(form, values[0])):
        if isinstance(whole, Expr):
            yield whole


def _operands(e: Expr) -> Iterator[Expr]:
    """The operands of the atoms in e."""
    for node in postorder(e.atoms()):
        for arg in node.args:
            if isinstance(arg, Expr):
                yield arg
