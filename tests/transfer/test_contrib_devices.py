"""Operators of com.microsoft that no CPU kernel runs: what onnxruntime infers of their shapes, or the answer alone."""

from __future__ import annotations

from functools import partial

import pytest
from onnx import TensorProto
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

from absint.lattices.value import TOP
from tests.transfer.harness import Arg, Case, apply_case, sizes
from tests.transfer.inference import check_inferred

MS = partial(Case, domain="com.microsoft", opset=1)
F16, I8, U8, I32, I64 = (TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64)
S = Arg([])
BLH = sizes(B=[0, 1, 2], L=[1, 3], H=[8])
X = Arg(["B", "L", "H"], I8)
ORDERS = {"order_input": 1, "order_output": 1, "order_weight": 1, "num_heads": 2}
PRODUCT_ORDERS = {"order_A": 1, "order_B": 0, "order_Y": 1}


def self_attention(columns: object, *, expect: str) -> Case:
    weight, bias = Arg(["H", columns], I8), Arg([columns])  # type: ignore[list-item]
    inputs = [X, *[S] * 4, *[weight] * 3, *[S] * 3, *[bias] * 3, None, None, S]
    return MS("QOrderedAttention", inputs, ORDERS, bindings=BLH, expect=[expect])


MKN = sizes(B=[0, 1, 2], M=[0, 1, 5], K=[32], N=[3])
ROWS = Arg(["B", "M", "K"])
HALF = Arg(["B", "M", "K"], F16)
ATTRIBUTES = {"K": 32, "block_size": 32}


def packed(columns: int) -> list[Arg | None]:
    return [Arg([columns, 1, 16], U8), Arg([columns]), None]


INFERRED = [
    MS("QuantizeWithOrder", [ROWS, S], {"order_input": 1, "order_output": 2}, bindings=MKN, expect=["[B, M, K]"]),
    *(
        MS("DequantizeWithOrder", [X, S], {"order_input": 2, "order_output": 1, "to": to}, bindings=BLH)
        for to in (TensorProto.FLOAT, F16)
    ),
    MS("QOrderedGelu", [X, S, S], bindings=BLH, expect=["[B, L, H]"]),
    MS("QOrderedLayerNormalization", [X, S, Arg(["H"]), None, S], bindings=BLH, expect=["[B, L, H]"]),
    MS(
        "QOrderedMatMul",
        [Arg(["B", "M", "K"], I8), S, Arg(["K", "N"], I8), S, S],
        PRODUCT_ORDERS,
        bindings=MKN,
        expect=["[B, M, N]"],
    ),
    self_attention("H", expect="[B, L, H]"),
    MS(
        "QOrderedLongformerAttention",
        [
            *[X, S, Arg(["H", "3*H"], I8), S, Arg(["3*H"]), S, S, Arg(["B", "L"], F16)],
            *[Arg(["H", "3*H"], I8), S, Arg(["3*H"]), S, Arg(["B", "L"], I32), S],
        ],
        {**ORDERS, "order_global_weight": 1, "window": 2},
        bindings=BLH,
        expect=["[B, L, H]"],
    ),
    MS(
        "MatMulNBitsMlp",
        [ROWS, None, None, *packed(5), *packed(5)],
        {**ATTRIBUTES, "N": 5, "activation": "silu"},
        bindings=MKN,
        expect=["[B, M, 5]"],
    ),
    MS(
        "MatMulNBitsMlp",
        [ROWS, ROWS, Arg([32]), *packed(5), *packed(5)],
        {**ATTRIBUTES, "N": 5, "activation": "silu"},
        outputs=2,
        bindings=MKN,
        expect=["[B, M, 5]", "[B, M, K]"],
    ),
    MS(
        "MatMulNBitsQkv",
        [ROWS, ROWS, Arg([32]), *packed(5), *packed(7), *packed(7)],
        {**ATTRIBUTES, "Nq": 5, "Nkv": 7},
        outputs=4,
        bindings=MKN,
        expect=["[B, M, 5]", "[B, M, 7]", "[B, M, 7]", "[B, M, K]"],
    ),
    MS(
        "MatMulBlockQuantizedFp4Weight",
        [HALF, Arg(["N", "K//2"], U8), Arg(["N", "K//16"], U8), S],
        bindings=MKN,
        expect=["[B, M, N]"],
    ),
    MS(
        "MatMulBlockQuantizedFp8Weight",
        [HALF, Arg(["N", "K"], TensorProto.FLOAT8E4M3FN), Arg(["N", 1])],
        bindings=MKN,
        expect=["[B, M, N]"],
    ),
    MS("MatMulBlockQuantizedFp8Weight", [Arg([32], F16), Arg([5, 32], TensorProto.FLOAT8E4M3FN), Arg([5, 1])], {}),
    *(
        MS("GemmFloat8", [Arg(["M", "K"]), Arg(["K", "N"])], {"dtype": dtype}, bindings=MKN, expect=["[M, N]"])
        for dtype in (TensorProto.FLOAT, F16)
    ),
    MS(
        "GemmFloat8",
        [Arg(["K", "M"]), Arg(["N", "K"]), Arg(["N"])],
        {"transA": 1, "transB": 1},
        bindings=MKN,
        expect=["[M, N]"],
    ),
    MS(
        "FusedMatMulActivation",
        [Arg(["B", "K", "M"]), Arg(["B", "K", "N"])],
        {"activation": "Relu", "transA": 1},
        bindings=MKN,
        expect=["[B, M, N]"],
    ),
    MS(
        "FusedMatMulActivation",
        [Arg(["M", "B", "K"]), Arg(["B", "K", "N"])],
        {"activation": "Relu", "transBatchA": 1},
        bindings=MKN,
        expect=["[B, M, N]"],
    ),
]


