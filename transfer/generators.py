"""Operators that make a tensor from attributes, sizes or numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Final, TypeAlias

from absint.lattices.block import Block
from absint.lattices.contents import MAX_ELEMENTS, OPAQUE, Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic import relation as rel
from absint.lattices.ramp import NO_RAMPS, ramp
from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import with_axes
from absint.lattices.terms.expr import NATURAL, UNKNOWN_SIZE, Dim, Expr, Unknown, const
from absint.lattices.terms.normal import Real, ceildiv, maximum
from absint.lattices.value import SparseTensor, Tensor
from absint.transfer.conditions import documents_exclude, filled, has_rank, is_empty, require_scalar
from absint.transfer.elements import arithmetic as ar
from absint.transfer.elements.conversion import cast, type_attribute
from absint.transfer.elements.premises import FORMATS, fit, in_double, integer, representable, to_integer
from absint.transfer.elementwise import require_single
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.stated import BadNodeError

# Constants


@rule("Constant", "-> output", complete=True, elements=True)
def constant(op: Op) -> Tensor:
    """The tensor in the one attribute."""
    given = [name for name in op.attributes if name in _VALUES]
    if len(given) > 1:  # the format allows one, and onnxruntime takes the first
        op.may_fail(f"a constant must have one value, found {', '.join(sorted(given))}")
        return Tensor(DType.UNDEFINED)
    sparse = op.attributes.get("sparse_value")
    if isinstance(sparse, SparseTensor):
        return Tensor(sparse.dtype, sparse.shape)
    if isinstance(sparse, Tensor):
        return Tensor(sparse.dtype, sparse.shape)
    value = op.attribute_tensor("value")
    if value is not None:
        return value
    for name, (dtype, element) in _FORMS.items():
        found = op.attributes.get(name)
        if isinstance(found, (list, tuple)):
            return Tensor(dtype, shape_of((const(len(found)),)), Contents.vector(map(element, found)))
        if found is not None:
            return Tensor(dtype, SCALAR, Contents.scalar(element(found)))
    raise BadNodeError("Constant needs a value, found none")


def _integer_element(value: object) -> Element:
    return const(value) if isinstance(value, int) else OPAQUE


def _float_element(value: object) -> Element:
    return ar.float_element(float(value)) if isinstance(value, (int, float)) else OPAQUE


_FORMS: Final[dict[str, tuple[DType, Callable[[object], Element]]]] = {
    "value_int": (DType.INT64, _integer_element), "value_ints": (DType.INT64, _integer_element),
    "value_float": (DType.FLOAT, _float_element), "value_floats": (DType.FLOAT, _float_element),
    "value_string": (DType.STRING, lambda value: OPAQUE), "value_strings": (DType.STRING, lambda value: OPAQUE),
}  # fmt: skip
_VALUES: Final = frozenset({"value", "sparse_value", *_FORMS})


@rule("ConstantOfShape", "input -> output", complete=True, elements=True)
def constant_of_shape(op: Op) -> Tensor:
    """numpy.full: attribute value, or 0.0, in the shape that the input lists."""
    value = op.attribute_tensor("value")
    element = ar.zero(DType.FLOAT)
    if value is not None:
        if (dims := value.shape.concrete) is not None and prod(dims) != 1:
            op.reject(f"attribute value must have one element, found shape {value.shape}", "ill-formed")
        op.require(has_rank(value.shape, 1), "onnxruntime needs attribute value as a vector", by="onnxruntime")
        element = value.contents.elements[0] if value.contents is not None and value.contents.elements else OPAQUE
    dtype = DType.FLOAT if value is None else value.dtype
    return Tensor(dtype, shape_from(op, "input"), Contents.fill(element))


def shape_from(op: Op, name: str) -> Shape:
    """The shape that an integer vector lists; sizes must be natural numbers."""
    if op.tensor(name).shape.rank == 0:
        op.reject(f"{name} must be a vector, found a scalar")
    if op.tensor(name).shape.rank != 1:
        op.note(f"{name} must be a vector, found shape {op.tensor(name).shape}")
        op.may_fail(f"{name} must be a vector")
    sizes = op.integers(name)
    if sizes is None:
        op.may_fail(f"{name} must be a vector of natural numbers")
        return TOP_SHAPE
    return shape_of(tuple(as_size(op, size, f"a size in {name}") for size in sizes))


def as_size(op: Op, value: Dim, what: str) -> Dim:
    """A number as a dim; it must be natural."""
    lo, hi = value.bounds
    op.reject(f"{what} must not be negative", unless=hi is None or hi >= 0, found=value)
    if lo is None or lo < 0:
        op.require(rel.ge(value, 0), f"{what} must not be negative")
    return value if isinstance(value, Expr) else Unknown(value.bounds.meet(NATURAL), value.congruence)


# Range


@rule("Range", "start limit delta -> output", complete=True, elements=True)
def arange(op: Op) -> Tensor:
    """numpy.arange: max(ceil((limit - start) / delta), 0) numbers."""
    dtype = op.common_dtype("start", "limit", "delta")
    as_function = op.version >= 27 and dtype in (DType.FLOAT16, DType.BFLOAT16, DType.UNDEFINED)
    if as_function:
        op.may_fail("onnxruntime runs the function of Range, whose Loop may fail")
        if any(op.tensor(name).shape.rank != 0 for name in ("start", "limit", "delta")):
            return Tensor(dtype, TOP_SHAPE)
    start, limit, delta = (scalar(op, name) for name in ("start", "limit", "delta"))
    step = delta.num if isinstance(delta, Real) else integer(delta)
    if 0 in step.bounds and 0 in step.congruence and not as_function:
        op.require(rel.ne(step, 0), "delta must not be 0")
    if dtype.is_integer:
        count = _integer_count(op, dtype, integer(start), integer(limit), integer(delta))
    else:
        count = _float_count(op, dtype, start, limit, delta)
    contents = _progression(dtype, start, delta, count)
    grows = contents is None and isinstance(start, Dim) and isinstance(delta, Dim)
    return Tensor(dtype, shape_of((count,)), contents, ramp(integer(start), [integer(delta)]) if grows else NO_RAMPS)


def scalar(op: Op, name: str) -> Element:
    """The one element of an input, which must be a scalar; if inference knows it, of rank 0."""
    require_scalar(op, name)
    return _of_rank_0(op, name)


def _of_rank_0(op: Op, name: str) -> Element:
    """The one element of an input. Kernels accept any rank; type inference rejects a constant of another rank than 0.

    No runtime knows an element that depends on the sizes of the inputs before it runs.
    """
    element = op.only(name)
    known_later = isinstance(element, Expr) and element.const is None
    if op.tensor(name).shape.rank and not known_later:
        op.may_fail(f"{name} must have rank 0: onnx rejects a constant of one element and another rank")
    return element


def _integer_count(op: Op, dtype: DType, start: Dim, limit: Dim, delta: Dim) -> Dim:
    distance = limit - start
    exact = fit(op, dtype, distance, limit) is distance and in_double(op, distance) and in_double(op, delta)
    count = maximum(ceildiv(distance, delta), 0) if exact else UNKNOWN_SIZE
    return count if isinstance(count, Expr) else Unknown(count.bounds.meet(NATURAL))


def _float_count(op: Op, dtype: DType, start: Element, limit: Element, delta: Element) -> Dim:
    """onnxruntime subtracts and divides in double, the specification in the type itself."""
    op.may_fail("start and limit must be finite", unless=isinstance(start, Real) and isinstance(limit, Real))
    distance = ar.sub(op, dtype, limit, start)
    count = ar.ceil(op, dtype, ar.div(op, dtype, distance, delta))
    first, last, step = (cast(op, dtype, DType.DOUBLE, element) for element in (start, limit, delta))
    wide = ar.sub(op, DType.DOUBLE, last, first)
    run = ar.ceil(op, DType.DOUBLE, ar.div(op, DType.DOUBLE, wide, step))
    if isinstance(count, Real) and count == run:
        return maximum(count.num, 0)
    if dtype not in FORMATS or op.semantics == "onnx":
        return UNKNOWN_SIZE
    size = maximum(to_integer(op, DType.DOUBLE, DType.INT64, run), 0)
    return size if isinstance(size, Expr) else Unknown(size.bounds.meet(NATURAL))


def _progression(dtype: DType, start: Element, delta: Element, count: Dim) -> Contents | None:
    """start + i*delta, as far as it is exact."""
    length = count.const if isinstance(count, Expr) else None
    if length is None or length > MAX_ELEMENTS:
        return None
    if isinstance(start, Dim) and isinstance(delta, Dim):
        return Contents.vector(start + i * delta for i in range(length))
    first, step = ar.constant(start), ar.constant(delta)
    if first is None or step is None or not dtype.is_float:
        return None
    values = [first + i * step for i in range(length)]
    return Contents.vector(map(Real.constant, values)) if all(representable(dtype, v) for v in values) else None


# Random numbers


@rule("RandomNormal RandomUniform", "-> output", complete=True)
def random(op: Op) -> Tensor:
    """Random numbers in the shape of attribute `shape`."""
    sizes = op.ints("shape")
    if sizes is None:
        raise BadNodeError("attribute shape must be given")
    return _drawn(op, shape_of(tuple(as_size(op, const(n), "a size in shape") for n in sizes)), DType.FLOAT)


@rule("RandomNormalLike RandomUniformLike", "input -> output", complete=True, starred=True)
def random_like(op: Op) -> Tensor:
    """Random numbers in the shape of the input, and in its type if no other is given."""
    return _drawn(op, op.tensor("input").shape, op.dtype("input"))


def _drawn(op: Op, shape: Shape, default: DType) -> Tensor:
    dtype = type_attribute(op, "dtype", default)
    op.may_fail("the type of random numbers must be a float", unless=dtype.is_float)
    if op.name.startswith("RandomUniform") and not op.number("low", 0.0) <= op.number("high", 1.0):
        op.reject("high must not be below low", by="undocumented")
    if op.name.startswith("RandomNormal") and not op.number("scale", 1.0) > 0:
        op.reject("onnxruntime ends the process unless scale is positive", by="undocumented")
    return Tensor(dtype, shape)


@rule("Bernoulli", "input -> output", complete=True, starred=True)
def bernoulli(op: Op) -> Tensor:
    """A trial for each probability of the input, in its type if no other is given."""
    shape = op.tensor("input").shape
    # onnxruntime compares the elements with random numbers
    op.may_fail("every element must be a probability", unless=is_empty(shape), by="onnx")
    return Tensor(type_attribute(op, "dtype", op.dtype("input")), shape)


@rule("Multinomial", "input -> output", complete=True)
def multinomial(op: Op) -> Tensor:
    """sample_size draws for each row of (batch, classes) log probabilities."""
    shape = op.tensor("input").shape
    if shape.rank is not None and shape.rank > 2:
        documents_exclude(op, "the input must be a matrix: onnxruntime ignores further axes")
    elif shape.is_top:
        op.may_fail("the input must be a matrix")
    else:
        op.require_rank(shape, 2, "input")
    draws = as_size(op, const(op.integer("sample_size", 1)), "sample_size")
    batch, classes = (UNKNOWN_SIZE, UNKNOWN_SIZE) if shape.is_top else shape[:2]
    op.require(filled((batch, classes, draws)), "onnxruntime needs a row, a class and a draw", by="onnxruntime")
    dtype = type_attribute(op, "dtype", DType.INT32)
    if dtype not in (DType.INT32, DType.INT64):
        op.reject(f"the type of draws must be INT32 or INT64, found {dtype}", "ill-typed")
    return Tensor(dtype, shape_of((batch, draws)))


# Matrices and windows


@rule("EyeLike", "input -> output", complete=True, elements=True)
def eye_like(op: Op) -> Tensor:
    """numpy.eye in the shape of the input matrix, and in its type if no other is given."""
    shape = shape_of(op.sizes("input", 2))
    dtype = type_attribute(op, "dtype", op.dtype("input"))
    return Tensor(dtype, shape, _diagonal(dtype, shape, op.integer("k", 0)))


def _diagonal(dtype: DType, shape: Shape, k: int) -> Contents | None:
    """Ones where the column is k more than the row."""
    sizes, one = shape.concrete, ar.one(dtype)
    if sizes is None or prod(sizes) > MAX_ELEMENTS or one is OPAQUE:
        return None
    rows, columns = sizes
    return Contents.of(sizes, [one if j - i == k else ar.zero(dtype) for i in range(rows) for j in range(columns)])


@rule("OneHot", "indices depth values -> output", complete=True, elements=True, starred=True)
def one_hot(op: Op) -> Tensor:
    """A new axis of size depth, with values[1] at the index and values[0] elsewhere."""
    require_scalar(op, "depth")
    found = op.only("depth")
    whole = found.num if isinstance(found, Real) and found.den == 1 else integer(found)
    depth = as_size(op, whole, "depth")
    op.require(rel.ge(depth, 1), "onnxruntime needs a depth of 1 or more", by="undocumented")
    op.require_equal(op.sizes("values", 1)[0], 2, "values must have two elements")
    shape, dtype = op.tensor("indices").shape, op.dtype("values")
    axis, reason = op.integer("axis", -1), "onnxruntime needs indices of rank 1 or more"
    if shape.is_top:
        op.may_fail(reason, unless=len(shape.known) > 0, by="onnxruntime")
    else:
        op.reject(reason, unless=len(shape) != 0, by="onnxruntime")
        axis = op.axis(axis, len(shape) + 1)
    result = with_axes(shape, [axis], depth)
    if result is None:
        op.may_fail("axis must be in range")
        return Tensor(dtype)
    return Tensor(dtype, result, _hot(op, result, axis))


def _hot(op: Op, shape: Shape, axis: int) -> Contents | None:
    """values[1] at constant indices, negative ones counted from the end; ignored outside the axis."""
    indices, values, sizes = op.block("indices"), op.block("values"), shape.concrete
    if indices is None or values is None or len(values.elements) != 2 or sizes is None or prod(sizes) > MAX_ELEMENTS:
        return None
    cold, hot = values.elements
    depth, written = sizes[axis], {}
    for at in indices.places():
        index = ar.constant(indices[at])
        if index is None or index.denominator != 1:
            return None
        if -depth <= index < depth:
            written[*at[:axis], int(index) % depth, *at[axis:]] = hot
    return Contents.from_block(Block(sizes, [cold] * prod(sizes)).with_elements(written))


@rule("HannWindow HammingWindow BlackmanWindow", "size -> output", complete=True)
def window(op: Op) -> Tensor:
    """A window of the given size."""
    size = _count(op, "size")
    if op.tensor("size").shape.rank not in (None, 0):
        documents_exclude(op, "size must be a scalar")
    op.may_fail("size must be 1 or more: onnx rejects a constant 0, onnxruntime accepts it", unless=rel.ge(size, 1))
    return Tensor(type_attribute(op, "output_datatype", DType.FLOAT), shape_of((size,)))


@rule("MelWeightMatrix", "num_mel_bins dft_length sample_rate lower upper -> output", complete=True)
def mel_weight_matrix(op: Op) -> Tensor:
    """(dft_length // 2 + 1, num_mel_bins) weights."""
    for name in ("sample_rate", "lower", "upper"):
        require_single(op, name)
    numbers = [ar.constant(op.only(name)) for name in ("dft_length", "sample_rate", "lower", "upper")]
    if not _in_spectrum(*numbers):
        reason = "the bands must lie in the spectrum"
        op.require(rel.FALSE if _leaves_spectrum(*numbers) else rel.UNKNOWN_RELATION, reason, by="undocumented")
    shape = shape_of((_bins(op), _count(op, "num_mel_bins")))
    return Tensor(type_attribute(op, "output_datatype", DType.FLOAT), shape)


_Constant: TypeAlias = "Fraction | None"


def _in_spectrum(length: _Constant, rate: _Constant, lower: _Constant, upper: _Constant) -> bool:
    """The constants leave every band in the spectrum, however a kernel rounds."""
    if length is None or rate is None or lower is None or upper is None:
        return False
    return 0 <= lower < upper and upper * (length + 1) * 1000 < rate * (length // 2 + 1) * 999


def _leaves_spectrum(length: _Constant, rate: _Constant, *edges: _Constant) -> bool:
    """The constants put an edge of the bands outside of the spectrum, however onnxruntime rounds."""
    if length is None or not 0 <= length < 1 << 24 or not rate:
        return False
    bins = Fraction(length // 2 + 1)
    if bins * abs(rate) > 1 << 24:  # FLOAT may round an index down
        bins *= Fraction(1000, 999)
    indices = [(length + 1) * edge / rate for edge in edges if edge is not None]
    return any(index * 1000 < -1 or index >= bins for index in indices)


def _bins(op: Op) -> Dim:
    """The frequencies of a transform of `dft_length`. onnxruntime divides towards 0: one of -1, as of 0."""
    if op.semantics == "onnx":
        return _count(op, "dft_length") // 2 + 1
    require_single(op, "dft_length")
    length = integer(_of_rank_0(op, "dft_length"))
    op.require(rel.ge(length, -1), "dft_length must be at least -1")
    return maximum(length, 0) // 2 + 1


def _count(op: Op, name: str) -> Dim:
    """The size in an input of one element."""
    require_single(op, name)
    return as_size(op, integer(_of_rank_0(op, name)), name)
