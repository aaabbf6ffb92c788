"""Quantised operators of the com.microsoft domain, executed by onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.value import SparseTensor, Tensor
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

MS = partial(Case, domain="com.microsoft", opset=1)
U8, I8, I32, I64, U4 = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT4
S, Z, ZI = Arg([], data=lambda s, r: np.full(s, 0.5)), Arg([], U8, high=1), Arg([], I8, high=1)


def u8(*dims: object) -> Arg:
    return Arg(dims, U8)  # type: ignore[arg-type]


def gemm(a: Arg, b: Arg, *rest: Arg | None, b_scale: Arg = S, b_zero: Arg = Z, **settings: object) -> Case:
    return MS("QGemm", [a, S, Z, b, b_scale, b_zero, *rest], **settings)  # type: ignore[arg-type]


def concat(axis: int, *parts: Arg, **settings: object) -> Case:
    inputs = [S, Z, *(e for part in parts for e in (part, S, Z))]
    return MS("QLinearConcat", inputs, {"axis": axis}, **settings)  # type: ignore[arg-type]


def constant(*dims: int, dtype: int = TensorProto.FLOAT) -> Arg:
    return Arg(elements=np.ones(dims, int).tolist(), dtype=dtype)


def n_bits(*rest: Arg | None, rows: int = 32, bits: int = 4, block: int = 16, dtype: int = 1, level: int = 0) -> Case:
    """A product with a packed matrix of 5 columns that the model holds, as exporters write it."""
    blocks = -(-rows // block)
    weights = [constant(5, blocks, block * bits // 8, dtype=U8), constant(5, blocks, dtype=dtype)]
    attributes = {"K": rows, "N": 5, "bits": bits, "block_size": block, "accuracy_level": level}
    bindings = sizes(M=[0, 1, 3], K=[rows, rows - 1], B=[1, 2])
    inputs = [Arg(["B", "M", "K"], dtype), *weights, *rest]
    return MS("MatMulNBits", inputs, attributes, bindings=bindings, expect=["[B, M, 5]"])


def softmax(x: Arg, opset: int, **attributes: int) -> Case:
    bindings = sizes(N=[0, 1, 2], M=[0, 1, 3])
    return MS("QLinearSoftmax", [x, S, Z, S, Z], {"opset": opset, **attributes}, bindings=bindings)


MKN = sizes(M=[0, 1, 3], K=[0, 1, 4], L=[4], N=[1, 2])
PRODUCTS = [
    gemm(u8("M", "K"), u8("L", "N"), bindings=MKN, expect=["[M, N]"]),
    gemm(u8("K", "M"), u8("N", "L"), attributes={"transA": 1, "transB": 1}, bindings=MKN, expect=["[M, N]"]),
    gemm(u8("K"), u8("L", "N"), bindings=MKN, expect=["[1, N]"]),
    gemm(u8("M", 3), u8(3, "N"), None, S, Z, bindings=sizes(M=[0, 1, 2], N=[0, 5]), expect=["[M, N]"]),
    gemm(u8("M", 3), u8(3, "N"), None, None, Z, bindings=sizes(M=[0, 1, 2], N=[5]), expect=["[M, N]"]),
    gemm(u8("M", 3), u8(3, "N"), Arg(["P", "Q"], I32), bindings=sizes(M=[1, 2], N=[1, 5], P=[1, 2], Q=[1, 5, 3])),
    gemm(u8("M", 3), u8(3, "N"), Arg(["P"], I32), bindings=sizes(M=[2], N=[1, 5], P=[1, 2, 5])),
    gemm(u8(2, 3), u8(3, "N"), b_scale=Arg(["P"]), b_zero=u8("P"), bindings=sizes(N=[1, 3], P=[1, 2, 3])),
    gemm(u8(2, 3), u8(3, 4), b_scale=Arg(["P"]), b_zero=u8("Q"), bindings=sizes(P=[1, 4], Q=[1, 4])),
    *(
        MS(
            "QGemm",
            [u8("M", 3), a_scale, a_zero, u8(3, "N"), S, Z, None, y_scale, Z],
            bindings=sizes(M=[0, 2], N=[0, 2], P=[0, 1, 2]),
        )
        for a_scale, a_zero, y_scale in ((Arg(["P"]), Z, S), (S, u8("P"), S), (S, Z, Arg(["P"])))
    ),
    gemm(u8("M", 3), Arg([3, 4], I8), b_zero=ZI, bindings=sizes(M=[0, 1, 2]), expect=["[M, 4]"]),
    MS(
        "MatMulNBits",
        [Arg(["K"]), u8(5, 1, 16), Arg([5])],
        {"K": 32, "N": 5, "bits": 4, "block_size": 32},
        bindings=sizes(K=[31, 32]),
        expect=["[5]"],
    ),
    *(n_bits(rows=rows, bits=bits, level=level) for rows in (32, 33) for bits in (2, 4, 8) for level in (0, 4)),
    *(n_bits(bits=bits, block=block, level=level) for bits in (2, 4, 8) for block in (32, 128) for level in (0, 4)),
    *(n_bits(constant(5, packed, dtype=U8), bits=bits) for bits, packed in ((2, 1), (4, 1), (8, 2))),
    n_bits(constant(10, dtype=U8), None, constant(5), bits=8, level=4),
    n_bits(constant(5, 2), bits=4),
    n_bits(None, None, constant(5)),
    n_bits(None, Arg(elements=[0] * 16 + [1] * 16, dtype=I32)),
    n_bits(dtype=TensorProto.FLOAT16),
    MS(
        "MatMulBnb4",
        [Arg(["B", "M", "K"]), u8(80), Arg([10])],
        {"K": 32, "N": 5, "block_size": 16, "quant_type": 1},
        bindings=sizes(B=[1, 2], M=[0, 1, 3], K=[32, 31]),
        expect=["[B, M, 5]"],
    ),
    MS(
        "MatMulBnb4",
        [Arg(["M", "K"]), u8(80), Arg([10])],
        {"K": 32, "N": 5, "block_size": 16, "quant_type": 0, "transB": 0},
        bindings=sizes(M=[0, 1, 3], K=[5, 32]),
        expect=["[M, 32]"],
    ),
    MS(
        "MatMulFpQ4",
        [Arg(["B", "M", "K"]), u8(100), Arg(elements=[32, 5], dtype=I64)],
        {"blk_quant_type": 0},
        bindings=sizes(B=[1, 2], M=[0, 1, 3], K=[32, 31]),
        expect=["[B, M, 5]"],
    ),
    MS(
        "MatMulFpQ4",
        [Arg(["M", 32]), u8(100), Arg(elements=[32, 5], dtype=I64, hidden=True)],
        {"blk_quant_type": 0},
        bindings=sizes(M=[0, 1, 3]),
        expect=["[M, ?]"],
    ),
    MS(
        "TransposeMatMul",
        [Arg(["B", "K", "M"]), Arg(["B", "N", "L"])],
        {"transA": 1, "transB": 1},
        bindings=sizes(B=[1, 2], K=[0, 3], L=[3], M=[2], N=[0, 4]),
        expect=["[B, M, N]"],
    ),
]

P1, Z1 = Arg(["P"]), u8("P")
# A scale of several values for a product of one column crashes onnxruntime.
COLUMNS = [*sizes(M=[0, 1, 3], K=[1, 4], N=[0, 2, 5], P=[0, 1, 2]), {"M": 3, "K": 4, "N": 1, "P": 1}]


def dynamic(a: list[object], b: list[object], *rest: Arg | None, **settings: object) -> Case:
    inputs = [Arg(a), Arg(b, U8), *rest]  # type: ignore[arg-type]
    return MS("DynamicQuantizeMatMul", inputs, **settings)  # type: ignore[arg-type]


def to_float(a: list[object], b: list[object], *rest: Arg | None, **settings: object) -> Case:
    inputs = [Arg(a, U8), Arg(b, U8), *rest]  # type: ignore[arg-type]
    return MS("MatMulIntegerToFloat", inputs, **settings)  # type: ignore[arg-type]


SCALED = [
    *(dynamic(["M", "K"], ["K", "N"], *rest, bindings=COLUMNS) for rest in ((S,), (S, Z), (P1,), (P1, Z1), (P1, Z))),
    dynamic(["M", "K"], ["K", "N"], S, Z, P1, bindings=COLUMNS, expect=["[M, N]"]),
    dynamic(["M", 4], [4, "N"], S, Z, Arg([1, "P"]), bindings=COLUMNS),
    dynamic(["M", 4], [4, "N"], Arg(["P", 1]), bindings=COLUMNS),
    dynamic(["B", "M", "K"], ["K", "N"], P1, bindings=sizes(B=[0, 1, 2], M=[0, 3], K=[0, 2], N=[2], P=[1, 2])),
    dynamic(["M", "K"], ["K"], P1, None, Arg(["Q"]), bindings=sizes(M=[0, 1, 3], K=[2], P=[1], Q=[1, 3])),
    dynamic(["K"], ["K", "N"], P1, None, Arg(["Q"]), bindings=sizes(K=[2], N=[2, 3], P=[1, 2, 3], Q=[1, 3])),
    dynamic(["B", "M", 4], ["C", 4, "N"], S, bindings=sizes(B=[1, 2], C=[1, 2, 3], M=[1, 3], N=[5])),
    *(
        to_float(["M", 4], [4, "N"], *rest, bindings=COLUMNS)
        for rest in ((S, S), (S, S, Z, Z), (P1, S), (S, P1), (S, P1, Z, Z1), (S, S, Z1, Z), (S, S, Z, Z, P1))
    ),
    to_float(["B", "M", "K"], ["L", "N"], S, S, bindings=sizes(B=[1, 2], M=[0, 3], K=[1, 2], L=[2], N=[2])),
    MS(
        "MatMulInteger16",
        [Arg(["B", "M", "K"], TensorProto.INT16), Arg(["L", "N"], TensorProto.INT16)],
        bindings=sizes(B=[0, 1, 2], M=[0, 3], K=[0, 1, 2], L=[0, 2], N=[2]),
        expect=["[B, M, N]"],
    ),
    MS(
        "MatMulInteger16",
        [Arg(["K"], TensorProto.INT16), Arg(["K"], TensorProto.INT16)],
        bindings=sizes(K=[0, 1, 2, 5, 7]),
        expect=["[]"],
    ),
]

NMP = sizes(N=[0, 1, 2], M=[0, 1, 3], P=[1, 2])
AXIS = sizes(N=[0, 1, 2], M=[0, 1, 3], P=[0, 1, 2, 3])
ELEMENTWISE = [
    *(
        MS(name, [u8("N", "M"), P1, Z, u8("M"), S, Z1, S, Z], bindings=NMP, expect=["[N, M]"])
        for name in ("QLinearAdd", "QLinearMul")
    ),
    MS("QLinearAdd", [u8("N", 1), S, Z, u8("M"), S, Z, P1, Z1], bindings=NMP, expect=["[N, M]"]),
    MS("QLinearAdd", [u8("N"), S, Z, u8("M"), S, Z, S, Z], bindings=NMP),
    MS("QLinearAdd", [u8(), S, Z, u8(), S, Z, S, Z], expect=["[]"]),
    *(
        MS("QLinearWhere", [Arg(condition, TensorProto.BOOL), u8("M"), P1, Z, u8("N", "M"), S, Z, S, Z1], bindings=NMP)
        for condition in (["N", 1], ["M"], [])
    ),
    *(
        MS(name, [u8("N", "M"), P1, Z, S, Z1], bindings=NMP, expect=["[N, M]"])
        for name in ("QLinearSigmoid", "QLinearLeakyRelu")
    ),
    MS("QLinearSigmoid", [u8(), S, Z, S, Z], expect=["[]"]),
    *(
        MS("QuantizeLinear", [Arg(dims), Arg(scale), u8(*scale)], attributes, bindings=AXIS)
        for dims, scale, attributes in (
            (["N", "M"], ["P"], {}),
            (["N", "M"], ["P"], {"axis": 0}),
            (["N", "M"], ["P"], {"axis": -1}),
            (["N", "M"], [], {"axis": 9}),
            (["N"], ["P"], {}),
            (["N"], ["P"], {"axis": 0}),
        )
    ),
    MS("QuantizeLinear", [Arg(["N", "M"]), S, Arg([], TensorProto.INT16)], bindings=NMP, expect=["[N, M]"]),
    MS("QuantizeLinear", [Arg(["N", "M"]), S], bindings=NMP, expect=["[N, M]"]),
    MS("DequantizeLinear", [u8("N", "M"), P1, Z1], bindings=AXIS),
    MS("DequantizeLinear", [u8("N", "M"), P1, Z1], {"axis": 0}, bindings=AXIS),
    MS("DequantizeLinear", [u8("N", "M"), Arg([], TensorProto.FLOAT16), Z], bindings=NMP, expect=["[N, M]"]),
]

LAYERS = [
    concat(0, u8("N", 3), u8("M", "C"), bindings=sizes(N=[0, 1, 2], M=[0, 1, 2], C=[3, 4])),
    concat(-1, u8("N", "M"), u8("N", "C"), bindings=sizes(N=[0, 1, 2], M=[0, 1], C=[0, 3]), expect=["[N, C + M]"]),
    concat(1, u8("N", 1, "M"), u8("N", "C", "M"), bindings=sizes(N=[0, 1, 2], M=[0, 1, 3], C=[0, 2])),
    MS("QLinearConcat", [P1, Z, u8("N", 3), P1, Z1], {"axis": 0}, bindings=sizes(N=[1, 2], P=[1, 2])),
    concat(0, u8("N"), bindings=sizes(N=[0, 1, 2, 5, 7]), expect=["[N]"]),
    *(softmax(u8("N", "M"), opset) for opset in (12, 13)),
    softmax(u8("N", "M"), 13, axis=0),
    softmax(u8("N", "M"), 11, axis=1),
    softmax(u8("N", "M"), 13, axis=5),
    MS(
        "DynamicQuantizeLSTM",
        [Arg(["T", "B", "I"]), u8("D", "J", 16), u8("D", 4, 16), *[None] * 5, *[Arg(["D"]), u8("D")] * 2],
        {"hidden_size": 4},
        outputs=3,
        bindings=sizes(T=[0, 1, 3], B=[1, 2], I=[3, 5], J=[3], D=[1]),
        expect=["[T, 1, B, 4]", "[1, B, 4]", "[1, B, 4]"],
    ),
    MS(
        "DynamicQuantizeLSTM",
        [
            Arg(["T", "B", 3]),
            u8(2, 3, 16),
            u8(2, 4, 16),
            Arg([2, "P"]),
            None,
            Arg([2, "B", 4]),
            Arg([2, "B", "H"]),
            None,
            *[Arg([2, 16]), Arg(elements=np.ones((2, 16), int), dtype=U8)] * 2,
        ],
        {"hidden_size": 4, "direction": "bidirectional"},
        outputs=3,
        bindings=sizes(T=[1, 2], B=[1, 3], P=[32, 16], H=[4, 2]),
        expect=["[T, 2, B, 4]", "[2, B, 4]", "[2, B, 4]"],
    ),
]

IDS = Arg(["B", "L"], I32, high=2)
SCALES, ZEROS = [S] * 5, [Z] * 5


def embedding(*inputs: Arg | None, scales: list[Arg | None], zeros: list[Arg | None], **settings: object) -> Case:
    return MS("QEmbedLayerNormalization", [*inputs, *scales, *zeros], outputs=2, **settings)  # type: ignore[arg-type]


BL = sizes(B=[0, 1, 2], L=[0, 1, 3])
EMBEDDINGS = [
    embedding(
        IDS,
        IDS,
        *[u8(10, "H"), u8(3, "H"), u8(2, "H"), u8("H"), u8("G")],
        IDS,
        scales=SCALES,  # type: ignore[arg-type]
        zeros=ZEROS,  # type: ignore[arg-type]
        bindings=[{**b, "H": 8, "G": g} for b in [*BL, {"B": 1, "L": 4}, {"B": 0, "L": 4}] for g in (8, 4)],
        expect=["[B, L, H]", "[B]"],
    ),
    embedding(
        IDS,
        None,
        *[u8(10, 8), u8(3, 8), None, u8(8), u8(8)],
        None,
        scales=[S, S, None, S, S],
        zeros=[Z, Z, None, Z, Z],
        bindings=BL,
        expect=["[B, L, 8]", "[B]"],
    ),
]

EXPERTS = [
    MS(
        "MoE",
        [Arg(["T", "H"]), Arg(["R", "E"]), Arg([4, 16, 8]), None, Arg(["F", "H", 16])],
        {"k": 2},
        bindings=sizes(T=[0, 1, 5], R=[0, 1, 5], E=[4, 3], F=[4, 5], H=[8, 7]),
        expect=["[T, H]"],
    ),
    MS(
        "MoE",
        [Arg(["B", "L", 8]), Arg(["R", 4]), Arg([4, 32, 8]), Arg([4, 32]), Arg([4, 8, 16]), Arg([4, 8])],
        {"activation_type": "swiglu", "swiglu_fusion": 1},
        bindings=sizes(B=[1, 2], L=[1, 5], R=[1, 2, 10]),
        expect=["[B, L, 8]"],
    ),
    MS(
        "QMoE",
        [Arg(["B", "L", "H"]), Arg(["R", "E"]), u8(4, 16, 4), Arg([4, 16]), None, u8(4, 8, 8), Arg([4, 8])],
        {"k": 2},
        bindings=sizes(B=[1, 2], L=[1, 5], R=[1, 10], E=[4, 3], H=[8, 6]),
        expect=["[B, L, H]"],
    ),
    MS(
        "QMoE",
        [Arg(["T", 8]), Arg(["T", 4]), u8(4, 16, 8), Arg([4, 16]), None, u8(4, 8, 16), Arg([4, 8])],
        {"k": 2, "expert_weight_bits": 8},
        bindings=sizes(T=[0, 1, 2, 3, 7]),
        expect=["[T, 8]"],
    ),
]


def gather(data: Arg, indices: Arg, scales: Arg, expect: str, zero: Arg | None = None, **attributes: int) -> Case:
    bindings = sizes(I=[0, 1, 3], J=[1, 2], P=[2, 3])
    attributes = {"block_size": 16, **attributes}
    return MS("GatherBlockQuantized", [data, indices, scales, zero], attributes, bindings=bindings, expect=[expect])


INDICES = Arg(["I", "J"], I64, low=-7, high=9)
NIBBLES = Arg(elements=np.arange(5 * 32).reshape(5, 32) % 16, dtype=U4)
GATHERED = [
    gather(u8(5, 32), INDICES, Arg([5, "P"]), "[I, J, 32]", bits=8),
    gather(u8(5, 32), INDICES, Arg([5, "P + 2"]), "[I, J, 64]", bits=4),
    gather(u8(5, 32), INDICES, Arg([5, 8]), "[I, J, 128]", bits=2),
    gather(u8(5, 7, 32), INDICES, Arg([5, 7, 4]), "[I, J, 7, 64]", quantize_axis=-1),
    gather(u8(5, 33), Arg(["J"], I32), Arg(["P + 3", 5]), "[J, 66]", quantize_axis=1),
    gather(u8(5, 32), Arg([], I64), Arg([5, 4], TensorProto.FLOAT16), "[64]", u8(5, 2)),
    gather(u8(0, 32), INDICES, Arg([0, 4]), "[I, J, 64]"),
    gather(NIBBLES, INDICES, Arg([5, "P"]), "[I, J, 32]"),
    gather(NIBBLES, INDICES, Arg([1, "16*P"]), "[5, I, J]", gather_axis=1, quantize_axis=0),
    gather(Arg([5, 32], U8, unknown_rank=True), INDICES, Arg([5, 4]), "?"),
]

EXECUTED = [*PRODUCTS, *SCALED, *ELEMENTWISE, *LAYERS, *EMBEDDINGS, *EXPERTS, *GATHERED]


@pytest.mark.parametrize("case", EXECUTED, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0 or case.op in BY_PROCESSOR


BY_PROCESSOR = {"MatMulFpQ4"}
"""Operators whose kernels run on some processors only."""

REJECTED = [
    gemm(u8("M", 3), u8(4, 2), bindings=sizes(M=[1])),
    gemm(u8(2, 3), u8(3, 4), Arg([3], I32)),
    gemm(u8(2, 3), u8(3, 4), b_scale=Arg([3]), b_zero=u8(3)),
    concat(0, u8(2, 3), u8(2, 4)),
    MS("QLinearConcat", [S, Z, u8(2, 3), S, Z]),
    MS("QLinearConcat", [S, Z, u8(2, 3), S], {"axis": 0}),
    MS("QLinearSoftmax", [u8(2, 3), S, Z, S, Z]),
    MS("MatMulBnb4", [Arg([3, 32]), u8(80), Arg([10])], {"K": 32, "block_size": 16, "quant_type": 1}),
    MS("MatMulFpQ4", [Arg([3, 32]), u8(100), Arg(elements=[32], dtype=I64)], {"blk_quant_type": 0}),
    MS("MoE", [Arg([8]), Arg([1, 4]), Arg([4, 16, 8]), None, Arg([4, 8, 16])]),
    gather(u8(5, 32), INDICES, Arg([5, 4]), "?", bits=3),
    gather(u8(), INDICES, Arg([]), "?"),
    gather(u8(5, 32), INDICES, Arg([5]), "?"),
    *[replace(case, expect=None) for case in (n_bits(None, None, constant(4)), n_bits(bits=3), n_bits(block=8))],
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


FAILING = [concat(0, u8("N", 3), Arg(["M", 3], I8), u8("M", 3), bindings=sizes(N=[0, 1, 2], M=[1, 2]))]


@pytest.mark.parametrize("case", FAILING, ids=str)
def test_nodes_that_may_fail_do(case: Case) -> None:
    applied = apply_case(case)
    assert applied.rejected is None
    assert applied.doubts
    assert run_case(case) == 0


DENSE = [*[[rows, columns] for rows in (2, 3, 4) for columns in (0, 1, 2, 3)], [2], [3], [1, 3, 4]]


@pytest.mark.parametrize(("swap_a", "swap_b"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_sparse_to_dense_matmul(swap_a: int, swap_b: int) -> None:
    """A sparse matrix of 2 rows and 3 columns times dense ones of many shapes."""
    rule = shipped().lookup("com.microsoft", "SparseToDenseMatMul", 1)
    assert rule is not None
    sparse = SparseTensor(DType.FLOAT, Shape([2, 3]))
    ran = 0
    for shape in DENSE:
        applied = apply(
            rule, Op(rule, [sparse, Tensor(DType.FLOAT, Shape(shape))], {"transA": swap_a, "transB": swap_b})
        )
        found = sparse_product(shape, swap_a, swap_b)
        if found is None:
            assert applied.rejected is not None or applied.doubts
            continue
        ran += 1
        assert applied.rejected is None
        assert applied.outputs == (Tensor(DType.FLOAT, Shape(found.shape)),)
    assert ran > 1


def sparse_product(shape: list[int], swap_a: int, swap_b: int) -> np.ndarray | None:
    """The product in onnxruntime, or None if it fails."""
    attributes = {"transA": swap_a, "transB": swap_b}
    node = helper.make_node("SparseToDenseMatMul", ["a", "b"], ["y"], domain="com.microsoft", **attributes)
    inputs = [
        helper.make_sparse_tensor_value_info("a", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("b", TensorProto.FLOAT, None),
    ]
    graph = helper.make_graph([node], "sparse", inputs, [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    matrix = ort.SparseTensor.sparse_coo_from_numpy(
        np.array([2, 3], np.int64),
        np.array([1, 2], np.float32),
        np.array([[0, 1], [1, 2]], np.int64),
        ort.OrtDevice.make("cpu", 0),
    )
    feeds = {
        "a": ort.OrtValue.ort_value_from_sparse_tensor(matrix),
        "b": ort.OrtValue.ortvalue_from_numpy(np.ones(shape, np.float32)),
    }
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    try:
        (result,) = session.run_with_ort_values(None, feeds)
    except Exception:
        return None
    array: np.ndarray = result.numpy()
    return array
