"""The handwritten models of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.absint.shapes.flows.build import size_is
from tests.models import boolean, branch, const, floats, ints, loop_body, untyped

node = helper.make_node
BIG = (1 << 63) - 1


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str | ValueInfoProto],
    opset: int = 18,
    **constants: Any,
) -> ModelProto:
    """Keyword arguments are initialisers."""
    shown = [ValueInfoProto(name=o) if isinstance(o, str) else o for o in outputs]
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph(list(nodes), "graph", list(inputs), shown, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


# Elementwise


def broadcast() -> ModelProto:
    return model([node("Add", ["x", "y"], ["z"], name="sum")], [floats("x", "N"), floats("y", "M")], ["z"])


def bias() -> ModelProto:
    """CASES 8: a bias of 64, then a product over 64."""
    nodes = [node("Add", ["x", "b"], ["y"], name="bias"), node("MatMul", ["y", "w"], ["z"], name="product")]
    return model(nodes, [floats("x", "batch", "seq", "d_model")], ["y", "z"], b=ones(64), w=ones(64, 32))


def three_way() -> ModelProto:
    nodes = [node("Where", ["flag", "x", "y"], ["z"], name="choice")]
    return model(nodes, [boolean("flag"), floats("x", "N", 1), floats("y", "M")], ["z"])


def unary() -> ModelProto:
    nodes = [node("Relu", ["x"], ["y"]), node("Neg", ["y"], ["z"]), node("Transpose", ["z"], ["t"], perm=[1, 0])]
    return model(nodes, [floats("x", "N", "M")], ["y", "z", "t"])


def added_twice() -> ModelProto:
    """CASES 26: sizes N + 2 and M + 2 are joined where they must agree."""
    nodes = [node("Concat", ["x", "y"], ["z"], axis=1, name="join"), node("Relu", ["x"], ["u"])]
    return model(nodes, [floats("x", "N + 2", 2), floats("y", "M + 2", 3)], ["z", "u"])


def three_against_four() -> ModelProto:
    return model([node("Add", ["x", "y"], ["z"], name="sum")], [floats("x", "N", 3), floats("y", "N", 4)], ["z"])


# Products


def product() -> ModelProto:
    nodes = [node("MatMul", ["x", "w"], ["y"], name="product")]
    return model(nodes, [floats("x", "B", "K1"), floats("w", "K2", "H")], ["y"])


def clash() -> ModelProto:
    """d is 64 for one product and 32 for the other."""
    nodes = [node("MatMul", ["x", "w"], ["y"], name="wide"), node("MatMul", ["x", "v"], ["z"], name="narrow")]
    return model(nodes, [floats("x", "B", "d")], ["y", "z"], w=ones(64, 2), v=ones(32, 2))


def unused() -> ModelProto:
    """A product that no output needs."""
    nodes = [node("MatMul", ["x", "w"], ["dead"], name="dead"), node("Relu", ["x"], ["y"])]
    return model(nodes, [floats("x", "B", "d")], ["y"], w=ones(64, 2))


def projected() -> ModelProto:
    """x [batch, seq, d_model] through a product over 64, and beside it."""
    nodes = [
        node("Relu", ["x"], ["h"], name="first"),
        node("MatMul", ["h", "w"], ["y"], name="project"),
        node("Reshape", ["h", "t"], ["z"], name="flatten"),
    ]
    return model(nodes, [floats("x", "batch", "seq", "d_model")], ["y", "z"], w=ones(64, 8), t=np.array([-1]))


def gemm() -> ModelProto:
    nodes = [node("Gemm", ["a", "b", "c"], ["y"], name="gemm", transB=1)]
    return model(nodes, [floats("a", "M", "K"), floats("b", "N", "K2"), floats("c", "P")], ["y"])


def heads() -> ModelProto:
    """[B, S, E] to 8 heads of whatever size, and back."""
    nodes = [
        node("Reshape", ["x", "split"], ["y"], name="heads"),
        node("Transpose", ["y"], ["t"], perm=[0, 2, 1, 3]),
        node("Transpose", ["t"], ["u"], perm=[0, 2, 1, 3]),
        node("Reshape", ["u", "merge"], ["z"], name="merge"),
    ]
    inputs = [floats("x", "B", "S", "E")]
    return model(nodes, inputs, ["y", "t", "z"], split=np.array([0, 0, 8, -1]), merge=np.array([0, 0, -1]))


# Layout


def joined() -> ModelProto:
    nodes = [node("Concat", ["x", "y"], ["z"], axis=1, name="join")]
    return model(nodes, [floats("x", "A", "S"), floats("y", "B", "T")], ["z"])


def rows_of_four() -> ModelProto:
    nodes = [node("Reshape", ["x", "t"], ["y"], name="rows"), node("Reshape", ["y", "flat"], ["z"])]
    return model(nodes, [floats("x", "N")], ["y", "z"], t=np.array([-1, 4]), flat=np.array([-1]))


def two_by_three() -> ModelProto:
    return model([node("Reshape", ["x", "t"], ["y"], name="grid")], [floats("x", "N")], ["y"], t=np.array([2, 3]))


def merged() -> ModelProto:
    nodes = [node("Flatten", ["x"], ["y"], axis=1), node("Reshape", ["x", "t"], ["z"])]
    return model(nodes, [floats("x", "N", "C", "H")], ["y", "z"], t=np.array([-1]))


def expanded() -> ModelProto:
    nodes = [node("Expand", ["x", "t"], ["y"], name="expand"), node("Tile", ["x", "three"], ["z"])]
    return model(nodes, [floats("x", "N")], ["y", "z"], t=np.array([4]), three=np.array([3]))


def split() -> ModelProto:
    nodes = [
        node("Split", ["x", "sizes"], ["a", "b"], name="parts", axis=0),
        node("Split", ["x"], ["c", "d"], name="halves", axis=1, num_outputs=2),
    ]
    return model(nodes, [floats("x", "N", "M")], ["a", "b", "c", "d"], sizes=np.array([2, 3]))


def blocks() -> ModelProto:
    nodes = [
        node("DepthToSpace", ["x"], ["y"], name="shuffle", blocksize=2),
        node("SpaceToDepth", ["y"], ["z"], blocksize=2),
    ]
    return model(nodes, [floats("x", 1, "C", "H", "W")], ["y", "z"])


def squeezed() -> ModelProto:
    nodes = [node("Squeeze", ["x", "axes"], ["y"], name="squeeze")]
    return model(nodes, [floats("x", "N", "M")], ["y"], axes=np.array([1]))


# Windows


def pool() -> ModelProto:
    """CASES 1."""
    nodes = [node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])]
    return model(nodes, [floats("x", 1, 2, "H", "W")], ["y"])


def convolution() -> ModelProto:
    nodes = [node("Conv", ["x", "w"], ["y"], name="conv"), node("Conv", ["y", "v"], ["z"], name="stride", strides=[2])]
    return model(nodes, [floats("x", "B", "C", "L")], ["y", "z"], w=ones(2, 3, 5), v=ones(2, 2, 2))


def padded() -> ModelProto:
    """Padded to the next multiple of 8."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Neg", ["s"], ["n"]),
        node("Mod", ["n", "eight"], ["m"]),
        node("Concat", ["zero", "m"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["y"], name="pad"),
        node("Reshape", ["y", "t"], ["z"], name="rows"),
    ]
    more = {"eight": np.array([8]), "zero": np.array([0]), "t": np.array([-1, 8])}
    return model(nodes, [floats("x", "L")], ["y", "z"], **more)


