"""Operators on boxes, strings and images with data-dependent result sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import eq, ge, le
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import MAX_DIM, ONE_EXPR, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, const
from absint.lattices.terms.normal import Real, maximum, minimum
from absint.lattices.value import Tensor
from absint.transfer.conditions import documents_exclude, has_rank, known_text
from absint.transfer.op import Op
from absint.transfer.rule import rule


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
    return Tensor(DType.INT64, shape_of((_selected(op, B, K, N), const(3))))


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


def _selected(op: Op, batch: Dim, classes: Dim, boxes: Dim) -> Dim:
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
    if action != "NONE" or op.attributes.get("stopwords"):
        op.may_fail("the locale must be installed")
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
    starts = [
        (n, at) for n, (first, end) in enumerate(pairwise([*counts, len(pool)]), 1) for at in range(first, end, n)
    ]
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
    if pattern is None or not _SYNTAX.isdisjoint(pattern):
        op.may_fail("the pattern must be valid")
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
