"""In a process of its own: onnx's inference, C++ code that may end the process on a model that is not valid."""

from __future__ import annotations

from typing import cast

from absint.model.onnx_package import defer_onnx

defer_onnx()

try:  # the C++ extension, which needs nothing else of the package
    from onnx.onnx_cpp2py_export.shape_inference import InferenceError, infer_shapes
except ImportError:  # a package that is laid out in another way
    from onnx.shape_inference import InferenceError, infer_shapes  # type: ignore[assignment]


def refused(model: object) -> str:
    """The message of inference about the nodes that it refuses; empty if it refuses none."""
    try:
        infer_shapes(cast(bytes, model), False, True, False)  # strict, and nothing else
    except InferenceError as error:
        return str(error)
    return ""
