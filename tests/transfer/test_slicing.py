"""Slice, Pad and CenterCropPad, executed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, run_case, sizes
from tests.transfer.test_reshape import ints

I64 = TensorProto.INT64
MAX = 2**63 - 1
MIN = -(2**63)
N = sizes(N=[0, 1, 2, 3, 5, 8])


def cut(start: object, end: object, step: int = 1, expect: str | None = None, bindings: object = N) -> Case:
    args = [Arg(["N"]), ints(start), ints(end), ints(0), ints(step)]
    return Case("Slice", args, bindings=bindings, expect=None if expect is None else [expect])


NK = sizes(N=[0, 1, 3, 6], K=[0, 1, 2, 4, 7])

SLICE = [
    cut(0, 5, expect="[min(N, 5)]"),
    cut(1, MAX, expect="[max(N - 1, 0)]"),
    cut(0, -1, expect="[max(N - 1, 0)]"),
    cut(-1, MAX, expect="[min(N, 1)]"),
    cut(-2, -1),
    cut(0, MAX, expect="[N]"),
    cut(0, 2**31 - 1, expect="[N]"),
    cut(MIN, MAX, expect="[N]"),
    cut(5, 3, expect="[0]"),
    cut(0, MAX, 2, expect="[(N + 1)//2]"),
    cut(1, MAX, 2, expect="[N//2]"),
    cut(-1, MIN, -1, expect="[N]"),
    cut(-1, -MAX, -1, expect="[N]"),
    # onnxruntime reads INT_MAX as "to the far end" for negative steps too; onnx.reference gives nothing
    cut(-1, MAX, -1, expect="[N]"),
    cut(-1, 2**31 - 1, -2),
    # A start before the front is clamped to 0 (ONNX), not to -1 (numpy)
    cut(-100, MIN, -1, expect="[min(N, max(N - 99, 1))]", bindings=sizes(N=[0, 1, 5, 99, 100, 101, 200])),
    cut(1, 3, 0),
    cut("K", MAX, bindings=NK, expect="[max(N - K, 0)]"),
    cut(0, "K", bindings=NK, expect="[min(K, N)]"),
    cut("K", "K + 2", bindings=NK),
    cut("K", "K + L", bindings=sizes(N=[0, 1, 4], K=[0, 1, 4], L=[0, 2, 5])),
    cut("-K", MAX, bindings=NK),
    cut("K - 2", MAX, bindings=NK),
    cut("K - 3", "K", bindings=NK),
    cut("N - 1", "N", expect="[min(N, 1)]"),
    cut("N - 2", MAX),
    cut(0, "N - 1", expect="[max(N - 1, 0)]"),
    cut(0, "N"),
    cut("K", 0, -1, bindings=NK),
    cut("K - 2", "K - 5", -2, bindings=NK),
    *(
        cut(s, e, k)
        for s, e, k in product((0, 1, -1, -3, 4, MAX, MIN), (0, 2, -1, -2, 6, 2**31 - 2, MIN), (1, -1, 3, -2))
    ),
    *(
        Case("Slice", [Arg([size]), ints(-k), ints(e), ints(0), ints(-1)], bindings=N)
        for size, k in ((1, 2), (2, 3), ("N + 1", 2), ("N + 1", 1), ("N + 2", 4))
        for e in (-5, -2, -1, 0, MIN)
    ),
    Case(
        "Slice",
        [Arg(["B", "P + S", 4]), ints(0, "P"), ints(MAX, "P + S"), ints(0, 1)],
        bindings=sizes(B=[0, 2], P=[0, 3], S=[0, 2]),
        expect=["[B, S, 4]"],
    ),
    Case(
        "Slice",
        [Arg(["B", "7*((H + 6)//7)"]), ints(0, 0), ints("B", "H"), ints(0, 1)],
        bindings=sizes(B=[0, 2], H=[0, 1, 7, 8]),
        expect=["[B, H]"],
    ),
    Case(
        "Slice",
        [Arg(["A", "B"]), ints(1), ints(3)],
        bindings=sizes(A=[0, 2, 5], B=[1]),
        expect=["[max(min(A - 1, 2), 0), B]"],
    ),
    Case("Slice", [Arg(["A", "B"]), ints(1), ints(3), ints(-1)], bindings=sizes(A=[2], B=[0, 1, 2, 4])),
    Case("Slice", [Arg(["A", "B"]), ints(1, 1), ints(3, 3), ints(0, 0)], bindings=sizes(A=[2], B=[0, 1])),
    Case("Slice", [Arg(["A", "B"]), ints(1), ints(3), ints(2)], bindings=sizes(A=[2], B=[0, 1])),
    Case("Slice", [Arg(["A", "B"]), ints(1), ints(3, 4)], bindings=sizes(A=[2], B=[1])),
    Case("Slice", [Arg(["A", "B"]), ints(1), ints(3), None, ints(2)], bindings=sizes(A=[2, 5], B=[1])),
    Case("Slice", [Arg([]), Arg(elements=[], dtype=I64), Arg(elements=[], dtype=I64)]),
    Case("Slice", [Arg(["N", 2]), ints(1, hidden=True), ints(3)], bindings=sizes(N=[0, 1, 5]), expect=["[?, 2]"]),
    Case("Slice", [Arg(["N", 2]), ints(1), ints(3, hidden=True)], bindings=sizes(N=[0, 1, 5]), expect=["[?, 2]"]),
    Case("Slice", [Arg(["N", 2]), ints(-2), ints(3, hidden=True)], bindings=sizes(N=[0, 1, 5])),
    Case("Slice", [Arg(["N", 2]), ints(0, hidden=True), ints(-1), ints(0), ints(3)], bindings=sizes(N=[0, 1, 5])),
    Case(
        "Slice",
        [Arg(["N", 2]), ints(3, hidden=True), ints(MIN, hidden=True), ints(0), ints(-2)],
        bindings=sizes(N=[0, 1, 5]),
    ),
    Case("Slice", [Arg(["N", 2]), ints(0), ints(4), ints(0), ints(2, hidden=True)], bindings=sizes(N=[0, 1, 5])),
    Case(
        "Slice",
        [Arg(["N", "M"]), ints(0), ints(4), ints(1, hidden=True)],
        bindings=sizes(N=[0, 1, 5], M=[6]),
        expect=["[?, ?]"],
    ),
    Case(
        "Slice",
        [Arg(["N", "M"]), ints(0), ints(4), Arg(["K"], dtype=I64, data=lambda s, r: np.zeros(s))],
        bindings=sizes(N=[0, 1, 5], M=[6], K=[1]),
        expect=["[?, ?]"],
    ),
    Case(
        "Slice",
        [Arg(["N", "M"], unknown_rank=True), ints(0), ints(4)],
        bindings=sizes(N=[0, 1, 5], M=[6]),
        expect=["?"],
    ),
    Case(
        "Slice",
        [Arg(["A", "B"])],
        {"starts": [1], "ends": [-1]},
        opset=9,
        bindings=sizes(A=[0, 1, 4], B=[1]),
        expect=["[max(A - 2, 0), B]"],
    ),
    Case(
        "Slice",
        [Arg(["A", "B"])],
        {"starts": [0, -2], "ends": [MAX, MAX], "axes": [0, 1]},
        opset=7,
        bindings=sizes(A=[0, 1, 4], B=[0, 1, 5]),
        expect=["[A, min(B, 2)]"],
    ),
    Case(
        "Slice",
        [ints("A", 1, "B", 2), ints(MAX), ints(MIN), ints(0), ints(-1)],
        bindings=sizes(A=[4], B=[5]),
        contents="[2, B, 1, A]",
    ),
    Case("Slice", [ints("A", 1, "B", 2), ints(-3), ints(MAX)], bindings=sizes(A=[4], B=[5]), contents="[1, B, 2]"),
    Case(
        "Slice",
        [ints("A", 1, "B", 2), ints(-100), ints(MIN), ints(0), ints(-1)],
        bindings=sizes(A=[4], B=[5]),
        contents="[A]",
    ),
    *(
        Case("Slice", [ints("A", 1, 2, 3, "B"), ints(s), ints(e), ints(0), ints(k)], bindings=sizes(A=[7], B=[8]))
        for s, e, k in product((0, 3, -2, 9, -9), (0, 4, -1, 9, MIN, MAX), (1, 2, -1, -3))
    ),
    Case(
        "Slice", [ints("A", 1, 2), ints("K"), ints(MAX)], bindings=sizes(A=[7], K=[0, 2, 5]), expect=["[max(3 - K, 0)]"]
    ),
]

SIZES = sizes(N=[0, 1, 2, 3, 6])

PAD = [
    *(
        Case("Pad", [Arg(["N", 2]), ints(*pads)], {"mode": mode}, bindings=SIZES)
        for mode in ("edge", "reflect")
        for pads in ((1, 0, -1, 0), (-1, 0, 1, 1), (2, 0, -1, 0), (-1, 0, 2, 0))
    ),
    *(
        Case("Pad", [Arg(["N"]), ints(b, e)], {"mode": mode}, bindings=SIZES)
        for mode in ("constant", "reflect", "edge", "wrap")
        for b, e in ((1, 2), (-1, 0), (-1, 3), (2, -1), (0, 0), (0, 3), (-2, -1))
    ),
    Case("Pad", [Arg(["N", 3]), ints(0, 1, 0, 0)], {"mode": "reflect"}, bindings=SIZES, expect=["[N, 4]"]),
    Case("Pad", [Arg(["N", 3]), ints(0, 1, 0, 0)], {"mode": "wrap"}, bindings=SIZES),
    Case("Pad", [Arg(["N", 3]), ints(1, 2, 0, -3)], bindings=SIZES, expect=["[N + 1, 2]"]),
    Case(
        "Pad",
        [Arg(["N", "H"]), ints(0, 0, 0, "(7 - H % 7) % 7")],
        bindings=sizes(N=[0, 2], H=[0, 1, 6, 7, 8]),
        expect=["[N, 7*((H + 6)//7)]"],
    ),
    Case(
        "Pad", [Arg(["N", 3]), ints(1, "K"), None, ints(-1)], bindings=sizes(N=[0, 2], K=[0, 2]), expect=["[N, K + 4]"]
    ),
    Case("Pad", [Arg(["N", 3]), ints(1, 1, 2, 2), None, ints(1, 1)], bindings=sizes(N=[2])),
    Case("Pad", [Arg(["N", 3]), ints(1, 1), None, ints(2)], bindings=sizes(N=[2])),
    Case("Pad", [Arg(["N", 3]), ints(1, 1), None, Arg(elements=[], dtype=I64)], bindings=sizes(N=[2])),
    Case("Pad", [Arg(["N", 3]), ints(1, 0, 0)], bindings=sizes(N=[2])),
    Case("Pad", [Arg([]), Arg(elements=[], dtype=I64)]),
    Case("Pad", [Arg(["N", 3]), ints(1, 1, 2, 2, hidden=True)], bindings=sizes(N=[2]), expect=["[?, ?]"]),
    Case("Pad", [Arg(["N", 3]), ints(1, 2), None, ints(1, hidden=True)], bindings=sizes(N=[2]), expect=["[?, ?]"]),
    Case("Pad", [Arg(["N", 3]), ints(1, 2, hidden=True), None, ints(1)], bindings=sizes(N=[2])),
    Case("Pad", [Arg(["N", 3], unknown_rank=True), ints(1, 1, 2, 2)], bindings=sizes(N=[2]), expect=["[?, ?]"]),
    Case("Pad", [Arg(["N", 3], unknown_rank=True), ints(1, 2), None, ints(1)], bindings=sizes(N=[2]), expect=["?"]),
    Case("Pad", [Arg(["N", 3])], {"pads": [0, 1, 2, -1]}, opset=10, bindings=SIZES, expect=["[N + 2, 3]"]),
    Case("Pad", [Arg(["N", 3])], {"pads": [0, 1, 0, 2], "mode": "edge"}, opset=7, bindings=SIZES, expect=["[N, 6]"]),
    Case("Pad", [Arg(["N", 3]), ints(0, 1, 0, 2), Arg(elements=1.5)], opset=13, bindings=SIZES, expect=["[N, 6]"]),
    Case("Pad", [ints("A", 2), ints(1, 2)], bindings=sizes(A=[4]), contents="[0, A, 2, 0, 0]"),
    Case("Pad", [ints("A", 2), ints(-1, 2), Arg(elements=9, dtype=I64)], bindings=sizes(A=[4]), contents="[2, 9, 9]"),
    Case("Pad", [ints("A", 2, 3), ints(-5, 4)], bindings=sizes(A=[4]), contents="[0, 0]"),
    Case("Pad", [ints("A", 2, 3), ints(2, -4)], bindings=sizes(A=[4]), contents="[0]"),
    Case(
        "Pad",
        [Arg(elements=[["A", 2], [3, "B"]], dtype=I64), ints(0, 1, -1, 0)],
        bindings=sizes(A=[4], B=[5]),
        contents="[[0, A, 2]]",
    ),
    Case("Pad", [ints("A", 2), ints(1, 1)], {"mode": "edge"}, bindings=sizes(A=[4]), expect=["[4]"]),
    *(
        Case("CenterCropPad", [Arg(["N", 4]), ints(t, u)], bindings=SIZES, expect=[f"[{t}, {u}]"])
        for t, u in ((3, 5), (0, 4), (7, 1))
    ),
    Case(
        "CenterCropPad",
        [Arg(["N", 4]), ints("T")],
        {"axes": [-2]},
        bindings=sizes(N=[0, 3, 4], T=[0, 1, 3, 6]),
        expect=["[T, 4]"],
    ),
    Case("CenterCropPad", [Arg(["N", 4]), ints(5, 3)], {"axes": [1, 0]}, bindings=SIZES, expect=["[3, 5]"]),
    Case("CenterCropPad", [Arg(["N", 4], unknown_rank=True), ints(2)], bindings=SIZES, expect=["?"]),
    Case("CenterCropPad", [Arg(["N", 4], unknown_rank=True), ints(2, 5)], bindings=SIZES, expect=["[?, ?]"]),
    Case("CenterCropPad", [Arg(["N", 4]), ints("T - 2")], {"axes": [0]}, bindings=sizes(N=[0, 3], T=[0, 1, 3, 6])),
    Case("CenterCropPad", [Arg(["N", 4]), ints(2)], bindings=SIZES),
    Case("CenterCropPad", [Arg(["N", 4], unknown_rank=True), ints(2, 2)], bindings=SIZES, expect=["[?, ?]"]),
]


@pytest.mark.share(2)
@pytest.mark.parametrize("case", SLICE + PAD, ids=lambda case: None)
def test_runs_agree(case: Case) -> None:
    run_case(case)
