"""Sizes that detectors and others compute in floats, executed at many sizes: each must be that of the run.

Inputs and outputs have an axis of size 0, so that their sizes cost nothing.

    python -m tests.soundness.float_sizes --count 10000 --seed 3
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import absint

LARGEST = 8192


class Builder:
    """A model over an image of shape [0, height, width]."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.sizes = [self.axis(1), self.axis(2)]

    def __call__(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def number(self, value: float | list[int], dtype: type[np.generic] = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def axis(self, axis: int) -> str:
        return self("Shape", "image", start=axis, end=axis + 1)

    def model(self, sizes: list[str]) -> onnx.ModelProto:
        """The model whose output has these sizes, and a last one of 0."""
        target = self("Concat", *sizes, self.number([0], np.int64), axis=0)
        empty = numpy_helper.from_array(np.zeros((0,), np.float32), "empty")
        output = self("Expand", "empty", target)
        graph = helper.make_graph(
            self.nodes,
            "sizes",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, [0, "height", "width"])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            [*self.constants, empty],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def detector() -> onnx.ModelProto:
    """torchvision: the shorter side becomes 800, unless the longer one would exceed 1333."""
    b = Builder()
    both = b("Concat", *b.sizes, axis=0)
    shorter = b("Cast", b("ReduceMin", both, keepdims=0), to=TensorProto.FLOAT)
    longer = b("Cast", b("ReduceMax", both, keepdims=0), to=TensorProto.FLOAT)
    scale = b("Min", b("Div", b.number(800.0), shorter), b("Div", b.number(1333.0), longer))
    scaled = b("Floor", b("Mul", b("Cast", both, to=TensorProto.FLOAT), scale))
    return b.model([b("Cast", scaled, to=TensorProto.INT64)])


def exported_detector() -> onnx.ModelProto:
    """The same as exporters write it, by reciprocals, with sizes padded to multiples of 32."""
    b = Builder()
    sides = [b("Cast", size, to=TensorProto.FLOAT) for size in b.sizes]
    shorter, longer = b("Min", *sides), b("Max", *sides)
    scales = [b("Mul", b("Reciprocal", side), b.number(n)) for side, n in ((shorter, 800.0), (longer, 1333.0))]
    scale = b("Min", *scales)
    padded = []
    for side in sides:
        whole = b("Cast", b("Floor", b("Mul", side, scale)), to=TensorProto.INT64)
        parts = b("Ceil", b("Div", b("Cast", whole, to=TensorProto.FLOAT), b.number(32.0)))
        padded.append(b("Cast", b("Mul", parts, b.number(32.0)), to=TensorProto.INT64))
    return b.model(padded)


def in_double() -> onnx.ModelProto:
    """EfficientDet: a square of 512, in float64, rounded half to even; then a pyramid of halves."""
    b = Builder()
    wide = [b("Cast", size, to=TensorProto.DOUBLE) for size in b.sizes]
    scale = b("Div", b.number(512.0, np.float64), b("Max", *wide))
    sizes = [b("Cast", b("Round", b("Mul", side, scale)), to=TensorProto.INT64) for side in wide]
    halves = [
        b("Cast", b("Ceil", b("Mul", b("Cast", s, to=TensorProto.FLOAT), b.number(0.3))), to=TensorProto.INT64)
        for s in sizes
    ]
    return b.model([*sizes, *halves])


def area() -> onnx.ModelProto:
    """A vision language model: as many pixels as fit, `sqrt(pixels/most)`, in multiples of 28."""
    b = Builder()
    sides = [b("Cast", size, to=TensorProto.FLOAT) for size in b.sizes]
    beta = b("Sqrt", b("Div", b("Mul", *sides), b.number(1003520.0)))
    sizes = []
    for side in sides:
        units = b("Floor", b("Div", b("Div", side, beta), b.number(28.0)))
        sizes.append(b("Cast", b("Mul", b("Max", units, b.number(1.0)), b.number(28.0)), to=TensorProto.INT64))
    return b.model(sizes)


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    f.__name__: f for f in (detector, exported_detector, in_double, area)
}


def wrong(model: onnx.ModelProto, count: int, seed: int) -> Iterator[str]:
    """The sizes of the output that are not those of the run, or have no expression."""
    output = model.graph.output[0].name
    dims = list(absint.analyze(model).shapes[output])
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    draw = random.Random(seed)
    for number in range(count):
        most = LARGEST if number % 2 else 1 + number % 64
        height, width = draw.randint(1, most), draw.randint(1, most)
        sizes = {"height": height, "width": height if number % 50 == 0 else width}
        (result,) = session.run(None, {"image": np.zeros((0, *sizes.values()), np.float32)})
        expected = [dim.evaluate(sizes) for dim in dims]
        if expected != list(result.shape):
            yield f"{sizes}: {expected}, ran {list(result.shape)}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold sizes that floats decide against runs.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = 0
    for name, build in MODELS.items():
        found = list(wrong(build(), given.count, given.seed))
        failed += len(found)
        print(f"{name}: {given.count} sizes, {len(found)} wrong", *found[:5], sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
