"""Dim, with Python's operators on it, and Condition: what the lowest terms know of those above them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from absint.lattices.terms.atoms import Atom, Interned, Operand
from absint.lattices.terms.evaluation import Binding
from absint.lattices.terms.interval import Congruence, Interval


class Arithmetic(Protocol):
    """The functions behind the operators of a dim, which `absint.lattices.operators` takes from the rooms above."""

    def dim_of(self, value: Dim | int | str | None, /) -> Dim: ...

    def format_dim(self, dim: Dim, /) -> str: ...

    def format_float(self, term: Operand, /) -> str: ...

    def operand(self, value: object, /) -> Dim | None: ...

    def substitute_names(self, dim: Dim, mapping: Mapping[str, Dim | int], /) -> Dim: ...

    def neg(self, a: Dim, /) -> Dim: ...


@cache
def _arithmetic() -> Arithmetic:
    from absint.lattices import operators

    return operators


def _infix(name: str) -> tuple[Callable[[Dim, Dim | int], Dim], Callable[[Dim, int], Dim]]:
    """The methods of an operator with a dim on the left, and with a dim on the right."""

    def forward(left: Dim, other: Dim | int) -> Dim:
        do = _arithmetic()
        right = other if isinstance(other, Dim) else do.operand(other)
        return NotImplemented if right is None else getattr(do, name)(left, right)

    def backward(right: Dim, other: int) -> Dim:
        do = _arithmetic()
        left = do.operand(other)
        return NotImplemented if left is None else getattr(do, name)(left, right)

    return forward, backward


class Dim(Interned):
    """A dim, or any integer that a shape is computed from: an `Expr`, or `Unknown`.

    `Dim(4)`, `Dim("2*N + 1")` and `Dim(None)` build one; `+ - * // %` take a dim or an int on either side, with
    Python's meaning (`//` floors). `==` is structural: it asks whether two dims are the same expression, not
    whether they are equal in every run.
    """

    __slots__ = ()

    def __new__(cls, value: Dim | int | str | None = None) -> Dim:
        return _arithmetic().dim_of(value)

    @property
    def is_unknown(self) -> bool:
        """Nothing but bounds and a congruence is known."""
        return False

    @property
    def is_concrete(self) -> bool:
        """A number."""
        return False

    @property
    def is_symbolic(self) -> bool:
        """Neither concrete nor unknown: an expression over symbols."""
        return not self.is_unknown and not self.is_concrete

    @property
    def bounds(self) -> Interval:
        """The range in which every value lies."""
        raise NotImplementedError

    @property
    def congruence(self) -> Congruence:
        """A modulus and the remainder of every value."""
        raise NotImplementedError

    @property
    def free_symbols(self) -> frozenset[str]:
        """Names of the symbols that occur."""
        return frozenset()

    def evaluate(self, binding: Binding) -> int:
        """The size under a binding of the free symbols to natural numbers; names it does not need are allowed.

        Raises KeyError naming a missing symbol, ValueError for a negative size or an unknown dim,
        UndefinedError where the expression divides by zero.
        """
        raise NotImplementedError

    def at(self, binding: Binding) -> int | None:
        """The size under a binding; None where it has none, and where a symbol has no size or one out of its bounds."""
        raise NotImplementedError

    def substitute(self, mapping: Mapping[str, Dim | int]) -> Dim:
        """Replace symbols by name; the result is in normal form."""
        return _arithmetic().substitute_names(self, mapping)

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self} is not defined: compare with == for the same expression, or ask decide()")

    __add__, __radd__ = _infix("add")
    __sub__, __rsub__ = _infix("sub")
    __mul__, __rmul__ = _infix("mul")
    __floordiv__, __rfloordiv__ = _infix("floordiv")
    __mod__, __rmod__ = _infix("mod")

    def __neg__(self) -> Dim:
        return _arithmetic().neg(self)

    def __lt__(self, other: object) -> bool:
        return self._compare(other, "<")

    def __le__(self, other: object) -> bool:
        return self._compare(other, "<=")

    def __gt__(self, other: object) -> bool:
        return self._compare(other, ">")

    def __ge__(self, other: object) -> bool:
        return self._compare(other, ">=")

    def _compare(self, other: object, op: str) -> bool:
        right = _arithmetic().operand(other)
        if right is None:
            return NotImplemented  # type: ignore[no-any-return]
        if not (self.is_concrete and right.is_concrete):
            advice = "build the relation with absint.lattices.logic and ask decide()"
            raise TypeError(f"{self} {op} {other} depends on the sizes: {advice}")
        a, b = int(self), int(right)
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]

    def __int__(self) -> int:
        raise TypeError(f"{self} is not a concrete size")

    def __str__(self) -> str:
        return _arithmetic().format_dim(self)

    def __repr__(self) -> str:
        return f"Dim({str(self)!r})"


def float_text(term: Operand) -> str:
    """The text of a float term."""
    return _arithmetic().format_float(term)


class Condition(Operand):
    """The condition of a choice, as far as this room needs it; `absint.lattices.logic` has the relations."""

    __slots__ = ()

    op: str
    """`==`, `!=`, `>=` (of an expression and 0), `and`, `or`, `true`, `false`, `unknown`."""
    args: tuple[Operand, ...]

    def rebuild(self, values: Mapping[Atom, Dim]) -> Condition:
        """The condition with each atom replaced by its value."""
        raise NotImplementedError

    def choose(self, a: Dim, b: Dim) -> Dim:
        """`ite(self, a, b)`: a where the condition holds, else b."""
        raise NotImplementedError

    @property
    def settled(self) -> bool | None:
        """The truth that it has whatever the symbols are, if it has one."""
        raise NotImplementedError
