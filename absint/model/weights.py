"""The initialisers of a model in short: least and greatest element, and sums of rows, each read when it is asked for.

No tensor stays in memory. Tensors beside the model are read as small ones are: from below its folder, over no link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, prod
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.numpy_helper import to_array

from absint.model.initialisers import external_place
from absint.model.opening import read_beside

if TYPE_CHECKING:
    from absint.model.load import Loaded

Array = npt.NDArray[np.generic]
Sums = Sequence[tuple[float, float]]

MOST_BYTES: Final = 1 << 31
"""Larger tensors in other files are not read."""

_TYPES: Final = frozenset(
    {
        *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8),
        *(TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.UINT32, TensorProto.INT64),
        *(TensorProto.UINT64, TensorProto.BOOL, TensorProto.BFLOAT16),
    }
)
_WIDE: Final[Mapping[int, type]] = {TensorProto.BFLOAT16: np.float64, TensorProto.BOOL: np.uint8}
"""The types that some are read as."""


class Weights(Mapping[str, tuple[float, float]]):
    """The least and the greatest element of each initialiser that callers cannot replace, and each constant.

    They are those of the main graph. Those of other types, damaged ones, and those without numbers or with NaN are left
    out. Raises ModelError for a model that protobuf does not read.
    """

    def __init__(self, loaded: Loaded) -> None:
        graph = loaded.proto.graph
        inputs = {info.name for info in graph.input}
        self._folder = loaded.folder
        self._tensors = {tensor.name: tensor for tensor in graph.initializer if tensor.name not in inputs}
        for node in graph.node:
            if node.op_type == "Constant" and not node.domain and node.output and node.attribute:
                self._tensors.update((node.output[0], one.t) for one in node.attribute if one.name == "value")
        self._ends: dict[str, tuple[float, float] | None] = {}
        self._sums: dict[tuple[str, tuple[int, ...]], Sums | None] = {}

    def __getitem__(self, name: str) -> tuple[float, float]:
        if name not in self._ends:
            self._ends[name] = self._read_ends(name)
        found = self._ends[name]
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._tensors if self.get(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def sums(self, name: str, axes: Sequence[int]) -> Sums | None:
        """The sums of the positive and of the negative numbers along some axes, for each place of the others.

        None for what is no weight, or has no such axes. A sum of n numbers is off by at most a share of n * 2**-53.
        """
        key = (name, tuple(axes))
        if key not in self._sums:
            self._sums[key] = None if self.get(name) is None else self._read_sums(*key)
        return self._sums[key]

    def _read_ends(self, name: str) -> tuple[float, float] | None:
        array = self._array(name)
        if array is None or not array.size:
            return None
        least, most = array.min().item(), array.max().item()
        return None if isnan(least) or isnan(most) else (least, most)

    def _read_sums(self, name: str, axes: tuple[int, ...]) -> Sums | None:
        array = self._array(name)
        if array is None or any(not -array.ndim <= axis < array.ndim for axis in axes):
            return None
        wide = array.astype(np.float64)
        positive, negative = np.maximum(wide, 0).sum(axis=axes), np.minimum(wide, 0).sum(axis=axes)
        return list(zip(positive.ravel().tolist(), negative.ravel().tolist(), strict=True))

    def _array(self, name: str) -> Array | None:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.data_type not in _TYPES:
            return None
        if tensor.data_location == TensorProto.EXTERNAL:
            found = self._beside(tensor)
        else:
            try:
                found = to_array(tensor)
            except (ValueError, TypeError):  # of onnx, for data that are damaged
                return None
        wide = _WIDE.get(tensor.data_type)
        return found if found is None or wide is None else found.astype(wide)

    def _beside(self, tensor: TensorProto) -> Array | None:
        place = external_place(tensor)
        dtype = tensor_dtype_to_np_dtype(tensor.data_type)
        if place is None or self._folder is None or any(size < 0 for size in tensor.dims):
            return None
        size = prod(tensor.dims) * dtype.itemsize
        raw = read_beside(self._folder, *place, size) if size <= MOST_BYTES else None
        if raw is None or len(raw) != size:
            return None
        return np.frombuffer(raw, dtype.newbyteorder("<")).reshape(list(tensor.dims))
