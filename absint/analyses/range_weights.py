"""The least and the greatest element of the initialisers of a model, read from its file without a copy of them."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Final

import numpy as np

from absint.lattices.dtype import DType
from absint.model.initialisers import dtype_of
from absint.model.wire.tensors import EXTERNAL

if TYPE_CHECKING:
    from absint.model.load import Loaded
    from absint.model.messages import TensorMessage

_FORMATS: Final = {
    DType.FLOAT: "<f4", DType.DOUBLE: "<f8", DType.FLOAT16: "<f2", DType.INT8: "<i1", DType.UINT8: "<u1",
    DType.INT16: "<i2", DType.UINT16: "<u2", DType.INT32: "<i4", DType.UINT32: "<u4", DType.INT64: "<i8",
    DType.UINT64: "<u8",
}  # fmt: skip


def weights(loaded: Loaded) -> dict[str, tuple[float, float]]:
    """The range of each initialiser of the main graph that callers cannot replace, and that the file itself holds.

    Tensors with NaN, in other files, of types that are packed, and empty ones are left out.
    """
    graph = loaded.model.graph
    inputs = {info.name for info in graph.input}
    found = {}
    for tensor in graph.initializer:
        ends = None if tensor.name in inputs else _ends(tensor)
        if ends is not None:
            found[tensor.name] = ends
    return found


def _ends(tensor: TensorMessage) -> tuple[float, float] | None:
    form = _FORMATS.get(dtype_of(tensor.data_type))
    if form is None or tensor.data_location == EXTERNAL or not tensor.HasField("raw_data"):
        return None
    data = tensor.raw_data
    if not data or len(data) % int(form[2]):
        return None
    array = np.frombuffer(data, form)
    least, most = array.min().item(), array.max().item()
    return None if isnan(least) or isnan(most) else (least, most)


__all__ = ["weights"]
