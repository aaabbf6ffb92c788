"""Matrix products and determinants, executed."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, run_case, sizes

U8, I8 = TensorProto.UINT8, TensorProto.INT8
MKN = sizes(M=[0, 1, 3], K=[0, 1, 5], N=[1, 4])

MATMUL = [
    Case("MatMul", [Arg(["M", "K"]), Arg(["K", "N"])], bindings=MKN, expect=["[M, N]"]),
    Case(
        "MatMul",
        [Arg(["B", 1, "M", 3]), Arg(["A", 3, "N"])],
        bindings=sizes(A=[0, 1, 2], B=[0, 1, 2], M=[1, 4], N=[2]),
        expect=["[B, A, M, N]"],
    ),
    Case("MatMul", [Arg(["K1"]), Arg(["K2"])], bindings=sizes(K1=[0, 1, 2, 3], K2=[0, 1, 2, 3]), expect=["[]"]),
    # onnxruntime refuses a vector against an empty batch, numpy does not.
    Case(
        "MatMul",
        [Arg(["K1"]), Arg(["B", "K2", "N"])],
        bindings=sizes(K1=[1, 3], K2=[1, 3], B=[0, 1, 2], N=[0, 4]),
        expect=["[B, N]"],
    ),
    Case("MatMul", [Arg(["B", "M", "K1"]), Arg(["K2"])], bindings=sizes(K1=[1, 3], K2=[1, 3], B=[0, 2], M=[0, 4])),
    Case("MatMul", [Arg([2, "M", 3]), Arg([3])], bindings=sizes(M=[0, 1, 4]), expect=["[2, M]"]),
    Case("MatMul", [Arg(["M", "K"]), Arg(["K"])], bindings=sizes(M=[0, 1, 4], K=[0, 3]), expect=["[M]"]),
    Case(
        "MatMul",
        [Arg(["A", "M", 2]), Arg(["B", 2, "N"])],
        bindings=sizes(A=[0, 1, 2, 3], B=[0, 1, 2, 3], M=[1], N=[2]),
        expect=["[broadcast(A, B), M, N]"],
    ),
    Case(
        "MatMul",
        [Arg(["A", "B", "M", 2]), Arg([2, 3])],
        bindings=sizes(A=[0, 1, 2], B=[0, 3], M=[0, 2]),
        expect=["[A, B, M, 3]"],
    ),
    Case("MatMul", [Arg([]), Arg(["N"])], bindings=sizes(N=[1, 2])),
    Case("MatMul", [Arg(["M", 3], unknown_rank=True), Arg([3, "N"])], bindings=sizes(M=[2], N=[3]), expect=["?"]),
    Case(
        "MatMul", [Arg([2, "K"]), Arg(["L", 4])], bindings=sizes(K=[0, 1, 2], L=[0, 1, 2]), opset=7, expect=["[2, 4]"]
    ),
    Case("MatMulInteger", [Arg(["M", "K"], U8), Arg(["K", "N"], I8)], bindings=MKN, expect=["[M, N]"]),
    Case("MatMulInteger", [Arg(["K"], U8), Arg(["L"], U8)], bindings=sizes(K=[1, 2], L=[1, 2]), expect=["[]"]),
    Case(
        "QLinearMatMul",
        [
            *(Arg(["M", "K"], U8), Arg([]), Arg([], U8)),
            *(Arg(["L", 4], U8), Arg([4]), Arg([4], U8)),
            *(Arg([]), Arg([], U8)),
        ],
        bindings=sizes(M=[0, 1, 3], K=[0, 1, 3], L=[0, 1, 3]),
        expect=["[M, 4]"],
    ),
]

GEMM = [
    Case(
        "Gemm",
        [Arg(["M", "K"]), Arg(["L", "N"])],
        bindings=sizes(M=[0, 1, 3], K=[0, 1, 2], L=[0, 1, 2], N=[0, 4]),
        expect=["[M, N]"],
    ),
    Case(
        "Gemm",
        [Arg(["K", "M"]), Arg(["N", "L"]), Arg(["C"])],
        {"transA": 1, "transB": 1, "beta": 0.0},
        bindings=sizes(M=[0, 2], K=[1, 2], L=[1, 2], N=[0, 1, 4], C=[0, 1, 2, 4]),
        expect=["[M, N]"],
    ),
    Case(
        "Gemm",
        [Arg(["M", 2]), Arg([2, "N"]), Arg(["P", "Q"])],
        bindings=sizes(M=[0, 1, 2], N=[0, 1, 4], P=[0, 1, 2], Q=[0, 1, 4]),
    ),
    Case("Gemm", [Arg(["M", 2]), Arg([2, "N"]), Arg([])], bindings=sizes(M=[0, 2], N=[0, 3]), expect=["[M, N]"]),
    Case("Gemm", [Arg(["M", 2]), Arg([2, "N"]), None], bindings=sizes(M=[0, 2], N=[0, 3]), opset=11),
    Case("Gemm", [Arg(["M", 2]), Arg([2, "N"]), Arg(["N"])], bindings=sizes(M=[0, 2], N=[0, 3]), opset=7),
    Case("Gemm", [Arg(["M", 2]), Arg([2, "N"]), Arg([1, "M", "N"])], bindings=sizes(M=[2], N=[3])),
    Case("Gemm", [Arg(["K"]), Arg(["K", "N"])], bindings=sizes(K=[1, 2], N=[3]), expect=["[1, N]"]),
    Case("Gemm", [Arg(["K"]), Arg([1, "N"])], {"transA": 1}, bindings=sizes(K=[1, 2], N=[3]), expect=["[K, N]"]),
    Case("Gemm", [Arg(["M", "K"], unknown_rank=True), Arg([3, "N"])], bindings=sizes(M=[2], K=[3], N=[3])),
]

DET = [
    Case("Det", [Arg(["B", "M", "N"])], bindings=sizes(B=[0, 1, 3], M=[0, 1, 2], N=[0, 1, 2]), expect=["[B]"]),
    Case("Det", [Arg(["M", "M"])], bindings=sizes(M=[0, 1, 2]), expect=["[]"]),
    Case("Det", [Arg(["M"])], bindings=sizes(M=[1, 2])),
    Case("Det", [Arg([2, 2], unknown_rank=True)], expect=["?"]),
]


@pytest.mark.parametrize("case", MATMUL + GEMM + DET, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)
