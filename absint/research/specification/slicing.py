"""Slice."""

from __future__ import annotations

from absint.research.specification.formulas import (
    Defined,
    Formula,
    Term,
    both,
    choice,
    either,
    equal,
    greatest,
    largest,
    smallest,
    term,
)
from absint.research.specification.layout import number, numbers
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import at, specifies

FAR = 2**63 - 1
SLICES = [
    *[("1", "3", "0"), ("-2", "9", "1"), ("0", "-1", "0"), ("5", "2", "0"), ("-9", "2", "1")],
    *[("1", f"{FAR}", "0"), ("-3", f"{2**31 - 1}", "1"), ("-4", "-2", "0"), (f"{-FAR}", "3", "0"), ("0", "0", "1")],
]


@specifies("Slice", last=9, grid=[at("N C", starts=[int(a)], ends=[int(b)], axes=[int(c)]) for a, b, c in SLICES])
@specifies(
    "Slice",
    first=10,
    grid=[
        *[at("N C", f"= {a}", f"= {b}", f"= {c}") for a, b, c in SLICES],
        at("N C", "= 0", "= 99", "= 0", "= 2"),
        at("N C", "= 1", "= 7", "= -1", "= 3"),
        at("N C", "= -1", "= -99", "= 0", "= -1"),
        at("N C", "= 5", "= 0", "= 1", "= -2"),
        at("N C", "= a", "= b", "= 0"),
        at("N C", "= a", "= b", "= 1", "= 2"),
        at("N C", "= a", "= 5", "= 0"),
        at("N+3 C", "= 1", "= 3", "= 0"),
        at("N+3 C", "= -2", "= -1", "= 0"),
        at("N C", "= n+1", "= 9", "= 0"),
        at("N C", "= n-1", "= m-2", "= 0"),
        at("N C", "= n", "= 2*n+1", "= 1", "= 2"),
        at("N+2 C", "= -1", "= n-1", "= 0", "= -1"),
        at("N C", "= 2", "= b", "= -2"),
        at("N C", "= -3", "= b", "= 0"),
        at("N C", "= a", "= -1", "= 1", "= 3"),
        at("N C", "= a", f"= {-FAR}", "= 0", "= -1"),
        at("N C", "= -2", "= b", "= 0", "= -3"),
        at("N 6", "= 1 -5", f"= {FAR} {-FAR}", "= 0 1", "= 2 -2"),
        at("N 6", "= a", "= 9", "= 1"),
        at("N 6", "= 5", "= 0", "= 1", "= -2"),
        at("N C", "= -1", f"= {FAR}", "= 0", "= -2"),
        at("N 6", "= 3", f"= {2**31 - 1}", "= 1", "= -1"),
        at("N C", "= 1 0", "= 9 3"),
        at("N C", "= 1", "= 2", "= 0", "= 0"),
        at("N C", "= 1", "= 2", "= 2"),
    ],
)
def slices(node: Node) -> Output:
    """Of each axis the elements at start, start + step, ... that lie before end; both ends clamped to the axis."""
    x = node.input(0)
    if node.version < 10:
        given = [node.integers("starts"), node.integers("ends"), node.integers("axes")]
        starts, ends = ([Term("number", (n,)) for n in part or ()] for part in given[:2])
        axes = given[2] or list(range(len(starts)))
        steps = [1] * len(starts)
    else:
        starts, ends = list(node.elements(1) or ()), list(node.elements(2) or ())
        axes = numbers(node.elements(3)) if node.optional(3) else list(range(len(starts)))
        steps = numbers(node.elements(4)) if node.optional(4) else [1] * len(starts)
    node.demand(len(starts) == len(ends) == len(axes) == len(steps), "each slice needs all of its numbers")
    node.demand(0 not in steps, "a step must not be 0")
    sizes: list[object] = list(x.dims)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and number(end) in (2**31 - 1, FAR) and not node.documented:
            if node.documented is None:
                raise LookupError("onnxruntime takes this end for the beginning of the axis")
            end = term(-FAR)
        place = node.axis(axis, x.rank)
        sizes[place] = _sliced(x.dims[place], start, end, step)
    return tensor(sizes)  # type: ignore[arg-type]


def _sliced(size: Term, start: Term, end: Term, step: int) -> Defined:
    """The number of places from start on, `step` apart, that lie in the axis and before end."""
    first, last = (choice(bound <= -1, bound + size, bound) for bound in (start, end))
    if step > 0:
        first, last = smallest(largest(first, 0), size), smallest(largest(last, 0), size)
    else:
        first, last = smallest(largest(first, 0), size - 1), smallest(largest(last, -1), size - 1)

    def lies(q: Term) -> Formula:
        place = first + (q - 1) * step
        inside = place < last if step > 0 else place > last
        return either(equal(q, 0), both(inside, size >= 1))

    return greatest(lies)