def skip_connections() -> ModelProto:
    """A U-Net of two levels."""
    down = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("MaxPool", ["x"], ["d1"], name="down1", **down),
        node("MaxPool", ["d1"], ["d2"], name="down2", **down),
        node("Resize", ["d2", "", "scales"], ["u2"], name="up2", mode="nearest"),
        node("Concat", ["u2", "d1"], ["c1"], name="skip2", axis=1),
        node("Resize", ["c1", "", "scales"], ["u1"], name="up1", mode="nearest"),
        node("Concat", ["u1", "x"], ["y"], name="skip1", axis=1),
    ]
    return model(nodes, [floats("x", 1, 1, "H", "W")], ["y"], scales=np.array([1, 1, 2, 2], np.float32))


def resized() -> ModelProto:
    nodes = [
        node("Resize", ["x", "", "half"], ["y"], mode="nearest"),
        node("Resize", ["x", "", "double"], ["z"], mode="nearest"),
    ]
    scales = {"half": np.array([1, 1, 0.5], np.float32), "double": np.array([1, 1, 2], np.float32)}
    return model(nodes, [floats("x", 1, 1, "L")], ["y", "z"], **scales)


def normalised() -> ModelProto:
    c = {name: ones(3) for name in ("s", "b", "m", "v")}
    nodes = [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], name="norm")]
    return model(nodes, [floats("x", "N", "C", "L")], ["y"], **c)


