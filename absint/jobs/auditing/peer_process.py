"""In a process of its own: ask one tool for the shapes of a model.

What a tool has found before it gives up counts: the reply has the shapes, the seconds that they took, and one line on
why there are no more.
"""

import logging
import warnings
from collections.abc import Callable, Mapping
from contextlib import chdir
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from onnx import ModelProto

from absint.jobs.auditing.sources import shapes_in
from absint.questions.claims.claims import Stated

MAX_ELEMENTS: Final = 1 << 16
"""Of weights that are read."""

Shapes = dict[str, "tuple[Stated, ...] | None"]


def infer(request: object) -> tuple[Shapes, float, str]:
    """The reply to a request: the name of the tool, and the model."""
    import onnx

    assert isinstance(request, tuple)
    tool, content, folder = request
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    model = onnx.load_model_from_string(content)
    if folder is not None:
        _read_weights(model, folder)
    ask = _LOADERS[tool]()
    with TemporaryDirectory() as own, chdir(own):  # some tools write where they run
        start = perf_counter()
        try:
            shapes, failure = ask(model), ""
        except Exception as error:
            shapes, failure = _left_behind(), f"{type(error).__name__}: {error}"
        return shapes, perf_counter() - start, failure


def _read_weights(model: ModelProto, folder: str) -> None:
    """Copy small weights from their files into the model: a tool may look for them in the wrong folder."""
    from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

    for tensor in model.graph.initializer:
        if uses_external_data(tensor) and prod(tensor.dims) <= MAX_ELEMENTS:
            try:
                load_external_data_for_tensor(tensor, folder)
            except Exception:  # a missing file, among others: a tool that needs it says so
                continue
            tensor.ClearField("data_location")
            tensor.ClearField("external_data")


def _onnx() -> Callable[[ModelProto], Shapes]:
    import onnx.shape_inference

    return lambda model: _stated(onnx.shape_inference.infer_shapes(model, data_prop=True))


def _onnx_shape_inference() -> Callable[[ModelProto], Shapes]:
    import onnx_ir
    import onnx_shape_inference

    infer = onnx_shape_inference.infer_symbolic_shapes
    return lambda model: _stated(onnx_ir.to_proto(infer(onnx_ir.from_proto(model))))


def _onnxruntime(auto_merge: bool) -> Callable[[ModelProto], Shapes]:
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    def ask(model: ModelProto) -> Shapes:
        found = SymbolicShapeInference.infer_shapes(model, auto_merge=auto_merge)
        if found is None:
            raise ValueError("models of this opset are not supported")
        return _stated(found)

    return ask


def _left_behind() -> Shapes:
    """The shapes that onnxruntime's tool writes to its folder when it could not infer everything."""
    import onnx

    path = Path("sym_shape_infer_temp.onnx")
    return _stated(onnx.load(path, load_external_data=False)) if path.exists() else {}


def _yobx() -> Callable[[ModelProto], Shapes]:
    from yobx.xshape import BasicShapeBuilder

    def ask(model: ModelProto) -> Shapes:
        names = [*(info.name for info in model.graph.input), *(name for n in model.graph.node for name in n.output)]
        del model.graph.output[:]  # the builder would read an output without a shape as a scalar
        builder = BasicShapeBuilder()
        builder.run_model(model)
        shapes = {name: builder.get_shape(name) for name in names if name and builder.has_shape(name)}
        return {n: tuple(d if isinstance(d, (int, str)) else None for d in shape) for n, shape in shapes.items()}

    return ask


def _stated(model: ModelProto) -> Shapes:
    return shapes_in(model, inputs=True)


_LOADERS: Final[Mapping[str, Callable[[], Callable[[ModelProto], Shapes]]]] = {
    "onnx": _onnx,
    "onnx-shape-inference": _onnx_shape_inference,
    "onnxruntime": lambda: _onnxruntime(False),
    "onnxruntime-auto-merge": lambda: _onnxruntime(True),
    "yobx": _yobx,
}
