"""TopK, ArgMax, NonZero, Compress and Unique, executed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

I64, I32, F32, BOOL = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.BOOL

TOP_K = [
    Case(
        "TopK",
        [Arg(["N", "M"]), Arg(elements=[2], dtype=I64)],
        outputs=2,
        bindings=sizes(N=[0, 3], M=[0, 1, 2, 5]),
        expect=["[N, 2]"] * 2,
    ),
    Case(
        "TopK",
        [Arg(["N", "M"]), Arg(elements=["k"], dtype=I64)],
        {"axis": 0},
        outputs=2,
        bindings=sizes(N=[0, 1, 3], M=[0, 2], k=[0, 1, 3]),
        expect=["[k, M]"] * 2,
    ),
    Case(
        "TopK",
        [Arg(["N"]), Arg(elements=["k - 1"], dtype=I64)],
        outputs=2,
        bindings=sizes(N=[0, 1, 3], k=[0, 1, 2, 4]),
        expect=["[k - 1]"] * 2,
    ),
    Case(
        "TopK",
        [Arg(["N", "M"]), Arg(elements=[2], dtype=I64, hidden=True)],
        outputs=2,
        bindings=sizes(N=[0, 3], M=[0, 2, 5]),
        expect=["[N, ?]"] * 2,
    ),
    Case("TopK", [Arg(["N"]), Arg(["one"], I64, high=1)], outputs=2, bindings=sizes(N=[0, 3], one=[0, 1, 2])),
    Case(
        "TopK",
        [Arg(["N", "M"], unknown_rank=True), Arg(elements=[1], dtype=I64)],
        outputs=2,
        bindings=sizes(N=[3], M=[1]),
        expect=["?", "?"],
    ),
    Case(
        "TopK",
        [Arg(["N", "M"])],
        {"k": 2},
        outputs=2,
        opset=9,
        bindings=sizes(N=[0, 3], M=[0, 2, 5]),
        expect=["[N, 2]"] * 2,
    ),
    Case(
        "TopK",
        [Arg(["N", "M"])],
        {"k": 1, "axis": 0},
        outputs=2,
        opset=8,
        bindings=sizes(N=[0, 3], M=[0, 2]),
        expect=["[1, M]"] * 2,
    ),
    Case(
        "TopK",
        [Arg(["N", "M"]), Arg(elements=[2], dtype=I64)],
        outputs=2,
        opset=10,
        bindings=sizes(N=[0, 3], M=[0, 2, 5]),
        expect=["[N, 2]"] * 2,
    ),
]

ARG = [
    Case("ArgMax", [Arg(["N", "M"])], bindings=sizes(N=[0, 1, 3], M=[0, 2]), expect=["[1, M]"]),
    Case("ArgMax", [Arg(["N", "M"])], {"axis": -1, "keepdims": 0}, bindings=sizes(N=[1, 3], M=[1, 2]), expect=["[N]"]),
    Case("ArgMin", [Arg(["N"])], {"keepdims": 0}, opset=7, bindings=sizes(N=[0, 3]), expect=["[]"]),
    Case("ArgMax", [Arg([])], expect=["[]"], contents="0"),
    Case("ArgMax", [Arg(["N", 1])], {"axis": 1}, bindings=sizes(N=[0, 3]), expect=["[N, 1]"], contents="all 0"),
    Case("ArgMax", [Arg(["N", 4], unknown_rank=True)], bindings=sizes(N=[3]), expect=["?"]),
]

NON_ZERO = [
    Case("NonZero", [Arg(["N", "M"])], bindings=sizes(N=[0, 1, 3], M=[0, 2]), expect=["[2, ?]"]),
    Case("NonZero", [Arg(["N"], BOOL)], bindings=sizes(N=[0, 1, 30]), expect=["[1, ?]"]),
    Case("NonZero", [Arg(["N", "M"], I64, low=0, high=2)], bindings=sizes(N=[0, 9], M=[7]), expect=["[2, ?]"], opset=9),
    Case("NonZero", [Arg([], I64, low=0, high=2)], bindings=[{}, {}, {}]),
    Case("NonZero", [Arg(["N"], unknown_rank=True)], bindings=sizes(N=[0, 3])),
    Case("NonZero", [Arg(elements=[0, 3, -1], dtype=I64)], contents="[[1, 2]]"),
    Case("NonZero", [Arg(elements=[[0.0, 0.5], [-0.0, 2]], dtype=F32)], contents="[[0, 1], [1, 1]]"),
    Case("NonZero", [Arg(elements=[0, "N + 1", "N"], dtype=I64)], bindings=sizes(N=[0, 1, 4])),
    Case("NonZero", [Arg(elements=np.zeros((0, 2)), dtype=I64)], expect=["[2, 0]"]),
    Case("NonZero", [Arg(elements=[1, 2, 3], dtype=I64, hidden=True)], expect=["[1, ?]"]),
]

COMPRESS = [
    Case(
        "Compress",
        [Arg(["N", "M"]), Arg(["C"], BOOL)],
        {"axis": 0},
        bindings=sizes(N=[0, 2, 5], M=[0, 3], C=[0, 2, 5]),
        expect=["[?, M]"],
    ),
    Case(
        "Compress",
        [Arg(["N", "M"]), Arg(["C"], BOOL)],
        bindings=sizes(N=[0, 2, 5], M=[0, 3], C=[0, 2, 9]),
        expect=["[?]"],
    ),
    Case(
        "Compress",
        [Arg([3, "M"]), Arg(elements=[True, False, True], dtype=BOOL)],
        {"axis": 0},
        bindings=sizes(M=[0, 3]),
        expect=["[2, M]"],
    ),
    # The spec wants a condition no longer than the axis; onnxruntime ignores the rest.
    Case(
        "Compress",
        [Arg(["N", "M"]), Arg(elements=[True, False, True], dtype=BOOL)],
        {"axis": -2},
        opset=9,
        bindings=sizes(N=[0, 1, 2, 3, 4], M=[0, 3]),
    ),
    Case(
        "Compress",
        [Arg(elements=["N", 2, "M"], dtype=I64), Arg(elements=[True, False, True], dtype=BOOL)],
        bindings=sizes(M=[0, 3], N=[4]),
        contents="[N, M]",
    ),
    Case(
        "Compress",
        [Arg(["N", "M"], unknown_rank=True), Arg(["C"], BOOL)],
        bindings=sizes(N=[2], M=[3], C=[5]),
        expect=["[?]"],
    ),
    Case(
        "Compress",
        [Arg(["N", "M"], unknown_rank=True), Arg(["C"], BOOL)],
        {"axis": 1},
        bindings=sizes(N=[2], M=[3], C=[2]),
        expect=["?"],
    ),
]

# onnxruntime crashes on a Unique along an axis of an array whose other axes are empty: not run here.
UNIQUE = [
    Case(
        "Unique",
        [Arg(["N", "M"], I64, high=3)],
        outputs=4,
        bindings=sizes(N=[0, 1, 4], M=[0, 3]),
        expect=["[?]", "[?]", "[M*N]", "[?]"],
    ),
    Case(
        "Unique",
        [Arg(["N", "M"], I64, high=2)],
        {"axis": 0},
        outputs=4,
        bindings=sizes(N=[0, 1, 4], M=[1, 3]),
        expect=["[?, M]", "[?]", "[N]", "[?]"],
    ),
    Case(
        "Unique",
        [Arg(["N", "M"], I64, high=2)],
        {"axis": -1, "sorted": 0},
        outputs=1,
        bindings=sizes(N=[1, 4], M=[0, 1, 3]),
        expect=["[N, ?]"],
    ),
    Case("Unique", [Arg([], I64)], outputs=4, expect=["[1]"] * 4),
    Case("Unique", [Arg(["N"], I64, unknown_rank=True)], outputs=2, bindings=sizes(N=[0, 4]), expect=["[?]"] * 2),
    Case("Unique", [Arg(["N", 2], I64, unknown_rank=True)], {"axis": 0}, outputs=2, bindings=sizes(N=[0, 4])),
]


@pytest.mark.parametrize("case", TOP_K + ARG + NON_ZERO + COMPRESS + UNIQUE, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


REJECTED = [
    Case("TopK", [Arg(["N"]), Arg(elements=[-1], dtype=I64)], outputs=2, bindings=sizes(N=[1])),
    Case("TopK", [Arg([]), Arg(elements=[1], dtype=I64)], outputs=2),
    Case("TopK", [Arg(["N"]), Arg(elements=1, dtype=I64)], outputs=2, bindings=sizes(N=[1])),
    Case("TopK", [Arg([2]), Arg(elements=[3], dtype=I64)], outputs=2),
    Case("ArgMax", [Arg(["N"])], {"axis": 1}, bindings=sizes(N=[1])),
    Case("ArgMax", [Arg([0, 3])]),
    Case("Compress", [Arg([]), Arg(["C"], BOOL)], {"axis": 0}, bindings=sizes(C=[1])),
    Case("Unique", [Arg([])], {"axis": 0}),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


def test_counts_are_bounded_by_what_is_there() -> None:
    stated = apply_case(Case("NonZero", [Arg(["N", "M"])])).statements
    assert [s.role for s in stated] == ["defined"]
    assert stated[0].relation.evaluate({"N": 2, "M": 3, "%hole:count": 6})
    assert not stated[0].relation.evaluate({"N": 2, "M": 3, "%hole:count": 7})
