"""Sequences and optionals.

A length and one value for all elements describe a sequence; a short one of known length has a value for each element.
The element of an empty sequence has the bottom shape, so a join with it loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Final

from absint.lattices.contents import CONTENTS, Contents
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.logic.relation import FALSE, TRUE, YES, Relation, disjunction, divisible, eq, ge, le, lt
from absint.lattices.shape import BOTTOM_SHAPE, SCALAR, TOP_SHAPE, shape_of
from absint.lattices.shape_lattice import DIMS, SHAPES
from absint.lattices.starred import with_size
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, Unknown, const
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import ceildiv, minimum
from absint.lattices.value import MAX_ITEMS, TOP, Cut, MapOf, OptionalOf, SequenceOf, Tensor, Value
from absint.transfer.concat import joined, part_of
from absint.transfer.elements.folding import reshaped
from absint.transfer.elements.logic import choose
from absint.transfer.op import Op
from absint.transfer.rule import rule

_IN_RANGE: Final = "the position must lie within the sequence"


def _sequence(op: Op, name: str) -> SequenceOf | None:
    """The input as a sequence, or None if it is unknown."""
    value = op.value(name)
    return value if isinstance(value, SequenceOf) else None


def _nothing(dtype: DType) -> Tensor:
    """The element of an empty sequence of tensors."""
    return Tensor(dtype, BOTTOM_SHAPE)


def _is_empty(sequence: SequenceOf) -> bool:
    element = sequence.element
    return sequence.length is ZERO_EXPR or (isinstance(element, Tensor) and element.shape.is_bottom)


def _either(op: Op, a: Value, b: Tensor) -> Value:
    """One value that describes both elements, which share a type."""
    if not isinstance(a, Tensor):
        return Tensor(b.dtype) if a is TOP else TOP
    dtype = op.same_dtype(a.dtype, b.dtype)
    if a.shape.is_bottom:
        return Tensor(dtype, b.shape, b.contents)
    return Tensor(dtype, SHAPES.join(a.shape, b.shape), CONTENTS.join(a.contents, b.contents))


@rule("SequenceConstruct", "inputs* -> output_sequence", complete=True, elements=True)
def sequence_construct(op: Op) -> Value:
    """The sequence of the inputs."""
    tensors = op.variadic()
    if not tensors:
        op.reject("SequenceConstruct needs an input")
    dtype = op.same_dtype(*(t.dtype for t in tensors))
    if DType.UNDEFINED in (dtype, *(t.dtype for t in tensors)):
        op.may_fail("the inputs must share one element type")
    return SequenceOf.of((Tensor(dtype, t.shape, t.contents, t.ramps) for t in tensors), _nothing(dtype))


@rule("SequenceEmpty", "-> output", complete=True)
def sequence_empty(op: Op) -> Value:
    """An empty sequence of the given element type, by default FLOAT."""
    dtype = op.integer("dtype", DType.FLOAT)
    if dtype not in set(DType) - {DType.UNDEFINED, DType.CONFLICT}:
        op.reject(f"attribute dtype must be an element type, found {dtype}", "ill-typed")
    return SequenceOf(_nothing(DType(dtype)), ZERO_EXPR)


@rule("SequenceLength", "input_sequence -> length", complete=True, elements=True)
def sequence_length(op: Op) -> Value:
    """The length, as a scalar."""
    sequence = _sequence(op, "input_sequence")
    return Tensor(DType.INT64, SCALAR, Contents.scalar(sequence.length if sequence else UNKNOWN_SIZE))


@rule("SequenceAt", "input_sequence position -> tensor", complete=True, elements=True)
def sequence_at(op: Op) -> Value:
    """The element at a position, counted from the end if negative."""
    sequence = _sequence(op, "input_sequence")
    _require_position(op, sequence)
    if sequence is None:
        return TOP
    op.reject("the sequence must not be empty", unless=not _is_empty(sequence))
    each, at = sequence.each, _constant_position(op)
    if sequence.cut is not None and isinstance(sequence.element, Tensor):
        return _part(op, sequence, sequence.cut, sequence.element)
    return sequence.element if each is None or at is None else each[at]


def _part(op: Op, sequence: SequenceOf, cut: Cut, element: Tensor) -> Tensor:
    """The part of a tensor at a position, which counts from the end if it is negative."""
    position, shape = _position(op), element.shape
    if shape.is_top or not isinstance(position, Expr):
        return element
    size = choose(op.facts, ge(position, 0), cut.at(position), cut.at(position + sequence.length))
    return Tensor(element.dtype, with_size(shape, cut.axis, size))


def _position(op: Op) -> Dim:
    found = op.integers("position")
    return found[0] if found and len(found) == 1 else UNKNOWN_SIZE


def _constant_position(op: Op) -> int | None:
    """The position if it is a constant; the requirement that it lies inside the sequence is stated elsewhere."""
    position = _position(op)
    return position.const if isinstance(position, Expr) else None


def _require_position(op: Op, sequence: SequenceOf | None, end: bool = False) -> None:
    """Require that the position lies inside the sequence, or with `end` at most at its end."""
    position = _position(op)
    if sequence is None or not isinstance(position, Expr):
        op.may_fail(_IN_RANGE)
        if sequence is not None and not end:
            op.require(ge(sequence.length, 1), "the sequence must not be empty")
        return
    length = sequence.length
    below = le(position, length) if end else lt(position, length)
    op.require(ge(position, -length) & below, _IN_RANGE, found=f"position {position} of {length}")


@rule("SequenceInsert", "input_sequence tensor position -> output_sequence", complete=True, elements=True)
def sequence_insert(op: Op) -> Value:
    """The sequence with one more element, by default at its end."""
    sequence, tensor = _sequence(op, "input_sequence"), op.tensor("tensor")
    held = sequence.element.dtype if sequence is not None and isinstance(sequence.element, Tensor) else tensor.dtype
    if DTYPES.meet(held, tensor.dtype) is DType.CONFLICT:
        op.reject(f"the tensor must be {held} as the sequence is, found {tensor.dtype}", "ill-typed")
    if op.has("position"):
        _require_position(op, sequence, end=True)
    if sequence is None:
        return SequenceOf(Tensor(tensor.dtype), Unknown(Interval(1, None)))
    length, each = sequence.length + 1, sequence.each
    if sequence.length is ZERO_EXPR and isinstance(sequence.element, Tensor):
        return SequenceOf(_either(op, _nothing(sequence.element.dtype), tensor), length)
    at = len(each or ()) if not op.has("position") else _constant_position(op)
    element = _either(op, sequence.element, tensor)
    if each is None or at is None or not isinstance(element, Tensor):
        return SequenceOf(element, length)
    # A position counted from the end names the element before which the new one goes.
    items = [*each]
    items.insert(at, tensor)
    if len({item.dtype for item in items if isinstance(item, Tensor)}) > 1:
        items = [_either(op, _nothing(element.dtype), item) for item in items if isinstance(item, Tensor)]
    return SequenceOf(element, length, tuple(items)) if len(items) == len(each) + 1 else SequenceOf(element, length)


@rule("SequenceErase", "input_sequence position -> output_sequence", complete=True, elements=True)
def sequence_erase(op: Op) -> Value:
    """The sequence without one element, by default the last."""
    sequence = _sequence(op, "input_sequence")
    if op.has("position"):
        _require_position(op, sequence)
    if sequence is None:
        op.may_fail("the sequence must not be empty")
        return TOP
    op.require(ge(sequence.length, 1), "the sequence must not be empty")
    element, each = sequence.element, sequence.each
    at = _constant_position(op) if op.has("position") else -1
    if sequence.items is not None and each is not None and len(each) > 1 and at is not None:
        left = [*each]
        del left[at]
        return SequenceOf.of(left, element)
    if sequence.length is ONE_EXPR and isinstance(element, Tensor):
        element = _nothing(element.dtype)
    length = sequence.length - 1
    return SequenceOf(element, length if isinstance(length, Expr) else Unknown(length.bounds.meet(Interval(0, None))))


# Splitting and joining


@rule("SplitToSequence", "input split -> output_sequence", complete=True, elements=True)
def split_to_sequence(op: Op) -> Value:
    """Chunks along an axis: of size 1 (removed by keepdims=0), of one given size, or of listed sizes."""
    x, keep = op.tensor("input"), op.integer("keepdims", 1) != 0
    nothing = SequenceOf(Tensor(x.dtype))
    if x.shape.is_top:
        op.may_fail("the split must fit the axis")
        split = op.value("split")
        listed = isinstance(split, Tensor) and split.shape.rank == 1
        return SequenceOf(Tensor(x.dtype), _list_length(op, UNKNOWN_SIZE)) if listed else nothing
    axis = op.axis(op.integer("axis", 0), len(x.shape))
    extent = x.shape[axis]
    if not op.has("split"):
        return _single(x, axis, extent, keep)
    split_rank, sizes = op.tensor("split").shape.rank, op.integers("split")
    if split_rank is None:
        op.may_fail("the split must fit the axis")
        return SequenceOf(_chunk(x, axis, UNKNOWN_SIZE) if keep else Tensor(x.dtype))
    if split_rank:
        return _listed(op, x, axis, sizes, keep)
    size = sizes[0] if sizes else UNKNOWN_SIZE
    op.require(ge(size, 1), "a chunk must not be empty", found=str(size))
    if not keep and op.semantics != "onnx":
        op.note("keepdims=0 beside a split: the spec ignores it, onnxruntime removes an axis of size 1")
        single = disjunction(*_at_most_one(extent), *_at_most_one(size))
        op.may_fail("onnxruntime needs chunks of size 1 where keepdims is 0", unless=single)
        return SequenceOf(Tensor(x.dtype), ceildiv(extent, size))
    if isinstance(extent, Expr) and isinstance(size, Expr) and extent.const is not None and size.const is not None:
        count, rest = divmod(extent.const, size.const)
        if rest and count < MAX_ITEMS:
            return _parts(x, axis, [size.const] * count + [rest])
        if not rest and count < MAX_ITEMS and x.contents is not None:
            return _parts(x, axis, [size.const] * count)
    each = _chunk_size(op, extent, size)
    cut = Cut(axis, extent, size) if isinstance(extent, Expr) and isinstance(size, Expr) and each.is_unknown else None
    return _chunks(x, axis, each, ceildiv(extent, size), cut)


def _at_most_one(size: Dim) -> list[Relation]:
    return [] if size.is_unknown else [le(size, 1)]


def _chunk_size(op: Op, extent: Dim, size: Dim) -> Dim:
    """The size of every chunk; the last one may be smaller."""
    if isinstance(size, Expr) and size.const != 0 and op.decide(divisible(extent, size)) is YES:
        return size
    if op.decide(le(extent, size)) is YES:
        return extent
    return Unknown(Interval(1, minimum(extent, size).bounds.hi))


def _chunk(x: Tensor, axis: int, size: Dim | None) -> Tensor:
    return Tensor(x.dtype, with_size(x.shape, axis, *(() if size is None else (size,))))


def _chunks(x: Tensor, axis: int, size: Dim | None, length: Dim, cut: Cut | None = None) -> SequenceOf:
    return SequenceOf(_nothing(x.dtype) if length is ZERO_EXPR else _chunk(x, axis, size), length, None, cut)


def _single(x: Tensor, axis: int, extent: Dim, keep: bool) -> SequenceOf:
    """The slices of size 1, which the axis keeps or not."""
    count = extent.const if isinstance(extent, Expr) else None
    if x.contents is None or count is None or count >= MAX_ITEMS:
        return _chunks(x, axis, ONE_EXPR if keep else None, extent)
    parts = [part for part in _parts(x, axis, [1] * count).each or () if isinstance(part, Tensor)]
    if not keep:
        parts = [reshaped(part, _chunk(x, axis, None).shape) for part in parts]
    return SequenceOf.of(parts, _nothing(x.dtype))


def _parts(x: Tensor, axis: int, sizes: Sequence[int]) -> SequenceOf:
    """Chunks of these sizes, which cover the axis, with their elements."""
    parts = zip(sizes, accumulate(sizes, initial=0), strict=False)
    return SequenceOf.of((part_of(x, axis, const(size), const(start)) for size, start in parts), _nothing(x.dtype))


def _listed(op: Op, x: Tensor, axis: int, sizes: Sequence[Dim] | None, keep: bool) -> SequenceOf:
    """Chunks of the listed sizes. onnxruntime takes an empty list as left out."""
    extent = x.shape[axis]
    if sizes is None:
        op.may_fail("the split must fit the axis")
        split = op.tensor("split").shape
        some = keep or all(op.decide(ge(size, 1)) is YES for size in split)
        chunk = _chunk(x, axis, UNKNOWN_SIZE) if some else Tensor(x.dtype)
        return SequenceOf(chunk, _list_length(op, extent) if len(split) == 1 else UNKNOWN_SIZE)
    if not sizes:
        op.may_fail("split must have elements, found none", at_load=True)
        return _chunks(x, axis, ONE_EXPR if keep else None, extent)
    for size in sizes:
        op.require(ge(size, 0), "a chunk must not have a negative size", found=str(size))
    op.require_equal(sum(sizes, ZERO_EXPR), extent, "the split must cover the axis")
    known = [size.const for size in sizes if isinstance(size, Expr) and size.const is not None]
    if x.contents is not None and len(known) == len(sizes) <= MAX_ITEMS and x.shape.concrete is not None:
        return _parts(x, axis, known)
    if len(sizes) <= MAX_ITEMS:
        return SequenceOf.of((_chunk(x, axis, size) for size in sizes), _nothing(x.dtype))
    return _chunks(x, axis, reduce(DIMS.join, sizes), const(len(sizes)))


def _list_length(op: Op, extent: Dim) -> Dim:
    """The number of chunks if their sizes are listed; onnxruntime takes an empty list as left out."""
    return choose(op.facts, eq(op.tensor("split").shape[0], 0), extent, op.tensor("split").shape[0])


@rule("ConcatFromSequence", "input_sequence -> concat_result", complete=True, elements=True)
def concat_from_sequence(op: Op) -> Value:
    """Join all elements along an axis, or stack them along a new one."""
    sequence, axis, stack = _sequence(op, "input_sequence"), op.integer("axis"), op.integer("new_axis", 0) != 0
    if axis is None:
        op.reject("attribute axis is missing")
    if sequence is None or not isinstance(element := sequence.element, Tensor):
        op.may_fail("the elements of the sequence must fit")
        return Tensor(DType.UNDEFINED)
    op.reject("the sequence must not be empty", unless=not _is_empty(sequence))
    op.require(ge(sequence.length, 1), "the sequence must not be empty")
    items = sequence.items if element.contents is None or element.contents.is_fill else sequence.each
    if items is not None:
        return _joined(op, [item for item in items if isinstance(item, Tensor)], axis, stack)
    shape = element.shape
    if shape.is_top:
        op.may_fail("the elements of the sequence must fit")
        return Tensor(element.dtype, TOP_SHAPE)
    if len(shape) == 0 and not stack:
        op.reject("scalars must be joined along a new axis")
    axis = op.axis(axis, len(shape) + stack)
    if any(d.is_unknown for i, d in enumerate(shape) if stack or i != axis):
        op.may_fail("the elements of the sequence must fit")
    if stack:
        return Tensor(element.dtype, shape_of((*shape[:axis], sequence.length, *shape[axis:])))
    cut = sequence.cut
    joined = cut.extent if cut is not None and cut.axis == axis else shape[axis] * sequence.length
    if not isinstance(joined, Expr):
        joined = Unknown(joined.bounds)
    return Tensor(element.dtype, with_size(shape, axis, joined))


def _joined(op: Op, tensors: list[Tensor], axis: int, stack: bool) -> Tensor:
    """Known elements joined as by Concat, or stacked: joined along a new axis of size 1."""
    if stack:
        rank = next((len(t.shape) for t in tensors if not t.shape.is_top), None)
        if rank is None:
            op.may_fail("the elements of the sequence must fit")
            return Tensor(op.same_dtype(*(t.dtype for t in tensors)), TOP_SHAPE)
        if op.semantics == "onnxruntime" and len({t.shape.rank for t in tensors}) > 1:
            op.may_fail("inputs must have the same rank")
            return Tensor(op.same_dtype(*(t.dtype for t in tensors)), TOP_SHAPE)
        axis = op.axis(axis, rank + 1)
        shapes = [t.shape for t in tensors]
        grown = [s if s.is_top else shape_of((*s[:axis], ONE_EXPR, *s[axis:])) for s in shapes]
        tensors = list(map(reshaped, tensors, grown))
    return joined(op, tensors, axis)


# Optionals


@rule("Optional", "input -> output", complete=True, elements=True)
def optional(op: Op) -> Value:
    """The input as an optional, or without an input an empty optional of the type in an attribute."""
    value = op.value("input")
    if value is not None:
        return OptionalOf(value, True)
    declared = op.attributes.get("type")
    if declared is None:
        op.reject("Optional must have an input or the attribute type, found neither", "ill-formed")
    return OptionalOf(declared if isinstance(declared, Value) else TOP, False)


@rule("OptionalHasElement", "input -> output", complete=True, elements=True)
def optional_has_element(op: Op) -> Value:
    """A boolean scalar: false without an input, true for an input that is no optional."""
    value = op.value("input")
    present: bool | None = None
    if value is None:
        present = False
    elif isinstance(value, OptionalOf):
        present = value.present
    elif isinstance(value, (Tensor, SequenceOf, MapOf)):
        present = True
    return Tensor(DType.BOOL, SCALAR, None if present is None else Contents.scalar(TRUE if present else FALSE))


@rule("OptionalGetElement", "input -> output", complete=True, elements=True)
def optional_get_element(op: Op) -> Value:
    """The value of the optional; any other input unchanged."""
    value = op.value("input")
    if value is None:
        op.reject("the input is missing")
    if isinstance(value, OptionalOf):
        op.reject("the optional must have a value", unless=value.present is not False)
        op.may_fail("the optional must have a value", unless=value.present is not None)
        return value.element
    op.may_fail("the optional must have a value", unless=value is not TOP)
    return value
