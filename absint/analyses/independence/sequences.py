"""Sequences: a claim is about each element, and about their number.

All claims hold of an empty sequence, so it is bottom: what is inserted decides. Taking an element of it fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from absint.analyses.independence.claims import CLAIMS, COUNTED, SAME, SHARED, Along, Claims, strongest
from absint.analyses.independence.layout import first_alone
from absint.analyses.independence.seen import Rule, Seen, quotient
from absint.lattices.terms.expr import expr_of, product
from absint.lattices.value import SequenceOf, Value

_OF_ELEMENTS: Final = frozenset(("ConcatFromSequence", "Identity", "SequenceAt", "SequenceErase"))
"""They give elements, or fail."""


def of_empty(operator: str, inputs: Sequence[Claims | None], values: Sequence[Value]) -> Sequence[Claims | None] | None:
    """The inputs of an operator of which some are bottom, as its rule sees them; None if all its outputs are bottom."""
    if operator in _OF_ELEMENTS:
        return None
    if operator == "SequenceInsert" and inputs[0] == CLAIMS.bottom:
        inputs = [inputs[1], *inputs[1:]]
    known = zip(inputs, values, strict=False)
    found = [SAME if one == CLAIMS.bottom and isinstance(value, SequenceOf) else one for one, value in known]
    return None if CLAIMS.bottom in found else found


def constructed(seen: Seen) -> Iterable[Along]:
    ranks = {seen.rank(index) for index in range(len(seen.inputs))}
    if len(ranks) != 1 or None in ranks:
        return ()
    return strongest(frozenset.intersection(*map(seen.claims, range(len(seen.inputs)))))


def inserted(seen: Seen) -> Iterable[Along]:
    """A claim that holds of the sequence and of what is put in; a position moves elements, and their number grows."""
    at = seen.claims(2)
    is_ranked = seen.rank(1) is not None and seen.output().rank == seen.rank(1)
    kept = strongest(seen.claims(0) & seen.claims(1)) if COUNTED in at and is_ranked else ()
    return [c if SHARED in at else c._replace(shift=None) for c in kept]


def taken(seen: Seen) -> Iterable[Along]:
    """An element of a sequence, or a sequence without one."""
    at = seen.claims(1)
    kept = seen.along(0) if COUNTED in at else ()
    return [c if SHARED in at and c.is_free else c._replace(shift=None) for c in kept]


def taken_apart(seen: Seen) -> Iterator[Along]:
    """Parts along an axis; without sizes each has one place, and no axis for it if `keepdims` is 0."""
    axis = seen.axis_of(0, seen.attribute("axis", 0))
    is_squeezed = not seen.has(1) and not seen.attribute("keepdims", 1)
    for at in range(seen.rank(0) or 0):
        if axis is not None and at != axis:
            found = seen.pointwise(at - (is_squeezed and at > axis), [at, None], first_alone)
            yield from (claim.uniform for claim in found)


def put_together(seen: Seen) -> Iterator[Along]:
    rank, is_new, axis = seen.rank(0), seen.attribute("new_axis", 0), seen.attribute("axis", 0)
    after = seen.output()
    if rank is None or after.rank != rank + is_new or not -after.rank <= axis < after.rank:
        return
    axis %= after.rank
    for claim in (claim.uniform for claim in seen.along(0)):
        if is_new or claim.axis != axis:
            yield claim._replace(axis=claim.axis + (bool(is_new) and claim.axis >= axis))
        else:
            outer = quotient(after[axis], product([expr_of(seen.sizes.rows), claim.inner]))
            if outer is not None and seen.sizes.is_fixed(outer):
                yield claim._replace(outer=outer)


SEQUENCES: Final[Mapping[str, Rule]] = {
    "ConcatFromSequence": put_together, "SequenceAt": taken, "SequenceConstruct": constructed, "SequenceErase": taken,
    "SequenceInsert": inserted, "SplitToSequence": taken_apart,
}  # fmt: skip
