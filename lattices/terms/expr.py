"""Symbolic integers: interned integer polynomials over atoms, with `+`, `-` and `*`.

An `Expr` is a sum of integer-coefficient monomials; a monomial is a product of atoms. Structurally equal expressions
are one object, so equality is identity. `normal` has the constructors of composite atoms, `absint.lattices.text` the
grammar.

`Unknown` is a dim with a known interval and congruence, and no expression. It absorbs arithmetic, and every constructor
returns it when a result would outgrow the size budget: nothing here ever invents a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from math import gcd
from typing import Final, cast

from absint.lattices.terms.atoms import (
    MAX_DIM,
    Atom,
    Monomial,
    Operand,
    Symbol,
    Values,
    joined,
    postorder,
    reached,
    sum_bounds,
    term_order,
)
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.evaluation import INTEGERS, Binding, UndefinedError, values_of
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.interval import ANY, EMPTY, FULL, Congruence, Interval

MAX_TERMS: Final = 256
MAX_DEGREE: Final = 32
MAX_SIZE: Final = 100_000
MAX_BITS: Final = 2048
"""Longest coefficient: repeated squaring would double its length each time."""

_CACHE: Final = 1 << 14

_EXPRS: InternTable[Expr] = InternTable()
_UNKNOWNS: InternTable[Unknown] = InternTable()


class Unknown(Dim):
    """A dim with known bounds and congruence, and no expression; two of them never count as the same size."""

    __slots__ = ("__weakref__", "bounds", "congruence")

    bounds: Interval
    congruence: Congruence

    def __new__(cls, bounds: Interval = FULL, congruence: Congruence = ANY) -> Unknown:
        if bounds.is_empty:
            bounds, congruence = EMPTY, ANY

        def build() -> Unknown:
            self = object.__new__(cls)
            self.bounds, self.congruence = bounds, congruence
            return self

        found = _UNKNOWNS.get((bounds, congruence))
        return found if found is not None else _UNKNOWNS.add((bounds, congruence), build)

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[object, ...]]:
        return Unknown, (self.bounds, self.congruence)

    @property
    def is_unknown(self) -> bool:
        return True

    def evaluate(self, binding: Binding) -> int:
        raise ValueError("an unknown dim has no value")

    def at(self, binding: Binding) -> None:
        return None

    def atoms(self) -> Iterator[Atom]:
        return iter(())


class Expr(Dim, Operand):
    """A polynomial in normal form: `terms` maps monomials (atoms sorted by key) to non-zero coefficients."""

    __slots__ = ("__dict__", "__weakref__", "bounds", "const", "is_composite", "size", "terms")

    terms: tuple[tuple[Monomial, int], ...]
    const: int | None
    bounds: Interval
    """Those that follow from the bounds of the symbols alone."""
    size: int
    is_composite: bool
    """An atom is an operation; otherwise all are symbols."""

    @property
    def is_concrete(self) -> bool:
        return self.const is not None

    @cached_property
    def congruence(self) -> Congruence:
        modulus = 0
        remainder = 0
        for mono, coef in self.terms:
            if mono:
                modulus = gcd(modulus, coef)
            else:
                remainder = coef
        return Congruence.of(modulus, remainder)

    def atoms(self) -> Iterator[Atom]:
        """Every atom of every monomial, repeats included."""
        return chain.from_iterable([mono for mono, _ in self.terms])

    @cached_property
    def ordered(self) -> tuple[tuple[Monomial, int], ...]:
        """Terms by descending degree, then by key: the same order in every run."""
        return tuple(sorted(self.terms, key=term_order))

    @cached_property
    def key(self) -> str:
        return "+".join(f"{coef}{''.join('*' + a.key for a in mono)}" for mono, coef in self.ordered) or "0"

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        return super().symbols

    @property
    def free_symbols(self) -> frozenset[str]:
        return frozenset(symbol.name for symbol in self.symbols)

    def evaluate(self, binding: Binding) -> int:
        if self.const is not None:
            return self.const
        return self.value(values_of(self, binding))

    def at(self, binding: Binding) -> int | None:
        try:
            return self.value(values_of(self, binding, partial=True))
        except (UndefinedError, ValueError):
            return None

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[object, ...]]:
        return polynomial, (dict(self.terms),)

    def rebuild(self, values: Mapping[Atom, Dim]) -> Dim:
        """The sum with each atom replaced by its value."""
        total: Dim = ZERO_EXPR
        for mono, coef in self.terms:
            term: Dim = const(coef)
            for factor in mono:
                value = values[factor]
                term = value if term is ONE_EXPR and isinstance(value, Expr) else mul(term, value)
            total = term if total is ZERO_EXPR and isinstance(term, Expr) else add(total, term)
        return total

    def value(self, values: Values) -> int:
        total = 0
        for mono, coef in self.terms:
            for factor in mono:
                value = values.get(factor)
                if value is None:
                    raise UndefinedError(_NO_VALUE.get(factor.op, "an operand has no value"))
                coef *= value
            total += coef
        return total

    def __int__(self) -> int:
        if self.const is None:
            raise TypeError(f"{self} is not a concrete size")
        return self.const

    def __index__(self) -> int:
        return int(self)


class Constant(Expr):
    """An expression without symbols, which equals the int. A class of its own, so that others keep the plain, fast
    hash.
    """

    __slots__ = ()

    const: int

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, int) and self.const == other)

    def __hash__(self) -> int:
        return hash(self.const)

    def __bool__(self) -> bool:
        return self.const != 0


_NO_VALUE: Final = {
    **dict.fromkeys(INTEGERS, "a float that is no integer of its type"),
    **dict.fromkeys(("floordiv", "truncdiv"), "division by zero"),
    "broadcast": "sizes that do not broadcast",
}
"""Operation -> the likeliest reason why it has no value."""


def operand(value: object) -> Dim | None:
    """A dim from a dim or an int; None for anything else."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else const(value)
    return value if isinstance(value, Dim) else None


