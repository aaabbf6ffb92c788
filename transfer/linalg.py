"""Products of matrices, determinants, and Einsum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation, eq, ge, ne
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import last_dims, spliced, with_size, without
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.value import Tensor
from absint.transfer import conditions
from absint.transfer.conditions import one_value, require_one_way, same_dims
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule("MatMul", "A B -> Y", complete=True, starred=True)
def matmul(op: Op) -> Tensor:
    """numpy.matmul: contract the last axis of A with the last but one of B."""
    a, b, dtype = op.tensor("A"), op.tensor("B"), op.common_dtype("A", "B")
    result = matmul_shape(op, a.shape, b.shape)
    if dtype in (DType.UINT32, DType.UINT64):
        some = ge(a.shape.dims[-1], 1) if a.shape.rank else UNKNOWN_RELATION
        empty = UNKNOWN_RELATION if result.is_top else eq(result.size, 0)
        op.require(some | empty, f"onnxruntime has no sum of nothing in {dtype}", by="onnxruntime")
    return Tensor(dtype, result)


@rule("MatMulInteger", "A B a_zero_point b_zero_point -> Y", complete=True, starred=True)
def matmul_integer(op: Op) -> Tensor:
    """MatMul of 8-bit integers, accumulated in int32."""
    _require_parameters(op, op.tensor("B").shape, ("a_zero_point",), ("b_zero_point",))
    return Tensor(DType.INT32, matmul_shape(op, op.tensor("A").shape, op.tensor("B").shape))


@rule(
    "QLinearMatMul",
    "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point -> y",
    complete=True,
    starred=True,
)
def qlinear_matmul(op: Op) -> Tensor:
    """MatMul of quantised tensors, quantised again to the type of y_zero_point."""
    b = op.tensor("b").shape
    _require_parameters(op, b, ("a_scale", "a_zero_point", "y_scale", "y_zero_point"), ("b_scale", "b_zero_point"))
    return Tensor(op.dtype("y_zero_point"), matmul_shape(op, op.tensor("a").shape, b))


def _require_parameters(op: Op, b: Shape, of_tensors: Sequence[str], of_columns: Sequence[str]) -> None:
    """The documents allow parameters of rows too, and do not say what they broadcast to."""
    conditions.require_one_value(op, *of_tensors, by="undocumented")
    for name in filter(op.has, of_columns):
        shape = op.tensor(name).shape
        fits = one_value(shape, *_columns(shape, b))
        op.require(fits, f"onnxruntime needs {name} to be one value or one for each column", by="undocumented")


def _columns(shape: Shape, b: Shape) -> list[Relation]:
    """Ways in which a shape has one value for each column of the matrices b."""
    if b.is_top:
        return [UNKNOWN_RELATION]
    if len(b) < 2:
        return []
    return [same_dims(shape, (*b[:-2], Dim(1), b[-1])), same_dims(shape, b[1:]) if len(b) == 2 else FALSE]


@rule("Gemm", "A B C -> Y", until=6, complete=True)
def gemm_1(op: Op) -> Tensor:
    """alpha * A' @ B' + beta * C; C has the shape of the product, or with `broadcast` broadcasts one way to it."""
    rows, columns = _product(op)
    added = op.tensor("C").shape
    if op.integer("broadcast", 0):
        require_one_way(op, "C", shape_of((rows, columns)), "the product")
    else:
        op.require_rank(added, 2, "C")
        for axis, size in enumerate((rows, columns)):
            found = UNKNOWN_SIZE if added.is_top else added[axis]
            op.require_equal(found, size, f"dim {axis} of C must equal that of the product")
    return Tensor(op.common_dtype("A", "B", "C"), shape_of((rows, columns)))


@rule("Gemm", "A B C -> Y", since=7, complete=True)
def gemm(op: Op) -> Tensor:
    """alpha * A' @ B' + beta * C, with A' and B' the matrices or their transposes and C broadcast one way to (M, N)."""
    shape = shape_of(_product(op))
    if op.has("C"):
        require_one_way(op, "C", shape, "the product")
    return Tensor(op.common_dtype("A", "B", "C"), shape)


def _product(op: Op) -> tuple[Dim, Dim]:
    """Rows and columns of A' @ B'."""
    rows, inner_a = _matrix(op, op.tensor("A").shape, "A", op.integer("transA", 0) != 0)
    inner_b, columns = _matrix(op, op.tensor("B").shape, "B", op.integer("transB", 0) != 0)
    op.require_equal(inner_a, inner_b, "inner dimensions of A and B must agree")
    return rows, columns


def _matrix(op: Op, shape: Shape, name: str, transposed: bool) -> tuple[Dim, Dim]:
    """Rows and columns after the optional transposition."""
    if shape.is_top:
        return UNKNOWN_SIZE, UNKNOWN_SIZE
    dims = shape.dims
    if len(dims) == 1 and name == "A":
        conditions.documents_exclude(op, "A must be a matrix, found a vector")  # onnxruntime takes it as one row
        dims = (Dim(1), dims[0])
    elif len(dims) != 2:
        op.reject(f"{name} must have rank 2, found shape {shape}")
    return (dims[1], dims[0]) if transposed else (dims[0], dims[1])


@rule("Det", "X[..., M, N] -> Y[...]", complete=True)
def det(op: Op, M: Dim, N: Dim) -> None:
    """numpy.linalg.det: a number for each square matrix of the last two axes."""
    op.require_equal(N, M, "the matrices of X must be square")


def matmul_shape(op: Op, a: Shape, b: Shape) -> Shape:
    """The shape of numpy.matmul, requirements stated; unknown rank if either rank is unknown."""
    if a.is_top or b.is_top:
        return _product_of_any_rank(op, a, b)
    for name, shape in (("A", a), ("B", b)):
        op.reject(f"{name} must have rank 1 or more, found a scalar", unless=len(shape) > 0)
    batch_a, rows, inner_a = a[:-2], a[-2:-1], a[-1]
    batch_b, columns, inner_b = (b[:-2], b[-1:], b[-2]) if len(b) > 1 else ((), (), b[0])  # a vector has no columns
    op.require_equal(inner_a, inner_b, "inner dimensions of A and B must agree")
    if len(b) == 1:
        _note_empty_batches(op, (*batch_a, *rows), ())  # each row is a batch of its own
    elif batch_b:
        _note_empty_batches(op, batch_a, batch_b)
    return shape_of((*op.broadcast_dims(batch_a, batch_b), *rows, *columns))


def _product_of_any_rank(op: Op, a: Shape, b: Shape) -> Shape:
    """The product where a rank is unknown; what is not known of the last axes of both leaves it unknown."""
    left, right = last_dims(a), last_dims(b)
    is_vector = 1 in (a.rank, b.rank)
    is_hidden = not left or not right or 0 in (a.rank, b.rank) or (b.rank != 1 and len(right) < 2)
    if is_hidden or (len(left) < 2 and not is_vector and b.rank != 2):  # A may be a vector, which has no rows
        op.may_fail("inner dimensions of A and B must agree")
        return TOP_SHAPE
    op.require_equal(left[-1], right[0] if b.rank == 1 else right[-2], "inner dimensions of A and B must agree")
    if b.rank != 2 and op.semantics == "either":
        op.may_fail("onnxruntime may not broadcast a batch of 1 to an empty one")
    if b.rank == 1:
        return without(a, [len(a.known) - 1])
    if b.rank == 2:
        return with_size(a, len(a.known) - 1, right[-1])
    if a.rank == 1:
        return without(b, [len(b.known) - 2])
    batch, matrix = op.broadcast(_batch(a), _batch(b)), (left[-2], right[-1])
    if batch is TOP_SHAPE and not any(dim.is_unknown for dim in (*a.known, *b.known)):
        return op.fresh_shape(f"product({a}, {b})*", (), matrix)
    return spliced((), batch, matrix)


def _batch(shape: Shape) -> Shape:
    """The shape without its last two axes, which are known."""
    return shape_of(shape[:-2]) if shape.rank is not None else without(shape, range(len(shape.known))[-2:])


def _note_empty_batches(op: Op, a: tuple[Dim, ...], b: tuple[Dim, ...]) -> None:
    """numpy broadcasts a batch of 1 to an empty one; onnxruntime before 1.32 fails on most such pairs."""
    if op.semantics != "either":
        return
    for left, right in zip_longest(reversed(a), reversed(b), fillvalue=Dim(1)):
        clash = (eq(left, 0) & ne(right, 0)) | (ne(left, 0) & eq(right, 0))
        op.may_fail("onnxruntime may not broadcast a batch of 1 to an empty one", unless=~clash)


ELLIPSIS = "…"
"""The one label for the axes of an ellipsis."""


@rule("Einsum", "Inputs* -> Output", complete=True)
def einsum(op: Op) -> Tensor:
    """numpy.einsum with letters, ellipses and an implicit or explicit output."""
    tensors = op.variadic()
    dtype = op.same_dtype(*(t.dtype for t in tensors))
    equation = op.string("equation")
    if equation is None:
        op.reject("attribute equation must be given")
    terms, output = parse_equation(op, equation)
    op.reject(f"equation {equation!r} needs {len(terms)} inputs", unless=len(terms) == len(tensors), found=len(tensors))
    if any(t.shape.is_top for t in tensors):
        op.may_fail("subscripts and dims of the inputs must agree")
    shapes = [t.shape for t in tensors]
    conditions.not_empty(op, "onnxruntime may fail on an empty input", *shapes)
    widths = {len(s) - len(term) for term, s in zip(terms, shapes, strict=True) if ELLIPSIS in term and not s.is_top}
    op.may_fail("onnxruntime needs an ellipsis to stand for as many axes in each input", unless=len(widths) <= 1)
    sizes = _label_sizes(op, terms, shapes)
    for label in output:
        if label != ELLIPSIS and not any(label in term for term in terms):
            op.reject(f"label {label!r} of the output must occur in an input")
    if any(label not in sizes for label in output):
        return Tensor(dtype, _of_unknown_inputs(terms, output, sizes))
    return Tensor(dtype, shape_of(tuple(dim for label in output for dim in sizes[label])))


def _of_unknown_inputs(terms: Sequence[str], output: str, sizes: dict[str, tuple[Dim, ...]]) -> Shape:
    """Labels of an input of unknown rank have unknown size; an ellipsis leaves the rank unknown."""
    if ELLIPSIS in output:
        return TOP_SHAPE
    return Shape([sizes[label][0] if label in sizes else None for label in output])


def parse_equation(op: Op, equation: str) -> tuple[list[str], str]:
    """Labels of each input and of the output; an ellipsis is one label."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = [_labels(op, term) for term in left.split(",")]
    if not arrow:
        return terms, _implicit_output(terms)
    output = _labels(op, right)
    op.reject("the output must not repeat a label", unless=len(set(output)) == len(output), found=repr(right))
    if ELLIPSIS not in output and any(ELLIPSIS in term for term in terms):
        op.may_fail("onnxruntime needs the ellipsis of the inputs in the output too")
    return terms, output


