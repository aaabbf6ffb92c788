"""onnxscript's optimiser after shape inference by absint: `python onnxscript_optimizer.py MODEL OUT`.

It needs `pip install onnxscript`. The optimiser folds what it knows the size of; absint tells it every size.
"""

import sys

import onnx_ir
from onnxscript import optimizer

from absint.ir import ShapeInferencePass


class Optimize(onnx_ir.passes.InPlacePass):
    """The optimiser without onnx's own inference, as a pass."""

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        before = len(model.graph)
        optimizer.optimize_ir(model, onnx_shape_inference=False)
        return onnx_ir.passes.PassResult(model, modified=len(model.graph) != before)


def main(source: str, target: str) -> None:
    model = onnx_ir.load(source)
    before = len(model.graph)
    onnx_ir.passes.Sequential(ShapeInferencePass(), Optimize(), ShapeInferencePass())(model)
    onnx_ir.save(model, target)
    print(f"{target}: {len(model.graph)} nodes of {before}")
    for output in model.graph.outputs:
        print(f"{output.name}: {output.shape}")


if __name__ == "__main__":
    main(*sys.argv[1:])