# Indexing


def sliced() -> ModelProto:
    nodes = [
        node("Slice", ["x", "two", "end"], ["y"], name="rest"),
        node("Slice", ["x", "zero", "two"], ["z"]),
        node("Slice", ["x", "minus", "least", "zero", "back"], ["r"]),
    ]
    more = {"two": [2], "end": [BIG], "zero": [0], "minus": [-1], "least": [-BIG], "back": [-2]}
    constants = {name: np.array(value) for name, value in more.items()}
    return model(nodes, [floats("x", "N")], ["y", "z", "r"], **constants)


def gathered() -> ModelProto:
    nodes = [node("Gather", ["x", "fourth"], ["y"], name="fourth"), node("Gather", ["x", "idx"], ["z"], name="lookup")]
    return model(nodes, [floats("x", "N", "E"), ints("idx", "K")], ["y", "z"], fourth=np.array(3))


def positions() -> ModelProto:
    """A table of 16 positions, of which the first `seq` are added."""
    nodes = [
        node("Shape", ["x"], ["n"], start=1, end=2),
        node("Slice", ["table", "zero", "n", "axis"], ["p"], name="positions"),
        node("Add", ["x", "p"], ["y"], name="embed"),
    ]
    more = {"table": ones(1, 16, 4), "zero": np.array([0]), "axis": np.array([1])}
    return model(nodes, [floats("x", "batch", "seq", 4)], ["p", "y"], **more)


def cache() -> ModelProto:
    """Keys of the past joined with new ones, and a mask over all."""
    nodes = [
        node("Concat", ["past_k", "k"], ["keys"], name="join", axis=1),
        node("Transpose", ["keys"], ["keys_t"], perm=[0, 2, 1]),
        node("MatMul", ["q", "keys_t"], ["scores"], name="scores"),
        node("Add", ["scores", "mask"], ["masked"], name="masked"),
        node("MatMul", ["masked", "keys"], ["out"], name="mix"),
    ]
    inputs = [
        floats("past_k", "batch", "past", 8),
        floats("k", "batch", "seq", 8),
        floats("q", "batch", "seq", 8),
        floats("mask", "batch", "seq", "total"),
    ]
    return model(nodes, inputs, ["keys", "scores", "masked", "out"])


# Sizes that data decide


def nonzero() -> ModelProto:
    nodes = [node("NonZero", ["x"], ["y"], name="where"), node("Transpose", ["y"], ["t"], perm=[1, 0])]
    return model(nodes, [floats("x", "N", "M")], ["y", "t"])


def counted_twice() -> ModelProto:
    """Absolute values are 0 where the numbers are, which no constraint says."""
    nodes = [node("NonZero", ["x"], ["y"]), node("Abs", ["x"], ["a"]), node("NonZero", ["a"], ["z"])]
    return model(nodes, [floats("x", "N")], ["y", "z"])


def topk() -> ModelProto:
    nodes = [
        node("TopK", ["x", "three"], ["y", "i"], name="three", axis=0),
        node("TopK", ["x", "k"], ["z", "j"], name="some", axis=0),
    ]
    return model(nodes, [floats("x", "N"), ints("k", 1)], ["y", "z"], three=np.array([3]))


def compressed() -> ModelProto:
    nodes = [
        node("Compress", ["x", "keep"], ["y"], name="keep", axis=0),
        node("Add", ["y", "w"], ["z"], name="sum"),
        node("Unique", ["x"], ["u"]),
    ]
    keep = helper.make_tensor_value_info("keep", TensorProto.BOOL, ["N"])
    return model(nodes, [floats("x", "N"), keep, floats("w", "M")], ["y", "z", "u"])


def ranged() -> ModelProto:
    nodes = [
        node("Size", ["x"], ["n"]),
        node("Range", ["zero", "n", "two"], ["y"]),
        node("Range", ["zero", "k", "two"], ["z"]),
    ]
    return model(nodes, [floats("x", "N"), ints("k")], ["y", "z"], zero=np.array(0), two=np.array(2))


# Branches and loops


def guarded() -> ModelProto:
    """A product over 64 in the branch that is taken for 4 rows."""
    then = branch([node("MatMul", ["x", "w"], ["a"], name="inside")], untyped("a"))
    other = branch([node("Relu", ["x"], ["b"])], untyped("b"))
    nodes = [*size_is("x", 0, 4), node("If", ["is"], ["y"], name="choose", then_branch=then, else_branch=other)]
    return model(nodes, [floats("x", "N", "d")], ["y"], w=ones(64, 64))


