"""The least and the greatest element of the initialisers of a model, one read after the other."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Final

from onnx import TensorProto
from onnx.numpy_helper import to_array

if TYPE_CHECKING:
    from absint.model.load import Loaded

_TYPES: Final = frozenset(
    {
        *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8),
        *(TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.UINT32, TensorProto.INT64),
        TensorProto.UINT64,
    }
)


def weights(loaded: Loaded) -> dict[str, tuple[float, float]]:
    """The range of each initialiser of the main graph that callers cannot replace, and that the file itself holds.

    Tensors with NaN, in other files, of other types, damaged and empty ones are left out. Raises ModelError for a model
    that protobuf does not read.
    """
    graph = loaded.proto.graph
    inputs = {info.name for info in graph.input}
    found = {}
    for tensor in graph.initializer:
        ends = None if tensor.name in inputs else _ends(tensor)
        if ends is not None:
            found[tensor.name] = ends
    return found


def _ends(tensor: TensorProto) -> tuple[float, float] | None:
    if tensor.data_type not in _TYPES or tensor.data_location == TensorProto.EXTERNAL:
        return None
    try:
        array = to_array(tensor)
    except (ValueError, TypeError):  # of onnx, for data that are damaged
        return None
    if not array.size:
        return None
    least, most = array.min().item(), array.max().item()
    return None if isnan(least) or isnan(most) else (least, most)


__all__ = ["weights"]
