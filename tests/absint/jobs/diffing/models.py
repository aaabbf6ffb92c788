"""Pairs of small models: planted changes, and forms that compute the same."""

from __future__ import annotations

from typing import Final, NamedTuple

from onnx import ModelProto, parser


def model(text: str, opset: int = 18, extra: str = "", ir: int = 9) -> ModelProto:
    """A model in the text format of onnx; `extra` holds functions after the graph."""
    local = ', "local": 1' if extra else ""
    return parser.parse_model(f'<ir_version: {ir}, opset_import: ["": {opset}{local}]> g {text} {extra}')


class Pair(NamedTuple):
    """Two models, the verdict about them, and texts that must stand in the answer."""

    first: ModelProto
    second: ModelProto
    verdict: str
    reasons: tuple[str, ...] = ()


def pair(
    verdict: str, first: str | ModelProto, second: str | ModelProto, *reasons: str, opsets: tuple[int, int] = (18, 18)
) -> Pair:
    a, b = (m if isinstance(m, ModelProto) else model(m, o) for m, o in zip((first, second), opsets, strict=True))
    return Pair(a, b, verdict, reasons)


def conv(stride: int) -> str:
    return f"""(float[N, 1, H] x) => (float[] y) <float[2, 1, 3] w = {{1, 1, 1, 1, 1, 1}}>
        {{ y = Conv<strides=[{stride}], pads=[1, 1]>(x, w) }}"""


def squeezed(body: str) -> str:
    return f"(float[N, 1, K] x) => (float[] y) <int64[1] one = {{1}}> {{ {body} }}"


def reshaped(target: str) -> str:
    return f"(float[N, 4, 3] x) => (float[] y) <int64[2] to = {{{target}}}> {{ y = Reshape(x, to) }}"


def embedded(rows: int) -> str:
    """Position embeddings of `rows` positions."""
    return f"""(int64[N, T] ids) => (float[] y) <float[{rows}, 1] table = {{{", ".join("0" * rows)}}},
        int64 zero = {{0}}, int64 one = {{1}}> {{ shape = Shape<start=1, end=2>(ids)  t = Squeeze(shape)
        places = Range(zero, t, one)  y = Gather(table, places) }}"""


def product(rows: int) -> str:
    return f"(float[N, K] x) => (float[] y) <float[{rows}, 1] w = {{{', '.join('1' * rows)}}}> {{ y = MatMul(x, w) }}"


def looped(more: str) -> str:
    return f"""(float[N] x, int64 k) => (float[] y) <bool yes = {{1}}> {{
        y = Loop(k, yes, x) <body = b (int64 i, bool c, float[M] old) => (bool d, float[] new)
            {{ d = Identity(c)  new = {more} }}> }}"""


ADD: Final = "(float[N, M] x, float[K] z) => (float[] y) { y = Add(x, z) }"
FOUND: Final = "(float[N] x) => (int64[] y) {{ f = NonZero(x)  y = {0}(f{1}) }}"