def guarded_by_data() -> ModelProto:
    """A bias of 64 in the branch that a flag chooses."""
    then = branch([node("Add", ["x", "w"], ["a"], name="inside")], untyped("a"))
    other = branch([node("Relu", ["x"], ["b"])], untyped("b"))
    nodes = [node("If", ["flag"], ["y"], name="choose", then_branch=then, else_branch=other)]
    return model(nodes, [floats("x", "N", "d"), boolean("flag")], ["y"], w=ones(2, 64))


def doubled_by_data() -> ModelProto:
    then = branch([node("Concat", ["x", "x"], ["a"], axis=0)], untyped("a"))
    other = branch([node("Relu", ["x"], ["b"])], untyped("b"))
    nodes = [node("If", ["flag"], ["y"], name="choose", then_branch=then, else_branch=other)]
    return model([*nodes, node("Relu", ["y"], ["z"])], [floats("x", "N"), boolean("flag")], ["y", "z"])


def never_taken() -> ModelProto:
    """A branch for sizes below 0 can demand what it likes."""
    then = branch([node("MatMul", ["x", "w"], ["a"], name="inside")], untyped("a"))
    other = branch([node("Relu", ["x"], ["b"])], untyped("b"))
    nodes = [*size_is("x", 0, -1), node("If", ["is"], ["y"], name="choose", then_branch=then, else_branch=other)]
    return model(nodes, [floats("x", "N", "d")], ["y"], w=ones(64, 64))


def loop() -> ModelProto:
    """N trips, each of which appends w and needs d == 64."""
    step = [node("MatMul", ["w", "v"], ["p"], name="inside"), node("Concat", ["s", "p"], ["s_next"], axis=0)]
    nodes = [
        node("Shape", ["x"], ["shape"]),
        const("zero", 0),
        node("Gather", ["shape", "zero"], ["trips"], axis=0),
        node("Loop", ["trips", "", "start"], ["y", "all"], name="loop", body=loop_body(step, ["s"], ["p"])),
    ]
    return model(nodes, [floats("x", "N"), floats("w", "B", "d"), floats("start", "A", 2)], ["y"], v=ones(64, 2))


def loop_by_data() -> ModelProto:
    """As many trips as an input says, each of which appends w."""
    step = [node("Concat", ["s", "w"], ["s_next"], axis=0)]
    nodes = [node("Loop", ["m", "", "start"], ["y"], name="loop", body=loop_body(step, ["s"]))]
    return model(nodes, [ints("m"), floats("w", "B"), floats("start", "A")], ["y"])


# Declarations


def promised() -> ModelProto:
    """The author declares 10 classes; the weights are an input."""
    nodes = [node("MatMul", ["x", "w"], ["y"], name="product")]
    return model(nodes, [floats("x", "B", "K"), floats("w", "K", "C")], [floats("y", "B", 10)])


def promised_alike() -> ModelProto:
    """The author gives two results of a run's data one name."""
    nodes = [node("NonZero", ["x"], ["first"], name="one"), node("NonZero", ["y"], ["second"], name="other")]
    outputs = [ints("first", 1, "found"), ints("second", 1, "found")]
    return model(nodes, [floats("x", "N"), floats("y", "M")], outputs)


def promised_inside() -> ModelProto:
    """The body of a loop declares its state as [N]; that N is not the one of the inputs."""
    body = loop_body([node("Relu", ["s"], ["s_next"])], ["s"])
    body.input[2].CopyFrom(floats("s", "N"))
    nodes = [node("Loop", ["m", "", "start"], ["y"], name="loop", body=body), node("Relu", ["w"], ["v"])]
    return model(nodes, [ints("m"), floats("w", "N"), floats("start", "A")], ["y", "v"])


def divided() -> ModelProto:
    """A declared half; the text says that it is a size."""
    nodes = [node("Concat", ["x", "y"], ["z"], axis=0)]
    return model(nodes, [floats("x", "N - 1"), floats("y", "N//2")], ["z"])


def cubes() -> ModelProto:
    inputs = [floats(name, dim) for name, dim in (("x", "A"), ("y", "B"), ("z", "C"))]
    return model([node("Relu", [i.name], [i.name + "1"]) for i in inputs], inputs, ["x1", "y1", "z1"])
