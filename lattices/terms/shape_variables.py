"""Shape variables: the symbol `*s` in the shape `[N, *s, 64]`.

A shape variable stands for the sizes of axes whose number is unknown: in a run it is one list of natural numbers, also
the empty one. It is no number, so it occurs in shapes alone, never in an expression or a relation. It is a `Symbol` all
the same: each node invents its own, a body forgets those of its trips, a summary has holes for them, by the same code
that does so for sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from absint.lattices.terms.atoms import HOLE_NAME, MAX_DIM, Symbol, SymbolKind, kind_of, name_of
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import Expr, expr_of, sole_atom
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.interval import Interval


class ShapeVariable(Symbol):
    """A named list of sizes. The name tells variables apart; that of an input `X` is `*X`."""

    __slots__ = ()

    prefix: ClassVar[str] = "*_s"
    is_number: ClassVar[bool] = False

    def __new__(cls, name: str, lo: int | None = 0, hi: int | None = MAX_DIM) -> ShapeVariable:
        def build() -> ShapeVariable:
            self = object.__new__(cls)
            self.op, self.args, self.children, self.name, self.size = "symbol", (), (), name, 1
            self.bounds, self.inner = Interval(0, MAX_DIM), frozenset()
            self.kind, self.origin = kind_of(name)
            self.key = f"0*{name!r}"  # no symbol of a size has such a key
            return self

        found = _VARIABLES.get(name)
        return found if found is not None else _VARIABLES.add(name, build)

    def __reduce__(self) -> tuple[Callable[..., Symbol], tuple[object, ...]]:
        return ShapeVariable, (self.name,)

    @staticmethod
    def hole_for(tag: str) -> ShapeVariable:
        """A hole for a variable that each node invents on its own."""
        return ShapeVariable(f"{HOLE_NAME}{tag}")

    @staticmethod
    def invented(node: int, tag: str, kind: SymbolKind = SymbolKind.FRESH) -> ShapeVariable:
        """The variable of this tag that the node invents; the same at every visit."""
        return ShapeVariable(name_of(kind, node, tag))

    def filled(self, node: int, kind: SymbolKind = SymbolKind.FRESH) -> ShapeVariable:
        assert self.origin is not None
        return ShapeVariable.invented(node, self.origin.tag, kind)

    def within(self, lo: int | None, hi: int | None) -> Self:
        return self

    def named(self, name: str) -> ShapeVariable:
        return ShapeVariable(name)

    def __repr__(self) -> str:
        return f"ShapeVariable({self.name!r})"


_VARIABLES: InternTable[ShapeVariable] = InternTable()


def changed(variable: ShapeVariable, change: Callable[[Dim], Dim]) -> ShapeVariable | None:
    """The variable that a change of dims makes of this one; None if it makes anything else of it."""
    found = change(expr_of(variable))
    atom = sole_atom(found) if isinstance(found, Expr) else None
    return atom if isinstance(atom, ShapeVariable) and found is expr_of(atom) else None
