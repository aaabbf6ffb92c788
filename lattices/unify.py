"""Unification: two shapes merged, and the policies of tools that choose between two dims.

A policy is an argument of an analysis. `sound`, the default, claims only what every run shows. The others follow other
tools; the same engine runs them, so that their claims can be counted and judged. Their claims are never constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from absint.lattices.logic.relation import FALSE, TRUE, Relation, broadcastable, conjunction, eq
from absint.lattices.policy_names import SOUND_NAME
from absint.lattices.records import NamedTuple, record
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.shape_lattice import DIMS
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import ONE_EXPR, Dim, Expr, Symbol
from absint.lattices.terms.normal import broadcast as broadcast_dims, maximum, sole_atom


class Broadcast(NamedTuple):
    """The outcome of broadcasting two shapes."""

    shape: Shape
    """The result wherever the requirement holds; of unknown rank if one of the two is."""
    requirement: Relation
    conflict: int | None
    """The axis, counted from the end (-1 is the last), where no sizes broadcast; None if some may."""


def broadcast(a: Shape, b: Shape) -> Broadcast:
    """Broadcast two shapes as numpy does: aligned at the last axis, a missing or 1 dim takes the other size.

    >>> together = broadcast(Shape(["N", 1, 4]), Shape(["M", 4]))
    >>> str(together.shape), str(together.requirement), together.conflict
    ('[N, M, 4]', 'true', None)
    >>> broadcast(Shape([2, 3]), Shape([4])).conflict
    -1
    """
    if a.is_top or b.is_top:
        return Broadcast(TOP_SHAPE, TRUE, None)
    rank = max(len(a), len(b))
    requirements: list[Relation] = []
    conflict: int | None = None
    dims: list[Dim] = []
    for axis in range(-rank, 0):
        x, y = (s[axis] if -axis <= len(s) else ONE_EXPR for s in (a, b))
        relation = broadcastable(x, y)
        if relation is FALSE and conflict is None:
            conflict = axis
        requirements.append(relation)
        dims.append(broadcast_dims(x, y))
    return Broadcast(shape_of(tuple(dims)), conjunction(*requirements), conflict)


# Policies


Fresh = Callable[[], Dim]
"""Makes an unknown size; the engine names it."""

Choice = Callable[[Dim, Dim, Fresh], Dim]


@record()
class UnificationPolicy:
    """Choices between two dims. A choice that is None is made soundly."""

    name: str
    summary: str
    equal: Choice | None = None
    """The dim to show for two that must be equal; the target is the first, the source the second."""
    broadcasting: Choice | None = None
    """The size to show for two different dims that broadcast; neither is a constant."""
    anchoring: Callable[[Dim, Dim], Dim] | None = None
    """The dim to show for the inferred one and the author's declared one."""
    renames: bool = False
    """A declared name takes the place of the inferred dim in every other value too."""
    records: bool = False
    """It claims that a dim equals the constant that it broadcasts with."""

    @property
    def sound(self) -> bool:
        """Every dim that it shows holds in every run."""
        return self.equal is None and self.broadcasting is None and self.anchoring is None

    @property
    def label(self) -> str:
        """The warning in every report on its results; empty for a sound policy."""
        return "" if self.sound else f"unsound policy {self.name}"

    def unify(self, target: Dim, source: Dim, fresh: Fresh) -> Dim:
        """The dim to show for two that must be equal."""
        if target is source and isinstance(target, Expr):
            return target
        return DIMS.meet(target, source) if self.equal is None else self.equal(target, source, fresh)

    def broadcast(self, a: Dim, b: Dim, fresh: Fresh) -> Dim:
        """The dim to show for two that broadcast."""
        if self.broadcasting is None:
            return broadcast_dims(a, b)
        if (a is b and isinstance(a, Expr)) or b is ONE_EXPR:
            return a
        if a is ONE_EXPR:
            return b
        return a if _is_constant(a) else b if _is_constant(b) else self.broadcasting(a, b, fresh)

    def adopt(self, inferred: Dim, declared: Dim) -> Dim:
        """The dim to show if the author declared one."""
        return inferred if self.anchoring is None else self.anchoring(inferred, declared)

    def claim(self, a: Dim, b: Dim) -> Relation:
        """The assumption of the policy when these two broadcast, beyond what broadcasting requires."""
        if not self.records or ONE_EXPR in (a, b) or _is_constant(a) is _is_constant(b):
            return TRUE
        return eq(a, b)


