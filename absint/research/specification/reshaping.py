"""Reshape, Slice and CenterCropPad.

A size that Reshape copies is a factor of both numbers of elements, so the two are compared without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations as pairs, product as combinations
from typing import Final, NamedTuple

from absint.research.specification.formulas import (
    FALSE,
    TRUE,
    Defined,
    Formula,
    Int,
    Term,
    both,
    choice,
    either,
    equal,
    exactly,
    greatest,
    implies,
    largest,
    negated,
    product,
    smallest,
    term,
)
from absint.research.specification.layout import number, numbers
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import at, specifies

TARGETS: Final = [[0, -1], [3, -1, 4], [6, 4], [0, 0, 5], [-1], [0, 2, -1, 2]]


@specifies("Reshape", last=4, grid=[at("N C H", shape=shape) for shape in TARGETS])
@specifies(
    "Reshape",
    first=5,
    grid=[
        at("N C H", "= n c")._replace(natural=("n", "c")),
        at("N C H", "= n 6"),
        at("N C H", "= -1"),
        at("N C H", "= 0 -1"),
        at("N C H", "= n -1 4")._replace(natural=("n",)),
        at("N 4 H", "= 0 2 2 -1"),
        at("N C", "="),
        at("N C", "= n-1 -1"),
        at("2*N C", "= 2 -1"),
        at("N+1 C", "= 0 -1"),
        at("N C 1", "= 0 -1 n"),
        at("N C", "= n m k l")._replace(natural=("n", "m", "k", "l")),
        at("N C", "= 0 0 1"),
        at("N C", "= 0 m", first=14, allowzero=1),
        at("N C", "= n -1", first=14, allowzero=1),
        at("N C", "= 0 -1", first=14, allowzero=1),
        at("N C", "1x2= 2 -1"),
        at("N C", "= -1 -1"),
        at("N C", "= 4 -2"),
        at("N C", "= n-1 4"),
        at("N C", "= n-1 m-2")._replace(natural=("n", "m")),
    ],
)
def reshape(node: Node) -> Output:
    """As many elements. A 0 copies the size at its place unless `allowzero` is 1; one -1 is what makes it fit."""
    x, by_attribute = node.input(0), node.integers("shape")
    wanted = list(map(term, by_attribute)) if by_attribute else list(node.elements(1, 1) or ())
    numbers = [number(size) for size in wanted]
    node.demand(numbers.count(-1) <= 1, "at most one size may be -1")
    for size in wanted:
        node.requires(size >= -1, "sizes must be -1 or more")
    signed = frozenset() if by_attribute else node.input(1).signed
    open_ = [
        place
        for place, size in enumerate(wanted)
        if size.op != "number" and (size.op != "variable" or str(size) in signed)
    ]
    for place, other in pairs(range(len(wanted)), 2):
        if {place, other} & set(open_):
            twice = both(equal(wanted[place], -1), equal(wanted[other], -1))
            node.requires(negated(twice), "at most one size may be -1")
    copies = node.integer("allowzero") != 1
    for place in range(x.rank, len(wanted)):
        if copies:
            node.requires(negated(equal(wanted[place], 0)), f"size {place} must not copy an axis that there is not")
    found: list[Int | Defined] = [
        choice(equal(size, 0), x.dims[place], size) if copies and place < x.rank else size
        for place, size in enumerate(wanted)
    ]
    readings = list(_readings(x.dims, wanted, copies))
    if -1 not in numbers:
        plain = both(*[wanted[place] >= 0 for place in open_])
        for case in readings:
            fits = either(*[equal(size, 0) for size in case.copied], equal(case.others, case.kept))
            node.requires(implies(both(plain, case.condition), fits), "the elements must be as many as before")
        for place in open_:
            rest = [*wanted[:place], term(-1), *wanted[place + 1 :]]
            cases = [
                c._replace(condition=both(equal(wanted[place], -1), c.condition))
                for c in _readings(x.dims, rest, copies)
            ]
            inferred = _inferred(node, cases)
            found[place] = _chosen(wanted[place] >= 0, found[place], inferred)
        return tensor(found)
    found[numbers.index(-1)] = _inferred(node, readings) if copies else _beside_zeros(node, x.dims, wanted)
    return tensor(found)


def _chosen(condition: Formula, size: Int | Defined, other: Defined) -> Defined:
    """The one size where the condition holds, else the other."""
    one = exactly(size)
    return Defined(
        lambda q: both(implies(condition, one.condition(q)), implies(negated(condition), other.condition(q)))
    )


class _Reading(NamedTuple):
    """Which sizes of the target are copied, and the products of all that is not."""

    condition: Formula
    copied: tuple[Term, ...]
    kept: Term
    """Of the input."""
    others: Term
    """Of the target, -1 left out."""


def _readings(dims: Sequence[Term], wanted: Sequence[Term], copies: bool) -> Iterator[_Reading]:
    numbers = [number(size) for size in wanted]
    choices = []
    for place, known in enumerate(numbers):
        may_copy = copies and place < len(dims) and known in (0, None)
        choices.append([True] if may_copy and known == 0 else [True, False] if may_copy else [False])
    for copied in combinations(*choices):
        conditions = [
            equal(size, 0) if copy else negated(equal(size, 0))
            for size, copy, ways in zip(wanted, copied, choices, strict=True)
            if len(ways) > 1
        ]
        yield _Reading(
            both(*conditions) if conditions else TRUE,
            tuple(dims[place] for place, copy in enumerate(copied) if copy),
            product(size for place, size in enumerate(dims) if not (place < len(copied) and copied[place])),
            product(size for size, copy in zip(wanted, copied, strict=True) if not copy and number(size) != -1),
        )


def _inferred(node: Node, readings: Sequence[_Reading]) -> Defined:
    """The size of -1, which the others decide if none of them is 0."""
    for case in readings:
        decided = both(*[size >= 1 for size in case.copied], case.others >= 1)
        whole = both(case.others >= 1, equal(case.kept // case.others * case.others, case.kept))
        node.requires(implies(case.condition, decided), "a size of -1 must be decided by the others")
        node.requires(implies(case.condition, whole), "the elements must fill the other sizes")
    return Defined(
        lambda q: both(
            *[implies(case.condition, both(case.others >= 1, equal(q * case.others, case.kept))) for case in readings]
        )
    )


def _beside_zeros(node: Node, dims: Sequence[Term], wanted: Sequence[Term]) -> Defined:
    """With `allowzero`. onnxruntime runs 0 beside -1 on no elements, and leaves every 0 out of both products."""
    others = [size for size in wanted if number(size) != -1]
    some = product(others) >= 1
    own, own_others = _apart(dims, others)
    count, rest = product(own), product(own_others)
    count_left, rest_left = _without_zeros(own), _without_zeros(own_others)
    none = both(equal(product(others), 0), equal(product(dims), 0), equal(count_left % rest_left, 0))
    node.requires(some, "a size of -1 must be decided by the others", unless=none)
    node.requires(both(some, equal(count % rest, 0)), "the elements must fill the other sizes", unless=none)
    return Defined(lambda q: either(both(some, equal(q * rest, count)), both(none, equal(q * rest_left, count_left))))


def _apart(dims: Sequence[Term], others: Sequence[Term]) -> tuple[list[Term], list[Term]]:
    """The sizes of both that are not in both: a common one is a factor of both products."""
    own, left = list(dims), {id(size): size for size in others}
    for size in others:
        if (same := next((at for at, dim in enumerate(own) if str(dim) == str(size)), None)) is not None:
            del own[same], left[id(size)]
    return own, list(left.values())


def _without_zeros(sizes: Iterable[Term]) -> Term:
    return product(largest(size, 1) for size in sizes)


# Slice


FAR = 2**63 - 1
SLICES = [
    *[("1", "3", "0"), ("-2", "9", "1"), ("0", "-1", "0"), ("5", "2", "0"), ("-9", "2", "1")],
    *[("1", f"{FAR}", "0"), ("-3", f"{2**31 - 1}", "1"), ("-4", "-2", "0"), (f"{-FAR}", "3", "0"), ("0", "0", "1")],
]


@specifies("Slice", last=9, grid=[at("N C", starts=[int(a)], ends=[int(b)], axes=[int(c)]) for a, b, c in SLICES])
@specifies("Slice", last=9, grid=[at(dims, starts=[], ends=[]) for dims in ("", "N C")])
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
        *[at("N C", "= 1 0", "= 9 3"), at("N C", "= 1 0", "= 9 3", "= 1 -1")],
        at("N C", "= 1", "= 2", "= 0", "= 0"),
        at("N C", "= 1", "= 2", "= 2"),
        *[at("N C", ". 1", ". 2", ". 0"), at("N C", "= 1", "= 2", "1x1= 0")],
        *[at("", "=", "="), at("N C", "=", "=")],
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
        starts, ends = list(node.elements(1, 1) or ()), list(node.elements(2, 1) or ())
        axes = numbers(node.elements(3, 1)) if node.optional(3) else list(range(len(starts)))
        steps = numbers(node.elements(4, 1)) if node.optional(4) else [1] * len(starts)
    node.demand(len(starts) == len(ends) == len(axes) == len(steps), "each slice needs all of its numbers")
    node.demand(0 not in steps, "a step must not be 0")
    if not x.rank:
        node.limits(FALSE, "onnxruntime does not slice scalars", is_required=True)
    sizes: list[object] = list(x.dims)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and number(end) in (2**31 - 1, FAR) and not node.documented:
            if node.documented is None:
                raise LookupError("onnxruntime takes this end for the beginning of the axis")
            end = term(-FAR)
        place = node.axis(axis, x.rank)
        node.demand(sizes[place] is x.dims[place], "axes must differ")
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


@specifies(
    "CenterCropPad",
    grid=[
        at("N C", "= n c"),
        at("N C", "= 3 4"),
        at("N C H", "= c h", axes=[1, 2]),
        *[at("N C H", "= n", axes=[-1]), at("N C", "1x2= 3 4")],
    ],
)
def crop_or_pad(node: Node) -> Output:
    """The given axes, or all, at the sizes of the target."""
    dims, target, axes = list(node.input(0).dims), node.elements(1) or (), node.integers("axes")
    chosen = [node.axis(axis, len(dims)) for axis in (range(len(dims)) if axes is None else axes)]
    if len(set(chosen)) < len(chosen):
        raise LookupError("the documents leave open what an axis that is repeated means")
    if len(target) != len(chosen):
        raise LookupError("runtimes differ where there is not a size for each axis")
    node.elements(1, 1)
    if not dims:
        node.limits(FALSE, "onnxruntime does not pad scalars")
    for axis, size in zip(chosen, target, strict=True):
        node.requires(size >= 0, "a size must not be negative", unless=TRUE)
        dims[axis] = largest(size, 0)
    return tensor(dims)
