"""Elementwise operators, executed: shapes and types first, then contents."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

F, D, H, I64, I32, B, S = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.BOOL,
    TensorProto.STRING,
)
NM = sizes(N=[0, 1, 3], M=[1, 4])

FLOAT_UNARY = {
    7: "Relu Sigmoid Tanh Exp Log Sqrt Neg Abs Ceil Floor Reciprocal Sin Cos Tan Asin Acos Atan Softplus Softsign "
    "HardSigmoid Selu Elu LeakyRelu",
    9: "Erf Sign Sinh Cosh Asinh Acosh Atanh Shrink",
    11: "Round ThresholdedRelu",
    12: "Celu",
    14: "HardSwish Relu",
    18: "Mish",
    20: "Gelu",
    22: "Sin Elu Round Softplus",
    24: "Swish",
    25: "Neg Identity Sigmoid",
}


@pytest.mark.parametrize(("opset", "name"), [(v, n) for v, names in FLOAT_UNARY.items() for n in names.split()])
def test_keeps_shape(opset: int, name: str) -> None:
    for arg in (Arg(["N", "M", 2]), Arg([]), Arg(["N"], unknown_rank=True)):
        expect = "?" if arg.unknown_rank else "[N, M, 2]" if arg.dims else "[]"
        assert run_case(Case(name, [arg], opset=opset, bindings=NM[:4], expect=[expect])) > 0


TYPES = [
    Case("Not", [Arg(["N"], B)], bindings=NM[:3], expect=["[N]"]),
    Case("IsNaN", [Arg(["N", "M"])], bindings=NM, expect=["[N, M]"]),
    Case("IsInf", [Arg(["N"], D)], {"detect_negative": 0}, bindings=NM[:3], expect=["[N]"]),
    Case("BitwiseNot", [Arg(["N"], I32)], bindings=NM[:3], expect=["[N]"]),
    Case("Identity", [Arg(["N"], S)], bindings=NM[:3], expect=["[N]"], opset=13),
    Case("Cast", [Arg(["N", "M"])], {"to": I64}, bindings=NM, expect=["[N, M]"]),
    Case("Cast", [Arg(["N"], S)], {"to": F}, bindings=NM[:3], expect=["[N]"]),
    Case("Cast", [Arg(["N"], I64)], {"to": S}, bindings=NM[:3], expect=["[N]"]),
    Case("Cast", [Arg(["N"], unknown_rank=True)], {"to": D}, bindings=NM[:3], expect=["?"], opset=9),
    Case("CastLike", [Arg(["N"]), Arg(["M"], I64)], bindings=NM, expect=["[N]"], opset=19),
    Case("Dropout", [Arg(["N", 2])], outputs=2, bindings=NM[:3], opset=7, expect=["[N, 2]", "[N, 2]"]),
    Case("Dropout", [Arg(["N", 2])], outputs=2, bindings=NM[:3], opset=10, expect=["[N, 2]", "[N, 2]"]),
    Case("Dropout", [Arg(["N", 2])], outputs=2, bindings=NM[:3], opset=12, expect=["[N, 2]", "[N, 2]"]),
    Case("Dropout", [Arg(["N"]), Arg(elements=0.5), Arg(["M"], B)], outputs=2, bindings=NM, opset=13),
    Case(
        "Dropout",
        [Arg(["N"]), Arg(["M"], data=lambda s, r: np.full(s, 0.5))],
        bindings=sizes(N=[1, 3], M=[0, 1, 2]),
        opset=22,
    ),
    Case("Dropout", [Arg(["N"]), Arg(elements=[1.0])], bindings=NM[:3], may_differ=True),
    Case("Dropout", [Arg(["N"]), Arg(["M"], unknown_rank=True)], bindings=NM, may_differ=False),
    Case("Clip", [Arg(["N", 2])], {"min": 0.0}, bindings=NM[:3], opset=6, expect=["[N, 2]"]),
    Case("Clip", [Arg(["N", 2]), Arg(["M"]), None], bindings=sizes(N=[0, 2], M=[0, 1, 2]), opset=11, expect=["[N, 2]"]),
    Case("Clip", [Arg(["N", 2]), None, Arg([])], bindings=NM[:3], opset=12, expect=["[N, 2]"]),
    Case(
        "Clip",
        [Arg(["N", 2], I64), Arg(["M"], I64, unknown_rank=True), Arg([], I64)],
        bindings=sizes(N=[0, 2], M=[1, 2]),
        opset=13,
    ),
]


@pytest.mark.parametrize("case", TYPES, ids=str)
def test_types_and_requirements(case: Case) -> None:
    ran = run_case(case)
    assert ran > 0 or case.may_differ


def test_clip_rejects_vectors() -> None:
    assert apply_case(Case("Clip", [Arg(["N"]), Arg([1, 1])], opset=13)).rejected
    assert apply_case(Case("Clip", [Arg(["N"]), Arg([2])], opset=13)).rejected


def unary(name: str, elements: object, dtype: int, contents: str | None, opset: int = 20, **attributes: object) -> Case:
    return Case(
        name,
        [Arg(elements=elements, dtype=dtype)],
        attributes,
        opset=opset,
        contents=contents,
        bindings=sizes(N=[0, 1, 5, 6], M=[0, 3]),
    )


CONTENTS = [
    unary("IsNaN", [0.5, float("nan")], F, "[false, ?]"),
    unary("IsInf", [0.5], F, "[false]"),
    unary("Neg", ["N", 3], I64, "[-N, -3]"),
    unary("Abs", ["N - 5", -3], I64, "[max(5 - N, N - 5), 3]"),
    unary("Relu", ["N - 5", -3], I64, "[max(N - 5, 0), 0]"),
    unary("Sign", ["N", -3], I64, None),
    unary("Not", [True, False], B, "[false, true]"),
    unary("BitwiseNot", ["N", 7], I64, "[-N - 1, -8]"),
    unary("BitwiseNot", [0, 7], TensorProto.UINT8, "[255, 248]"),
    unary("Identity", [["N", "M"]], I64, "[[N, M]]"),
    unary("Floor", [2.5, -2.5, 3.0], F, "[2, -3, 3]"),
    unary("Ceil", [2.5, -2.5, 3.0], D, "[3, -2, 3]"),
    unary("Round", [0.5, 1.5, -0.5, 2.25, -2.75], F, "[0, 2, 0, 2, -3]"),
    unary("Sqrt", [196.0, 2.0, -1.0], F, None),
    unary("Reciprocal", [4.0, 3.0, 0.0], F, None),
    unary("Cast", [2.9, -2.9, 1e30, 0.0], F, None, to=I64),
    unary("Cast", ["N", "M - 2"], I64, "[N, M - 2]", to=I32),
    unary("Cast", ["N + 250", "M - 2"], I64, None, to=TensorProto.UINT8),
    unary("Cast", ["N + 125", "M - 130", 300], I64, None, to=TensorProto.INT8),
    unary("Cast", ["N", "M - 3", 0, 7], I64, "[N >= 1, M != 3, false, true]", to=B),
    unary("Cast", [True, False], B, "[1, 0]", to=I64),
    unary("Cast", [True, False], B, "[1, 0]", to=F),
    unary("Cast", [0.5, 0.0, -0.0], F, "[true, false, false]", to=B),
    unary("Cast", ["N", 2**24 + 1, 2**53 + 1], I64, None, to=F),
    unary("Cast", [2**53 + 1, -(2**60) - 1], I64, None, to=D),
    unary("Cast", [0.1, 1e-40, 1e300], D, None, to=F),
    unary("Cast", ["N", 3, 5000], I64, None, to=H),
    unary("Cast", [-1, 2**40 + 5], I64, "[4294967295, 5]", to=TensorProto.UINT32),
    unary("Clip", [0.1, -3.0, 9.5], F, "[2, 2, (19)/2]", 6, min=2.0),
    Case(
        "Clip",
        [Arg(elements=["N", -3, 9], dtype=I64), Arg(elements=2, dtype=I64), Arg(elements=[4], dtype=I64)],
        contents="[min(max(N, 2), 4), 2, 4]",
        bindings=sizes(N=[0, 1, 3, 9]),
    ),
    Case(
        "Clip",
        [Arg(elements=[1, 5, 9], dtype=I64), Arg(elements=7, dtype=I64), Arg(elements=3, dtype=I64)],
        contents="[3, 3, 3]",
    ),
    Case("Clip", [Arg([3], I64), Arg(elements=2, dtype=I64), Arg(elements=4, dtype=I64)]),
    Case("Clip", [Arg(elements=[1.5, 2.5]), Arg(elements=2.0), Arg([])], contents="None"),
    Case(
        "Dropout",
        [Arg(elements=[1.5, 2.5]), Arg(elements=0.5), Arg(elements=False, dtype=B)],
        contents="[(3)/2, (5)/2]",
    ),
    Case("Dropout", [Arg(elements=[1.5, 2.5]), Arg(elements=0.5), Arg(elements=True, dtype=B)], contents="None"),
    Case("CastLike", [Arg(elements=["N", 3], dtype=I64), Arg(["M"])], contents="[N, 3]", bindings=NM),
]


@pytest.mark.parametrize("case", CONTENTS, ids=str)
def test_contents(case: Case) -> None:
    run_case(case)
