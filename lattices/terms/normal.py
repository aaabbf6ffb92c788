"""Every constructor of a composite atom, and the table of them, by which symbols and atoms are replaced.

`CONSTRUCTORS[atom.op](*operands)` is the normal form of an operation, or Unknown over the size budget.

Floats become integers here. `int` is a float rounded towards 0; `int64` and `int32` are what a cast gives: the number
of the run where the float has one of the type. A `Real` is a float that is exact: an integer expression over a positive
constant divisor. Source of the exactness rules: IEEE 754 correct rounding. A value whose divisor is a power of two is
exact in the float type while its numerator fits the mantissa; another divisor stands for a quotient of two integers
that has been rounded once, which floor, ceil and truncation still see exactly (no integer lies between the quotient and
its rounding while the numerator fits the mantissa).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import gcd, isinf
from typing import Final, cast

from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import Atom, Operand, Symbol, atom, postorder
from absint.lattices.terms.dim import Condition, Dim
from absint.lattices.terms.division import ceildiv, divided_times, floordiv, fmod, mod, truncdiv
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Expr, Unknown, as_dim, const, expr_of, sole_atom
from absint.lattices.terms.extremes import broadcast, fits, maximum, minimum
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import DIGITS
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.polynomials import common_factor, exact_quotient


def integer(a: Float | None) -> Dim:
    """The float rounded towards 0, as a number of INT64: it has no value elsewhere, and no bounds beyond."""
    return _integer("int", a)


def int64(a: Float | None) -> Dim:
    """The float cast to INT64: the same, but where it has no value it is any number of the type."""
    return _integer("int64", a)


def int32(a: Float | None) -> Dim:
    """The float cast to INT32; the same number as an INT64 where the float cannot leave INT32."""
    return _integer("int32", a)


@lru_cache(maxsize=1 << 12)
def _integer(op: str, a: Float | None) -> Dim:
    limits = Interval(*INTEGERS[op])
    if a is None:
        return Unknown(limits)
    if a.is_constant:
        return const(int(a.number)) if int(a.number) in limits else Unknown(limits)
    if a.op == "cast" and a.format == "float64":
        return _integer(op, a.floats[0])
    bounds = limits if op != "int" else _inside(a, limits)
    if a.span.is_finite:
        found = Interval(int(a.span.lo), int(a.span.hi))
        if found.leq(limits):
            if found.lo == found.hi:
                return const(int(a.span.lo))
            bounds, op = found, "int"
    if (a.op == "floor" and a.span.lo >= 0) or (a.op == "ceil" and a.span.hi <= 0):
        return _integer(op, a.floats[0])
    leaf, rounding = (a.floats[0], a.op) if a.op in _ROUNDINGS else (a, "")
    limit = 1 << DIGITS[a.format]
    if leaf.op == "of" and leaf.under <= limit and leaf.leaf.bounds.leq(Interval(-limit, limit)):
        return _ROUNDINGS[rounding](leaf.leaf, leaf.under)  # no integer lies between the quotient and its rounding
    return expr_of(atom(op, (a,), bounds))


def _inside(a: Float, limits: Interval) -> Interval:
    """The integers that the float may be, of those of the type."""
    assert limits.hi is not None
    assert limits.lo is not None
    if a.span.is_empty:
        return limits
    most = limits.hi + 1 - (limits.hi + 1 >> DIGITS[a.format])  # the largest number of the format in the type
    lo, hi = (None if isinf(end) else int(end) for end in (a.span.lo, a.span.hi))
    found = Interval(limits.lo if lo is None else lo, most if hi is None else hi)
    return found.meet(Interval(limits.lo, most))


_ROUNDINGS: Final[Mapping[str, Callable[[Dim, int], Dim]]] = {"": truncdiv, "floor": floordiv, "ceil": ceildiv}


CONSTRUCTORS: Final[Mapping[str, Callable[..., Dim]]] = {
    "floordiv": floordiv,
    "truncdiv": truncdiv,
    "divided": divided_times,
    "max": maximum,
    "min": minimum,
    "broadcast": broadcast,
    "ite": lambda condition, a, b: condition.choose(a, b),
    "int": integer,
    "int64": int64,
    "int32": int32,
}
"""Operation -> its constructor."""

__all__ = [
    "CONSTRUCTORS", "broadcast", "ceildiv", "common_factor", "divided_times", "exact_quotient", "fits",
    "floordiv", "fmod", "int32", "int64", "integer", "maximum", "minimum", "mod", "sole_atom", "truncdiv",
]  # fmt: skip


class Substitution:
    """Replaces atoms in many expressions, simultaneously, and renormalises; each atom is rebuilt once."""

    __slots__ = ("_values", "mapping")

    def __init__(self, mapping: Mapping[Symbol, Dim] | Mapping[Atom, Dim]) -> None:
        """Symbols that are not in the mapping stay. Only `values` replaces other atoms."""
        self.mapping = cast("Mapping[Symbol, Dim]", mapping)
        """Atoms -> what replaces them."""
        self._values: dict[Atom, Dim] = {}

    def __len__(self) -> int:
        """The number of atoms that were rebuilt so far."""
        return len(self._values)

    def __call__(self, expr: Expr) -> Dim:
        """The expression over the new symbols."""
        return expr if self.mapping.keys().isdisjoint(expr.symbols) else expr.rebuild(self.values(expr))

    def values(self, root: Operand) -> Mapping[Atom, Dim]:
        """What replaces the atoms of the root, and of others before it."""
        values, mapping = self._values, cast("Mapping[Atom, Dim]", self.mapping)
        new = [atom for atom in root.atoms() if atom not in values]
        for node in postorder(new, values) if new else ():
            values[node] = mapping[node] if node in mapping else rebuilt(node, values)
        return values


def substitute(expr: Expr, mapping: Mapping[Symbol, Dim]) -> Dim:
    """Replace symbols simultaneously and renormalise; symbols that are not in the mapping stay."""
    return Substitution(mapping)(expr)


def substitute_float(term: Float, mapping: Mapping[Symbol, Dim]) -> Float | None:
    """Replace symbols in a float; None if its value is unknown then."""
    return term.rebuild(Substitution(mapping).values(term))


def substitute_names(dim: Dim, mapping: Mapping[str, Dim | int]) -> Dim:
    """Replace symbols by name; an unknown dim stays."""
    if not isinstance(dim, Expr):
        return dim
    chosen = {s: as_dim(mapping[s.name]) for s in dim.symbols if s.name in mapping}
    return substitute(dim, chosen) if chosen else dim


def with_atoms(root: Operand, change: Callable[[Atom, Mapping[Atom, Dim]], Dim | None]) -> Mapping[Atom, Dim]:
    """The atoms of the root and their values: what `change` makes of one over those of its operands, or the same
    operation on these.
    """
    values: dict[Atom, Dim] = {}
    for node in postorder(root.atoms()):
        changed = change(node, values)
        values[node] = rebuilt(node, values) if changed is None else changed
    return values


def rebuilt(node: Atom, values: Mapping[Atom, Dim]) -> Dim:
    """The atom over the values of its operands' atoms."""
    for child in node.children:
        if values[child] is not expr_of(child):
            break
    else:
        return expr_of(node)
    return CONSTRUCTORS[node.op](*(cast("Expr | Condition | Float", arg).rebuild(values) for arg in node.args))


