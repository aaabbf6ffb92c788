"""Every form of every operator on constants that are unsorted, tied, extreme or absent, held against runs.

    python -m tests.soundness.constant_sweeps [--op TopK] [--step 1]

prints wrong elements and exits with 1 if there are any. Where `constant_moves` draws, this enumerates: all axes from
both ends, all flags, every type, and tensors in which elements, rows and columns are equal. `--step 7` takes each
seventh node.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from math import inf, nan, prod
from typing import Any, Final

import numpy as np
from onnx import helper

from tests.soundness.constant_moves import Node
from tests.soundness.constant_nodes import compared
from tests.soundness.constant_values import ALL, FLOATS, INTEGERS, NUMBERS, SIGNED, UNSIGNED, Array, integers

OPSET: Final = 24

SHAPES: Final[tuple[tuple[int, ...], ...]] = (
    (5,), (1, 4), (4, 1), (2, 3), (3, 2), (2, 2, 2), (0,), (2, 0), (0, 2), (1, 0, 3), (1,), (),
)  # fmt: skip

PATTERNS: Final[tuple[tuple[int, ...], ...]] = ((3, 1, 3, 1, 2), (1,), (2, 1, 0), (0, 0, 1), (5, 4, 4, 5, 5, 4, 4, 5))
"""What tensors are filled with, over and over: unsorted with ties, all alike, falling, zeros, equal columns."""

Forms = Iterator[Node]


def tensors(dtypes: Sequence[str], least: int = 0) -> Iterator[Array]:
    """Tensors of each type, shape and pattern, and those of extreme numbers."""
    for dtype, sizes in product(dtypes, SHAPES):
        if len(sizes) >= least:
            patterns = (*PATTERNS, extremes(dtype)) if prod(sizes) else PATTERNS[:1]
            for pattern in patterns:
                with np.errstate(all="ignore"):
                    yield np.resize(np.array(pattern).astype(dtype), sizes)


def extremes(dtype: str) -> list[Any]:
    """The ends of a type, and numbers that kernels tell apart or confuse."""
    if dtype == "bool":
        return [True, False]
    if dtype in FLOATS:
        return [-0.0, 0.0, inf, nan, -inf, -1.5, float(np.finfo(dtype).max), nan, float(np.finfo(dtype).tiny)]
    ends = np.iinfo(dtype)
    near = (n for n in (2**31 - 1, 2**31, 2**32 + 1, 2**53 + 1, -(2**53) - 1, -1, -2) if ends.min <= n <= ends.max)
    return [ends.min, ends.max, 0, *near]


def axes(x: Array) -> range:
    return range(-x.ndim, x.ndim)


def arg_extreme(op: str) -> Forms:
    for x in tensors(NUMBERS, 1):
        for axis, keep, last in product(axes(x), (0, 1), (0, 1)):
            yield Node(op, [x], {"axis": axis, "keepdims": keep, "select_last_index": last})


def unique(op: str) -> Forms:
    for x in tensors(NUMBERS):
        for axis, is_sorted, count in product((None, *axes(x)), (0, 1), (1, 4)):
            yield Node(op, [x], {"sorted": is_sorted, **({} if axis is None else {"axis": axis})}, count)


def top_k(op: str) -> Forms:
    for x in tensors(NUMBERS, 1):
        for axis, largest, is_sorted in product(axes(x), (0, 1), (0, 1)):
            for k in {0, 1, x.shape[axis]}:
                yield Node(op, [x, integers(k)], {"axis": axis, "largest": largest, "sorted": is_sorted}, 2)


def non_zero(op: str) -> Forms:
    yield from (Node(op, [x], {}) for x in tensors(ALL))


def compress(op: str) -> Forms:
    for x in tensors(ALL, 1):
        for axis in (None, *axes(x)):
            extent = x.size if axis is None else x.shape[axis]
            for length in {0, 1, max(extent - 1, 0), extent}:
                taken = np.resize(np.array([True, False, True]), length)
                yield Node(op, [x, taken], {} if axis is None else {"axis": axis})


def gather_nd(op: str) -> Forms:
    for x in tensors(ALL, 1):
        for batch in range(x.ndim):
            for length in range(1, x.ndim - batch + 1):
                for count in (0, 3):
                    extents = x.shape[batch : batch + length]
                    if 0 not in extents or not count:
                        sizes = [*x.shape[:batch], count]
                        columns = [np.resize(np.array([-1, 0, n - 1]), sizes) for n in extents]
                        yield Node(op, [x, np.stack(columns, -1).astype(np.int64)], {"batch_dims": batch})


def pad(op: str) -> Forms:
    for x in tensors(ALL, 1):
        for mode, pads in product(("constant", "edge", "reflect", "wrap"), ((0, 1), (1, 0), (-1, 1), (0, -1), (2, 2))):
            for axis in axes(x):
                fill = [np.array(1).astype(x.dtype)] if mode == "constant" else []
                yield Node(op, [x, integers(*pads), *(fill or [None]), integers(axis)], {"mode": mode})


def bit_cast(op: str) -> Forms:
    for x in tensors(NUMBERS):
        for to in NUMBERS:
            if np.dtype(to).itemsize == x.dtype.itemsize:
                yield Node(op, [x], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(to))})


def reduce(op: str) -> Forms:
    for x in tensors(("int32", "int64", "float32", "uint8", "int8", "bool")):
        for over in (None, (), *((axis,) for axis in axes(x)), *([(0, -1)] if x.ndim > 1 else [])):
            for keep, noop in product((0, 1), (0, 1)):
                given = [] if over is None else [integers(*over)]
                yield Node(op, [x, *given], {"keepdims": keep, "noop_with_empty_axes": noop})


def cumulate(op: str) -> Forms:
    for x in tensors(("int32", "int64", "float32", "uint32", "uint64", "float64"), 1):
        for axis, exclusive, reverse in product(axes(x), (0, 1), (0, 1)):
            yield Node(op, [x, np.array(axis)], {"exclusive": exclusive, "reverse": reverse})


def unary(*dtypes: str) -> Callable[[str], Forms]:
    return lambda op: (Node(op, [x], {}) for x in tensors(dtypes))


def pairs(*dtypes: str) -> Callable[[str], Forms]:
    """Each number with each: all at once, and one by one."""

    def forms(op: str) -> Forms:
        for dtype in dtypes:
            numbers = [0, 1, 2, 3, 7, *extremes(dtype)]
            if dtype in (*SIGNED, *FLOATS):
                numbers += [-1, -2, -3, -7]
            with np.errstate(all="ignore"):
                both = [np.array(side).astype(dtype) for side in zip(*product(numbers, numbers), strict=True)]
            if op in ("Div", "Mod") and dtype in INTEGERS:  # these end the process
                legal = (both[1] != 0) & (both[1].astype(object) != -1)
                both = [side[legal] for side in both]
            if op == "BitShift":
                both[1] = both[1] % np.array(np.iinfo(dtype).bits, dtype)
            ways: list[dict[str, Any]] = [{}]
            if op == "Mod":
                ways = [{"fmod": 1}] if dtype in FLOATS else [{"fmod": 0}, {"fmod": 1}]
            elif op == "BitShift":
                ways = [{"direction": way} for way in ("LEFT", "RIGHT")]
            for way in ways:
                yield Node(op, both, way)
                yield from (Node(op, [both[0][i : i + 1], both[1][i : i + 1]], way) for i in range(both[0].size))

    return forms


def cast(op: str) -> Forms:
    for x, to in product(tensors(ALL), ALL):
        yield Node(op, [x], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(to))})


def clip(op: str) -> Forms:
    for x in tensors(NUMBERS):
        ends = [None, *(np.array(n).astype(x.dtype) for n in (0, 2, *extremes(x.dtype.name)[:2]))]
        yield from (Node(op, [x, low, high], {}) for low, high in product(ends, ends))


def one_hot(op: str) -> Forms:
    for indices, values in product(tensors(("int64", "int32", "float32")), ("int64", "int32", "float32", "bool")):
        if not np.isfinite(indices).all():
            continue
        for axis in range(-indices.ndim - 1, indices.ndim + 1):
            yield Node(op, [indices - 2, np.array(3), np.array([4, 9]).astype(values)], {"axis": axis})


def scatter(op: str) -> Forms:
    for x in tensors(("int32", "int64", "float32", "uint8"), 1):
        for axis, how in product(axes(x), ("none", "add", "mul", "max", "min")):
            if op == "ScatterND":
                count = 2 if x.shape[0] else 0
                index = np.array([[0], [-1]])[:count]
                updates = np.resize(np.flip(x.ravel()), (count, *x.shape[1:]))
                yield Node(op, [x, index, updates], {"reduction": how})
            else:
                index = np.resize(np.array([-1, 0]), [min(n, 2) for n in x.shape])
                yield Node(op, [x, index, np.resize(x, index.shape)], {"axis": axis, "reduction": how})


def arange(op: str) -> Forms:
    numbers = {"float": (0.1, 0.0, 1 / 3, -0.7, 3.0), "int": (0, 1, -1, 3, 7, 2**31 - 4, -(2**31) + 4)}
    for dtype in ("int32", "int64", "float32", "float64"):
        for three in product(numbers[dtype.rstrip("6432")], repeat=3):
            if three[2] and abs(three[1] - three[0]) < 1000 * abs(three[2]):
                yield Node(op, [np.array(n, dtype) for n in three], {})


SWEEPS: Final[dict[str, Callable[[str], Forms]]] = {
    **dict.fromkeys(["ArgMax", "ArgMin"], arg_extreme),
    "Unique": unique,
    "TopK": top_k,
    "NonZero": non_zero,
    "Compress": compress,
    "GatherND": gather_nd,
    "Pad": pad,
    "BitCast": bit_cast,
    **dict.fromkeys(["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean"], reduce),
    **dict.fromkeys(["CumSum", "CumProd"], cumulate),
    **dict.fromkeys(["Relu", "Neg", "Abs", "Sign"], unary(*NUMBERS)),
    **dict.fromkeys(["Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "IsNaN", "IsInf"], unary(*FLOATS)),
    **dict.fromkeys(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Pow"], pairs(*NUMBERS)),
    **dict.fromkeys(["Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"], pairs(*NUMBERS)),
    **dict.fromkeys(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], pairs(*INTEGERS)),
    "BitShift": pairs(*UNSIGNED),
    "Cast": cast,
    "Clip": clip,
    "OneHot": one_hot,
    **dict.fromkeys(["ScatterElements", "ScatterND"], scatter),
    "Range": arange,
}
"""Operators that compute elements; those that only move them are drawn by `constant_moves`."""


def wrong(op: str, step: int = 1, first: int = 0, opset: int = OPSET) -> tuple[Counter[str], list[str]]:
    """What was tried of an operator, and what a run contradicts."""
    totals: Counter[str] = Counter()
    found = []
    for node in islice(SWEEPS[op](op), first, None, step):
        tried = compared(node, 26 if op == "BitCast" else opset)[0]
        totals.update(nodes=1, ran=tried.ran, known=tried.ran and tried.known > 0)
        found += [f"{tried}: {tried.wrong[0]}"] if tried.wrong else []
    return totals, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--op", choices=sorted(SWEEPS), help="this operator only")
    parser.add_argument("--step", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = False
    for op in [args.op] if args.op else sorted(SWEEPS):
        totals, found = wrong(op, args.step)
        failed |= bool(found)
        print(op, dict(totals), f"wrong {len(found)}", *found[:4], sep="\n    ", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
