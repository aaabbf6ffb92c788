"""Numbers and tensors to draw from: small ones, and those at which kernels differ from mathematics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import inf, nan, prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
INTEGERS: Final = (*SIGNED, *UNSIGNED)
FLOATS: Final = ("float32", "float64", "float16")
NUMBERS: Final = (*INTEGERS, *FLOATS)
ALL: Final = (*NUMBERS, "bool")

SHAPES: Final[tuple[tuple[int, ...], ...]] = (
    (), (1,), (2,), (3,), (4,), (0,), (1, 1), (2, 3), (3, 1), (1, 4), (0, 2), (2, 0), (2, 1, 2), (2, 2, 2), (1, 0, 3),
)  # fmt: skip

SMALL: Final = (0, 1, 2, 3, 5, 7, -1, -2, -3)
LARGE: Final = (
    2**31 - 1, 2**31, -(2**31), 2**31 + 3, 2**32, 2**32 - 1, 2**24 + 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62,
    2**62 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 255, 127, -128, 128, 65535, 32767, 3037000500, 94906267,
)  # fmt: skip
REALS: Final = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, 0.1, 1 / 3, 7.0, 1e-3, 100.0, 16777217.0, 2.0**31,
    2.0**63, 1e-45, 1e38, 1e300, 65504.0, 1e-8, inf, -inf, nan,
)  # fmt: skip


def shape(rng: random.Random, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """A shape of a rank within these."""
    return rng.choice([s for s in SHAPES if least <= len(s) <= most])


def number(rng: random.Random, dtype: str, plain: bool = False) -> Any:
    """One number; `plain` ones are small and finite."""
    if dtype == "bool":
        return rng.random() < 0.5
    if dtype.startswith("float"):
        return float(rng.choice(SMALL)) if plain or rng.random() < 0.3 else rng.choice(REALS)
    limits = np.iinfo(dtype)
    candidates = SMALL if plain or rng.random() < 0.6 else LARGE
    fitting = [n for n in candidates if limits.min <= n <= limits.max]
    return rng.choice(fitting or [0])


def array(rng: random.Random, dtype: str, sizes: Sequence[int], plain: bool | None = None) -> Array:
    """A tensor; half of them are plain unless `plain` decides, some hold a single number."""
    plain = rng.random() < 0.5 if plain is None else plain
    alike = number(rng, dtype, plain) if rng.random() < 0.1 else None
    with np.errstate(all="ignore"):
        items = [number(rng, dtype, plain) if alike is None else alike for _ in range(prod(sizes))]
        return np.array(items, dtype=dtype).reshape(tuple(sizes))


def integers(*values: int, dtype: str = "int64") -> Array:
    """A vector of integers."""
    return np.array(values, dtype=dtype)