PLANTED: Final[dict[str, Pair]] = {
    "stride of a Conv": pair(
        "changed", conv(1), conv(2), "[2]: H -> (H + 1)//2", "A gives [1, 2, 2], B gives [1, 2, 1] (a run of both)"
    ),
    "Squeeze dropped": pair(
        "changed", squeezed("y = Squeeze(x, one)"), squeezed("y = Relu(x)"), "rank: 2 -> 3", "output y changed"
    ),
    "output permuted": pair(
        "changed",
        "(float[N, T, 8] x) => (float[] y) { y = Relu(x) }",
        "(float[N, T, 8] x) => (float[] y) { y = Transpose<perm=[1, 0, 2]>(x) }",
        "[0]: N -> T",
        "at N=1, T=2: A gives [1, 2, 8], B gives [2, 1, 8] (a run of both)",
    ),
    "Reshape to a batch": pair(
        "changed", reshaped("-1, 12"), reshaped("2, 12"), "B alone needs N == 2", "at N=1: A runs, B fails: onnxruntime"
    ),
    "Reshape to a batch, the rest open": pair(
        "changed", reshaped("0, -1"), reshaped("1, -1"), "[1]: 12 -> 12*N", "at N=2: A gives [2, 12], B gives [1, 24]"
    ),
    "output cast": pair(
        "changed",
        "(float[N] x) => (float[] y) { y = Relu(x) }",
        "(float[N] x) => (int32[] y) { z = Relu(x)  y = Cast<to=6>(z) }",
        "element type: FLOAT -> INT32",
    ),
    "input dim fixed": pair(
        "changed",
        "(float[N, 3] x) => (float[] y) { y = Relu(x) }",
        "(float[1, 3] x) => (float[] y) { y = Relu(x) }",
        "B alone needs x[0] == 1",
        "at N=2: A runs, B fails: onnxruntime: Got invalid dimensions",
    ),
    "positions fewer": pair(
        "changed", embedded(16), embedded(8), "B alone needs T <= 8  (Gather", "at N=1, T=9: A runs, B fails"
    ),
    "output added": pair(
        "compatible",
        "(float[N] x) => (float[] y) { y = Relu(x) }",
        "(float[N] x) => (float[] y, float[] z) { y = Relu(x)  z = Neg(x) }",
        "z new: FLOAT [N]",
        "there are new outputs",
    ),
    "output dropped": pair(
        "changed",
        "(float[N] x) => (float[] y, float[] z) { y = Relu(x)  z = Neg(x) }",
        "(float[N] x) => (float[] y) { y = Relu(x) }",
        "output z is gone",
    ),
    "outputs in another order": pair(
        "changed",
        "(float[N] x) => (float[] y, float[] z) { y = Relu(x)  z = Neg(x) }",
        "(float[N] x) => (float[] z, float[] y) { y = Relu(x)  z = Neg(x) }",
        "outputs stand in another order",
    ),
    "output renamed": pair(
        "changed",
        "(float[N] x) => (float[] y) { y = Relu(x) }",
        "(float[N] x) => (float[] z) { z = Relu(x) }",
        "output y -> z was renamed",
    ),
    "inputs tied by a symbol": pair(
        "changed",
        "(float[N] x, float[M] z) => (float[] y) { y = Concat<axis=0>(x, z) }",
        "(float[N] x, float[N] z) => (float[] y) { y = Concat<axis=0>(x, z) }",
        "B alone needs z[0] == N, in symbols of A: M == N",
        "B runs too: onnxruntime does not enforce that z[0] == N (by declaration)",
    ),
    "inputs no longer tied": pair(
        "compatible",
        "(float[N] x, float[N] z) => (float[] y) { y = Concat<axis=0>(x, z) }",
        "(float[N] x, float[M] z) => (float[] y) { y = Concat<axis=0>(x, z) }",
        "more sizes are legal",
        "A alone needs z[0] == N, in symbols of B: M == N",
    ),
    "opset under which Add does not broadcast": pair(
        "changed",
        "(float[N] x, float[M] z) => (float[] y) { y = Add(x, z) }",
        "(float[N] x, float[M] z) => (float[] y) { y = Add(x, z) }",
        "Add (1 node) has another definition: that of opset 7 -> 6",
        "B alone needs",
        "ai.onnx: 7 -> 6",
        opsets=(7, 6),
    ),
    "opset under which Softmax takes one axis": pair(
        "same",
        "(float[N, M, K] x) => (float[] y) { y = Softmax(x) }",
        "(float[N, M, K] x) => (float[] y) { y = Softmax(x) }",
        "Softmax (1 node) has another definition: that of opset 11 -> 13",
        "ai.onnx: 12 -> 13",
        opsets=(12, 13),
    ),
    "requirement removed": pair(
        "compatible",
        "(float[N] x, float[M] z) => (float[] y) { b = Concat<axis=0>(x, z)  s = Add(x, z)  y = Relu(b) }",
        "(float[N] x, float[M] z) => (float[] y) { b = Concat<axis=0>(x, z)  y = Relu(b) }",
        "widened",
        "A alone needs",
    ),
    "inner size of a product": pair(
        "changed", product(3), product(2), "B alone needs K == 2", "A alone needs K == 3", "narrowed and widened"
    ),
    "axis of a Concat": pair(
        "changed",
        "(float[N, M] x) => (float[] y) { y = Concat<axis=0>(x, x) }",
        "(float[N, M] x) => (float[] y) { y = Concat<axis=1>(x, x) }",
        "[0]: 2*N -> N",
        "[1]: M -> 2*M",
        "at N=1, M=1: A gives [2, 1], B gives [1, 2] (a run of both)",
    ),
    "end of a Slice": pair(
        "changed",
        "(float[T] x) => (float[] y) <int64[1] a = {0}, int64[1] b = {9223372036854775807}> { y = Slice(x, a, b) }",
        "(float[T] x) => (float[] y) <int64[1] a = {0}, int64[1] b = {8}> { y = Slice(x, a, b) }",
        "[0]: T -> min(T, 8)",
        "at T=9: A gives [9], B gives [8] (a run of both)",
    ),
    "Expand to a batch": pair(
        "changed",
        "(float[N] x) => (float[] y) <int64[1] to = {1}> { y = Expand(x, to) }",
        "(float[N] x) => (float[] y) <int64[1] to = {4}> { y = Expand(x, to) }",
        "B alone needs N == 1 or N == 4",
        "at N=2: A runs, B fails",
    ),
    "dims no longer kept": pair(
        "changed",
        "(float[N, M] x) => (float[] y) <int64[1] a = {1}> { y = ReduceSum<keepdims=1>(x, a) }",
        "(float[N, M] x) => (float[] y) <int64[1] a = {1}> { y = ReduceSum<keepdims=0>(x, a) }",
        "rank: 2 -> 1",
    ),
    "ceil_mode of a pool": pair(
        "changed",
        "(float[N, 1, H] x) => (float[] y) { y = MaxPool<kernel_shape=[2], strides=[2]>(x) }",
        "(float[N, 1, H] x) => (float[] y) { y = MaxPool<kernel_shape=[2], strides=[2], ceil_mode=1>(x) }",
        "at N=1, H=3: A gives [1, 1, 1], B gives [1, 1, 2] (a run of both)",
    ),
    "initialiser required": pair(
        "changed",
        "(float[N] x, float[1] w) => (float[] y) <float[1] w = {1}> { y = Add(x, w) }",
        "(float[N] x, float[1] w) => (float[] y) { y = Add(x, w) }",
        "input w is required",
        "A has a default for it",
    ),
    "input with a default": pair(
        "compatible",
        "(float[N] x, float[1] w) => (float[] y) { y = Add(x, w) }",
        "(float[N] x, float[1] w) => (float[] y) <float[1] w = {1}> { y = Add(x, w) }",
        "w optional",
    ),
    "input of another type": pair(
        "changed",
        "(float[N] x) => (int64[] y) { y = Shape(x) }",
        "(float16[N] x) => (int64[] y) { y = Shape(x) }",
        "element type: FLOAT -> FLOAT16",
        "input x changed",
    ),
    "input of another rank": pair(
        "changed",
        "(float[N, 1] x) => (float[] y) { y = Relu(x) }",
        "(float[N] x) => (float[] y) { y = Relu(x) }",
        "input x changed",
        "rank: 2 -> 1",
    ),
    "sizes that data decide": pair(
        "changed",
        FOUND.format("Identity", ""),
        FOUND.format("Concat<axis=1>", ", f"),
        "data decide it",
        "(a run of both)",
    ),
    "trips that an input chooses": pair(
        "changed", looped("Concat<axis=0>(old, x)"), looped("Identity(old)"), "[0]:", "(a run of both)"
    ),
    "a requirement over two inputs": pair(
        "changed",
        "(float[N, K] x, float[M, D] z) => (float[] y) { a = ReduceSum(x)  b = ReduceSum(z)  y = Add(a, b) }",
        "(float[N, K] x, float[M, D] z) => (float[] y) { a = MatMul(x, z)  y = ReduceSum(a) }",
        "B alone needs",
        "A runs, B fails: onnxruntime",
    ),
}
"""Changes that a caller notices, or at least should be told of."""

