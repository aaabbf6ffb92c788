"""New tensors: of a shape that is an attribute, an input, or that of another tensor."""

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.research.specification.formulas import FALSE, TRUE, both, either, equal, negated
from absint.research.specification.layout import number
from absint.research.specification.node import Held, Input, Node, Output, greatest, tensor
from absint.research.specification.specs import at, contributed, specifies
from absint.research.specification.terms import Formula, Term, product, term

TENSORS = [
    at(value=Held("int64", (3,), (4, 0, -2))),
    at(value=Held("int64", (2, 1), (5, 6))),
    at(value=Held("float", (), (0.5,))),
    at(value=Held("int32", (0,), ())),
]


@specifies("Constant", TENSORS)
@specifies(
    "Constant",
    [
        *TENSORS,
        "; value_int=-7 | ; value_int=0 | ; value_ints=[3, 0] | ; value_ints=[5] | ; value_float=1.5",
        "; value_float=-2.0 | ; value_floats=[1.5, 2.0, 0.0] | ; value_floats=[0.5] | ; value_string=a",
        "; value_string=bc | ; value_strings=['a', 'b'] | ; value_strings=['a']",
    ],
    first=12,
)
def constant(node: Node) -> Output:
    """The tensor in the one attribute; a number is a scalar, a list a vector."""
    if len(node.attributes) != 1 or "sparse_value" in node.attributes:
        raise LookupError("one dense value is specified")
    ((name, value),) = node.attributes.items()
    if isinstance(value, Held):
        known = value.numbers if "int" in value.dtype else None
        numbers = None if known is None else [term(int(number)) for number in known]
        return tensor(value.dims, numbers)
    if name == "value":
        raise LookupError("the axes of the tensor are not known")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tensor([len(value)], node.integers(name) if name == "value_ints" else None)
    return tensor([], [term(value)] if isinstance(value, int) else None)


@specifies("ConstantOfShape", "= n 3 | = | = n m | = 2 -1 | = n-1 m | . n")
def constant_of_shape(node: Node) -> Output:
    """The sizes that the input lists."""
    sizes = node.elements(0) or ()
    node.demand(node.input(0).rank >= 1, "the sizes must be a vector")
    for size in sizes:
        node.requires(size >= 0, "a size must not be negative")
    return tensor(sizes)


@specifies("Shape", "N C H | [] | 4 N")
@specifies("Shape", "N C H | N C H; start=1 | N C H; end=-1 | N C H; start=-2 end=9 | N C; start=1 end=0", first=15)
def shape(node: Node) -> Output:
    """The sizes, from `start` to before `end`, which are clamped to the axes."""
    dims = node.input(0).dims
    start, end = node.integer("start"), node.integer("end", len(dims))
    first, last = (min(max(axis + len(dims) if axis < 0 else axis, 0), len(dims)) for axis in (start, end))
    found = [dims[axis] for axis in range(first, last)]
    return tensor([len(found)], found)


@specifies("Size", "N C H | [] | 4 N")
def size(node: Node) -> Output:
    """The number of elements."""
    return tensor([], [product(node.input(0).dims)])


@specifies("RandomNormal RandomUniform", "; shape=[3, 4] | ; shape=[0] | ; shape=[2, -1]")
def random_of_shape(node: Node) -> Output:
    """The sizes that the attribute lists."""
    sizes = node.integers("shape") or []
    node.demand(min(sizes, default=0) >= 0, "a size must not be negative")
    return tensor(sizes)


@specifies("RandomNormalLike RandomUniformLike", "N C")
@specifies("Bernoulli", "N C")
@specifies("Clip", "N C | N; min=0.0", last=10)
@specifies("EyeLike", "N M | N")
@specifies("BitCast", "N C; to=6")
def like(node: Node) -> Output:
    """The shape of the input."""
    x = node.input(0)
    if node.operator == "EyeLike":
        node.demand(x.rank == 2, "the input must be a matrix")
    return tensor(x.dims)


TRIANGLES = "N M | B N M; upper=0 | N | N M, . 0 | N M, int64: K"


@specifies("Trilu", TRIANGLES)
@contributed("Trilu", TRIANGLES)
def trilu(node: Node) -> Output:
    """The shape of the input, which has matrices."""
    x = node.input(0)
    node.demand(x.rank >= 2, "the input must have matrices")
    node.has_one_value(1, "onnxruntime needs one diagonal")
    return tensor(x.dims)


@specifies("Dropout", "N C | N C; outputs=2 | []", first=7)
@specifies("Dropout", "N C, [] | N C, K; outputs=2", first=12)
def dropout(node: Node) -> list[Output]:
    """The shape of the data, and of the mask; the ratio is a scalar."""
    ratio = node.optional(1)
    if ratio is not None and ratio.rank > 0:
        node.refuse("the ratio must be a scalar", unless=equal(product(ratio.dims), 1))
    return [tensor(node.input(0).dims)] * node.outputs


@specifies("Clip", "N C | N C, [], [] | N, -, [] | N, K | N, 1 1", first=11)
def clip(node: Node) -> Output:
    """The shape of the input; the ends are scalars."""
    for place in (1, 2):
        end = node.optional(place)
        if end is not None and end.rank > 0:
            node.demand(end.rank == 1, "min and max must be scalars")
            (size,) = end.dims
            node.refuse("min and max must be scalars", unless=equal(size, 1))
    return tensor(node.input(0).dims)


