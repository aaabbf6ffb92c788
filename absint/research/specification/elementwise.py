"""Operators that compute each element from elements at the same place, and products of matrices and tensors.

Unary ones keep the shape. Since opset 7 the others broadcast as numpy does ("Multidirectional Broadcasting" of
Broadcasting.md): aligned at the last axis, two sizes fit if they are equal or one is 1, and that one is repeated.
"""

from collections.abc import Sequence
from typing import Final

from absint.research.specification.formulas import FALSE, TRUE, both, either, equal, implies, negated
from absint.research.specification.node import Defined, Input, Node, Output, tensor
from absint.research.specification.specs import specifies, typed
from absint.research.specification.terms import Int, Term, product, term

SAME_SHAPE: Final = "N C H | [] | 4 N | N N 1"

UNARY: Final = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity IsInf IsNaN "
    "LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh "
    "ThresholdedRelu Celu Gelu Shrink"
)


EIGHT_BITS: Final = range(17, 21)
"""The floats of 8 bits, as `to` of a Cast names them."""
SCALES: Final = 24
"""The floats of 8 bits that are powers of two."""


@specifies(UNARY, SAME_SHAPE)
@specifies("Not", "bool: N C | bool:")
@specifies("BitwiseNot", "int64: N C | int64:")
@specifies("Cast", "N C; to=7 | []; to=1 | bool: N; to=1", first=6)
@specifies("CastLike", "N C, int64: K")
def unary(node: Node) -> Output:
    """The shape of the first input."""
    if node.operator in ("Cast", "CastLike"):
        eight = node.operator == "CastLike" and node.input(1).dtype.startswith("float8")
        to = node.integer("to", EIGHT_BITS.start * eight)
        if node.integer("saturate", 1) != 1 and to not in EIGHT_BITS:
            node.limits(FALSE, "onnxruntime saturates only floats of 8 bits")
        if node.text("round_mode", "up") != "up" and to != SCALES:
            node.limits(FALSE, "onnxruntime rounds otherwise only to scales")
    return tensor(node.input(0).dims)


TWO: Final = "N C, M D | N C, D | C, N D | N, [] | [], [] | N 1 H, M C 1 | N 4, M 1 | N, 3 | N C, N C"


@specifies("Add Sub Mul Div Pow", TWO, first=7)
@specifies("Less Greater", TWO, first=7)
@specifies("Equal", typed("int64", TWO), first=7)
@specifies("LessOrEqual GreaterOrEqual", TWO)
@specifies("Mod BitwiseAnd BitwiseOr BitwiseXor", typed("int64", TWO))
@specifies("BitShift", typed("uint8", TWO, direction="LEFT"))
@specifies("And Or Xor", typed("bool", TWO), first=7)
@specifies("Max Min Sum Mean", f"{TWO} | N C | N C, M D, L E | N, M, []", first=8)
@specifies("StringConcat", typed("string", TWO))
@specifies("Where", "bool: N C, M D, L E | bool: N, M D, [] | bool:, N, N")
def broadcasting(node: Node) -> Output:
    """The shape after broadcasting."""
    if node.operator == "Mod" and node.version < 28 and "float" in node.input(0).dtype.replace("double", "float"):
        node.demand(node.integer("fmod") == 1, "floats need fmod")
    if node.operator in ("Div", "Mod"):
        divisors = node.input(1).elements or ()
        for divisor in () if any(found.op == "fraction" for found in divisors) else divisors:
            node.requires(negated(equal(divisor, 0)), "an integer must not be divided by 0")
    return tensor(broadcast(node, node.given()))


@specifies("SwiGLU", "N C, M D | N, M | [], [] | N C, M")
def alike(node: Node) -> Output:
    """The shape of both inputs."""
    a, b = node.input(0), node.input(1)
    node.demand(a.rank == b.rank, "the inputs must have one shape")
    node.agree(a.dims, b.dims, "the inputs must have one shape")
    return tensor(a.dims)


def broadcast(node: Node, inputs: Sequence[Input]) -> list[Defined]:
    """The sizes after multidirectional broadcasting, aligned at the last axis."""
    rank = max(found.rank for found in inputs)
    sizes = []
    for axis in range(-rank, 0):
        present = [found.dims[axis] for found in inputs if found.rank >= -axis]
        for i, a in enumerate(present):
            for b in present[i + 1 :]:
                node.requires(either(equal(a, b), equal(a, 1), equal(b, 1)), f"sizes of axis {axis} must broadcast")
        sizes.append(broadcast_size(present))
    return sizes