POOLED: Final = "(float[N, 1, H] x) => (float[] y) { y = MaxPool<kernel_shape=[1], strides=[2]>(x) }"
SLICED: Final = """(float[N, 1, H] x) => (float[] y) <int64[1] start = {0}, int64[1] end = {9223372036854775807},
    int64[1] two = {2}> { y = Slice(x, start, end, two, two) }"""
SHAPES: Final = """(float[N, T, 4] x) => (float[] y) {
    shape = Shape(x)  i = Constant<value_int=0>()  j = Constant<value_int=1>()
    n = Gather(shape, i)  t = Gather(shape, j)  zero = Constant<value_ints=[0]>()
    a = Unsqueeze(n, zero)  b = Unsqueeze(t, zero)  h = Constant<value_ints=[2, 2]>()
    to = Concat<axis=0>(a, b, h)  y = Reshape(x, to) }"""
BLOCK: Final = (
    """<opset_import: ["": 18], domain: "local"> block (x) => (y) { z = Relu(x)  y = Concat<axis=0>(z, z) }"""
)

EQUAL: Final[dict[str, Pair]] = {
    "symbols renamed": pair(
        "same",
        "(float[batch, seq] x) => (float[] y) { y = Transpose(x) }",
        "(float[N, T] x) => (float[] y) { y = Transpose(x) }",
        "N of B is batch of A",
    ),
    "symbols swapped": pair(
        "same",
        "(float[N, T] x, float[T] z) => (float[] y) { y = Add(x, z) }",
        "(float[T, N] x, float[N] z) => (float[] y) { y = Add(x, z) }",
        "T of B is N of A",
        "N of B is T of A",
    ),
    "values renamed": pair(
        "same",
        "(float[N] x) => (float[] y) { a = Relu(x)  b = Neg(a)  y = Add(a, b) }",
        "(float[N] x) => (float[] y) { p = Relu(x)  q = Neg(p)  y = Add(p, q) }",
    ),
    "nodes reordered": pair(
        "same",
        "(float[N] x, float[M] z) => (float[] y) { a = Relu(x)  b = Neg(z)  y = Concat<axis=0>(a, b) }",
        "(float[N] x, float[M] z) => (float[] y) { b = Neg(z)  a = Relu(x)  y = Concat<axis=0>(a, b) }",
    ),
    "inputs reordered": pair(
        "compatible",
        "(float[N] x, float[M] z) => (float[] y) { y = Concat<axis=0>(x, z) }",
        "(float[M] z, float[N] x) => (float[] y) { y = Concat<axis=0>(x, z) }",
        "inputs stand in another order",
    ),
    "a shape computed or constant": pair(
        "same", SHAPES, "(float[N, T, 4] x) => (float[] y) <int64[4] to = {0, 0, 2, 2}> { y = Reshape(x, to) }"
    ),
    "Flatten for Reshape": pair("same", reshaped("-1, 12"), "(float[N, 4, 3] x) => (float[] y) { y = Flatten(x) }"),
    "Reshape by 0 or -1": pair("same", reshaped("0, 12"), reshaped("-1, 12")),
    "Gather for Squeeze": pair(
        "same",
        squeezed("y = Squeeze(x, one)"),
        "(float[N, 1, K] x) => (float[] y) { zero = Constant<value_int=0>()  y = Gather<axis=1>(x, zero) }",
    ),
    "initialisers as Constant nodes": pair(
        "same",
        product(3),
        "(float[N, K] x) => (float[] y) { w = Constant<value=float[3, 1] {1, 1, 1}>()  y = MatMul(x, w) }",
    ),
    "Gemm for MatMul and Add": pair(
        "same",
        "(float[N, K] x) => (float[] y) <float[2, 1] w = {1, 1}, float[1] b = {1}> { z = MatMul(x, w)  y = Add(z, b) }",
        "(float[N, K] x) => (float[] y) <float[2, 1] w = {1, 1}, float[1] b = {1}> { y = Gemm(x, w, b) }",
    ),
    "functions inlined": pair(
        "same",
        model("(float[N] x) => (float[] y) { z = local.block(x)  y = Neg(z) }", extra=BLOCK),
        "(float[N] x) => (float[] y) { r = Relu(x)  z = Concat<axis=0>(r, r)  y = Neg(z) }",
    ),
    "twice a size, two ways": pair(
        "same",
        "(float[N] x) => (float[] y) { y = Concat<axis=0>(x, x) }",
        "(float[N] x) => (float[] y) <int64[1] r = {2}> { y = Tile(x, r) }",
    ),
    "an initialiser that was an input": pair(
        "same",
        "(float[N] x, float[1] w) => (float[] y) <float[1] w = {1}> { y = Add(x, w) }",
        "(float[N] x) => (float[] y) <float[1] w = {1}> { y = Add(x, w) }",
    ),
    "Identity and dead nodes removed": pair(
        "same",
        "(float[N] x) => (float[] y) { a = Identity(x)  dead = Neg(x)  y = Relu(a) }",
        "(float[N] x) => (float[] y) { y = Relu(x) }",
    ),
    "weights of eight bits": pair(
        "same",
        product(3),
        "(float[N, K] x) => (float[] y) <int8[3, 1] q = {1, 1, 1}, float s = {0.5}, int8 z = {0}>"
        " { w = DequantizeLinear(q, s, z)  y = MatMul(x, w) }",
        "parameter bytes",
    ),
    "products of eight bits": pair(
        "same",
        product(3),
        "(float[N, K] x) => (float[] y) <uint8[3, 1] w = {1, 1, 1}, float s = {0.5}> {"
        "  q, qs, qz = DynamicQuantizeLinear(x)  i = MatMulInteger(q, w, qz)  f = Cast<to=1>(i)  y = Mul(f, s) }",
    ),
    "inner sizes in float16": pair(
        "same",
        "(float[N] x) => (float[] y) { y = Exp(x) }",
        "(float[N] x) => (float[] y) { h = Cast<to=10>(x)  e = Exp(h)  y = Cast<to=1>(e) }",
    ),
    "opsets that mean the same": pair(
        "same",
        "(float[N, M] x, float[M] z) => (float[] y) { y = Add(x, z) }",
        "(float[N, M] x, float[M] z) => (float[] y) { y = Add(x, z) }",
        "ai.onnx: 7 -> 18",
        opsets=(7, 18),
    ),
    "sizes that data decide, by the same computation": pair(
        "same",
        "(float[N] x) => (int64[] y) { z = Identity(x)  f = NonZero(z)  y = Transpose(f) }",
        "(float[N] x) => (int64[] y) { found = NonZero(x)  y = Transpose(found) }",
    ),
    "a branch that is never taken": pair(
        "same",
        """(float[N] x) => (float[] y) {
            s = Shape(x)  zero = Constant<value_ints=[0]>()  l = Less(s, zero)  c = Squeeze(l)
            y = If(c) <then_branch = a () => (float[] p) { p = Concat<axis=0>(x, x) },
                else_branch = b () => (float[] q) { q = Relu(x) }> }""",
        "(float[N] x) => (float[] y) { y = Relu(x) }",
    ),
}
"""Forms of one model: no call and no size tells them apart."""