def _labels(op: Op, term: str) -> str:
    labels = term.replace("...", ELLIPSIS)
    if labels.count(ELLIPSIS) > 1 or not all(c == ELLIPSIS or (c.isascii() and c.isalpha()) for c in labels):
        op.reject(f"subscripts must be letters and at most one ellipsis, found {term!r}")
    if any(c.isupper() for c in labels):
        op.may_fail("onnxruntime may refuse upper-case labels", by="onnxruntime")
    return labels


def _implicit_output(terms: Sequence[str]) -> str:
    """The ellipsis, then every letter that occurs exactly once, in alphabetical order."""
    text = "".join(terms)
    once = sorted(c for c in set(text) if c != ELLIPSIS and text.count(c) == 1)
    return (ELLIPSIS if ELLIPSIS in text else "") + "".join(once)


def _label_sizes(op: Op, terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, tuple[Dim, ...]]:
    """The sizes of each label; a label of an input of unknown rank is left out."""
    found: dict[str, list[tuple[Dim, ...]]] = {}
    hidden: set[str] = set()
    for term, shape in zip(terms, shapes, strict=True):
        if shape.is_top:
            hidden.update(term)
            continue
        for label, dims in _split(op, term, shape).items():
            found.setdefault(label, []).append(dims)
    _require_one_width(op, found.get(ELLIPSIS, ()))
    if op.semantics == "onnx":
        for label, (first, *others) in found.items():
            for (size,) in others if label != ELLIPSIS else ():
                op.may_fail(f"dims of label {label!r} must agree", unless=eq(size, first[0]))
    return {label: op.broadcast_dims(*dims) for label, dims in found.items() if label not in hidden}