class Real(NamedTuple):
    """num / den, den >= 1, in lowest terms."""

    num: Expr
    den: int

    @staticmethod
    def of(num: Dim, den: int = 1) -> Real | None:
        """The reduced quotient; None if the numerator is unknown."""
        if not isinstance(num, Expr):
            return None
        if den < 0:
            num, den = cast(Expr, -num), -den
        shared = gcd(den, *(coef for _, coef in num.terms))
        if shared > 1:
            num = cast(Expr, floordiv(num, shared))
        return Real(num, den // shared)

    @staticmethod
    def constant(value: float | Fraction) -> Real:
        """An exact constant; every finite float is one. Raises ValueError or OverflowError for nan and infinities."""
        num, den = (value if isinstance(value, float) else Fraction(value)).as_integer_ratio()
        return Real(const(num), den)

    def over(self, num: Dim) -> Real | None:
        """The quotient of another numerator, which may be a constant now; None if it is unknown, or a constant that the
        float type rounds: a rule that computes with the constant knows the type.
        """
        found = Real.of(num, self.den)
        return None if found is None or (found.num.const is not None and not found.is_dyadic) else found

    @property
    def fraction(self) -> Fraction | None:
        """The value, if it is a constant."""
        return None if self.num.const is None else Fraction(self.num.const, self.den)

    @property
    def is_dyadic(self) -> bool:
        """The divisor is a power of two: the value is exact, not a rounded quotient."""
        return self.den & (self.den - 1) == 0

    def floor(self) -> Dim:
        return floordiv(self.num, self.den)

    def ceil(self) -> Dim:
        return ceildiv(self.num, self.den)

    def truncate(self) -> Dim:
        """Rounded towards zero, as Cast to an integer type does."""
        return truncdiv(self.num, self.den)

    def __str__(self) -> str:
        return str(self.num) if self.den == 1 else f"({self.num})/{self.den}"
