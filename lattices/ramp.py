"""Elements that grow evenly along the axes of a tensor, as positions do: those of Range, and sums with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from absint.lattices.records import NamedTuple
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, Symbol
from absint.lattices.terms.normal import substitute
from absint.lattices.terms.polynomials import nonneg


class Ramp(NamedTuple):
    """Element (i, j, ...) is `base + i*steps[0] + j*steps[1] + ...`."""

    base: Expr
    steps: tuple[Expr, ...]

    def at(self, index: Sequence[int]) -> Dim:
        """The element at an index."""
        total: Dim = self.base
        for step, place in zip(self.steps, index, strict=True):
            total = total + step * place
        return total

    def __str__(self) -> str:
        steps = (f" + {step}*[{axis}]" for axis, step in enumerate(self.steps) if step is not ZERO_EXPR)
        return f"{self.base}{''.join(steps)}"


Ramps = tuple[Ramp, ...]
"""One ramp over all axes; or one for each index of the last axis, over the others. Empty: no ramp is known."""

NO_RAMPS: Ramps = ()


def ramp(base: Dim, steps: Sequence[Dim]) -> Ramps:
    """The ramp of these numbers, if they are all known."""
    known = tuple(step for step in steps if isinstance(step, Expr))
    return (Ramp(base, known),) if isinstance(base, Expr) and len(known) == len(steps) else NO_RAMPS


def uniform(element: Dim, rank: int) -> Ramps:
    """All elements are the same."""
    return ramp(element, (ZERO_EXPR,) * rank)


def fits(ramps: Ramps, shape: Shape) -> bool:
    """The ramps are those of a tensor of this shape."""
    if shape.rank is None or not ramps:
        return not ramps
    if len(ramps) == 1:
        return len(ramps[0].steps) == shape.rank
    last = shape[-1] if shape.rank else None
    return isinstance(last, Expr) and last.const == len(ramps) and all(len(r.steps) == shape.rank - 1 for r in ramps)


def element(ramps: Ramps, index: Sequence[int]) -> Dim:
    """The element at an index over all axes."""
    return ramps[0].at(index) if len(ramps) == 1 else ramps[index[-1]].at(index[:-1])


def mapped(ramps: Ramps, change: Callable[[Expr], Dim]) -> Ramps:
    """The ramps with their numbers changed; none if a number is then unknown."""
    found = [ramp(change(r.base), list(map(change, r.steps))) for r in ramps]
    return tuple(r[0] for r in found) if all(found) else NO_RAMPS


def replaced(ramps: Ramps, mapping: Mapping[Symbol, Dim]) -> Ramps:
    """The ramps with symbols replaced; none if a number is then unknown."""
    return mapped(ramps, lambda number: substitute(number, mapping))


def realigned(ramps: Ramps, source: Shape, target: Shape) -> Ramps:
    """The ramp of a tensor whose elements keep their order, and which gains or loses only axes of size 1."""
    if len(ramps) != 1 or source.rank is None or target.rank is None:
        return NO_RAMPS
    kept = [(d, step) for d, step in zip(source, ramps[0].steps, strict=True) if d is not ONE_EXPR]
    dims = [d for d in target if d is not ONE_EXPR]
    if len(kept) != len(dims) or any(d is not own or d.is_unknown for d, (own, _) in zip(dims, kept, strict=True)):
        return NO_RAMPS
    rest = iter(kept)
    return ramp(ramps[0].base, [ZERO_EXPR if d is ONE_EXPR else next(rest)[1] for d in target])


def spread(ramps: Ramps, source: Shape, target: Shape) -> Ramps:
    """The ramp of a tensor that is broadcast to a shape: each axis keeps its size, or had size 1."""
    if len(ramps) != 1 or source.rank is None or target.rank is None or source.rank > target.rank:
        return NO_RAMPS
    missing = target.rank - source.rank
    steps: list[Dim] = [ZERO_EXPR] * missing
    for axis, (own, step) in enumerate(zip(source, ramps[0].steps, strict=True)):
        size = target[missing + axis]
        if own is not ONE_EXPR and (own is not size or own.is_unknown):
            return NO_RAMPS
        steps.append(ZERO_EXPR if own is ONE_EXPR else step)
    return ramp(ramps[0].base, steps)


def added(a: Ramps, b: Ramps, sign: int = 1) -> Ramps:
    """a + sign*b, of ramps over the same axes."""
    if len(a) != 1 or len(b) != 1:
        return NO_RAMPS
    (x,), (y,) = a, b
    return ramp(x.base + sign * y.base, [s + sign * t for s, t in zip(x.steps, y.steps, strict=True)])


def scaled(a: Ramps, b: Ramps) -> Ramps:
    """a*b, of ramps over the same axes, one of which has the same element everywhere."""
    if len(a) != 1 or len(b) != 1:
        return NO_RAMPS
    (x,), (y,) = (b, a) if all(step is ZERO_EXPR for step in a[0].steps) else (a, b)
    if any(step is not ZERO_EXPR for step in y.steps):
        return NO_RAMPS
    return ramp(x.base * y.base, [step * y.base for step in x.steps])


def side_by_side(parts: Sequence[Ramps], shapes: Sequence[Shape]) -> Ramps:
    """The ramps of tensors of one column each, joined along the last axis."""
    if any(len(ramps) != 1 or shape is not shapes[0] for ramps, shape in zip(parts, shapes, strict=True)):
        return NO_RAMPS
    if not shapes[0].rank or shapes[0][-1] is not ONE_EXPR:
        return NO_RAMPS
    return tuple(Ramp(r.base, r.steps[:-1]) for (r,) in parts) if len(parts) > 1 else parts[0]


def ends(found: Ramp, sizes: Iterable[Dim]) -> tuple[Dim, Dim] | None:
    """The least and the greatest element of a tensor of these sizes that has any; None if a direction is unknown."""
    least: Dim = found.base
    most: Dim = found.base
    for step, size in zip(found.steps, sizes, strict=True):
        if nonneg(step):
            most = most + step * (size - 1)
        elif nonneg(-step):
            least = least + step * (size - 1)
        else:
            return None
    return (least, most) if isinstance(least, Expr) and isinstance(most, Expr) else None
