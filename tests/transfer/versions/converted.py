"""Old forms that onnx's version converter turns into new ones: a second opinion on the definitions in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, version_converter

from absint.testing.cases import arrays_of
from tests.transfer.harness import Binding, Case
from tests.transfer.old_versions import in_onnxruntime

TARGET = 20


def run_converted(case: Case, binding: Binding, outputs: list[Any]) -> list[Any] | None:
    """The outputs of a newer form of the node in onnxruntime; None if it is not converted. `outputs` give the types."""
    arrays = [array for array in arrays_of(case, binding, 0) if array is not None]
    inputs = [_info(f"x{i}", array) for i, array in enumerate(arrays)]
    wanted = [_info(f"y{i}", array) for i, array in enumerate(outputs[: case.outputs])]
    node = helper.make_node(case.op, [i.name for i in inputs], [o.name for o in wanted], **case.attributes)
    graph = helper.make_graph([node], "old", inputs, wanted)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=3)
    try:
        newer = version_converter.convert_version(model, TARGET)
    except (RuntimeError, version_converter.ConvertError):
        return None
    newer.ir_version = 10
    return in_onnxruntime(newer, {f"x{i}": array for i, array in enumerate(arrays)})[0]


def _info(name: str, array: Any) -> onnx.ValueInfoProto:
    array = np.asarray(array)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