def as_dim(value: Dim | int) -> Dim:
    """A dim from a dim or an int. Raises TypeError for anything else."""
    dim = operand(value)
    if dim is None:
        raise TypeError(f"a dim is an int or an expression, not {type(value).__name__} {value!r}")
    return dim


def polynomial(terms: dict[Monomial, int]) -> Dim:
    """The interned polynomial of these terms (zero coefficients dropped), or Unknown over the size budget."""
    items = tuple(terms.items()) if all(terms.values()) else tuple((m, c) for m, c in terms.items() if c)
    key = items if len(items) < 2 else frozenset(items)
    found = _EXPRS.get(key)
    if found is not None:
        return found
    bounds = sum_bounds(items)
    size = factors = 1
    for mono, coef in items:
        if len(mono) > MAX_DEGREE or coef.bit_length() > MAX_BITS:
            return Unknown(bounds)
        factors += len(mono)
        for factor in mono:
            size += factor.size
    if len(items) > MAX_TERMS or size > MAX_SIZE:
        return Unknown(bounds)
    constant = 0 if not items else items[0][1] if len(items) == 1 and not items[0][0] else None

    def build() -> Expr:
        self: Expr = object.__new__(Expr if constant is None else Constant)
        self.terms, self.size, self.bounds, self.const = items, size, bounds, constant
        self.is_composite = size > factors
        return self

    return _EXPRS.add(key, build)


@lru_cache(maxsize=4096)
def const(value: int) -> Expr:
    """The constant expression."""
    return cast(Expr, polynomial({(): value} if value else {}))


@lru_cache(maxsize=4096)
def expr_of(factor: Atom) -> Expr:
    """The expression that is this one atom. (Unknown, as any Dim may be, for a new atom over the size budget.)"""
    return cast(Expr, polynomial({(factor,): 1}))


def symbol(name: str) -> Expr:
    """A dim symbol: a natural number below 2^31."""
    return expr_of(Symbol(name))


def integer_symbol(name: str, lo: int | None = None, hi: int | None = None) -> Expr:
    """A symbol for integer data, which may be negative."""
    return expr_of(Symbol(name, lo, hi))


@lru_cache(maxsize=_CACHE)
def add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, Expr) and isinstance(b, Expr):
        terms = dict(a.terms)
        for mono, coef in b.terms:
            terms[mono] = terms.get(mono, 0) + coef
        return polynomial(terms)
    return Unknown(a.bounds + b.bounds, a.congruence + b.congruence)


@lru_cache(maxsize=_CACHE)
def sub(a: Dim, b: Dim) -> Dim:
    if isinstance(a, Expr) and isinstance(b, Expr):
        terms = dict(a.terms)
        for mono, coef in b.terms:
            terms[mono] = terms.get(mono, 0) - coef
        return polynomial(terms)
    return add(a, neg(b))


def neg(a: Dim) -> Dim:
    return mul(a, MINUS_ONE)


@lru_cache(maxsize=_CACHE)
def mul(a: Dim, b: Dim) -> Dim:
    if isinstance(a, Expr) and isinstance(b, Expr):
        if len(a.terms) * len(b.terms) > 4 * MAX_TERMS:
            return Unknown(a.bounds.times(b.bounds))
        terms: dict[Monomial, int] = {}
        for mono, coef in a.terms:
            for other, factor in b.terms:
                product = joined(mono, other)
                terms[product] = terms.get(product, 0) + coef * factor
        return polynomial(terms)
    if a is ZERO_EXPR or b is ZERO_EXPR:
        return ZERO_EXPR
    return Unknown(a.bounds.times(b.bounds), a.congruence.times(b.congruence))


def product(dims: Iterable[Dim | int]) -> Dim:
    """The product of the dims; 1 for none."""
    result: Dim = ONE_EXPR
    for dim in dims:
        result = mul(result, dim if isinstance(dim, Dim) else as_dim(dim))
    return result


def sole_atom(e: Expr) -> Atom | None:
    """The atom that the expression is, if it is one."""
    if len(e.terms) == 1:
        mono, coef = e.terms[0]
        if coef == 1 and len(mono) == 1:
            return mono[0]
    return None


def constant_divisor(atom: Atom) -> int:
    """The divisor of a floor division by a constant; 0 for any other atom."""
    return (cast(Expr, atom.args[1]).const or 0) if atom.op == "floordiv" else 0


ZERO_EXPR: Final = const(0)
ONE_EXPR: Final = const(1)
MINUS_ONE: Final = const(-1)
UNKNOWN_DIM: Final = Unknown()
"""The top of the dim lattice: any integer."""

NATURAL: Final = Interval(0, MAX_DIM)
UNKNOWN_SIZE: Final = Unknown(NATURAL)
"""Any size."""

__all__ = [
    "MAX_BITS", "MAX_DEGREE", "MAX_DIM", "MAX_SIZE", "MAX_TERMS", "MINUS_ONE", "NATURAL", "ONE_EXPR", "UNKNOWN_DIM",
    "UNKNOWN_SIZE", "ZERO_EXPR", "Atom", "Binding", "Constant", "Dim", "Expr", "Monomial", "Symbol", "UndefinedError",
    "Unknown", "add", "as_dim", "const", "constant_divisor", "expr_of", "integer_symbol", "mul", "neg", "operand",
    "polynomial", "postorder", "product", "reached", "sole_atom", "sub", "symbol",
]  # fmt: skip
