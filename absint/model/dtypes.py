"""Element types of ONNX and those of array libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from absint.lattices.dtype import DType

if TYPE_CHECKING:
    import numpy as np

NUMPY_NAMES: Final[Mapping[DType, str]] = {
    DType.FLOAT: "float32",
    DType.DOUBLE: "float64",
    DType.FLOAT16: "float16",
    DType.BFLOAT16: "bfloat16",
    DType.FLOAT8E4M3FN: "float8_e4m3fn",
    DType.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    DType.FLOAT8E5M2: "float8_e5m2",
    DType.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    DType.FLOAT8E8M0: "float8_e8m0fnu",
    DType.FLOAT6E2M3: "float6_e2m3fn",
    DType.FLOAT6E3M2: "float6_e3m2fn",
    DType.FLOAT4E2M1: "float4_e2m1fn",
    DType.COMPLEX64: "complex64",
    DType.COMPLEX128: "complex128",
    DType.BOOL: "bool",
    DType.STRING: "object",
    **{dtype: dtype.name.lower() for dtype in DType if dtype.name.removeprefix("U").startswith("INT")},
}
"""Element type -> its name in numpy, and in the package ml_dtypes that adds types to it."""

_DTYPES: Final = {name: dtype for dtype, name in NUMPY_NAMES.items()}
_TEXTS: Final = ("object", "str", "bytes", "StringDType")


def dtype_of_array(dtype: object) -> DType | None:
    """The ONNX element type of a numpy, ml_dtypes, PyTorch or JAX type; None if ONNX has none."""
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    return DType.STRING if name.startswith(_TEXTS) else _DTYPES.get(name)


def numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    """The type of an array of this element type. Raises TypeError if numpy has none, not even with ml_dtypes."""
    import numpy as np

    if dtype not in NUMPY_NAMES:
        raise TypeError(f"numpy has no type {dtype}")
    return np.dtype(NUMPY_NAMES[dtype])