def _is_constant(dim: Dim) -> bool:
    return isinstance(dim, Expr) and dim.const is not None


def _unknown(a: Dim, b: Dim, fresh: Fresh) -> Dim:
    return fresh()


def _first(target: Dim, source: Dim, fresh: Fresh) -> Dim:
    """The target, unless it is unknown."""
    return target if isinstance(target, Expr) else source


def _target(target: Dim, source: Dim, fresh: Fresh) -> Dim:
    """A constant, else the target."""
    return source if _is_constant(source) and not _is_constant(target) else _first(target, source, fresh)


def _constant(target: Dim, source: Dim, fresh: Fresh) -> Dim:
    """A constant, else an unknown size."""
    return _target(target, source, fresh) if _is_constant(target) or _is_constant(source) else fresh()


def _largest(a: Dim, b: Dim, fresh: Fresh) -> Dim:
    return maximum(a, b)


def _shortest(a: Dim, b: Dim, fresh: Fresh) -> Dim:
    """The first kind of: constant, symbol of the inputs, other symbol, expression; among equals the shorter text."""
    known = [dim for dim in (a, b) if isinstance(dim, Expr)]
    return min(known, key=_length, default=a)


def _length(dim: Expr) -> tuple[bool, bool, bool, int, str]:
    symbol, text = sole_atom(dim), str(dim)
    is_symbol = isinstance(symbol, Symbol)
    is_invented = isinstance(symbol, Symbol) and symbol.kind is not SymbolKind.INPUT
    return dim.const is None, not is_symbol, is_invented, len(text), text


def _anchor(inferred: Dim, declared: Dim) -> Dim:
    """The declared dim, unless it is a name for a constant."""
    if not isinstance(declared, Expr) or (_is_constant(inferred) and not _is_constant(declared)):
        return inferred
    return declared


SOUND: Final = UnificationPolicy(SOUND_NAME, "claims what every run shows")

POLICIES: Final[Mapping[str, UnificationPolicy]] = {
    policy.name: policy
    for policy in (
        SOUND,
        UnificationPolicy(
            "keep-target",
            "the ONNX symbolic-dim RFC: of two symbols that must be equal the target stays, a declared dim included",
            equal=_target,
            broadcasting=_unknown,
            anchoring=_anchor,
        ),
        UnificationPolicy(
            "fresh", "ONNX 1.10: two different symbols become a new one", equal=_constant, broadcasting=_unknown
        ),
        UnificationPolicy(
            "prefer-concrete", "onnx_ir: a constant, else the first of the two", equal=_target, broadcasting=_first
        ),
        UnificationPolicy(
            "prefer-first",
            "onnx-shape-inference: the first of the two, in a broadcast a constant before it",
            equal=_first,
            broadcasting=_first,
        ),
        UnificationPolicy(
            "max",
            "yobx: a broadcast is the larger of two symbols, and a symbol beside a constant is that constant",
            equal=_first,
            broadcasting=_largest,
            records=True,
        ),
        UnificationPolicy(
            "shortest-name",
            "onnxruntime's auto_merge: a constant, else a symbol of the inputs, else the shortest text",
            equal=_shortest,
            broadcasting=_shortest,
        ),
        UnificationPolicy(
            "rename",
            "anchors: a declared dim takes the place of the inferred one, everywhere",
            anchoring=_anchor,
            renames=True,
        ),
    )
}
"""Every policy by its name."""
