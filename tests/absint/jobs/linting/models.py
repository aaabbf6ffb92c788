"""Small models that have a finding, and the same without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.absint.jobs.auditing.models import model


class Pair(NamedTuple):
    """A model with a finding, the text of the finding, and a model without it."""

    bad: str
    text: str
    good: str
    opset: int = 18


PAIRS: Final[dict[str, list[Pair]]] = {
    "ABS101": [
        Pair(
            "(float[N, 3] x, float[4, 5] w) => (z) {z = MatMul(x, w)}",
            'MatMul #0 (output "z"): can never run: inner dimensions of A and B must agree, found 3 and 4',
            "(float[N, 3] x, float[3, 5] w) => (z) {z = MatMul(x, w)}",
        ),
        Pair(
            "(float[2, 4] x, float[3, 4] y) => (z, r) {z = Add(x, y) r = Relu(x)}",
            'Add #0 (output "z"): can never run: dims of axis -2 must broadcast, found 2 and 3',
            "(float[N, 4] x, float[3, 4] y) => (z, r) {z = Add(x, y) r = Relu(x)}",
        ),
    ],
    "ABS102": [
        Pair(
            "(float[N] x, int32[N] y) => (z) {z = Add(x, y)}",
            'Add #0 (output "z"): inputs A and B must share one element type, found FLOAT and INT32',
            "(float[N] x, float[N] y) => (z) {z = Add(x, y)}",
        ),
    ],
    "ABS103": [
        Pair(
            "(float[N] x) => (z) {z = Concat(x, x)}",
            'Concat #0 (output "z"): required attribute axis of Concat-13 is missing',
            "(float[N] x) => (z) {z = Concat<axis = 0>(x, x)}",
        ),
    ],
    "ABS104": [
        Pair(
            "(float[N] x) => (z) {z = Add(x, y)}",
            "input 'y' is not computed by any node",
            "(float[N] x, float[N] y) => (z) {z = Add(x, y)}",
        ),
    ],
    "ABS106": [
        Pair(
            """(bool c, float[2] x, float[3] y) => (z) {z = If(c) <
                then_branch = t () => (p) {p = Relu(x)}, else_branch = e () => (q) {q = Add(x, y)}>}""",
            "If#0/else_branch/#0 (output \"q\"): can never run: dims of axis -1 must broadcast, found 2 and 3 "
            "(only matters if a run gets there)",
            """(bool c, float[2] x, float[2] y) => (z) {z = If(c) <
                then_branch = t () => (p) {p = Relu(x)}, else_branch = e () => (q) {q = Add(x, y)}>}""",
        ),
    ],
    "ABS201": [
        Pair(
            "(float[N, 4] x) => (float[N, 5] z) {z = Relu(x)}",
            "output 'z': declared [N, 5], but it is [N, 4]: false in every run",
            "(float[N, 4] x) => (float[N, 4] z) {z = Relu(x)}",
        ),
    ],
    "ABS202": [
        Pair(
            "(float[N] x) => (float[8] z) {z = Relu(x)}",
            "output 'z': declared [8], but it is [N]: false at N=1",
            "(float[N] x) => (float[M] z) {z = Relu(x)}",
        ),
        Pair(  # true at all legal sizes
            "(float[N] x) => (float[9] z) {z = Relu(x)}",
            "output 'z': declared [9], but it is [N]: false at N=1",
            "(float[N] x, float[8] y) => (float[8] z, s) <int64[1] t = {8}> {z = Relu(x) s = Reshape(x, t)}",
        ),
    ],
    "ABS203": [
        Pair(
            "(float[N] x, float[M] y) => (float[seq] z, float[seq] w) {z = Relu(x) w = Relu(y)}",
            "output 'w': declared [seq], but it is [M], and 'seq' is N at output 'z', axis 0: false at N=5, M=3",
            "(float[N] x) => (float[seq] z, float[seq] w) {z = Relu(x) w = Abs(x)}",
        ),
    ],
    "ABS204": [
        Pair(
            '(float[N] x, float[M] y) => (float["max(N, M)"] z) {z = Add(x, y)}',
            "output 'z': declared [max(N, M)], but it is [broadcast(M, N)]: false where a size is 0, as at N=1, M=0",
            '(float[N] x, float[M] y) => (float["broadcast(N, M)"] z) {z = Add(x, y)}',
        ),
    ],
    "ABS205": [
        Pair(
            "(float[N, 4] x) => (float[A, ?] z, w) {z = Relu(x) w = Abs(x)}",
            "output 'z': declared [A, ?], always [N, 4]",
            "(float[N, 4] x) => (float[N, 4] z) {z = Relu(x)}",
        ),
        Pair(  # nobody knows more
            "(float[A] x) => (float[B] z) {z = Concat<axis = 0>(x, x)}",
            "output 'z': declared [B], always [2*A]",
            "(float[A] x) => (int64[1, count] z) {z = NonZero(x)}",
        ),
        Pair(  # a symbol without a name of the author's cannot be declared
            "(float[?, 4] x) => (float[A, B] z) {z = Relu(x)}",
            "output 'z': declared [A, B], always [A, 4]",
            "(float[?] x) => (float[A] z) {z = Relu(x)}",
        ),
    ],
    "ABS206": [
        Pair(
            "(float[N] x) => (int64[1, a] z, int64[1, b] w) {z = NonZero(x) w = Identity(z)}",
            "output 'w', axis 1: 'b' is always equal to 'a' of output 'z', axis 1",
            "(float[N] x, float[N] y) => (int64[1, a] z, int64[1, b] w) {z = NonZero(x) w = NonZero(y)}",
        ),
    ],
    "ABS208": [
        Pair(
            "(float[?, N, ?] x) => (z) {z = Relu(x)}",
            "input 'x', axes 0, 2: neither a size nor a name is declared",
            "(float[batch, N, 3] x) => (z) {z = Relu(x)}",
        ),
    ],
    "ABS209": [
        Pair(
            '(float["2x + "] x) => (z) {z = Relu(x)}',
            "input 'x': ",
            '(float["batch size"] x) => (z) {z = Relu(x)}',
        ),
    ],
    "ABS210": [
        Pair(
            '(float["?", N, "None"] x) => (z) {z = Relu(x)}',
            "input 'x': 2 axes are declared '?' (or 'None'), which names no size",
            "(float[?, N, unk__2] x) => (z) {z = Relu(x)}",
        ),
    ],
    "ABS301": [
        Pair(
            "(float[batch, seq] x, float[8] b) => (z) {y = MatMul(x, b) z = Relu(y)}",
            "symbol 'seq' (x[1]): only size 8 is legal (MatMul #0: inner dimensions of A and B must agree)",
            "(float[batch, seq] x, float[seq] b) => (z) {y = MatMul(x, b) z = Relu(y)}",
        ),
    ],
    "ABS302": [
        Pair(
            "(float[batch, seq] x, float[8] b) => (z) {z = Add(x, b)}",
            "symbol 'seq' (x[1]): only the sizes 1, 8 are legal (Add #0: dims of axis -1 must broadcast)",
            "(float[batch, seq] x, float[seq] b) => (z) {z = Add(x, b)}",
        ),
    ],
    "ABS303": [
        Pair(
            "(float[batch, H] x) => (z) <int64[3] t = {0, -1, 8}> {z = Reshape(x, t)}",
            "symbol 'H' (x[1]): only multiples of 8 are legal",
            "(float[batch, H] x) => (z) <int64[3] t = {0, -1, 1}> {z = Reshape(x, t)}",
        ),
    ],
    "ABS304": [
        Pair(
            "(float[1, 1, H] x) => (z) {z = MaxPool<kernel_shape = [5]>(x)}",
            "symbol 'H' (x[2]): only sizes from 4 on are legal (MaxPool #0: the window must fit spatial axis 0)",
            "(float[1, 1, H] x) => (z) {z = MaxPool<kernel_shape = [1]>(x)}",
        ),
        Pair(
            "(float[64] table, int64[N] x) => (z) {n = Shape(x) z, i = TopK(table, n)}",
            "symbol 'N' (x[0]): only sizes up to 64 are legal (TopK #1: k must not be larger than axis 0)",
            "(float[N] table, int64[N] x) => (z) {n = Shape(x) z, i = TopK(table, n)}",
        ),
    ],
    "ABS305": [
        Pair(
            "(float[batch, seq] x, float[seq_1] y) => (z) {z = MatMul(x, y)}",
            "symbol 'seq_1' (y[0]): only a size equal to seq is legal: seq == seq_1 "
            "(MatMul #0: inner dimensions of A and B must agree)",
            "(float[batch, seq] x, float[seq_1] y) => (z, w) {z = Relu(x) w = Relu(y)}",
        ),
    ],
    "ABS306": [
        Pair(
            "(float[past] x, float[seq] y, float[total] m) => (z) {c = Concat<axis = 0>(x, y) z = MatMul(c, m)}",
            "symbol 'total' (m[0]): only a size equal to past + seq is legal: past + seq == total",
            '(float[past] x, float[seq] y, float["past + seq"] m) => (z) {c = Concat<axis = 0>(x, y) z = MatMul(c, m)}',
        ),
    ],
    "ABS307": [
        Pair(
            "(float[N] x, float[M] y) => (z) <int64[1] one = {1}> {n = Shape(x) v = Squeeze(n) z, i = TopK(y, n)}",
            "TopK #2: not all sizes fit together: M >= N (TopK #2: k must not be larger than axis 0)",
            "(float[N] x, float[N] y) => (z) {n = Shape(x) z, i = TopK(y, n)}",
        ),
    ],
    "ABS308": [
        Pair(
            "(float[N, K] x) => (z) <int64[1, 1] at = {5}> {z = GatherND(x, at)}",
            "GatherND #0: the contract does not say all: every index must lie within the axis",
            "(float[N, K] x, int64[M, 1] at) => (z) {z = GatherND(x, at)}",
        ),
    ],
    "ABS309": [
        Pair(
            "(float[batch, 4] x) => (z) {y = Relu(x) z = Softmax<axis = 0>(y)}",
            "symbol 'batch' (x[0]): its rows meet in output 'z', as a run shows: at batch=3 element [0, 1] changes",
            "(float[batch, 4] x) => (z) {y = Relu(x) z = Softmax<axis = 1>(y)}",
        ),
        Pair(
            "(float[N, 4] x) => (z, w) {m = ReduceMean<keepdims = 0>(x) z = Sub(x, m) w = Relu(z)}",
            "(ReduceMean #0: rows of x (axis 0) meet) (and 1 more output)",
            "(float[items, 4] x) => (z, w) {m = ReduceMean<keepdims = 0>(x) z = Sub(x, m) w = Relu(z)}",
        ),
    ],
    "ABS310": [
        Pair(
            "(float[bs, 4] x) => (z) {z = my.Nothing(x)}",
            "symbol 'bs' (x[0]): output 'z' may mix its rows (my::Nothing #0: no rule says what it does with rows)",
            "(float[bs, 4] x) => (z) {z = Relu(x)}",
        ),
    ],
    "ABS401": [
        Pair(
            "(float[N] x) => (z) {z = my.Nothing(x)}",
            "my::Nothing: no transfer rule (1 node); outputs are unknown",
            "(float[N] x) => (z) {z = Relu(x)}",
        ),
    ],
    "ABS501": [
        Pair(
            "(float x) => (z) {z = NonZero(x)}",
            "NonZero of a scalar: the spec gives no coordinate, onnxruntime one",
            "(float[1] x) => (z) {z = NonZero(x)}",
        ),
    ],
}  # fmt: skip
"""By code: models in text, from the inputs on."""


def external(folder: Path, *, written: int) -> Path:
    """A model with 8 floats beside it, of which this many bytes are there."""
    tensor = numpy_helper.from_array(np.zeros(8, np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["z"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 8])],
        [tensor],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    path = folder / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    data = (folder / "w.bin").read_bytes()
    assert len(data) == 32
    (folder / "w.bin").write_bytes(data[:written])
    return path


def without_shape() -> ModelProto:
    """The rank of the input is not declared."""
    proto = model("(float[N] x) => (z) {z = Relu(x)}")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    return proto


def unsorted() -> ModelProto:
    """The second node computes the input of the first."""
    proto = model("(float[N] x) => (z) {y = Relu(x) z = Abs(y)}")
    proto.graph.node.reverse()
    return proto


def overridable() -> ModelProto:
    """An initialiser is an input too, as exporters wrote it before IR version 4."""
    proto = model("(float[N] x, float[3] w) => (z) {z = Add(x, w)}")
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(3, np.float32), "w"))
    return proto


def defaults_fail() -> ModelProto:
    """The file's own target does not fit."""
    proto = model("(float[2, 3] x, int64[2] t) => (z) {z = Reshape(x, t)}")
    proto.graph.initializer.append(numpy_helper.from_array(np.array([4, 4], np.int64), "t"))
    return proto


BUILT: Final[dict[str, Callable[[], ModelProto]]] = {
    "ABS105": defaults_fail,
    "ABS207": without_shape,
    "ABS503": unsorted,
    "ABS504": overridable,
}
"""Models that the text form cannot express, by code."""