def broadcast_size(sizes: Sequence[Term]) -> Defined:
    """1 if all sizes are, else the size of those that are not 1."""
    return Defined(
        lambda q: both(
            *[implies(negated(equal(size, 1)), equal(q, size)) for size in sizes],
            either(*[negated(equal(size, 1)) for size in sizes], equal(q, 1)),
        )
    )


# Products of matrices and tensors


@specifies(
    "MatMul", "N K, L M | K, L | K, L M | N K, L | B N K, L M | B N K, D L M | B 1 N K, D L M | K, B L M | N 4, 4 M"
)
@specifies(
    "MatMulInteger",
    "int8: N K, int8: L M | uint8: N K, uint8: L M, -, uint8: Z | uint8: B N K, uint8: B L M, -, uint8: Z | "
    "uint8: N K, uint8: L, -, uint8: Y Z",
)
def matmul(node: Node) -> Output:
    """numpy.matmul: the last two axes are matrices, those before broadcast; a vector is a row or a column that goes."""
    node.has_one_value(2, "onnxruntime needs one zero point of A")
    _of_columns(node, 3, node.input(1))
    if node.input(0).dtype in ("uint32", "uint64"):
        node.limits(product(node.input(0).dims[-1:]) >= 1, "onnxruntime fails without an element to add up")
    return tensor(multiplied(node, node.input(0), node.input(1)))


def _of_columns(node: Node, place: int, b: Input) -> None:
    """onnxruntime takes one value, or one for each column of the matrices b."""
    given = node.optional(place)
    shapes: list[Sequence[Int]] = [[], [1]]
    if b.rank > 1:
        shapes += [[*b.dims[:-2], 1, b.dims[-1]], *([b.dims[1:]] if b.rank == 2 else [])]
    if given is not None:
        if given.rank and b.rank > 1:
            node.limits(b.dims[-2] >= 1, "onnxruntime may end the process without an element to add up")
        fits = [both(*map(equal, given.dims, dims)) for dims in shapes if given.rank == len(dims)]
        node.limits(either(*fits), "onnxruntime needs one value, or one for each column", is_required=True)


def multiplied(node: Node, a: Input, b: Input) -> list[Defined | Term]:
    """The sizes of a product as numpy.matmul gives it."""
    node.demand(a.rank >= 1 and b.rank >= 1, "a product needs vectors or matrices")
    node.requires(equal(a.dims[-1], b.dims[-2:][0]), "columns of the first must be rows of the second")
    before = [Input(x.dims[:-2]) for x in (a, b)]
    rows = list(a.dims[-2:-1])
    columns = list(b.dims[-1:]) if b.rank > 1 else []
    return [*broadcast(node, before), *rows, *columns]


@specifies("QLinearMatMul", "uint8: N K, [], uint8:, uint8: L M, [], uint8:, [], uint8:")
def quantisedmultiplied(node: Node) -> Output:
    """MatMul of inputs 0 and 3."""
    for place in (1, 2, 6, 7):
        node.has_one_value(place, "onnxruntime needs one scale and zero point of A and Y")
    for place in (4, 5):
        _of_columns(node, place, node.input(3))
    return tensor(multiplied(node, node.input(0), node.input(3)))


@specifies(
    "Gemm",
    "M K, L N, D E | K M, L N, D; transA=1 | M K, N L, []; transB=1 | K M, N L, D 1; transA=1 transB=1 | "
    "M K, L N; first=11 | M K, L N, 1 D | M K, L N, A B C | K, L N, D",
    first=7,
)
def gemm(node: Node) -> Output:
    """A B + C of matrices, each of A and B transposed on request; C broadcasts to the product."""
    a, b, c = node.input(0), node.input(1), node.optional(2)
    if a.rank == 1:
        node.refuse("A must be a matrix", unless=TRUE)  # onnxruntime takes a vector for a row
        a = Input((term(1), *a.dims))
    node.demand(a.rank == b.rank == 2, "A and B must be matrices")
    sizes = product_of(node, a, b)
    if c is not None:
        fits_into(node, c, sizes)
    return tensor(sizes)