@specifies("Multinomial", "N C | N C; sample_size=5 | N C; sample_size=0 | N C; sample_size=-1")
def multinomial(node: Node) -> Output:
    """`sample_size` draws for each row."""
    x = node.input(0)
    if x.rank != 2:
        raise LookupError("onnxruntime runs other ranks")
    draws = node.integer("sample_size", 1)
    node.demand(draws >= 0, "the draws must not be negative")
    filled = both(*[size >= 1 for size in (*x.dims, term(draws))])
    node.limits(filled, "onnxruntime needs a row, a class and a draw")
    return tensor([x.dims[0], draws])


@specifies(
    "Range",
    ". 0, . n, . 1 | . a, . b, . 2 | . a, . b, . -3 | . 3, . n, . 5 | . 3, . n, . d | = 3, . n, . 5 | . 3, 1x1= 4, . 5",
)
def numbers_in_range(node: Node) -> Output:
    """The numbers start, start + delta, ... before limit."""
    (start,), (limit,), (step,) = (node.elements(place, 0, 1) or () for place in range(3))
    delta = number(step)
    if any(node.input(place).rank for place in range(3)):
        node.limits(FALSE, "inference refuses a constant of another rank")
    node.requires(negated(equal(step, 0)), "delta must not be 0")

    def lies(q: Term) -> Formula:
        place = start + (q - 1) * step
        if delta is not None:
            return either(equal(q, 0), place < limit if delta > 0 else place > limit)
        return either(equal(q, 0), both(step >= 1, place < limit), both(step < 0, place > limit))

    return tensor([greatest(lies)])


@specifies("HannWindow HammingWindow BlackmanWindow", ". n | . n; periodic=0 | . n-1")
def window_function(node: Node) -> Output:
    """A value for each place of the window."""
    (size,) = node.elements(0) or ()
    if node.input(0).rank:
        node.refuse("the size must be a scalar", unless=TRUE)
        node.limits(FALSE, "onnxruntime refuses a constant that is none")
    node.requires(size >= 0, "the size must not be negative")
    return tensor([size])


@specifies("QuantizeLinear", "N C, [], uint8: | N C, []")
@specifies("QuantizeLinear", "N C, [], uint8: | N C H, K, uint8: L; axis=1 | N C, [], uint8: L; last=27", first=13)
@specifies(
    "QuantizeLinear",
    "N C, M K, uint8: L D; block_size=2 last=27 | N C, M K; block_size=3 axis=0 last=27 | "
    "N C, [], uint8:; output_dtype=2 | N C, [], int8:; output_dtype=3",
    first=21,
)
@specifies(
    "DequantizeLinear",
    "uint8: N C, M K, uint8: L D; block_size=2 last=27 | uint8: N C, M K; block_size=3 axis=0 last=27",
    first=21,
)
@specifies("DequantizeLinear", "uint8: N C, [], uint8: | uint8: N C, []")
@specifies(
    "DequantizeLinear",
    "uint8: N C, [] | uint8: N C, K, uint8:; last=27 | uint8: N C H, K, uint8: L; axis=1 | "
    "uint8: N C, [], uint8: L; last=27 | uint8: N C, K L; last=27",
    first=13,
)
def quantise(node: Node) -> Output:
    """The shape of x; a vector of scales has one for each place along the axis."""
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    to = node.integer("output_dtype")
    if zero is not None and to and node.operator == "QuantizeLinear":
        node.demand(DType(to).name.lower() == zero.dtype, "output_dtype must be that of the zero")
    if block := node.integer("block_size"):
        _blocked(node, x, [scale] if zero is None else [scale, zero], block)
    alike = [found for found in (scale, zero) if found is not None and found.rank]
    if not block and alike:
        node.demand(all(found.rank == 1 for found in alike), "scales and zeros must be one, or a vector")
        counts = [size for found in alike for size in found.dims]
        single = both(*[equal(count, 1) for count in counts])
        if zero is not None and zero.rank != scale.rank:
            node.requires(single, "a scalar beside a vector needs a single value")
        axis = node.axis(node.integer("axis", 1), x.rank, unless=single)
        if not x.dims:
            return tensor([])
        for count in counts:  # a vector of one is one value, as in onnx.reference
            node.requires(either(equal(count, x.dims[axis]), single), "there must be one for each place of the axis")
    return tensor(x.dims)


def _blocked(node: Node, x: Input, alike: Sequence[Input], block: int) -> None:
    """One scale for each block of places along the axis; the last may be shorter."""
    axis = node.axis(node.integer("axis", 1), x.rank)
    if alike[0].rank == 1:
        node.limits(negated(equal(alike[0].dims[0], 1)), "onnxruntime takes a single scale for one without blocks")
    for found in alike:
        node.demand(found.rank == x.rank, "scales of blocks must have the rank of x")
        for place, (size, whole) in enumerate(zip(found.dims, x.dims, strict=True)):
            fits = equal(size, (whole + (block - 1)) // block) if place == axis else equal(size, whole)
            node.requires(fits, "there must be one for each block")


@specifies("DynamicQuantizeLinear", "N C; outputs=3 | []; outputs=3")
def dynamic_quantise(node: Node) -> list[Output]:
    """The shape of x; a scale and a zero point."""
    return [tensor(node.input(0).dims), tensor([]), tensor([])]