@pytest.mark.parametrize("case", INFERRED, ids=str)
def test_inference_agrees(case: Case) -> None:
    assert check_inferred(case) > 0


U = Arg(["N", 1], U8)
ALONE = [
    # The documents say 2*H, the inference H.
    (self_attention("2*H", expect="[B, L, ?]"), "Tensor(INT8[B, L, ?])"),
    # The schema infers nothing, or its inference fails where a zero point is left out.
    (MS("MulInteger", [U, Arg([], U8), Arg(["M"], U8)]), "Tensor(INT32[N, M])"),
    (MS("ReduceSumInteger", [Arg(["N", "M"], U8)], {"axes": [1], "keepdims": 0}), "Tensor(?[N])"),
    (MS("ReduceSumInteger", [Arg(["N", "M"], I8)], {"axes": [0], "keepdims": 1}), "Tensor(?[1, M])"),
    (MS("QuantizeBFP", [Arg(["N", 3])], {"bfp_type": 0}), "Tensor(UINT8[?])"),
    (MS("DequantizeBFP", [Arg(["K"], U8), Arg(elements=["N", 3], dtype=I64), Arg([2], I64)]), "Tensor(FLOAT[N, 3])"),
    (MS("DequantizeBFP", [Arg(["K"], U8), Arg([2], I64), Arg([2], I64)], {"dtype": 10}), "Tensor(FLOAT16[?, ?])"),
    (MS("DequantizeBFP", [Arg(["K"], U8), Arg(["R"], I64), Arg(["R"], I64)]), "Tensor(FLOAT?)"),
    (MS("QuantizeWithOrder", [Arg(["N"]), S], {"order_input": 1, "order_output": 1}), "Tensor(INT8?)"),
    (MS("MatMulNBitsMlp", [Arg(["N", 31]), None, None], {"K": 32, "N": 5}), "?"),
]


@pytest.mark.parametrize(("case", "expect"), ALONE, ids=lambda item: str(item))
def test_claims_without_a_runtime(case: Case, expect: str) -> None:
    assert str(apply_case(case).outputs[0]).replace('"', "") == expect


def test_quantised_bfp_tells_the_shape() -> None:
    _, shape, strides = apply_case(MS("QuantizeBFP", [Arg(["N", 3])], {"bfp_type": 0}, outputs=3)).outputs
    assert str(shape) == "Tensor(INT64[2] = [N, 3])"
    assert str(strides) == "Tensor(INT64[2])"


def test_a_compiled_graph_says_nothing() -> None:
    applied = apply_case(MS("EPContext", [X], outputs=2))
    assert applied.outputs == (TOP, TOP)
    assert applied.doubts


def test_no_case_here_could_run() -> None:
    names = {case.op for case in INFERRED} | {case.op for case, _ in ALONE} | {"EPContext"}
    kernels = {kernel.op_name for kernel in get_all_opkernel_def() if kernel.provider == "CPUExecutionProvider"}
    assert not names & kernels
