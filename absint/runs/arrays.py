"""Real tensors as users pass them by name: an array, or its sizes alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Union

import numpy as np
import numpy.typing as npt

from absint.errors import UsageError
from absint.lattices.dtype import DType
from absint.lattices.text.escapes import did_you_mean
from absint.model.dtypes import dtype_of_array


class Array:
    """A tensor of a run: its sizes, and its type and elements as far as they are known."""

    __slots__ = ("_source", "dtype", "shape")

    shape: tuple[int, ...]
    dtype: DType | None
    """None if unknown, or not a type of ONNX."""

    def __init__(self, shape: tuple[int, ...], dtype: DType | None = None, source: object = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self._source = source

    @property
    def has_elements(self) -> bool:
        return self._source is not None

    def elements(self) -> npt.NDArray[np.generic]:
        """All elements in row-major order. Raises ValueError if they cannot be read."""
        try:
            found = np.asarray(self._source).ravel()
        except (TypeError, RuntimeError) as error:  # PyTorch's errors for a tensor on a device, or with a gradient
            raise ValueError(str(error).splitlines()[0]) from None
        if found.dtype.kind != "V":
            return found
        return found.astype(np.int64 if "int" in found.dtype.name else np.float64)  # a type of ml_dtypes


Actual = Union[Array, "list[Actual]", "Mapping[object, object]", None]
"""A value of a run: a tensor, a sequence, a map, or an empty optional."""


def read_actual(what: str, given: object) -> Actual:
    """Read a value of a run as a caller gives it.

    A tuple or list of ints is the shape of a tensor; any other list is a sequence.

    Raises UsageError, which begins with `what`, for anything else.
    """
    if given is None or isinstance(given, Mapping):
        return given
    if isinstance(given, tuple) or (isinstance(given, list) and given and all(map(_is_size, given))):
        return Array(_sizes(what, given))
    if isinstance(given, list):
        return [read_actual(f"{what}, item {number}", item) for number, item in enumerate(given)]
    if isinstance(given, (bool, int, float)):
        return Array((), source=given)
    shape, dtype = getattr(given, "shape", None), getattr(given, "dtype", None)
    if dtype is None or not isinstance(shape, Iterable):
        raise UsageError(
            f"{what}: cannot read a tensor from {type(given).__name__}: give an array, its sizes as a tuple, "
            f"or a list of these for a sequence"
        )
    return Array(_sizes(what, tuple(shape)), dtype_of_array(dtype), given)


def _is_size(item: object) -> bool:
    return hasattr(item, "__index__") and not hasattr(item, "shape") and not isinstance(item, bool)


def _sizes(what: str, sizes: Sequence[object]) -> tuple[int, ...]:
    try:
        found = tuple(index(size) for size in sizes)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what}: {tuple(sizes)} is no shape: its sizes are integers") from None
    if any(size < 0 for size in found):
        raise UsageError(f"{what}: {found} is no shape: sizes must not be negative")
    return found


def check_names(what: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raises UsageError, with the nearest names, for a given name that is none of these."""
    there = set(names)
    for name in given:
        if name not in there:
            hint = did_you_mean(name, names) or f"there are: {', '.join(names[:10]) or 'none'}"
            raise UsageError(f"{what} {name!r}; {hint}")
