"""Operators whose sizes depend on data: those that pick elements by value, and those on boxes, strings and images."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from absint.lattices.block import Block
from absint.lattices.contents import Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.formula import FALSE, TRUE, UNKNOWN_RELATION, YES, Relation, disjunction
from absint.lattices.logic.relation import eq, ge, gt, ite, le, ne
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import with_size, without
from absint.lattices.terms.expr import MAX_DIM, ONE_EXPR, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, Unknown, const, product
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real, maximum, minimum
from absint.lattices.value import Tensor
from absint.transfer.conditions import documents_exclude, has_rank, known_text
from absint.transfer.op import Op
from absint.transfer.rule import rule

_MAX_TERMS = 16
"""The most undecided conditions that one count sums over."""


# The k largest


@rule("TopK", "X -> Values Indices", until=9, complete=True, starred=True)
def top_k_attribute(op: Op) -> Sequence[Tensor]:
    """The k largest elements of each lane; k is an attribute."""
    k = op.integer("k")
    if k is None or k < 0:
        op.reject(f"attribute k must not be negative, found {'none' if k is None else k}")
    op.reject("onnxruntime needs k > 0 before opset 10", unless=k != 0, by="onnxruntime")
    return _top_k(op, const(k))


@rule("TopK", "X K -> Values Indices", since=10, complete=True, starred=True)
def top_k(op: Op) -> Sequence[Tensor]:
    """The k largest (or smallest) elements of each lane; K holds k."""
    op.require_equal(op.sizes("K", 1)[0], 1, "K must hold one element")
    found = op.integers("K")
    k = found[0] if found and len(found) == 1 else None
    if not isinstance(k, Expr):
        op.may_fail("k must be between 0 and the size of the axis")
        k = op.fresh("k")
    else:
        op.require(ge(k, 0), "k must not be negative", found=str(k) if k.const is not None else "")
        if op.semantics == "onnxruntime" and op.decide(le(k, MAX_DIM)) is not YES:
            op.may_fail("k must not be larger than the axis")  # onnxruntime takes its low 32 bits
            k = op.fresh("k")
    return _top_k(op, k)


def _top_k(op: Op, k: Expr) -> Sequence[Tensor]:
    x, axis = op.tensor("X"), op.integer("axis", -1)
    at = op.place(x.shape, axis)
    if at is None:
        op.may_fail("k must not be larger than the axis")
        return Tensor(x.dtype), Tensor(DType.INT64)
    size, axis = x.shape.known[at], axis if x.shape.is_top else at
    enough = ge(size, k)
    op.require(enough, f"k must not be larger than axis {axis}", found=f"{k} and {size}" if enough is FALSE else "")
    shape = with_size(x.shape, at, k)
    return Tensor(x.dtype, shape), Tensor(DType.INT64, shape)


@rule("ArgMax ArgMin", "data -> Y", complete=True, elements=True, starred=True)
def arg_extreme(op: Op) -> Tensor:
    """numpy.argmax or argmin: the index of the extreme of each lane; the axis becomes 1 or is removed."""
    shape = op.tensor("data").shape
    if shape.rank == 0:
        op.may_fail("onnxruntime accepts a scalar, ONNX's own inference rejects it")
        return Tensor(DType.INT64, shape, Contents.scalar(const(0)))
    given = op.integer("axis", 0)
    at = op.place(shape, given)
    op.may_fail("the axis must be in range and not empty", unless=not shape.is_top)
    if at is None:
        return Tensor(DType.INT64)
    some, reason, rest = ge(shape.known[at], 1), f"axis {at} must not be empty", without(shape, [at])
    if op.semantics == "onnx":
        op.may_fail(reason, unless=some)
    elif not rest.is_top:  # onnxruntime before 1.32 runs an empty input with a negative axis, and reduces nothing
        op.require(some | eq(rest.size, 0), reason, by="either" if given >= 0 else "undocumented")
    kept = with_size(shape, at, ONE_EXPR) if op.flag("keepdims", default=True) else rest
    return Tensor(DType.INT64, kept, Contents.fill(const(0)) if shape.known[at] is ONE_EXPR else None)


# Counts


@rule("NonZero", "X -> Y", complete=True, elements=True)
def non_zero(op: Op) -> Tensor:
    """numpy.nonzero: one column of coordinates for each element that is not zero."""
    x = op.tensor("X")
    shape = x.shape
    found = op.block("X")
    if found is not None and found.shape and (contents := _coordinates(found)) is not None:
        return Tensor(DType.INT64, contents=contents)
    count = _count_true(op, found, x, shape.size)
    return Tensor(DType.INT64, shape_of((_coordinate_rows(op, shape), count)))


def _coordinate_rows(op: Op, shape: Shape) -> Dim:
    """The rank; for a scalar 0 by the specification, and 1 in onnxruntime."""
    if shape.rank == 0:
        if op.semantics != "either":
            return const(0 if op.semantics == "onnx" else 1)
        op.note("NonZero of a scalar: the spec gives no coordinate, onnxruntime one")
        return Unknown(Interval(0, 1))
    return Unknown(Interval(0, None)) if shape.rank is None else const(shape.rank)


def truth_of(element: Element) -> Relation:
    """The element is not zero."""
    if isinstance(element, Relation):
        return element
    if isinstance(element, Dim):
        return ne(element, 0) if 0 in element.bounds else TRUE
    return ne(element.num, 0) if isinstance(element, Real) else UNKNOWN_RELATION


def _coordinates(elements: Block[Element]) -> Contents | None:
    """The result of NonZero if every element is known to be zero or not."""
    truths = [truth_of(e) for e in elements.elements]
    if not all(t is TRUE or t is FALSE for t in truths):
        return None
    found = [place for place, truth in zip(elements.places(), truths, strict=True) if truth is TRUE]
    rank = len(elements.shape)
    return Contents.of((rank, len(found)), [const(place[axis]) for axis in range(rank) for place in found])


def _count_true(op: Op, elements: Block[Element] | None, tensor: Tensor, size: Dim) -> Dim:
    """The number of nonzero elements: a sum over known conditions, or a bounded symbol."""
    if elements is not None:
        truths = [truth_of(e) for e in elements.elements]
        sure = sum(t is TRUE for t in truths)
        other = [t for t in truths if t is not TRUE and t is not FALSE]
        if UNKNOWN_RELATION not in other and len(other) <= _MAX_TERMS:
            return sum((ite(truth, 1, 0) for truth in other), const(sure))
        return op.fresh("count", sure, sure + len(other))
    if tensor.contents is not None and tensor.contents.is_fill:
        alike = truth_of(tensor.contents.elements[0])
        if alike is not UNKNOWN_RELATION:
            return ite(alike, size, 0)
    count = op.fresh("count")
    op.define(le(count, size), "no more results than elements")
    return count


@rule("Compress", "input condition -> output", complete=True, elements=True)
def compress(op: Op) -> Tensor:
    """numpy.compress: the slices whose condition is true; the condition may be shorter than the axis."""
    x, condition, dtype = op.tensor("input"), op.tensor("condition"), op.dtype("input")
    axis = op.integer("axis")
    op.may_fail("ONNX's own inference rejects a scalar", unless=x.shape.rank != 0)
    if axis is None:
        count = _selected(op, condition, x.shape.size)
        return Tensor(dtype, shape_of((count,)), _compressed(op, None))
    if x.shape.is_top:
        op.may_fail("the axis must be in range")
        return Tensor(dtype)
    axis = op.axis(axis, len(x.shape))
    count = _selected(op, condition, x.shape[axis])
    return Tensor(dtype, with_size(x.shape, axis, count), _compressed(op, axis))


def _selected(op: Op, condition: Tensor, extent: Dim) -> Dim:
    """The number of true conditions among the first `extent` (onnxruntime ignores those past the axis)."""
    found = op.block("condition")
    if found is not None:
        inside = [truth_of(e) & gt(extent, i) for i, e in enumerate(found.elements)]
        if UNKNOWN_RELATION not in inside and sum(c is not TRUE for c in inside) <= _MAX_TERMS:
            return sum((ite(condition, 1, 0) for condition in inside), ZERO_EXPR)
    if condition.contents is not None and condition.contents.is_fill and isinstance(extent, Expr):
        alike = truth_of(condition.contents.elements[0])
        if alike is not UNKNOWN_RELATION:
            return ite(alike, minimum(condition.shape.size, extent), 0)
    count = op.fresh("count")
    op.define(le(count, extent), "no more results than slices")
    op.define(le(count, condition.shape.size), "no more results than conditions")
    return count


def _compressed(op: Op, axis: int | None) -> Contents | None:
    data, condition = op.block("input"), op.block("condition")
    if data is None or condition is None:
        return None
    truths = [truth_of(e) for e in condition.elements]
    if not all(t is TRUE or t is FALSE for t in truths):
        return None
    lanes = data.reshaped((len(data.elements),)) if axis is None else data
    kept = [i for i, t in enumerate(truths) if t is TRUE and i < lanes.shape[axis or 0]]
    return Contents.from_block(lanes.taken(kept, axis or 0))


@rule("Unique", "X -> Y indices inverse_indices counts", complete=True)
def unique(op: Op) -> Sequence[Tensor]:
    """numpy.unique: distinct elements, or distinct slices along an axis."""
    shape, given = op.tensor("X").shape, op.integer("axis")
    if shape.is_top and given is not None:
        op.may_fail("the axis must be in range")
        each = Tensor(DType.INT64, Shape([None]))
        return Tensor(op.dtype("X")), each, each, each
    if given is None:
        extent = shape.size
        count = _distinct(op, extent)
        result = shape_of((count,))
    else:
        axis = op.axis(given, len(shape))
        extent = shape[axis]
        count = _distinct(op, extent)
        before, behind = product(shape[:axis]), product(shape[axis + 1 :])
        full = disjunction(eq(extent, 0), eq(before, 0), ge(behind, 1))
        op.require(full, "onnxruntime ends the process on slices of no elements", by="onnxruntime")
        result = with_size(shape, axis, count)
    each = Tensor(DType.INT64, shape_of((count,)))
    return Tensor(op.dtype("X"), result), each, Tensor(DType.INT64, shape_of((extent,))), each


def _distinct(op: Op, extent: Dim) -> Dim:
    """The number of distinct elements: at least one if there are any."""
    if extent is ZERO_EXPR or extent is ONE_EXPR:
        return extent
    if op.decide(le(extent, 1)) is YES:
        return extent
    count = op.fresh("distinct")
    op.define(le(count, extent), "no more results than elements")
    op.define(eq(extent, 0) | ge(count, 1), "at least one result unless the input is empty")
    return count


# Boxes, strings and images


@rule(
    "NonMaxSuppression",
    "boxes[B, N, C] scores[B, K, N] max_output_boxes_per_class iou_threshold score_threshold -> selected_indices",
    complete=True,
)
def non_max_suppression(op: Op, B: Dim, N: Dim, C: Dim, K: Dim) -> Tensor:
    """(batch, class, box) of each box that survives: at most `max_output` of each batch and class."""
    op.flag("center_point_box")
    op.require_equal(C, 4, "a box must have four coordinates")
    _require_threshold(op)
    return Tensor(DType.INT64, shape_of((_surviving(op, B, K, N), const(3))))


def _require_threshold(op: Op) -> None:
    if not op.has("iou_threshold"):
        return
    found = op.block("iou_threshold")
    first = found.elements[0] if found is not None and found.elements else None
    value = first.fraction if isinstance(first, Real) else None
    if value is None:
        op.may_fail("iou_threshold must be between 0 and 1")
    elif not 0 <= value <= 1:
        op.reject(f"iou_threshold must be between 0 and 1, found {float(value):g}")


def _surviving(op: Op, batch: Dim, classes: Dim, boxes: Dim) -> Dim:
    """The number of results; 0 if no maximum is given."""
    limit: Dim = ZERO_EXPR
    if op.has("max_output_boxes_per_class"):
        found = op.integers("max_output_boxes_per_class")
        limit = maximum(found[0], 0) if found else UNKNOWN_SIZE
    if limit is ZERO_EXPR:
        return ZERO_EXPR
    count = op.fresh("selected")
    most = minimum(limit, boxes) if isinstance(limit, Expr) and isinstance(boxes, Expr) else boxes
    op.define(le(count, batch * classes * most), "no more boxes than requested, nor than exist")
    return count


@rule("StringNormalizer", "X -> Y", complete=True)
def string_normalizer(op: Op) -> Tensor:
    """[C] or [1, C] without the stop words; one empty string if nothing is left (onnxruntime needs C > 0)."""
    shape, action = op.tensor("X").shape, op.string("case_change_action", "NONE")
    known_text(op, "case_change_action", ("LOWER", "UPPER", "NONE"))
    op.may_fail("the locale must be installed", unless=action == "NONE" and not op.attributes.get("stopwords"))
    op.require(has_rank(shape, 1, 2), "X must have rank 1 or 2", found=shape)
    if shape.is_top:
        return Tensor(DType.STRING)
    if len(shape) == 2:
        op.require_equal(shape[0], 1, "X of rank 2 must have one row")
        op.may_fail("the rows of X must be known to be one", unless=shape[0] is ONE_EXPR, at_load=True)
    op.require(ge(shape[-1], 1), "onnxruntime needs a string", by="onnxruntime")
    words = maximum(shape[-1], 1)
    if not op.attributes.get("stopwords"):
        return Tensor(DType.STRING, shape_of((*shape[:-1], words)))
    kept = op.fresh("kept", 1)
    op.define(le(kept, words), "no more words than in X")
    return Tensor(DType.STRING, shape_of((*shape[:-1], kept)))


@rule("TfIdfVectorizer", "X -> Y", complete=True)
def tf_idf_vectorizer(op: Op) -> Tensor:
    """Counts of n-grams: one column for each index, of one row or of a batch."""
    indexes = op.ints("ngram_indexes")
    if not indexes:
        op.reject("attribute ngram_indexes must hold values")
    op.may_fail("the attributes must list n-grams of the type of X", unless=_is_pool(op, indexes))
    shape, columns = op.tensor("X").shape, const(max(indexes) + 1)
    op.require(has_rank(shape, 0, 1, 2), "X must have rank 1 or 2", found=shape)
    if shape.is_top:
        return Tensor(DType.FLOAT)
    if len(shape) == 0:
        documents_exclude(op, "X must have rank 1 or 2, found a scalar")
    if len(shape) == 2:
        op.require(ge(shape[0], 1), "onnxruntime needs a batch that is not empty", by="onnxruntime")
    return Tensor(DType.FLOAT, shape_of((*shape[:-1], columns)))


def _is_pool(op: Op, indexes: Sequence[int]) -> bool:
    """The attributes list n-grams, each with an index and, if any has, a weight."""
    texts, numbers = op.attributes.get("pool_strings"), op.ints("pool_int64s")
    pool, counts = texts if op.dtype("X") is DType.STRING else numbers, op.ints("ngram_counts") or []
    if not counts or not isinstance(pool, (list, tuple)) or not pool or (texts and numbers) or min(indexes) < 0:
        return False
    ends = [*counts[1:], len(pool)]
    lengths = [end - start for start, end in zip(counts, ends, strict=True)]
    if counts[:1] != [0] or min(lengths) < 0 or any(length % n for n, length in enumerate(lengths, 1)):
        return False
    rows = enumerate(pairwise([*counts, len(pool)]), 1)
    starts = [(n, at) for n, (first, end) in rows for at in range(first, end, n)]
    grams = {tuple(pool[at : at + n]) for n, at in starts}
    weights = op.attributes.get("weights")
    least, most = op.integer("min_gram_length", 0), op.integer("max_gram_length", 0)
    return (
        len(grams) == len(starts) == len(indexes)
        and (not isinstance(weights, (list, tuple)) or len(weights) == len(indexes))
        and 1 <= least <= most <= len(counts)
        and op.integer("max_skip_count", -1) >= 0
        and op.string("mode") in ("TF", "IDF", "TFIDF")
    )


@rule("StringSplit", "X -> Y Z", complete=True)
def string_split(op: Op) -> Sequence[Tensor]:
    """The parts of each string, padded to the largest number of parts, and their number."""
    shape, limit = op.tensor("X").shape, op.integer("maxsplit")
    if shape.is_top:
        return Tensor(DType.STRING), Tensor(DType.INT64)
    parts = op.fresh("parts", 0, MAX_DIM if limit is None or limit < 0 else limit + 1)
    op.define(ge(shape.size, 1) | eq(parts, 0), "no parts without strings")
    return Tensor(DType.STRING, shape_of((*shape, parts))), Tensor(DType.INT64, shape)


@rule("StringConcat", "X Y -> Z", complete=True, starred=True)
def string_concat(op: Op) -> Tensor:
    """Element-wise concatenation with broadcasting."""
    return Tensor(DType.STRING, op.broadcast(op.tensor("X").shape, op.tensor("Y").shape))


@rule("RegexFullMatch", "X -> Y", complete=True, starred=True)
def regex_full_match(op: Op) -> Tensor:
    """One boolean for each string: it matches."""
    pattern = op.string("pattern")
    op.may_fail("the pattern must be valid", unless=pattern is not None and _SYNTAX.isdisjoint(pattern))
    return Tensor(DType.BOOL, op.tensor("X").shape)


_SYNTAX: Final = frozenset("\\()[]{}*+?")
"""What may make a pattern invalid."""

_CHANNELS: Final = {"RGB": 3, "BGR": 3, "Grayscale": 1}


@rule("ImageDecoder", "encoded_stream -> image")
def image_decoder(op: Op) -> Tensor:
    """An image of (height, width, channels)."""
    op.require_rank(op.tensor("encoded_stream").shape, 1, "encoded_stream")
    op.may_fail("the image must be decodable")
    channels = _CHANNELS.get(op.string("pixel_format", "RGB"))
    if channels is None:
        return Tensor(DType.UINT8, TOP_SHAPE)
    return Tensor(DType.UINT8, Shape([None, None, channels]))