def _require_one_width(op: Op, ellipses: Sequence[Sequence[Dim]]) -> None:
    """Require one number of axes for all ellipses. Kernels also accept one that stands for none."""
    widths = {len(dims) for dims in ellipses}
    if len(widths - {0}) > 1:
        op.reject(f"the ellipses must stand for the same number of axes, found {', '.join(map(str, sorted(widths)))}")
    if len(widths) > 1:
        op.may_fail(f"the ellipses must stand for the same number of axes, found 0 and {max(widths)}", at_load=True)


def _split(op: Op, term: str, shape: Shape) -> dict[str, tuple[Dim, ...]]:
    """The dims of one input by label. A letter that occurs twice in it takes a diagonal, whose dims must be equal."""
    letters = len(term.replace(ELLIPSIS, ""))
    extra = len(shape) - letters
    if extra < 0 or (extra and ELLIPSIS not in term):
        op.reject(f"subscripts {term.replace(ELLIPSIS, '...')!r} must fit their input, found shape {shape}")
    sizes: dict[str, tuple[Dim, ...]] = {}
    axis = 0
    for label in term:
        width = extra if label == ELLIPSIS else 1
        dims = shape[axis : axis + width]
        axis += width
        if label in sizes:
            op.require_equal(sizes[label][0], dims[0], f"dims of repeated label {label!r} must agree")
        else:
            sizes[label] = dims
    return sizes
