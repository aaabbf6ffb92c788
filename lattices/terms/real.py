"""Exact real elements: an integer expression over a positive constant divisor.

Source of the exactness rules: IEEE 754 correct rounding. A value whose divisor is a power of two is exact in the float
type while its numerator fits the mantissa; another divisor stands for a quotient of two integers that has been rounded
once, which floor, ceil and truncation still see exactly (no integer lies between the quotient and its rounding while
the numerator fits the mantissa).
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import cast

from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim, Expr, const
from absint.lattices.terms.normal import ceildiv, floordiv, truncdiv


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
