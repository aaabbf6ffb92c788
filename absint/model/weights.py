"""The initialisers of a model in short: least and greatest element, and sums of rows, each read when it is asked for.

No tensor stays in memory. Tensors beside the model are read as small ones are: from below its folder, over no link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, prod
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, TensorProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.numpy_helper import to_array

from absint.lattices.contents import Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value
from absint.model.initialisers import external_place, numpy_dtype
from absint.model.opening import read_beside

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
    out.
    """

    def __init__(self, graph: GraphProto, folder: str | None) -> None:
        inputs = {info.name for info in graph.input}
        self._folder = folder
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
        array = self._numbers(name)
        if array is None or not array.size:
            return None
        least, most = array.min().item(), array.max().item()
        return None if isnan(least) or isnan(most) else (least, most)

    def _read_sums(self, name: str, axes: tuple[int, ...]) -> Sums | None:
        array = self._numbers(name)
        if array is None or any(not -array.ndim <= axis < array.ndim for axis in axes):
            return None
        wide = array.astype(np.float64)
        positive, negative = np.maximum(wide, 0).sum(axis=axes), np.minimum(wide, 0).sum(axis=axes)
        return list(zip(positive.ravel().tolist(), negative.ravel().tolist(), strict=True))

    def constant(self, name: str, value: Value) -> Array | None:
        """The elements of the weight of this name; without one, those of a value if all are known."""
        found = self.array(name) if name else None
        return array_of(value) if found is None else found

    def array(self, name: str) -> Array | None:
        """The elements; None for what is no weight, and for damaged ones."""
        tensor = self._tensors.get(name)
        if tensor is None or tensor.data_type not in _TYPES:
            return None
        if tensor.data_location == TensorProto.EXTERNAL:
            return self._beside(tensor)
        try:
            return to_array(tensor)
        except (ValueError, TypeError):  # of onnx, for data that are damaged
            return None

    def _numbers(self, name: str) -> Array | None:
        """The elements in a type that computes with them."""
        found = self.array(name)
        wide = None if found is None else _WIDE.get(self._tensors[name].data_type)
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


_MADE: Final = "BOOL INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 FLOAT16 FLOAT DOUBLE"
TYPES: Final[Mapping[DType, type[np.generic]]] = {DType[n]: numpy_dtype(DType[n]).type for n in _MADE.split()}
"""Element types that constants are made of."""


def array_of(value: Value, *, has_sign: bool = False) -> Array | None:
    """The elements of a tensor if all are known, and its type holds them exactly; None for a large one too.

    A known zero has no sign: with `has_sign` floats that have one are not known.
    """
    kind = TYPES.get(value.dtype) if isinstance(value, Tensor) else None
    if kind is None or not isinstance(value, Tensor) or value.contents is None or value.contents.open:
        return None
    block = value.contents.block(value.shape.concrete)
    if block is None:
        return None
    elements = [_element(element, value.dtype, kind, has_sign) for element in block.elements]
    if any(element is None for element in elements):
        return None
    return np.array(elements, dtype=kind).reshape(block.shape)


def _element(element: Element, dtype: DType, kind: type[np.generic], has_sign: bool) -> int | float | bool | None:
    """The element as a number that the type holds exactly."""
    if element is TRUE or element is FALSE:
        return element is TRUE if dtype is DType.BOOL else None
    if isinstance(element, Expr):
        number = element.const
        fits = number is not None and dtype.is_integer and int(np.iinfo(kind).min) <= number <= int(np.iinfo(kind).max)  # type: ignore[type-var]
        return number if fits else None
    if isinstance(element, Real) and dtype.is_float and element.is_dyadic:
        fraction = element.fraction
        if fraction is None or (fraction == 0 and has_sign):
            return None
        try:
            real = float(fraction)
        except OverflowError:
            return None
        return real if np.isfinite(kind(real)) and float(kind(real)) == fraction else None
    return None
