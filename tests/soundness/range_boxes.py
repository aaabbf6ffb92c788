"""Random ranges for the inputs of random nodes, and numbers in them: ends, denormals, infinities and NaN."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from math import inf, isinf
from typing import Final

import numpy as np
from onnx import TensorProto

from tests.soundness.node_drafts import Input, NodeDraft, numpy_type

FLOATS: Final = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
FLOAT_BOXES: Final = (
    (-1, 1), (0, 1), (-3, 5), (0.25, 4), (-90, 90), (1e-45, 1e-38), (-1e-40, 1e-39), (-1e38, 3e38), (0, inf),
    (-inf, inf), (-inf, -1), (0, 0), (-0.0, 1), (2, 2), (-7.5, -7.5), (1e3, 7e4), (-6e4, 6e4), (0, 300), (1e-8, 1e-3),
    (3e38, inf), (0.999, 1.001), (-1e300, 1e300),
)  # fmt: skip
INTEGER_BOXES: Final = ((0, 1), (-3, 3), (1, 9), (0, 100), (-100, 100), (0, 0), (5, 5), (-1, -1), (-130, 250))
MOST_NUMBERS: Final = 40


@dataclass(frozen=True)
class Boxed:
    """A node whose inputs lie in ranges."""

    draft: NodeDraft
    boxes: dict[str, tuple[float, float]] = field(default_factory=dict)


def boxed(rng: random.Random, draft: NodeDraft) -> Boxed:
    """The node, with ranges for some inputs; some become constants with numbers of their range."""
    found, boxes = draft, {}
    for at, item in enumerate(draft.inputs):
        if item is None or item.items is not None or item.given != "fed" or item.optional:
            continue
        pair = _drawn(rng, item)
        if pair is None:
            continue
        numbers, box = pair
        item = replace(item, pool=numbers, make=None)
        if item.is_native and item.dims and all(isinstance(dim, int) for dim in item.dims) and rng.random() < 0.3:
            count = int(np.prod(item.dims))
            chosen = np.random.default_rng(rng.randrange(1 << 30)).choice(numbers, count) if numbers.size else numbers
            item = replace(item, given="constant", elements=tuple(chosen.tolist()))
        elif box is not None:
            boxes[f"x{at}"] = box
        found = replace(found, inputs=(*found.inputs[:at], item, *found.inputs[at + 1 :]))
    return Boxed(found, boxes)


def _drawn(rng: random.Random, item: Input) -> tuple[np.ndarray, tuple[float, float] | None] | None:
    """Numbers, and the range that they lie in, None for any of the type; None to leave the input as it is."""
    dtype = np.dtype(np.float32) if not item.is_native else numpy_type(item.dtype)
    if dtype.kind not in "fiu":
        return None
    if rng.random() < (0.3 if dtype.kind == "f" else 0.5):
        return _of_pool(item, dtype)
    data = np.random.default_rng(rng.randrange(1 << 30))
    return _floats(rng, data, dtype) if dtype.kind == "f" else _integers(rng, data, dtype)


def _of_pool(item: Input, dtype: np.dtype) -> tuple[np.ndarray, tuple[float, float] | None] | None:
    """The values that the node began with, on which it runs."""
    pool = np.asarray(item.pool)
    if item.make is not None or not pool.size or pool.dtype.kind not in "fiu":
        return None
    pool = pool.astype(dtype)
    ends = (pool.min().item(), pool.max().item())
    return None if ends[0] != ends[0] else (pool, ends)


def _floats(
    rng: random.Random, data: np.random.Generator, dtype: np.dtype
) -> tuple[np.ndarray, tuple[float, float] | None]:
    greatest, tiny = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal)
    kind = rng.random()
    if kind < 0.15:
        special = [np.nan, inf, -inf, 0.0, -0.0, tiny, -tiny, greatest, -greatest, 1.0, -1.0, 0.5, 100.0, -7.25]
        return np.array(special, dtype), None
    if kind < 0.75:
        low, high = rng.choice(FLOAT_BOXES)
    else:
        low, high = sorted(rng.choice([1, -1]) * 10 ** rng.uniform(-40, 38) for _ in range(2))
    ends = [end if isinf(end) else min(max(end, -greatest), greatest) for end in (low, high)]
    with np.errstate(all="ignore"):
        least, most = (dtype.type(end) for end in ends)
        inner = [max(float(least), -greatest), min(float(most), greatest)]
        numbers = np.array([least, most, *(_between(data, *inner) for _ in range(MOST_NUMBERS))], dtype)
    numbers = np.clip(numbers, least, most)
    return numbers, (float(least), float(most))


def _between(data: np.random.Generator, low: float, high: float) -> float:
    """A number of the range: even, near 0 or at an end."""
    kind = data.random()
    if kind < 0.2:
        return float(data.choice([low, high]))
    if kind < 0.6:
        share = float(data.random())
        return low * (1 - share) + high * share
    size = 10.0 ** data.uniform(-45, 38)
    return min(max(float(data.choice([size, -size])), low), high)


def _integers(
    rng: random.Random, data: np.random.Generator, dtype: np.dtype
) -> tuple[np.ndarray, tuple[float, float] | None]:
    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    kind = rng.random()
    if kind < 0.15:
        return np.array([least, most, least + 1, most - 1, 0, 1, most // 2, 7, 100], dtype), None
    low, high = rng.choice(INTEGER_BOXES) if kind < 0.8 else rng.choice([(least, most), (least, 0), (most - 3, most)])
    low, high = min(max(low, least), most), max(min(high, most), least)
    if high - low < 1 << 40:
        numbers = data.integers(low, high, MOST_NUMBERS, dtype=np.int64 if low < 0 else np.uint64, endpoint=True)
    else:
        inner = [low, high, low + 1, high - 1, *range(-5, 6)]
        numbers = np.array([number for number in inner if low <= number <= high], dtype)
    return numbers.astype(dtype), (low, high)
