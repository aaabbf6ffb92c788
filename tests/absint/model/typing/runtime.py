"""onnxruntime's verdict on a model before it runs."""

from __future__ import annotations

import onnx
import onnxruntime

_NO_KERNEL = ("NOT_IMPLEMENTED", "MLDataType for", "No suitable kernel")
"""Legal types that this build of onnxruntime has no code for."""


def refusal(model: onnx.ModelProto) -> str | None:
    """Why onnxruntime does not load the model, or None if it does; a missing kernel is no refusal."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors share no class of their own
        text = str(error)
        return None if any(words in text for words in _NO_KERNEL) else text
    return None