def product_of(node: Node, a: Input, b: Input) -> list[Term]:
    """Rows and columns of the product of two matrices, each transposed on request."""
    rows, inner = a.dims[::-1] if node.integer("transA") else a.dims
    other, columns = b.dims[::-1] if node.integer("transB") else b.dims
    node.requires(equal(inner, other), "columns of A must be rows of B")
    return [rows, columns]


def fits_into(node: Node, x: Input, target: list[Term]) -> None:
    """Unidirectional broadcasting: x broadcasts to the target, which stays as it is."""
    node.demand(x.rank <= len(target), "the rank must not be greater than that of the target")
    for size, wanted in zip(x.dims[::-1], target[::-1], strict=False):
        node.requires(either(equal(size, wanted), equal(size, 1)), "sizes must broadcast to the target")


@specifies("PRelu", "N C H, D 1 | N C H, D | N C, [] | N C, M D | N, 1", first=7)
def prelu(node: Node) -> Output:
    """The shape of X, to which the slope broadcasts."""
    x, slope = node.input(0), node.input(1)
    if slope.rank > x.rank:
        raise LookupError("runtimes differ on a slope of more axes than X")
    for size, wanted in zip(slope.dims[::-1], x.dims[::-1], strict=False):
        fits = either(equal(size, wanted), equal(size, 1))
        node.requires(fits, "the slope must broadcast to X", unless=equal(wanted, 1))
    return tensor(broadcast(node, [x, slope]))


@specifies("Det", "N M | B N M | A B N N")
def determinant(node: Node) -> Output:
    """A number for each square matrix of the last two axes."""
    x = node.input(0)
    node.demand(x.rank >= 2, "X must have matrices")
    node.requires(equal(x.dims[-1], x.dims[-2]), "matrices must be square")
    return tensor(x.dims[:-2])


@specifies(
    "Einsum",
    "I J, K L; equation=ij,jk->ik | B I J, D K L; equation=bij,bjk->bik | I J; equation=ij-> | "
    "I J; equation=ij->ji | I, J; equation=i,j->ij | I J, K; equation=ij,j->i | "
    "I J, J K, K L; equation=ij,jk,kl->il | J I, K J; equation=ji,kj | I J; equation=ji | I J; equation=ii->i | "
    "I J; equation=ij->ii | I J; equation=ij->k | I J; equation=i1->i | I J; equation=ij,jk | "
    "I J, K L; equation=ii,ij->j",
)
def einsum(node: Node) -> Output:
    """Labels of one letter without an ellipsis: equal letters have equal sizes. Without an arrow the output has the
    letters that occur once, in the order of the alphabet.
    """
    equation = node.text("equation").replace(" ", "")
    if "." in equation:
        raise LookupError("an ellipsis is not specified")
    left, arrow, right = equation.partition("->")
    if not arrow:
        right = "".join(sorted(letter for letter in set(left) - {","} if left.count(letter) == 1))
        if left != left.lower():
            node.limits(FALSE, "onnxruntime may take capitals beside an arrow only")
    terms, letters = left.split(","), set(left) - {","}
    node.demand(len(terms) == len(node.given()), "each input must have its letters")
    node.demand(all(letter.isascii() and letter.isalpha() for letter in letters), "labels must be letters")
    node.demand(
        letters >= set(right) and len(set(right)) == len(right), "the output must have letters of the inputs once"
    )
    for found in node.given():
        node.needs_elements(found.dims, "onnxruntime may end the process if an input is empty")
    sizes: dict[str, list[Term]] = {}
    for axes, found in zip(terms, node.given(), strict=True):
        node.demand(len(axes) == found.rank, "each axis must have a letter")
        for place, (letter, size) in enumerate(zip(axes, found.dims, strict=True)):
            within = axes[:place].count(letter)
            for number, other in enumerate(reversed(sizes.setdefault(letter, []))):
                alike = FALSE if number < within else either(equal(size, 1), equal(other, 1))
                node.requires(equal(size, other), f"sizes of {letter} must be equal", unless=alike)
            sizes[letter].append(size)
    return tensor([broadcast_size(sizes[letter]) for letter in right])
